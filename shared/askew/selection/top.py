"""`top_k`: the k most popular names in one line, with differential privacy; and what to expect.

    import askew

    menu = ["tea", "milk", "rum", "ale", "gin"]  # public
    askew.top_k({"tea": 900, "milk": 7, "rum": 870, "ale": 850}, items=menu, k=3, epsilon=0.5)

The mechanism is chosen from public numbers alone, by the table of docs/selection.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np

from askew.dp.composition import basic
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    ApproximateDP,
    NeighboringRelation,
    PrivacyLoss,
    check_neighbors,
)
from askew.errors import ParameterError
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, Kind
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.parameters import (
    check_k,
    check_positive,
    check_positive_int,
    check_probability,
    ln,
)
from askew.mechanisms.shortfall import CHANCE, Bounded, error_bound
from askew.mechanisms.tally import Counts
from askew.noise.randomness import KERNEL, RandomBits
from askew.selection.reading import named_counts, public_names
from askew.selection.result import TopK, loss_in_words

Number = int | float | Fraction | Decimal
_SMALL_K: Final = 100  # up to it a ranking is drawn jointly
_DIGITS: Final = 400  # of a number, at most
_KINDS: Final = {kind.mechanism.__name__: kind for kind in KINDS.values()}


def top_k(  # noqa: PLR0913
    counts: object,
    *,
    k: int,
    epsilon: Number,
    items: object = None,
    unknown: bool = False,
    delta: Number | None = None,
    ordered: bool = False,
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE,
    max_items_per_person: int | None = None,
    mechanism: str | None = None,
    with_counts: bool | Number = False,
    bits: RandomBits = KERNEL,
) -> TopK:
    """Select the k names with the highest counts, as a set sorted by name, with privacy.

    counts: how many people chose each name: a mapping, a Counter, a pandas Series, a frame or an
    arrow table of two columns (names, then counts), pairs, an array, a polars Series, or a list of
    numbers. Each person must count at most once for each name.
    items: all names that may be selected: public, and made without the data. A name that `counts`
    lacks counts 0, and a name of `counts` that is not in it is ignored without a word, since an
    error would tell that somebody brought it. An array needs none, its places are public.
    unknown: names come from the data, by a limited domain, which needs a delta: it lists only names
    above a noisy threshold, and may stop before k. Text, numbers, bytes, dates and tuples of these
    are names; what else somebody brought, or what is missing, is left out without a word.
    epsilon, delta: the total of the call. A float is the decimal that it prints: 0.1 is 1/10.
    ordered: best first instead, as a ranking.
    neighbors: `ADD_OR_REMOVE_ONE` or `REPLACE_ONE`.
    max_items_per_person: for how many names one person counts at most. The counts must keep it.
    mechanism: one by its name, in place of the one that docs/selection.md names for these numbers.
    with_counts: noisy counts beside the names, for half of epsilon, or for the share given here.
    bits: where randomness comes from; the kernel's by default.

    Privacy unit: one person's whole history. Guarantee: `TopK.loss`, the guarantees of the
    mechanism and of `NoisyCounts` added (`askew.dp.composition.basic`).
    Raises ParameterError, which names no item and no count of the data.
    """
    names, values = named_counts(counts, items, unknown=unknown)
    plan = _Plan(
        n_names=None if unknown else len(names),
        k=_plain(k),
        epsilon=exact("epsilon", epsilon),
        delta=_delta(delta, unknown=unknown),
        ordered=ordered,
        neighbors=neighbors,
        max_items_per_person=_plain(max_items_per_person),
        mechanism_name=mechanism,
        share=_share(with_counts),
    )
    selected = plan.mechanism.select(values, bits=bits)
    places = [*selected] if ordered else sorted(selected)
    noisy: dict[str, Any] = {}
    if plan.noise is not None:
        noisy = {
            "counts": [*plan.noise.perturb([int(values[i]) for i in places], bits=bits)],
            "each_within": plan.noise.error_bound(),
            "all_within": plan.noise.error_bound(of=plan.k),
            "counts_loss": plan.counts_loss,
        }
    return TopK(
        items=[names[i] for i in places],
        mechanism=plan.name,
        ordered=ordered,
        items_loss=plan.items_loss,
        stopped=getattr(selected, "stopped", False),
        **noisy,
    )


def explain_top_k(  # noqa: PLR0913
    *,
    k: int,
    epsilon: Number,
    items: object = None,
    unknown: bool = False,
    delta: Number | None = None,
    ordered: bool = False,
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE,
    max_items_per_person: int | None = None,
    mechanism: str | None = None,
    with_counts: bool | Number = False,
) -> str:
    """Say in some lines what `top_k` will do with these arguments, before any data.

    What it selects, by which mechanism, what that costs, whom it protects, and how far it can be
    wrong on the worst counts; real lists are far better. items: of an array, range(its length).
    Raises ParameterError.
    """
    if unknown == (items is not None):
        limit = "a public list of names, or None with unknown=True; of an array, range(its length)"
        raise ParameterError("items", items, limit)
    n_names = None if unknown else len(public_names(items))
    plan = _Plan(
        n_names=n_names,
        k=_plain(k),
        epsilon=exact("epsilon", epsilon),
        delta=_delta(delta, unknown=unknown),
        ordered=ordered,
        neighbors=neighbors,
        max_items_per_person=_plain(max_items_per_person),
        mechanism_name=mechanism,
        share=_share(with_counts),
    )
    among = "the names of the data" if n_names is None else f"{n_names:,} names"
    order = "best first" if ordered else "sorted by name"
    most = max_items_per_person
    reach = "each name" if most is None else f"each name, and at most {most:,} in all"
    chance, miss = f"with {float(100 * CHANCE):g} %", error_bound(plan.mechanism, n_names)
    lines = [
        f"selects   {k:,} of {among}, {order}, by {plan.name}",
        f"costs     {loss_in_words(plan.items_loss, plan.counts_loss)}",
        f"protects  one person, who counts at most once for {reach}",
        f"error     {chance}, no name has more than {miss:,} people fewer than place {k:,}",
    ]
    limited = plan.mechanism
    if isinstance(limited, LimitedDomain | LaplaceLimitedDomain):
        lines.append(
            f"stops     at names of fewer than about {_threshold(limited):,.0f} people more than"
            f" place {limited.kbar + 1:,} has"
        )
    if plan.noise is not None:
        lines.append(
            f"counts    {chance}, each is within {plan.noise.error_bound():,} of the true one,"
            f" and all {k:,} within {plan.noise.error_bound(of=plan.k):,}"
        )
    return "\n".join(lines)


def exact(name: str, value: object) -> Fraction:
    """Return a number of the caller exactly; a float is the decimal that it prints. Raises
    ParameterError.
    """
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, (float, np.floating, Decimal)):
        endless = isinstance(value, Decimal) and abs(value.adjusted()) > _DIGITS
        value = "endless" if endless else str(value)
    elif isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise ParameterError(name, value, "a number such as 0.5, or Fraction(1, 2)")
    try:
        return Fraction(value)
    except ValueError:
        raise ParameterError(name, value, "a finite number") from None


class _Mechanism(Bounded, Protocol):
    def privacy_loss(self) -> PrivacyLoss: ...
    def select(self, counts: Counts, *, bits: RandomBits = ...) -> tuple[int, ...]: ...


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What one call was asked, and from that alone its mechanism, its noise and what both cost.

    n_names: how many there are, None where they come from the data. share: of epsilon, for the
    counts. Raises ParameterError.
    """

    n_names: int | None
    k: int
    epsilon: Fraction
    delta: Fraction
    ordered: bool
    neighbors: NeighboringRelation
    max_items_per_person: int | None
    mechanism_name: str | None
    share: Fraction

    def __post_init__(self) -> None:
        check_k(self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)
        if self.n_names is not None and self.k > self.n_names:
            raise ParameterError("k", self.k, f"at most {self.n_names}, the number of names")
        if self.max_items_per_person is not None:
            check_positive_int("max_items_per_person", self.max_items_per_person)
        if self.delta or self.n_names is None:
            check_probability("delta", self.delta)
        kinds = {name: kind for name, kind in _KINDS.items() if kind.ranked or not self.ordered}
        is_known = self.n_names is not None
        fitting = [name for name, kind in kinds.items() if is_known or not kind.needs_catalog]
        if self.name not in fitting:
            limit = "for these arguments one of " + ", ".join(fitting)
            raise ParameterError("mechanism", self.name, limit)
        if self.kind.needs_delta and not self.delta:
            raise ParameterError("delta", self.delta, f"above 0 for {self.name}, such as 1e-6")
        scaled = self.kind.needs_bound and self.name != "LimitedDomain"
        if scaled and self.max_items_per_person is None:
            raise ParameterError("max_items_per_person", None, f"given for {self.name}")

    @property
    def kind(self) -> Kind:
        """Return what has to be known of the mechanism."""
        return _KINDS[self.name]

    @property
    def name(self) -> str:
        """Return the mechanism that was asked for, or that of the table of docs/selection.md."""
        if self.mechanism_name is not None:
            return self.mechanism_name
        if self.n_names is None:
            few = self.max_items_per_person is not None and self.max_items_per_person < self.k
            return "LaplaceLimitedDomain" if few else "LimitedDomain"
        if self.k == 1:
            return "PermuteAndFlip"
        if not self.ordered:
            return "Canonical"
        if self.k <= _SMALL_K:
            return "Joint"
        return "ConcentratedPeeling" if self.delta else "Peeling"

    @cached_property
    def noise(self) -> NoisyCounts | None:
        """Return the noise of the counts, if any, by what is left of epsilon and delta."""
        if not self.share:
            return None
        return NoisyCounts(
            k=self.k,
            epsilon=self.epsilon * self.share,
            neighbors=self.neighbors,
            max_items_per_unit=self.max_items_per_person,
            delta=self.delta / 2 if self.kind.needs_delta else self.delta,
        )

    @property
    def counts_loss(self) -> ApproximateDP | None:
        """Return what the counts cost; of a law that needs no delta, none."""
        return None if self.noise is None else basic([self.noise.privacy_loss()])

    @property
    def items_loss(self) -> ApproximateDP:
        """Return what the names cost: the rest of epsilon, and of delta where the mechanism needs
        one.
        """
        spent = Fraction(0) if self.counts_loss is None else self.counts_loss.delta
        delta = self.delta - spent if self.kind.needs_delta else Fraction(0)
        return ApproximateDP(self.epsilon * (1 - self.share), delta, self.neighbors)

    @cached_property
    def mechanism(self) -> _Mechanism:
        """Return the mechanism, of the total that `items_loss` says, even if it counts by round."""
        epsilon, delta = self.items_loss.epsilon, self.items_loss.delta
        mechanism: _Mechanism = self.kind.build(
            self.k, epsilon, delta, self.neighbors, self.max_items_per_person
        )
        return mechanism


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, np.integer) else number


def _delta(delta: Number | None, *, unknown: bool) -> Fraction:
    if delta is None and unknown:
        limit = "given with unknown=True: far below one in the number of people, such as 1e-6"
        raise ParameterError("delta", None, limit)
    return exact("delta", 0 if delta is None else delta)


def _share(with_counts: object) -> Fraction:
    if isinstance(with_counts, bool):
        return Fraction(with_counts, 2)
    share = exact("with_counts", with_counts)
    if not 0 < share < 1:
        limit = "True, False, or the share of epsilon for the counts, between 0 and 1"
        raise ParameterError("with_counts", with_counts, limit)
    return share


def _threshold(limited: LimitedDomain | LaplaceLimitedDomain) -> float:
    """Return how many people above the count behind the last candidate make a name likely."""
    if isinstance(limited, LaplaceLimitedDomain):
        return 1 + float(limited.threshold / limited.rate)
    return 1 + ln(limited.spread / limited.delta) / float(limited.epsilon)
