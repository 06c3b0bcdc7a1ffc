"""What one call of `askew.top_k` does: all of it follows from its public arguments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from askew.dp.composition import basic
from askew.dp.privacy import (
    ApproximateDP,
    NeighboringRelation,
    check_neighbors,
)
from askew.errors import ParameterError
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, Kind, Selector
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.parameters import (
    check_k,
    check_positive,
    check_positive_int,
    check_probability,
    ln,
)
from askew.mechanisms.shortfall import CHANCE, error_bound

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
        """Return the `Kind` of the mechanism."""
        return _KINDS[self.name]

    @property
    def name(self) -> str:
        """Return the name of the mechanism: the one asked for, else that of docs/selection.md."""
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
        """Return epsilon and delta of the names, and the noise of the counts, or None."""
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
        """Return the loss of the names alone."""
        epsilon, delta, _ = self.parts
        return ApproximateDP(epsilon, delta, self.neighbors)

    @cached_property
    def mechanism(self) -> Selector:
        """Return the mechanism, of the total that `items_loss` says, even if it counts by round."""
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
            f"costs     {loss_in_words(self.items_loss, self.counts_loss)}",
            f"protects  one person, who counts at most once for {reach}",
            f"error     {chance}, no name has more than {miss:,} people fewer than place {k}",
        ]
        limited = self.mechanism
        if isinstance(limited, LimitedDomain | LaplaceLimitedDomain):
            lines.append(
                f"stops     at names of fewer than about {_threshold(limited):,.0f} people more"
                f" than place {limited.kbar + 1:,} has"
            )
        noise = self.parts[2]
        if noise is not None:
            lines.append(
                f"counts    {chance}, each is within {noise.error_bound():,} of the true one,"
                f" and all {k} within {noise.error_bound(of=self.k):,}"
            )
        return "\n".join(lines)


def _threshold(limited: LimitedDomain | LaplaceLimitedDomain) -> float:
    """Return how many people above the count behind the last candidate make a name likely."""
    if isinstance(limited, LaplaceLimitedDomain):
        return 1 + float(limited.threshold / limited.rate)
    return 1 + ln(limited.spread / limited.delta) / float(limited.epsilon)


def loss_in_words(items: ApproximateDP, counts: ApproximateDP | None) -> str:
    """Return the total, and of two parts what each costs."""
    if counts is None:
        return f"{_pair(items)}-DP, {items.neighbors.value} person"
    total = f"{_pair(basic([items, counts]))}-DP, {items.neighbors.value} person"
    return f"{total}: {_pair(items)} for the items, {_pair(counts)} for the counts"


def _pair(loss: ApproximateDP) -> str:
    return f"({loss.epsilon}, {loss.delta})"
