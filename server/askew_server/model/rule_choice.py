"""Which rule serves: the one that did best for people kept aside, beside the slate of no signal.

Some of the people trained on play devices: profiles of most of their ratings, simulated noise, one
answer by each rule that the model's data allow, and the score of their pick. Where they are the
prior themselves, they are taken out of it for this. The number of buckets is chosen by the same
people, so its figure is a little too good. A bucket's epsilon is between any two people and a
point's per median distance: at the same number, a bucket's is the stronger promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Buckets, Encoder
from askew.lattice import Lattice
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.randomized_response import RandomizedResponse
from askew.retrieval import RetrievalRule, rule_of
from askew.retrieval.buckets import labels_of
from askew.rule_kind import SERVED, RuleKind
from askew.signal import Signal
from askew_server.model.slate_choice import SlateQuestion, best_slates
from askew_server.prior.people import PriorPeople, as_they_are
from askew_server.training.buckets import SIZES, design_buckets
from askew_server.training.factors import Tastes
from askew_server.training.quality import Estimate, ratio_of
from askew_server.training.simulated_noise import lattice_signals, response_signals

_ASIDE = 400
_NO_VERSION = "00" * 16  # nobody receives these signals
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """score of the picks / best possible, and its paired gain over the zero-information slate.

    In hundredths: the card has them, and every digit more tells more of the people kept aside.
    """

    ratio: float
    gain: float
    gain_error: float


@dataclass(frozen=True, eq=False)
class Choice:
    """The best rule, the buckets where there is a prior to make them of, and every figure."""

    rule: RuleKind
    buckets: Buckets | Meanings | None
    figures: Mapping[str, Figure]


@dataclass(frozen=True, eq=False)
class RuleQuestion:
    """What rules are compared for. candidates: those that may be named. dear: whether devices hold
    the vectors of the slates that they name.
    """

    epsilon: Fraction
    k: int
    candidates: tuple[RuleKind, ...]
    seed: int
    dear: bool = False


def choose(  # noqa: PLR0913
    question: RuleQuestion,
    encoder: Encoder,
    catalog: Catalog,
    tastes: Tastes,
    prior: PriorPeople | None,
    *,
    own: bool,
) -> Choice:
    """Compare the rules for some of these people. Deterministic for the question's seed."""
    rng = np.random.default_rng([question.seed, 9])
    order = rng.permutation(len(tastes.vectors))
    count = min(_ASIDE, max(len(order) // 5, 1))
    aside, rest = np.sort(order[:count]), np.sort(order[count:])
    if prior is not None and own:
        prior = prior.only(rest)
    devices = _Devices.of(tastes, aside, encoder, catalog, question, rng)
    figures: dict[str, Figure] = {}
    buckets: Buckets | Meanings | None = None
    for kind in SERVED if prior is not None else [k for k in SERVED if not k.needs_prior]:
        if kind.reads == "bucket" and prior is not None:
            best_of = _best_meanings if question.dear else _best_buckets
            buckets, got = best_of(devices, catalog, prior, rng)
            figures[kind] = devices.figure(got)
        else:
            figures[kind] = devices.figure(devices.answers(_rule(kind, encoder, catalog, prior)))
    known = [kind for kind in question.candidates if kind in figures]  # of equals the simplest
    best = max(known, key=lambda kind: figures[kind].ratio)
    return Choice(best, buckets, figures)


@dataclass(frozen=True, eq=False)
class _Devices:
    """The people kept aside: tastes (n, D), scores (n, n_items) with -1 for seen, signals."""

    tastes: Scores = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    signals: tuple[Signal, ...] = field(repr=False)
    shared: Scores = field(repr=False)  # what the zero-information slate gives them
    question: RuleQuestion

    @classmethod
    def of(  # noqa: PLR0913, PLR0917
        cls,
        tastes: Tastes,
        rows: NDArray[np.int64],
        encoder: Encoder,
        catalog: Catalog,
        question: RuleQuestion,
        rng: np.random.Generator,
    ) -> _Devices:
        people = as_they_are(tastes, catalog.vectors, encoder, "kept aside").only(rows)
        scores = people.scores(catalog.scoring)
        seen = people.seen.tocoo()
        scores[seen.row, seen.col] = -1
        lattice = Lattice.for_epsilon(question.epsilon)
        drawn = lattice_signals(lattice, people.points, rng).tolist()
        signals = tuple(Signal(_NO_VERSION, lattice, tuple(row)) for row in drawn)
        shared = scores[:, list(catalog.shared_slate[: question.k])].max(axis=1)
        wide = people.tastes.astype(np.float64)
        return cls(wide, scores, signals, np.maximum(shared, 0).astype(np.float64), question)

    def answers(self, rule: RetrievalRule) -> Scores:
        """What each device gets from its answer, (n,)."""
        slates = np.array([rule.answer(signal, self.question.k) for signal in self.signals])
        return self.served(slates)

    def served(self, slates: NDArray[np.int64]) -> Scores:
        """The best unseen score of each slate (n, k), or 0, (n,)."""
        best = np.take_along_axis(self.scores, slates, axis=1).max(axis=1)
        served: Scores = np.maximum(best, 0).astype(np.float64)
        return served

    def figure(self, got: Scores) -> Figure:
        possible = np.maximum(self.scores.max(axis=1), 0).astype(np.float64)
        gain: Estimate = ratio_of(got - self.shared, possible)
        exact = (ratio_of(got, possible).mean, gain.mean, gain.error)
        return Figure(*(round(each, 2) for each in exact))


def _rule(
    kind: RuleKind, encoder: Encoder, catalog: Catalog, prior: PriorPeople | None
) -> RetrievalRule:
    known = prior.prior(catalog) if kind.needs_prior and prior is not None else None
    return rule_of(kind, encoder, catalog, known)


def _best_buckets(
    devices: _Devices, catalog: Catalog, people: PriorPeople, rng: np.random.Generator
) -> tuple[Buckets, Scores]:
    """The encoder whose slates serve the devices best in expectation, and what they then got."""
    prior, question = people.prior(catalog), devices.question
    tastes = people.tastes.astype(np.float64)
    tried = []
    for size in (size for size in SIZES if size <= len(people)):
        response = RandomizedResponse.for_epsilon(size, question.epsilon)
        design = design_buckets(tastes, prior.scores, response, question.k, seed=question.seed)
        sent = response_signals(response, labels_of(design.buckets, devices.tastes), rng)
        got = devices.served(prior.items[design.slates][sent])
        tried.append((float(got.mean()), design, got))
    _, design, got = max(tried, key=lambda each: each[0])
    return design.buckets, got


def _best_meanings(
    devices: _Devices, catalog: Catalog, people: PriorPeople, rng: np.random.Generator
) -> tuple[Meanings, Scores]:
    """The slates whose vectors devices hold, and what they got."""
    ask = SlateQuestion(devices.question.epsilon, devices.question.k, devices.question.seed)
    best = best_slates(ask, catalog, people, devices.tastes, devices.scores)
    response = ask.response(len(best.meanings))
    sent = response_signals(response, best.named, rng)
    return best.meanings, devices.served(best.items[sent])
