"""Which rule serves: one that gained, for people who chose nothing, over the slate of no signal.

People held out play devices (`model.held_out`): profiles of most of their ratings, simulated noise,
one answer by each rule that the model's data allow, and NDCG@10 of what they liked beside their
profile. Of the rules, and of the numbers of buckets, the first group chooses the best; it serves if
the second group's paired gain is above twice its standard error (more by Student's law, where
people are few), and else the same slate for everybody does. So a rule that is worth nothing is
taken with the chance that a normal number is above 2, 2.3 %, however many were tried. An operator's
own choice is not tested.

A bucket's epsilon is between any two people and a point's per unit distance: at the same number, a
bucket's is the stronger promise. `model.utility_table` compares them at equal plain epsilon.

Signals of a model, on people held out: which there are to compare, and what each gives.

The mechanisms have epsilons of their own: bucket_rr's is between any two people (plain), and
geo_laplace's per unit distance, so that its plain epsilon is that times the diameter. Devices take
only those of a short public list, so the rows are of that list: for each plain epsilon of `PLAIN`
the largest of each mechanism that does not exceed it, and what the model was trained for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, stdtrit

from askew.catalog.catalog import Catalog
from askew.dp.privacy import Reach, SignalLoss
from askew.errors import DataError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.utility_table import SERVED, MechanismName, RuleKind
from askew.retrieval.buckets import BucketRule
from askew.retrieval.posterior import PosteriorRule, Prior
from askew.retrieval.rules import RetrievalRule, rule_of
from askew.spaces.buckets import Buckets, SlateCodebook
from askew.spaces.encoder import Encoder
from askew_server.taste.measures import Estimate, Met, mean_of
from askew_server.taste.model.held_out import (
    LIMIT,
    Figure,
    Groups,
    HeldOutGroup,
    by_bucket,
    by_point,
    expected,
)
from askew_server.taste.prior.people import PriorPeople, bucket_rule_of, names_of
from askew_server.taste.training.buckets import (
    SIZES,
    codebook_of,
    design_buckets,
    design_slates,
    enough_of,
)

_STANDARD_ERRORS = 2


@dataclass(frozen=True, eq=False)
class RuleChoice:
    """The rule that serves, the buckets where there is a prior to make them of, and the figures of
    every rule for the people who chose nothing.
    """

    rule: RuleKind
    buckets: Buckets | SlateCodebook | None
    figures: Mapping[str, Figure]

    @property
    def size(self) -> int:
        """How many buckets there are."""
        return 0 if self.buckets is None else len(self.buckets)


@dataclass(frozen=True, eq=False)
class RuleQuestion:
    """What rules are compared for. candidates: those that may be named. has_payloads: whether
    devices hold the vectors of the slates that they name.
    """

    epsilon: Fraction
    k: int
    candidates: tuple[RuleKind, ...]
    seed: int
    has_payloads: bool = False


def is_clear(gain: Estimate, n: int) -> bool:
    """Whether the gain of n people is above what chance makes of nothing, by Student's law: twice
    its standard error of many, 2.1 times of forty; of one person nothing is clear.
    """
    if n < 2:
        return False
    needed = stdtrit(n - 1, ndtr(_STANDARD_ERRORS)) * math.sqrt(n / (n - 1))
    return bool(gain.mean > needed * gain.error)


def choose(
    question: RuleQuestion, encoder: Encoder, catalog: Catalog, groups: Groups
) -> RuleChoice:
    """Compare the rules. Deterministic for the question's seed.

    Raises DataError where buckets are wanted and the prior has too few people for any.
    """
    played = _ComparedRules.of(question, encoder, catalog, groups)
    wanted = question.has_payloads or question.candidates == (RuleKind.BUCKETS,)
    if wanted and played.design is None:
        raise DataError(
            "buckets, and slates of items with payloads, need a prior of two people or more"
        )
    first, second = groups.choosing, groups.testing
    nothing = second.served(catalog.shared_slate[: question.k])
    figures: dict[str, Figure] = {}
    gains: dict[RuleKind, Estimate] = {}
    chosen_by: dict[RuleKind, float] = {}
    for kind in played.kinds:
        got = played.answered(kind, second)
        figures[kind] = Figure.of(got, nothing)
        gains[kind] = mean_of(got.ndcg - nothing.ndcg)
        chosen_by[kind] = played.answered(kind, first).ndcg.mean() if len(first) else 0.0
    buckets = None if played.design is None else played.design.buckets
    return RuleChoice(_best(question, chosen_by, gains, len(second)), buckets, figures)


def _best(
    question: RuleQuestion,
    chosen_by: Mapping[RuleKind, float],
    gains: Mapping[RuleKind, Estimate],
    n_people: int,
) -> RuleKind:
    """Of equals the simplest; the one rule that was asked for is not asked whether it gains."""
    known = [kind for kind in question.candidates if kind in chosen_by]
    best = max(known, key=lambda kind: chosen_by[kind])
    tested = RuleKind.NONE in known
    return best if not tested or is_clear(gains[best], n_people) else RuleKind.NONE


@dataclass(frozen=True, eq=False)
class Design:
    """Buckets with a slate of items for each."""

    buckets: Buckets | SlateCodebook
    slates: list[list[int]]
    response: RandomizedResponse
    catalog: Catalog

    def met(self, people: HeldOutGroup) -> Met:
        """What each has by one noisy bucket in expectation."""
        label = names_of(self.buckets, people.tastes, people.profiles.seen, self.catalog)
        return expected(people, self.slates, label, self.response)


@dataclass(frozen=True, eq=False)
class _ComparedRules:
    """The rules at the epsilon and k that they are compared for."""

    question: RuleQuestion
    encoder: Encoder
    catalog: Catalog
    groups: Groups
    design: Design | None

    @classmethod
    def of(
        cls, question: RuleQuestion, encoder: Encoder, catalog: Catalog, groups: Groups
    ) -> _ComparedRules:
        """With the buckets that serve the first group best in expectation, if there is a prior."""
        people, prior, first = groups.people, groups.prior, groups.choosing
        if people is None or prior is None:
            return cls(question, encoder, catalog, groups, None)
        made = designs(question, people, prior, catalog)
        best = max(made, key=lambda each: float(each.met(first).ndcg.sum()), default=None)
        return cls(question, encoder, catalog, groups, best)

    @property
    def kinds(self) -> list[RuleKind]:
        """The rules that the model's data allow, the simplest first."""
        missing = {RuleKind.BUCKETS} if self.design is None else set()
        kinds = [kind for kind in SERVED if self.groups.prior is not None or not kind.needs_prior]
        return [kind for kind in kinds if kind not in missing]

    def answered(self, kind: RuleKind, people: HeldOutGroup) -> Met:
        """What a rule gives each."""
        k = self.question.k
        if kind.reads == "bucket" and self.design is not None:
            return self.design.met(people)
        if kind.reads == "nothing":
            return people.served(self.catalog.shared_slate[:k])
        prior, held = self.groups.prior, self.groups.held
        rule = point_rule(kind, self.encoder, self.catalog, prior, held=held)
        second = people is self.groups.testing
        rng = np.random.default_rng([self.question.seed, 10, second])
        lattice = LatticeLaplace.for_epsilon(self.question.epsilon)
        return by_point(people, rule, prior, lattice, [k], rng=rng)[k]


def designs(
    question: RuleQuestion,
    people: PriorPeople,
    prior: Prior,
    catalog: Catalog,
    sizes: Sequence[int] = SIZES,
) -> Iterator[Design]:
    """Buckets of each of these numbers, for the people of a prior, or for enough of them."""
    some, k, seed = enough_of(len(prior)), question.k, question.seed
    tastes, scores = people.tastes[some].astype(np.float64), np.take(prior.scores, some, axis=1)
    for size in (size for size in sizes if size <= len(some)):
        response = RandomizedResponse.for_epsilon(size, question.epsilon)
        if question.has_payloads:
            slates = prior.items[design_slates(tastes, scores, response, k, seed=seed).slates]
            yield Design(codebook_of(catalog, slates), slates.tolist(), response, catalog)
        else:
            made = design_buckets(tastes, scores, response, k, seed=seed)
            yield Design(made.buckets, prior.items[made.slates].tolist(), response, catalog)


def buckets_of(
    question: RuleQuestion, people: PriorPeople, prior: Prior, catalog: Catalog, size: int
) -> Buckets | SlateCodebook | None:
    """So many buckets for the people of a prior; None for none, or where they are fewer."""
    made = next(designs(question, people, prior, catalog, [size] if size else []), None)
    return None if made is None else made.buckets


def point_rule(
    kind: RuleKind, encoder: Encoder, catalog: Catalog, prior: Prior | None, *, held: int
) -> RetrievalRule:
    """The rule as it serves points, but that a prior is weighed by fewer people."""
    if kind.needs_prior and prior is not None:
        return PosteriorRule(prior, catalog.shared_slate, LIMIT)
    return rule_of(kind, encoder, catalog, held=held)


EPSILONS = tuple(Fraction(2) ** power for power in range(-3, 5))  # devices take no others
PLAIN = (1, 2, 4, 8)


@dataclass(frozen=True)
class SignalTerms:
    """What a signal is sent by. epsilon: the mechanism's own."""

    mechanism: MechanismName
    epsilon: Fraction

    def loss(self, reach: Reach) -> SignalLoss:
        """What it costs in a space of this reach, whatever the number of buckets."""
        if self.mechanism == "bucket_rr":
            return RandomizedResponse.for_epsilon(2, self.epsilon).privacy_loss(reach)
        return LatticeLaplace.for_epsilon(self.epsilon).privacy_loss(reach)


@dataclass(frozen=True, eq=False)
class ServedSignals:
    """The signals that a server with this rule answers, and how it answers them.

    by_bucket: of its prior without those held out. question: what the model is for.
    """

    rule: RuleKind
    encoder: Encoder
    catalog: Catalog
    groups: Groups = field(repr=False)
    buckets: Buckets | SlateCodebook | None = field(repr=False)
    by_bucket: BucketRule | None = field(repr=False)
    question: RuleQuestion

    @classmethod
    def of_choice(
        cls,
        choice: RuleChoice,
        question: RuleQuestion,
        encoder: Encoder,
        catalog: Catalog,
        groups: Groups,
    ) -> ServedSignals:
        """The signals of a model that serves by this choice."""
        people, prior, buckets, rule = groups.people, groups.prior, choice.buckets, None
        if people is not None and prior is not None and buckets is not None:
            people, shared = people.naming(buckets, catalog), catalog.shared_slate
            rule = bucket_rule_of(people, prior, buckets, question.epsilon, shared)
        return cls(choice.rule, encoder, catalog, groups, buckets, rule, question)

    @property
    def by_point(self) -> RuleKind | None:
        """The rule that points are answered by, if what they say is looked at."""
        if self.rule.reads == "bucket":
            return RuleKind.POSTERIOR
        return self.rule if self.rule.reads == "point" else None

    def of(self, plain: Fraction) -> list[SignalTerms]:
        """The terms of each mechanism that come nearest to this plain epsilon from below."""
        most: dict[MechanismName, Fraction] = {}
        if self.by_bucket is not None:
            most["bucket_rr"] = plain
        if self.by_point is not None:
            most["geo_laplace"] = plain / self.encoder.reach().diameter
        return [
            SignalTerms(name, max(each for each in EPSILONS if each <= limit))
            for name, limit in most.items()
            if limit >= EPSILONS[0]
        ]

    def rows(self) -> list[SignalTerms]:
        """Those to compare, by plain epsilon."""
        reach, trained = self.encoder.reach(), self.question.epsilon
        found = {terms for plain in (*PLAIN, trained) for terms in self.of(Fraction(plain))}
        by_distance = self.of(trained * reach.diameter)
        found |= {terms for terms in by_distance if terms.mechanism == "geo_laplace"}
        return sorted(found, key=lambda terms: (terms.loss(reach).epsilon, terms.mechanism))

    def met(
        self, people: HeldOutGroup, terms: SignalTerms, sizes: Sequence[int]
    ) -> Mapping[int, Met]:
        """What each of these people has by one signal, for each k."""
        if terms.mechanism == "bucket_rr" and self.by_bucket is not None and self.buckets:
            response = RandomizedResponse.for_epsilon(len(self.buckets), terms.epsilon)
            rule, buckets = self.by_bucket, self.buckets
            return by_bucket(people, rule, buckets, response, sizes, self.catalog)
        if terms.mechanism == "geo_laplace" and self.by_point is not None:
            prior, held = self.groups.prior, self.groups.held
            lattice = LatticeLaplace.for_epsilon(terms.epsilon)
            of_points = point_rule(self.by_point, self.encoder, self.catalog, prior, held=held)
            which = [people is self.groups.testing, *terms.epsilon.as_integer_ratio()]
            rng = np.random.default_rng([self.question.seed, 11, *which])
            return by_point(people, of_points, prior, lattice, sizes, rng=rng)
        shared = self.catalog.shared_slate  # for what nobody looks at
        return {k: people.served(shared[:k]) for k in sizes}
