"""Signals of a model, on people kept aside: which there are to compare, and what each gives.

The mechanisms have epsilons of their own: bucket_rr's is between any two people (plain), and
geo_laplace's per unit distance, so that its plain epsilon is that times the diameter. Devices take
only those of a short public list, so the rows are of that list: for each plain epsilon of `PLAIN`
the largest of each mechanism that does not exceed it, and what the model was trained for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from askew.break_even import MechanismName
from askew.encoder import Encoder
from askew.lattice import Lattice
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.privacy import Reach, SignalLoss
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import BucketRule
from askew.rule_kind import RuleKind
from askew.taste_buckets import Buckets
from askew_server.model.kept_aside import Gains, Groups, KeptAside
from askew_server.model.rule_choice import Choice, RuleQuestion, point_rule
from askew_server.model.simulated_answers import by_bucket, by_point
from askew_server.prior.bucket_rule import bucket_rule_of

EPSILONS = tuple(Fraction(2) ** power for power in range(-3, 5))  # devices take no others
PLAIN = (1, 2, 4, 8)


@dataclass(frozen=True)
class Terms:
    """What a signal is sent by. epsilon: the mechanism's own."""

    mechanism: MechanismName
    epsilon: Fraction

    def loss(self, reach: Reach) -> SignalLoss:
        """What it costs in a space of this reach, whatever the number of buckets."""
        if self.mechanism == "bucket_rr":
            return RandomizedResponse.for_epsilon(2, self.epsilon).privacy_loss(reach)
        return Lattice.for_epsilon(self.epsilon).privacy_loss(reach)


@dataclass(frozen=True, eq=False)
class Signals:
    """The signals that a server with this rule answers, and how it answers them.

    by_bucket: of its prior without those kept aside. question: what the model is for.
    """

    rule: RuleKind
    encoder: Encoder
    catalog: Catalog
    groups: Groups = field(repr=False)
    buckets: Buckets | Meanings | None = field(repr=False)
    by_bucket: BucketRule | None = field(repr=False)
    question: RuleQuestion

    @classmethod
    def of_choice(
        cls,
        choice: Choice,
        question: RuleQuestion,
        encoder: Encoder,
        catalog: Catalog,
        groups: Groups,
    ) -> Signals:
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

    def of(self, plain: Fraction) -> list[Terms]:
        """The terms of each mechanism that come nearest to this plain epsilon from below."""
        most: dict[MechanismName, Fraction] = {}
        if self.by_bucket is not None:
            most["bucket_rr"] = plain
        if self.by_point is not None:
            most["geo_laplace"] = plain / self.encoder.reach().diameter
        return [
            Terms(name, max(each for each in EPSILONS if each <= limit))
            for name, limit in most.items()
            if limit >= EPSILONS[0]
        ]

    def rows(self) -> list[Terms]:
        """Those to compare, by plain epsilon."""
        reach, trained = self.encoder.reach(), self.question.epsilon
        found = {terms for plain in (*PLAIN, trained) for terms in self.of(Fraction(plain))}
        by_distance = self.of(trained * reach.diameter)
        found |= {terms for terms in by_distance if terms.mechanism == "geo_laplace"}
        return sorted(found, key=lambda terms: (terms.loss(reach).epsilon, terms.mechanism))

    def gains(self, people: KeptAside, terms: Terms, sizes: Sequence[int]) -> Mapping[int, Gains]:
        """What each of these people has by one signal, for each k, (n,)."""
        if terms.mechanism == "bucket_rr" and self.by_bucket is not None and self.buckets:
            response = RandomizedResponse.for_epsilon(len(self.buckets), terms.epsilon)
            rule, buckets = self.by_bucket, self.buckets
            return by_bucket(people, rule, buckets, response, sizes, self.catalog)
        if terms.mechanism == "geo_laplace" and self.by_point is not None:
            prior, held = self.groups.prior, self.groups.held
            lattice = Lattice.for_epsilon(terms.epsilon)
            of_points = point_rule(self.by_point, self.encoder, self.catalog, prior, held=held)
            which = [people is self.groups.testing, *terms.epsilon.as_integer_ratio()]
            rng = np.random.default_rng([self.question.seed, 11, *which])
            return by_point(people, of_points, prior, lattice, sizes, rng=rng)
        shared = self.catalog.shared_slate  # for what nobody looks at
        return {k: people.served(shared[:k]) for k in sizes}
