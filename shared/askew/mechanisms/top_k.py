"""`top_k`: the k most popular names in one line, with differential privacy.

    import askew

    menu = ["tea", "milk", "rum", "ale", "gin"]  # public
    print(askew.top_k({}, items=menu, k=3, epsilon=0.5).plan)  # what to expect, before any data
    askew.top_k({"tea": 900, "milk": 7, "rum": 870, "ale": 850}, items=menu, k=3, epsilon=0.5)

The mechanism is chosen from public numbers alone, by the table of docs/selection.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, Final

import numpy as np

from askew.dp.composition import basic
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, NeighboringRelation, check_neighbors
from askew.dp.release import plain_name
from askew.errors import ParameterError
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, Kind
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.reading import named_counts
from askew.mechanisms.shortfall import CHANCE, Selector, error_bound
from askew.mechanisms.tally import check_positive, check_positive_int, check_probability, ln
from askew.noise.randomness import KERNEL, RandomBits

_SMALL_K: Final = 100  # up to it a ranking is drawn jointly
_KINDS: Final = {kind.mechanism.__name__: kind for kind in KINDS.values()}


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
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
        check_positive_int("k", self.k)
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
        """Return the `Kind` of the mechanism of this `name`."""
        return _KINDS[self.name]

    @property
    def name(self) -> str:
        """Return the name of the mechanism: the one asked for; else, of unknown names,
        "LimitedDomain", or "LaplaceLimitedDomain" if a person counts for fewer than k; of known
        ones "PermuteAndFlip" for k = 1, "Canonical" for a set, "Joint" for a ranking up to k = 100,
        beyond that "Peeling", or with a delta "ConcentratedPeeling".
        """
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
    def parts(self) -> tuple[Fraction, Fraction, NoisyCounts | None]:
        """Return epsilon and delta of the names, and the noise of the counts, or None, by
        `Kind.split`.
        """
        return self.kind.split(
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
            max_items_per_unit=self.max_items_per_person,
            share=self.share,
        )

    @property
    def counts_loss(self) -> ApproximateDP | None:
        """Return the loss of the noisy counts, or None without them; delta 0 where not needed."""
        noise = self.parts[2]
        return None if noise is None else basic([noise.privacy_loss()])

    @property
    def items_loss(self) -> ApproximateDP:
        """Return the loss of the names alone: epsilon without the share of the counts, and delta
        without what the counts take of it, at most half; 0 where the mechanism needs none.
        """
        epsilon, delta, _ = self.parts
        return ApproximateDP(epsilon, delta, self.neighbors)

    @cached_property
    def mechanism(self) -> Selector:
        """Return the mechanism. It costs `items_loss` in all; a LimitedDomain's own epsilon is a
        round's.
        """
        epsilon, delta, _ = self.parts
        return self.kind.build(self.k, epsilon, delta, self.neighbors, self.max_items_per_person)

    def __str__(self) -> str:
        """Say in some lines what is selected, by which mechanism, what that costs, whom it
        protects, and how far it can be wrong on the worst counts; real lists are far better.
        """
        among = "the names of the data" if self.n_names is None else f"{self.n_names:,} names"
        order = "best first" if self.ordered else "sorted by name"
        k, most = f"{self.k:,}", self.max_items_per_person
        reach = "each name" if most is None else f"each name, and at most {most:,} in all"
        chance, miss = f"with {float(100 * CHANCE):g} %", error_bound(self.mechanism, self.n_names)
        lines = [
            f"selects   {k} of {among}, {order}, by {self.name}",
            f"costs     {_in_words(self.items_loss, self.counts_loss)}",
            f"protects  one person, who counts at most once for {reach}",
            f"error     {chance}, no name has more than {miss:,} people fewer than place {k}",
        ]
        limited = self.mechanism
        if isinstance(limited, LimitedDomain | LaplaceLimitedDomain):
            # So many people above the count behind the last candidate make a name likely.
            if isinstance(limited, LaplaceLimitedDomain):
                above = 1 + float(limited.threshold / limited.rate)
            else:
                above = 1 + ln(limited.spread / limited.delta) / float(limited.epsilon)
            lines.append(
                f"stops     at names of fewer than about {above:,.0f} people more"
                f" than place {limited.kbar + 1:,} has"
            )
        noise = self.parts[2]
        if noise is not None:
            lines.append(
                f"counts    {chance}, each is within {noise.error_bound():,} of the true one,"
                f" and all {k} within {noise.error_bound(of=self.k):,}"
            )
        return "\n".join(lines)


def _in_words(items: ApproximateDP, counts: ApproximateDP | None) -> str:
    if counts is None:
        return f"{_pair(items)}-DP, {items.neighbors.value} person"
    total = f"{_pair(basic([items, counts]))}-DP, {items.neighbors.value} person"
    return f"{total}: {_pair(items)} for the items, {_pair(counts)} for the counts"


def _pair(loss: ApproximateDP) -> str:
    return f"({loss.epsilon}, {loss.delta})"


_DRAWN = 50  # items of a picture
_ROW, _TOP, _LEFT, _WIDE, _NARROW = 22, 28, 190, 540, 160  # pixels


@dataclass(frozen=True, repr=False)
class TopK:
    """Selected names and what they cost. Public: safe to print, to store and to send.

    items: sorted by name, or best first where `ordered`. plan: what the call did and what it had
    to expect, in words by `print`. stopped: whether a limited domain ended the list before k.
    counts: their noisy counts, in the same order, if asked for.
    """

    items: list[Any]
    plan: TopKPlan
    stopped: bool = False
    counts: list[int] | None = None

    @property
    def mechanism(self) -> str:
        """Return the name of the mechanism that selected, `TopKPlan.name`, such as "Canonical"."""
        return self.plan.name

    @property
    def ordered(self) -> bool:
        """Return True if the items stand best first."""
        return self.plan.ordered

    def privacy_loss(self) -> ApproximateDP:
        """Return the loss of the whole result: `plan.items_loss` plus `plan.counts_loss`."""
        counts = self.plan.counts_loss
        return basic([self.plan.items_loss, *([counts] if counts else [])])

    @property
    def loss(self) -> str:
        """Return in words the loss of the whole result and, with counts, of each part, such as
        "(1/2, 0)-DP, add or remove one person".
        """
        return _in_words(self.plan.items_loss, self.plan.counts_loss)

    @property
    def error(self) -> str:
        """Return in words how far noisy counts may be from the true ones, such as "each within 36,
        all within 49, at 95 %"; "" without counts.
        """
        noise = self.plan.parts[2]
        if noise is None:
            return ""
        each, together = noise.error_bound(), noise.error_bound(of=self.plan.k)
        return f"each within {each}, all within {together}, at {_percent()}"

    def __repr__(self) -> str:
        shown = [f"items={self.items!r}"]
        if self.counts is not None:
            shown += [f"counts={self.counts!r}", f"error={self.error!r}"]
        shown += [f"loss={self.loss!r}", f"mechanism={self.mechanism!r}"]
        shown += [f"{flag}=True" for flag in ("ordered", "stopped") if getattr(self, flag)]
        return f"TopK({', '.join(shown)})"

    def _repr_svg_(self) -> str:
        """Draw what was selected, and what it cost, for a notebook."""
        plan, noise = self.plan, self.plan.parts[2]
        drawn = self.items[:_DRAWN]
        bottom = _TOP + _ROW * (len(drawn) + (len(drawn) < len(self.items)))
        title = "ranking, best first" if self.ordered else "a set, sorted by name"
        parts = [_text(0, 16, title + (f"; ± at {_percent()}" if self.counts else ""))]
        widest = max([1, *(self.counts or [])])
        for row, item in enumerate(drawn):
            y = _TOP + _ROW * row
            place = f"{row + 1}. " if self.ordered else ""
            parts.append(_text(0, y + 15, place + _short(str(item))))
            if self.counts is not None and noise is not None:
                width = (_WIDE - _LEFT - 110) * max(0, self.counts[row]) / widest
                parts.append(_bar(_LEFT, y + 4, width, "#4c78a8"))
                label = f"{self.counts[row]:,} ± {noise.error_bound():,}"
                parts.append(_text(_LEFT + width + 6, y + 15, label))
        if len(drawn) < len(self.items):
            parts.append(_text(0, bottom - 7, f"and {len(self.items) - len(drawn)} more"))
        total, x = self.privacy_loss().epsilon, 0.0
        losses = (("items", plan.items_loss, "#f58518"), ("counts", plan.counts_loss, "#e4a85c"))
        for name, loss, color in losses:
            if loss is not None:
                width = _WIDE * float(loss.epsilon / total)
                parts.append(_bar(x, bottom + 10, width, color))
                if width > _NARROW:
                    parts.append(
                        _text(x + 4, bottom + 22, f"{name}: epsilon {loss.epsilon}", "#000")
                    )
                x += width
        words = f"{self.loss}, by {self.mechanism}".split(": ")
        parts += [_text(0, bottom + 44 + 18 * row, line) for row, line in enumerate(words)]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{bottom + 70}" '
            f'font-family="sans-serif" font-size="13" role="img"><title>{escape(repr(self))}'
            f"</title>{''.join(parts)}</svg>"
        )


def _percent() -> str:
    return f"{float(100 * CHANCE):g} %"


def _short(text: str) -> str:
    plain = plain_name(text)
    return plain if len(plain) <= 24 else plain[:23] + "…"


def _text(x: float, y: float, text: str, color: str = "currentColor") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}">{escape(text)}</text>'


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.0f}" width="{max(width, 1):.1f}" height="16" fill="{color}"/>'


Number = int | float | Fraction | Decimal
_DIGITS: Final = 400  # of a number, at most


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
    error would tell that somebody brought it. An array or list of numbers needs none: its names
    are its places, from 0.
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
    if delta is None and unknown:
        limit = "given with unknown=True: far below one in the number of people, such as 1e-6"
        raise ParameterError("delta", None, limit)
    plan = TopKPlan(
        n_names=None if unknown else len(names),
        k=_plain(k),
        epsilon=exact("epsilon", epsilon),
        delta=exact("delta", 0 if delta is None else delta),
        ordered=ordered,
        neighbors=neighbors,
        max_items_per_person=_plain(max_items_per_person),
        mechanism_name=mechanism,
        share=_share(with_counts),
    )
    selected = plan.mechanism.select(values, bits=bits)
    places = [*selected] if ordered else sorted(selected)
    noise = plan.parts[2]
    noisy = None
    if noise is not None:
        noisy = [*noise.perturb([int(values[i]) for i in places], bits=bits)]
    return TopK(
        items=[names[i] for i in places],
        plan=plan,
        stopped=getattr(selected, "stopped", False),
        counts=noisy,
    )


def exact(name: str, value: object) -> Fraction:
    """Return an int, float, Decimal, Fraction or numpy number as a Fraction; a float is the decimal
    that it prints, so 0.1 is 1/10. Raises ParameterError for all else: text, bools, NaN, infinity.
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


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, np.integer) else number


def _share(with_counts: object) -> Fraction:
    if isinstance(with_counts, bool):
        return Fraction(with_counts, 2)
    share = exact("with_counts", with_counts)
    if not 0 < share < 1:
        limit = "True, False, or the share of epsilon for the counts, between 0 and 1"
        raise ParameterError("with_counts", with_counts, limit)
    return share
