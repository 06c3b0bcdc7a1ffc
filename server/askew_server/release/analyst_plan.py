"""One question of an analyst, in public parameters: a limited domain, paid by its length."""

from __future__ import annotations

from dataclasses import dataclass, replace

from askew.dp.analyst import TopKQuestion
from askew.dp.odometer import PayWhatYouGet
from askew.dp.release import Release
from askew.mechanisms import LimitedDomain
from askew.noise.randomness import RandomBits
from askew_server.counting import ContributionBound, CountingTask, TopCounts
from askew_server.ledger import ChargeRequest, EventMark
from askew_server.release.plan import EventSource, digest_of, draw, parameters_of
from askew_server.release.selectors import MIN_KBAR


@dataclass(frozen=True)
class Offer:
    """A data set that analysts may ask about: where its events are, and the contribution bound.

    A catalog, if it has one, is not used: an analyst's answers are always of an unknown domain.
    """

    source: EventSource
    bound: ContributionBound

    @property
    def events(self) -> EventMark:
        """Where the events are. Not their state: an analyst would learn from the refusal of a key
        that they have changed.
        """
        return EventMark(bytes(32), self.source.place)


@dataclass(frozen=True)
class AnalystPlan:
    """k items at most, best first, at the terms' epsilon per outcome and delta per question.

    Privacy unit: one person's whole history, ADD_OR_REMOVE_ONE. Guarantee: `LimitedDomain` for one
    question, `PayWhatYouGet.total_loss` for everything that the terms allow.
    """

    question: TopKQuestion
    version: str
    terms: PayWhatYouGet
    offer: Offer

    @property
    def mechanism(self) -> LimitedDomain:
        """The mechanism."""
        bound = self.offer.bound.max_items_per_unit
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
        """What is counted."""
        unknown_domain = replace(self.offer.source, catalog=None)
        return unknown_domain.task(self.offer.bound, self.mechanism.kbar)

    def charge_request(self, principal: str) -> ChargeRequest:
        """The spend: k outcomes reserved, until the answer is stored."""
        return ChargeRequest(
            dataset=self.question.dataset,
            version=self.version,
            key=self.question.key,
            digest=digest_of(
                self.offer.source,
                k=self.question.k,
                max_items_per_unit=self.offer.bound.max_items_per_unit,
            ),
            loss=self.terms.answer(self.question.k),
            principal=principal,
            events=self.offer.events,
        )

    def select(self, counts: TopCounts, *, charge: int, bits: RandomBits) -> Release:
        """Run the mechanism on private counts; what comes back is public.

        The loss that it names is that of the k outcomes reserved: a bound that does not depend on
        how many came back.
        """
        items, stopped = draw(self.mechanism, counts, bits)
        return Release(
            charge=charge,
            dataset=self.question.dataset,
            mechanism="limited-domain",
            k=self.question.k,
            items=items,
            ranked=True,
            stopped=stopped,
            loss=self.mechanism.privacy_loss(),
            max_items_per_unit=self.offer.bound.max_items_per_unit,
            parameters=parameters_of(self.mechanism),
        )
