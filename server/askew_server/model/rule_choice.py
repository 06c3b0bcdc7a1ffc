"""Which rule serves: one that gained, for people who chose nothing, over the slate of no signal.

Some of the people trained on play devices (`model.kept_aside`): profiles of most of their ratings,
simulated noise, one answer by each rule that the model's data allow, and the score of their pick.
Of the rules, and of the numbers of buckets, the first group chooses the best; it serves if the
second group's paired gain is above twice its standard error, and else the same slate for everybody
does. So a rule that is worth nothing is taken with the chance that a normal number is above 2,
2.3 %, however many were tried. An operator's own choice is not tested.

A bucket's epsilon is between any two people and a point's per unit distance: at the same number, a
bucket's is the stronger promise. `model.break_even` compares them at equal plain epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askew.encoder import Buckets, Encoder
from askew.lattice import Lattice
from askew.model_card import Catalog
from askew.randomized_response import RandomizedResponse
from askew.retrieval import RetrievalRule, rule_of
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import PosteriorRule, Prior
from askew.rule_kind import SERVED, RuleKind
from askew_server.model.kept_aside import Figure, Gains, Groups, KeptAside
from askew_server.model.simulated_answers import LIMIT, by_point, expected
from askew_server.training.buckets import SIZES, BucketDesign, design_buckets
from askew_server.training.quality import Estimate

_STANDARD_ERRORS = 2


@dataclass(frozen=True, eq=False)
class Choice:
    """The rule that serves, the buckets where there is a prior to make them of, and the figures of
    every rule for the people who chose nothing.
    """

    rule: RuleKind
    buckets: Buckets | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True, eq=False)
class RuleQuestion:
    """What rules are compared for. candidates: those that may be named."""

    epsilon: Fraction
    k: int
    candidates: tuple[RuleKind, ...]
    seed: int


def is_clear(gain: Estimate) -> bool:
    """Whether a gain is above what chance makes of nothing."""
    return gain.mean > _STANDARD_ERRORS * gain.error


def choose(question: RuleQuestion, encoder: Encoder, catalog: Catalog, groups: Groups) -> Choice:
    """Compare the rules. Deterministic for the question's seed."""
    known = None if groups.prior is None else groups.prior.prior(catalog, groups.held)
    played = _Played(question, encoder, catalog, groups, known)
    kinds = [kind for kind in SERVED if known is not None or not kind.needs_prior]
    design = played.best_design() if known is not None else None
    figures: dict[str, Figure] = {}
    gains: dict[RuleKind, Estimate] = {}
    chosen_by: dict[RuleKind, float] = {}
    for kind in kinds:
        first, second = (
            played.answered(kind, people, design) for people in (groups.choosing, groups.testing)
        )
        nothing = played.shared(groups.testing)
        chosen_by[kind] = groups.choosing.ratio(first)
        figures[kind] = groups.testing.figure(second, nothing)
        gains[kind] = groups.testing.gain(second, nothing)
    buckets = None if design is None else design.buckets
    return Choice(_best(question, chosen_by, gains), buckets, figures)


def _best(
    question: RuleQuestion, chosen_by: Mapping[RuleKind, float], gains: Mapping[RuleKind, Estimate]
) -> RuleKind:
    """Of equals the simplest; the one rule that was asked for is not asked whether it gains."""
    known = [kind for kind in question.candidates if kind in chosen_by]
    best = max(known, key=lambda kind: chosen_by[kind])
    tested = RuleKind.NONE in known
    return best if not tested or is_clear(gains[best]) else RuleKind.NONE


@dataclass(frozen=True, eq=False)
class _Played:
    """The rules at the epsilon and k that they are compared for."""

    question: RuleQuestion
    encoder: Encoder
    catalog: Catalog
    groups: Groups
    prior: Prior | None

    def shared(self, people: KeptAside) -> Gains:
        """What the zero-information slate gives."""
        return people.served(self.catalog.shared_slate[: self.question.k])

    def answered(self, kind: RuleKind, people: KeptAside, design: BucketDesign | None) -> Gains:
        """What a rule gives."""
        if kind.reads == "nothing":
            return self.shared(people)
        if kind.reads == "bucket" and design is not None:
            return self._by_design(people, design)
        rule = point_rule(kind, self.encoder, self.catalog, self.prior, held=self.groups.held)
        seed = [self.question.seed, 10, people is self.groups.testing]
        lattice, k = Lattice.for_epsilon(self.question.epsilon), self.question.k
        return by_point(people, rule, self.prior, lattice, [k], np.random.default_rng(seed))[k]

    def best_design(self) -> BucketDesign | None:
        """The buckets that serve the first group best in expectation."""
        people, prior, question = self.groups.prior, self.prior, self.question
        if people is None or prior is None:
            return None
        tastes = people.tastes.astype(np.float64)
        sizes = [size for size in SIZES if size <= len(people)]
        responses = [RandomizedResponse.for_epsilon(size, question.epsilon) for size in sizes]
        designs = [
            design_buckets(tastes, prior.scores, response, question.k, seed=question.seed)
            for response in responses
        ]
        first = self.groups.choosing
        return max(
            designs, key=lambda each: float(self._by_design(first, each).sum()), default=None
        )

    def _by_design(self, people: KeptAside, design: BucketDesign) -> Gains:
        assert self.prior is not None
        response = RandomizedResponse.for_epsilon(len(design.buckets), self.question.epsilon)
        slates = self.prior.items[design.slates].tolist()
        return expected(people, slates, labels_of(design.buckets, people.tastes), response)


def point_rule(
    kind: RuleKind, encoder: Encoder, catalog: Catalog, prior: Prior | None, *, held: int
) -> RetrievalRule:
    """The rule as it serves points, but that a prior is weighed by fewer people."""
    if kind.needs_prior and prior is not None:
        return PosteriorRule(prior, catalog.shared_slate, LIMIT)
    return rule_of(kind, encoder, catalog, held=held)
