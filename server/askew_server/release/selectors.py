"""The mechanisms that a release may use, by the names of `askew.mechanisms.kinds`.

Where a unit may change every count, the contribution bound does not enter the guarantee, no
epsilon is scaled by it, and by default there is none: it would lose events and gain nothing.
laplace-counts and laplace-domain add noise of max_items_per_unit / epsilon. limited-domain is
charged by rounds, and the bound enters its threshold only.

Without a public catalog the domain is unknown, and only the limited domains are allowed: any other
mechanism lists items because they are in the log, and an item that a single person brought in would
show that this person is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

from askew.dp.composition import delta_of
from askew.dp.privacy import BoundedRange, NeighboringRelation, PrivacyLoss, positive_rational
from askew.dp.release import MAX_ITEMS
from askew.errors import ParameterError
from askew.mechanisms import LaplaceCounts, LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, LEAST_DEPTH, Kind
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.parameters import ln, one_way
from askew.mechanisms.shortfall import Bounded
from askew.mechanisms.tally import Counts
from askew.noise.randomness import RandomBits
from askew_server.release.tables import number

MIN_KBAR = LEAST_DEPTH
USUAL_BOUND = 100


class Selector(Bounded, Protocol):
    """A mechanism with its public parameters: safe to print."""

    def privacy_loss(self) -> PrivacyLoss:
        """Return what one run costs."""

    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]:
        """Return places in the vector of counts."""


@dataclass(frozen=True, kw_only=True)
class MechanismRequest:
    """What an operator asks: total epsilon and delta for k items, the contribution bound, if there
    is one, and the share of epsilon that buys noisy counts beside the items.
    Raises ParameterError for numbers that no mechanism takes.
    """

    k: int
    epsilon: Fraction
    delta: Fraction
    neighbors: NeighboringRelation
    max_items_per_unit: int | None
    share: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_ITEMS:
            raise ParameterError("k", self.k, f"from 1 to {MAX_ITEMS}")
        positive_rational("epsilon", self.epsilon)
        bound = self.max_items_per_unit
        if bound is not None and bound < 1:
            raise ParameterError("max_items_per_unit", bound, "an integer of at least 1")
        if not 0 <= self.share < 1:
            raise ParameterError("counts", self.share, "a share of epsilon above 0 and below 1")

    @property
    def kbar(self) -> int:
        """Return how deep a limited domain looks: deeper is never worse above the bound."""
        return max(self.k, self.max_items_per_unit or 0, MIN_KBAR)


def _of_every_count(_: Selector, bound: int | None) -> str:
    why = "for somebody who changes every count by 1, so it needs no bound"
    return why if bound is None else f"{why}; that of {bound} only loses events"


@dataclass(frozen=True)
class MechanismSpec:
    """A row of the table: all that a release has to know of one mechanism and of no other.

    rounds: the loss as bounded-range rounds of what `build` made; None where it is not that, and
    then its epsilon is added. noise: what the noise is for, and what a contribution bound costs.
    """

    build: Callable[[MechanismRequest], Selector]
    rounds: Callable[[Any], BoundedRange] | None = None
    noise: Callable[[Any, int | None], str] = _of_every_count
    ranked: bool = True
    needs_catalog: bool = True
    needs_delta: bool = False
    needs_bound: bool = False  # whether noise or threshold depend on what a unit may change


def specs() -> dict[str, MechanismSpec]:
    """Return the table, by name."""
    noise: dict[str, Callable[[Any, int | None], str]] = {
        "laplace-counts": _of_bounded_counts,
        "limited-domain": _of_rounds,
        "laplace-domain": _of_bounded_counts,
    }
    return {
        name: MechanismSpec(
            partial(_built, kind),
            rounds=kind.mechanism.ranged_loss if kind.is_ranged else None,
            noise=noise.get(name, _of_every_count),
            ranked=kind.ranked,
            needs_catalog=kind.needs_catalog,
            needs_delta=kind.needs_delta,
            needs_bound=kind.needs_bound,
        )
        for name, kind in KINDS.items()
    }


def _built(kind: Kind, asked: MechanismRequest) -> Selector:
    selector: Selector = kind.build(
        asked.k, asked.epsilon, asked.delta, asked.neighbors, asked.max_items_per_unit
    )
    return selector


def parts_of(
    asked: MechanismRequest, spec: MechanismSpec
) -> tuple[MechanismRequest, NoisyCounts | None]:
    """Return what the mechanism gets of a request, and the noise of the counts, or None.

    Counts may spend all of the delta of a mechanism that needs none, and half of the others'; what
    they do not need is the mechanism's, or is not spent. The losses of both parts add up to no more
    than was asked (`askew.mechanisms.noisy_counts` has the proof).
    """
    if not asked.share:
        return asked, None
    noise = NoisyCounts(
        k=asked.k,
        epsilon=asked.epsilon * asked.share,
        neighbors=asked.neighbors,
        max_items_per_unit=asked.max_items_per_unit,
        delta=asked.delta / 2 if spec.needs_delta else asked.delta,
    )
    left = asked.delta - delta_of(noise.privacy_loss()) if spec.needs_delta else Fraction(0)
    epsilon = asked.epsilon * (1 - asked.share)
    return replace(asked, epsilon=epsilon, delta=left, share=Fraction(0)), noise


def default_bound(name: str) -> int | None:
    """Return the contribution bound where nobody names one: none, unless it is needed."""
    spec = specs().get(name)
    return USUAL_BOUND if spec and spec.needs_bound else None


def default_mechanism(*, known_domain: bool) -> str:
    """Return the mechanism where nobody names one."""
    return "canonical" if known_domain else "limited-domain"


def spec_of(
    name: str, *, known_domain: bool, delta: Fraction, with_counts: bool = False
) -> MechanismSpec:
    """Return the row of a name, if the domain and the delta allow it: where there are counts, they
    may spend a delta that the mechanism does not need. Raises ParameterError.
    """
    table = specs()
    if name not in table:
        raise ParameterError("mechanism", name, "one of " + ", ".join(table))
    spec = table[name]
    if spec.needs_catalog and not known_domain:
        others = " or ".join(other for other, row in table.items() if not row.needs_catalog)
        limit = (
            f"{others} where no --catalog makes the items public: an item "
            "that one person alone brought in would show that this person is in the data"
        )
        raise ParameterError("mechanism", name, limit)
    if spec.needs_delta and not 0 < delta < 1:
        raise ParameterError("delta", delta, f"above 0 and below 1 for {name}")
    if not spec.needs_delta and delta and not with_counts:
        raise ParameterError("delta", delta, f"0 for {name}, which needs none")
    return spec


def _of_rounds(limited: LimitedDomain, _: int | None) -> str:
    epsilon, delta, spread = limited.epsilon, limited.delta, limited.spread
    bound = limited.max_items_per_unit
    return (
        f"epsilon {number(epsilon)} in each of {limited.k} rounds, threshold delta {number(delta)};"
        f" the bound of {bound} costs {ln(spread) / float(epsilon):,.0f} people of"
        f" {1 + ln(spread / delta) / float(epsilon):,.0f} that the threshold asks for"
    )


def _of_bounded_counts(laplace: LaplaceCounts | LaplaceLimitedDomain, _: int | None) -> str:
    bound = laplace.max_items_per_unit
    factor = bound if one_way(laplace.neighbors) else 2 * bound
    return (
        f"epsilon divided by {factor}: so much can one person change all counts; the bound"
        f" of {bound} makes the noise of a count {factor / float(laplace.epsilon):,.6g} people"
    )
