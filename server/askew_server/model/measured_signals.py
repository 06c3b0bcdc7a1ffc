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
from askew.encoder import Buckets, Encoder
from askew.lattice import Lattice
from askew.model_card import Catalog
from askew.privacy import Reach, SignalLoss
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import BucketRule, bucket_rule, labels_of
from askew.retrieval.posterior import Prior
from askew.rule_kind import RuleKind
from askew_server.model.kept_aside import Gains, Groups, KeptAside
from askew_server.model.rule_choice import Choice, point_rule
from askew_server.model.simulated_answers import by_bucket, by_point

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

    prior: its people without those kept aside. seed: of the simulated noise.
    """

    rule: RuleKind
    encoder: Encoder
    buckets: Buckets | None
    catalog: Catalog
    groups: Groups = field(repr=False)
    prior: Prior | None = field(repr=False)
    seed: int

    @classmethod
    def of_choice(
        cls, choice: Choice, encoder: Encoder, catalog: Catalog, groups: Groups, seed: int
    ) -> Signals:
        """The signals of a model that serves by this choice."""
        known = None if groups.prior is None else groups.prior.prior(catalog, groups.held)
        return cls(choice.rule, encoder, choice.buckets, catalog, groups, known, seed)

    @property
    def by_point(self) -> RuleKind | None:
        """The rule that points are answered by, if what they say is looked at."""
        if self.rule.reads == "bucket":
            return RuleKind.POSTERIOR
        return self.rule if self.rule.reads == "point" else None

    def of(self, plain: Fraction) -> list[Terms]:
        """The terms of each mechanism that come nearest to this plain epsilon from below."""
        diameter = self.encoder.reach().diameter
        wanted: list[tuple[MechanismName, Fraction]] = []
        if self.buckets is not None and self.prior is not None:
            wanted.append(("bucket_rr", plain))
        if self.by_point is not None:
            wanted.append(("geo_laplace", plain / diameter))
        found = [
            (name, max((e for e in EPSILONS if e <= most), default=None)) for name, most in wanted
        ]
        return [Terms(name, epsilon) for name, epsilon in found if epsilon is not None]

    def rows(self, trained: Fraction) -> list[Terms]:
        """Those to compare, by plain epsilon. trained: the epsilon that the model is for."""
        reach = self.encoder.reach()
        plain = [*map(Fraction, PLAIN), trained, trained * reach.diameter]
        found = {terms for each in plain for terms in self.of(each)}
        found -= {t for t in found if t.mechanism == "bucket_rr" and t.epsilon > max(8, trained)}
        return sorted(found, key=lambda t: (t.loss(reach).epsilon, t.mechanism))

    def gains(self, people: KeptAside, terms: Terms, sizes: Sequence[int]) -> Mapping[int, Gains]:
        """What each of these people has by one signal, for each k, (n,)."""
        if terms.mechanism == "bucket_rr":
            return self._by_bucket(people, terms.epsilon, sizes)
        assert self.by_point is not None
        rule = point_rule(
            self.by_point, self.encoder, self.catalog, self.prior, held=self.groups.held
        )
        second = people is self.groups.testing
        rng = np.random.default_rng([self.seed, 11, second, *terms.epsilon.as_integer_ratio()])
        lattice = Lattice.for_epsilon(terms.epsilon)
        return by_point(people, rule, self.prior, lattice, sizes, rng)

    def _by_bucket(
        self, people: KeptAside, epsilon: Fraction, sizes: Sequence[int]
    ) -> Mapping[int, Gains]:
        assert self.buckets is not None
        response = RandomizedResponse.for_epsilon(len(self.buckets), epsilon)
        return by_bucket(
            people, self._bucket_rule(response, max(sizes)), self.buckets, response, sizes
        )

    def _bucket_rule(self, response: RandomizedResponse, most: int) -> BucketRule:
        """As it serves, at odds that it has slates for."""
        assert self.buckets is not None
        assert self.prior is not None
        assert self.groups.prior is not None
        label = labels_of(self.buckets, self.groups.prior.tastes.astype(np.float64))
        shared = self.catalog.shared_slate[:most]
        return bucket_rule(self.prior, label, len(self.buckets), shared, [response.odds])
