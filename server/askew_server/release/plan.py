"""What a release will do and spend, in public parameters: complete before any data are read.

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
from functools import cached_property
from typing import Any

from askew.dp.analyst import PayWhatYouGet, TopKQuestion
from askew.dp.composition import delta_of
from askew.dp.privacy import (
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
    positive_rational,
)
from askew.dp.release import MAX_ITEMS, Release, plain_name
from askew.errors import ParameterError
from askew.mechanisms import LaplaceCounts, LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.kinds import KINDS, LEAST_DEPTH, Kind
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.shortfall import Selector
from askew.mechanisms.tally import ln, one_way
from askew.noise.randomness import RandomBits
from askew_server.counting import CountingTask, EventSource, TopCounts
from askew_server.counting.contract import digest_of, named_in_full, place_of
from askew_server.ledger import ChargeRequest
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
        """Return how many items a limited domain looks at: the largest of k, the bound and 1000,
        since deeper is never worse above the bound.
        """
        return max(self.k, self.max_items_per_unit or 0, MIN_KBAR)

    def build(self, kind: Kind) -> Selector:
        """Return the mechanism of this kind for all of epsilon, its share for counts not taken off,
        and for delta only where the kind needs one; a limited domain gets rounds by `rounds_of`.
        Raises ParameterError for numbers that the mechanism does not take.
        """
        bound = self.max_items_per_unit
        return kind.build(self.k, self.epsilon, self.delta, self.neighbors, bound)


def parts_of(asked: MechanismRequest, kind: Kind) -> tuple[MechanismRequest, NoisyCounts | None]:
    """Return the request that the mechanism gets, with its part of epsilon and delta and no share,
    and the noise of the counts; None for the noise where no counts are asked for.
    """
    epsilon, delta, noise = kind.split(**vars(asked))
    return replace(asked, epsilon=epsilon, delta=delta, share=Fraction(0)), noise


def with_default_bound(mechanism: str, asked: MechanismRequest) -> MechanismRequest:
    """Return the request with a contribution bound of 100, where it has none and the mechanism of
    this name needs one; else as it is, also for a name that there is not.
    """
    kind = KINDS.get(mechanism)
    if asked.max_items_per_unit is not None or kind is None or not kind.needs_bound:
        return asked
    return replace(asked, max_items_per_unit=USUAL_BOUND)


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
    """Return what scales the noise, and what a bound costs. Laplace kinds, by their own bound and
    not `bound`: "epsilon divided by 100: so much can one person change all counts; the bound of 100
    makes the noise of a count 100 people" (twice 100, with replace). Limited domain: "epsilon 0.1
    in each of 10 rounds, threshold delta 5e-09; the bound of 100 costs 40 people of 208 that the
    threshold asks for". Others: "for somebody who changes every count by 1, so it needs no bound",
    with a bound and "; that of 100 only loses events".
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


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """One release: the data set, the mechanism and its loss. Everything in it is public.

    asked: epsilon and delta are totals for the whole list. expected: what an operator expected of
    the counts, and from where. Privacy unit: one person's whole history. Raises ParameterError
    where the mechanism, the domain and the numbers do not fit together.
    """

    dataset: str
    version: str
    source: EventSource
    mechanism: str
    asked: MechanismRequest
    expected: str | None = None

    def __post_init__(self) -> None:
        if self.kind.needs_bound and self.asked.max_items_per_unit is None:
            raise ParameterError("max_items_per_unit", None, f"stated for {self.mechanism}")
        _ = self.selector

    @cached_property
    def kind(self) -> Kind:
        """Return the kind of the mechanism of this name. Raises ParameterError where the domain and
        the delta do not allow it.
        """
        return kind_of(
            self.mechanism,
            known_domain=self.source.catalog is not None,
            delta=self.asked.delta,
            with_counts=bool(self.asked.share),
        )

    @cached_property
    def selector(self) -> Selector:
        """Return the mechanism itself, built for its part of epsilon and delta."""
        return parts_of(self.asked, self.kind)[0].build(self.kind)

    @cached_property
    def noise(self) -> NoisyCounts | None:
        """Return the noise of the counts beside the items; None where no counts are asked for."""
        return parts_of(self.asked, self.kind)[1]

    @property
    def least_items(self) -> int:
        """Return how many items a catalog must have: k, or 1 for a mechanism that may list
        fewer.
        """
        return self.asked.k if self.kind.needs_catalog else 1

    @property
    def task(self) -> CountingTask:
        """Return what is counted, a `CountingTask`: every item of the catalog, with limit None; or
        without a catalog the top kbar + 1, at least 1001.
        """
        limit = None if self.source.catalog else self.asked.kbar + 1
        bound = self.asked.max_items_per_unit
        return CountingTask(**vars(self.source), max_items_per_unit=bound, limit=limit)

    @property
    def loss(self) -> ApproximateDP:
        """Return the loss of this release: the epsilon that was asked for, and the part of its
        delta that the mechanism and the counts need.
        """
        selected, noise = parts_of(self.asked, self.kind)
        delta = selected.delta + (delta_of(noise.privacy_loss()) if noise else 0)
        return ApproximateDP(Fraction(self.asked.epsilon), Fraction(delta), self.asked.neighbors)

    def charge_request(
        self, *, ranged: bool = False, as_of: str | None = None, day: str | None = None
    ) -> ChargeRequest:
        """Return the spend, whose digest and key, its hexadecimal digits, are of what the operator
        says and of nothing that the events hold.

        ranged: charge bounded-range rounds, as for a data set that composes by zCDP, where the
        mechanism has them, without counts, and they add up to epsilon at most; else a PureDP loss,
        or with a delta ApproximateDP. as_of: the operator's word for the state of the events. day:
        today.
        """
        named = {"dataset": self.dataset, "version": self.version, "mechanism": self.mechanism}
        digest = digest_of(**named, **vars(self.asked), **named_in_full(self.source), as_of=as_of)
        added = self.loss if self.loss.delta else PureDP(self.loss.epsilon, self.loss.neighbors)
        return ChargeRequest(
            dataset=self.dataset,
            version=self.version,
            key=digest.hex(),
            digest=digest,
            loss=(self._ranged_loss if ranged else None) or added,
            place=place_of(self.source),
            day=day,
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Return the public release of the items that the mechanism draws from private counts, with
        noisy counts if they are asked for.
        """
        items, stopped, exact = draw(self.selector, counts, bits)
        noisy: dict[str, Any] = {}
        parameters = _parameters_of(self.selector)
        if self.expected is not None:  # no part of the request, since no answer depends on it
            parameters["expected"] = self.expected
        if self.noise is not None:
            law = "geometric" if isinstance(self.noise.privacy_loss(), PureDP) else "Gaussian"
            parameters["counts"] = f"{self.asked.share} of epsilon, {law} noise"
            noisy = {
                "counts": self.noise.perturb(exact, bits=bits),
                "each_within": self.noise.error_bound(),
                "all_within": self.noise.error_bound(of=self.asked.k),
            }
        return Release(
            charge=charge,
            dataset=self.dataset,
            mechanism=self.mechanism,
            k=self.asked.k,
            items=items,
            ranked=self.kind.ranked,
            stopped=stopped,
            loss=self.loss,
            max_items_per_unit=self.asked.max_items_per_unit,
            parameters=parameters,
            **noisy,
        )

    @property
    def _ranged_loss(self) -> BoundedRange | None:
        # None where the rounds add up to more than the epsilon asked for, which may be charged.
        if not self.kind.is_ranged or self.noise is not None:
            return None
        loss: BoundedRange = self.kind.mechanism.ranged_loss(self.selector)
        return loss if loss.epsilon * loss.rounds <= self.asked.epsilon else None


@dataclass(frozen=True)
class AnalystPlan:
    """k items at most, best first, at the terms' epsilon per output and delta per question.

    offered: which events are counted, with which contribution bound. Privacy unit: one person's
    whole history, ADD_OR_REMOVE_ONE. Guarantee: `LimitedDomain` for one question,
    `PayWhatYouGet.total_loss` for everything that the terms allow.
    """

    question: TopKQuestion
    version: str
    terms: PayWhatYouGet
    offered: CountingTask

    @property
    def mechanism(self) -> LimitedDomain:
        """Return the mechanism of k items at the terms' epsilon and delta; its kbar is the largest
        of k, the contribution bound (100 where none is offered) and 1000.
        """
        bound = self.offered.max_items_per_unit or USUAL_BOUND
        return LimitedDomain(
            k=self.question.k,
            kbar=max(self.question.k, bound, MIN_KBAR),
            epsilon=self.terms.epsilon,
            delta=self.terms.delta,
            neighbors=self.terms.neighbors,
            max_items_per_unit=bound,
        )

    @property
    def task(self) -> CountingTask:
        """Return what is counted: the top kbar + 1 items, at least 1001, within the mechanism's
        bound.
        """
        bound, kbar = self.mechanism.max_items_per_unit, self.mechanism.kbar
        return replace(self.offered, max_items_per_unit=bound, limit=kbar + 1)

    def charge_request(self, principal: str) -> ChargeRequest:
        """Return the spend of an analyst, by the key of the question: k outputs reserved."""
        return ChargeRequest(
            dataset=self.question.dataset,
            version=self.version,
            key=self.question.key,
            digest=digest_of(k=self.question.k, **vars(self.offered)),
            loss=self.terms.answer(self.question.k),
            principal=principal,
            place=place_of(self.offered),
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Return the Release of the items that the limited domain draws from private counts:
        `ranked`, `stopped` where a threshold ended it, `counts` None, at the loss of the k outputs
        reserved, which does not depend on how many came back.
        """
        items, stopped, _ = draw(self.mechanism, counts, bits)
        return Release(
            charge=charge,
            dataset=self.question.dataset,
            mechanism="limited-domain",
            k=self.question.k,
            items=items,
            ranked=True,
            stopped=stopped,
            loss=self.mechanism.privacy_loss(),
            max_items_per_unit=self.mechanism.max_items_per_unit,
            parameters=_parameters_of(self.mechanism),
        )


def draw(
    selector: Selector, counts: TopCounts, bits: RandomBits
) -> tuple[tuple[str, ...], bool, list[int]]:
    """Return the names of the items that a mechanism selects, whether a threshold ended the list,
    and the true counts of these items, in the same order, which are private.

    Counts arrive by falling count. They are put in the order of the items' names first: a set is
    listed in the order of its places, and places by count would tell the true ranking. Ties then
    fall to the lower name, which is how the engine ordered them.
    """
    ordered = sorted(zip(counts.items, counts.counts, strict=True), key=_by_name)
    # Nobody at all must look like one person more: a zero in a limited domain is never selected.
    values = [count for _, count in ordered] or [0]
    chosen = selector.select(values, bits=bits)
    names = tuple(plain_name(ordered[place][0]) for place in chosen)
    exact = [values[place] for place in chosen]
    return names, bool(getattr(chosen, "stopped", False)), exact


def _parameters_of(selector: Selector) -> dict[str, str]:
    # Every public parameter that has a value, as text, but for the neighboring relation.
    named = {name: value for name, value in vars(selector).items() if name != "neighbors"}
    return {name: str(value) for name, value in named.items() if value is not None}


def _by_name(row: tuple[str, int]) -> bytes:
    return row[0].encode()
