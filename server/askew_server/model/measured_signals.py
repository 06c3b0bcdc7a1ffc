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
from numpy.typing import NDArray

from askew.break_even import MechanismName
from askew.encoder import Buckets, Encoder
from askew.lattice import Lattice
from askew.model_card import Catalog
from askew.privacy import Reach, SignalLoss
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import bucket_rule, labels_of
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
class _Bucketed:
    """Buckets, and the people of a prior in them: label (m,)."""

    buckets: Buckets
    prior: Prior = field(repr=False)
    label: NDArray[np.int64] = field(repr=False)

    def gains(
        self, people: KeptAside, epsilon: Fraction, sizes: Sequence[int], shared: Sequence[int]
    ) -> Mapping[int, Gains]:
        """As the server answers, at odds that it has slates for."""
        response = RandomizedResponse.for_epsilon(len(self.buckets), epsilon)
        rule = bucket_rule(
            self.prior, self.label, len(self.buckets), shared[: max(sizes)], [response.odds]
        )
        return by_bucket(people, rule, self.buckets, response, sizes)


@dataclass(frozen=True, eq=False)
class Signals:
    """The signals that a server with this rule answers, and how it answers them.

    prior: its people without those kept aside. seed: of the simulated noise.
    """

    rule: RuleKind
    encoder: Encoder
    catalog: Catalog
    groups: Groups = field(repr=False)
    prior: Prior | None = field(repr=False)
    bucketed: _Bucketed | None = field(repr=False)
    seed: int

    @classmethod
    def of_choice(
        cls, choice: Choice, encoder: Encoder, catalog: Catalog, groups: Groups, seed: int
    ) -> Signals:
        """The signals of a model that serves by this choice."""
        people = groups.prior
        if people is None:
            return cls(choice.rule, encoder, catalog, groups, None, None, seed)
        prior, bucketed = people.prior(catalog, groups.held), None
        if choice.buckets is not None:
            label = labels_of(choice.buckets, people.tastes.astype(np.float64))
            bucketed = _Bucketed(choice.buckets, prior, label)
        return cls(choice.rule, encoder, catalog, groups, prior, bucketed, seed)

    @property
    def by_point(self) -> RuleKind | None:
        """The rule that points are answered by, if what they say is looked at."""
        if self.rule.reads == "bucket":
            return RuleKind.POSTERIOR
        return self.rule if self.rule.reads == "point" else None

    def of(self, plain: Fraction) -> list[Terms]:
        """The terms of each mechanism that come nearest to this plain epsilon from below."""
        most: dict[MechanismName, Fraction] = {}
        if self.bucketed is not None:
            most["bucket_rr"] = plain
        if self.by_point is not None:
            most["geo_laplace"] = plain / self.encoder.reach().diameter
        return [
            Terms(name, max(each for each in EPSILONS if each <= limit))
            for name, limit in most.items()
            if limit >= EPSILONS[0]
        ]

    def rows(self, trained: Fraction) -> list[Terms]:
        """Those to compare, by plain epsilon. trained: the epsilon that the model is for."""
        reach = self.encoder.reach()
        found = {terms for plain in (*PLAIN, trained) for terms in self.of(Fraction(plain))}
        by_distance = self.of(trained * reach.diameter)
        found |= {terms for terms in by_distance if terms.mechanism == "geo_laplace"}
        return sorted(found, key=lambda terms: (terms.loss(reach).epsilon, terms.mechanism))

    def gains(self, people: KeptAside, terms: Terms, sizes: Sequence[int]) -> Mapping[int, Gains]:
        """What each of these people has by one signal, for each k, (n,)."""
        shared = self.catalog.shared_slate
        if terms.mechanism == "bucket_rr" and self.bucketed is not None:
            return self.bucketed.gains(people, terms.epsilon, sizes, shared)
        if terms.mechanism == "geo_laplace" and self.by_point is not None:
            held, second = self.groups.held, people is self.groups.testing
            rule = point_rule(self.by_point, self.encoder, self.catalog, self.prior, held=held)
            rng = np.random.default_rng([self.seed, 11, second, *terms.epsilon.as_integer_ratio()])
            lattice = Lattice.for_epsilon(terms.epsilon)
            return by_point(people, rule, self.prior, lattice, sizes, rng=rng)
        return {k: people.served(shared[:k]) for k in sizes}  # what nobody looks at
