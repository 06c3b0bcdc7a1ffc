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

from dataclasses import dataclass, replace
from fractions import Fraction

from askew.dp.privacy import NeighboringRelation, positive_rational
from askew.dp.release import MAX_ITEMS
from askew.errors import ParameterError
from askew.mechanisms import LaplaceCounts, LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, LEAST_DEPTH, Kind, Selector
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.tally import ln, one_way
from askew_server.release.tables import number

MIN_KBAR = LEAST_DEPTH
USUAL_BOUND = 100


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
        """Return how many items a limited domain looks at, the largest of k, the bound and
        MIN_KBAR: deeper is never worse above the bound.
        """
        return max(self.k, self.max_items_per_unit or 0, MIN_KBAR)

    def build(self, kind: Kind) -> Selector:
        """Return the mechanism of this kind that costs epsilon and delta in all. Raises
        ParameterError for numbers that it does not take.
        """
        bound = self.max_items_per_unit
        return kind.build(self.k, self.epsilon, self.delta, self.neighbors, bound)


def parts_of(asked: MechanismRequest, kind: Kind) -> tuple[MechanismRequest, NoisyCounts | None]:
    """Return the request that the mechanism gets, with its part of epsilon and delta and no share,
    and the noise of the counts; None for the noise where no counts are asked for.
    """
    epsilon, delta, noise = kind.split(**vars(asked))
    return replace(asked, epsilon=epsilon, delta=delta, share=Fraction(0)), noise


def default_bound(name: str) -> int | None:
    """Return the contribution bound of a mechanism of this name where nobody states one: 100 where
    it needs one, else None, also for a name that there is not.
    """
    kind = KINDS.get(name)
    return USUAL_BOUND if kind and kind.needs_bound else None


def default_mechanism(*, known_domain: bool) -> str:
    """Return the name of the mechanism where nobody states one: "canonical" with a public catalog,
    "limited-domain" without.
    """
    return "canonical" if known_domain else "limited-domain"


def kind_of(name: str, *, known_domain: bool, delta: Fraction, with_counts: bool = False) -> Kind:
    """Return the kind of mechanism of a name. Raises ParameterError for an unknown name, for one
    that needs a catalog without a known domain, and for a delta missing or not needed, unless there
    are counts, which may spend it.
    """
    if name not in KINDS:
        raise ParameterError("mechanism", name, "one of " + ", ".join(KINDS))
    kind = KINDS[name]
    if kind.needs_catalog and not known_domain:
        others = " or ".join(other for other, row in KINDS.items() if not row.needs_catalog)
        limit = (
            f"{others} where no --catalog makes the items public: an item "
            "that one person alone brought in would show that this person is in the data"
        )
        raise ParameterError("mechanism", name, limit)
    if kind.needs_delta and not 0 < delta < 1:
        raise ParameterError("delta", delta, f"above 0 and below 1 for {name}")
    if not kind.needs_delta and delta and not with_counts:
        raise ParameterError("delta", delta, f"0 for {name}, which needs none")
    return kind


def noise_in_words(selector: Selector, bound: int | None) -> str:
    """Return a phrase that says what the noise of a mechanism is scaled by, and what a contribution
    bound costs.
    """
    if isinstance(selector, LimitedDomain):
        epsilon, delta, spread = selector.epsilon, selector.delta, selector.spread
        return (
            f"epsilon {number(epsilon)} in each of {selector.k} rounds, threshold delta"
            f" {number(delta)}; the bound of {bound} costs {ln(spread) / float(epsilon):,.0f}"
            f" people of {1 + ln(spread / delta) / float(epsilon):,.0f} that the threshold asks for"
        )
    if isinstance(selector, LaplaceCounts | LaplaceLimitedDomain):
        most = selector.max_items_per_unit
        factor = most if one_way(selector.neighbors) else 2 * most
        return (
            f"epsilon divided by {factor}: so much can one person change all counts; the bound"
            f" of {most} makes the noise of a count {factor / float(selector.epsilon):,.6g} people"
        )
    why = "for somebody who changes every count by 1, so it needs no bound"
    return why if bound is None else f"{why}; that of {bound} only loses events"
