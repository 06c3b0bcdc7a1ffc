"""What slates add for devices that hold some items already, the same for everybody.

starter    the held items alone; nothing is sent
shared     and the k items that add most for anybody; nothing is sent
posterior  and k items by the rule `posterior`, for one signal
buckets    and k items by the rule `buckets`, for one signal; made for one epsilon, asked at several
anybody    the best held + k items for anybody, chosen together: the yardstick of every row
whole      every item is held; nothing is sent

The rules see gains over what is held (`askew.retrieval.cover.gains`). What clients get is the score
of their best unseen item, held or served, so a rule that forgets what is held pays for it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import Prior
from askew.signal import Signal
from askew_server.evaluation import rules
from askew_server.evaluation.group_scores import Items
from askew_server.evaluation.holding import Holding, StarterName, holding, starter_items
from askew_server.evaluation.scene import Dealt, Scene
from askew_server.evaluation.split import deal
from askew_server.evaluation.truths import TruthName
from askew_server.prior.bucket_rule import bucket_rule_of
from askew_server.prior.people import PriorPeople
from askew_server.ratings import RatingTable
from askew_server.training.buckets import SIZES
from askew_server.training.quality import Estimate, Outcome, coverage_of, outcome, ratio_of
from askew_server.training.simulated_noise import response_signals

_LEARNED_FOR = 5  # k of the signal directions


@dataclass(frozen=True)
class Question:
    """What is compared. held, k: numbers of items. trained_for: the epsilon of the buckets. Every
    epsilon is plain, between any two people.
    learned: signal directions learned rather than principal.
    """

    truths: tuple[TruthName, ...] = ("next", "long-tail")
    seeds: tuple[int, ...] = (0, 1, 2)
    held: int = 20
    k: int = 5
    starters: tuple[StarterName, ...] = ("for anybody", "most rated")
    trained_for: float = 4.0
    epsilons: tuple[float, ...] = (1.0, 2.0, 4.0)
    sizes: tuple[int, ...] = SIZES
    min_ratings: int = 20
    learned: bool = True


@dataclass(frozen=True)
class Row:
    """epsilon: plain, 0 where nothing is sent. per_rating: between two people who differ in one
    rating. ratio: score of the picks / best possible. gain: its paired difference to `anybody`.
    coverage: share of the catalog that is somebody's pick, in mean over seeds.
    """

    truth: TruthName
    starter: StarterName
    way: str
    epsilon: float
    per_rating: float
    ratio: Estimate
    gain: Estimate
    coverage: float


def compare(table: RatingTable, question: Question) -> list[Row]:
    """Every row, clients of all seeds together. Deterministic. Raises DataError when there is too
    little to split, ParameterError for more items than there are.
    """
    found: dict[tuple[TruthName, StarterName, str, float], list[_Got]] = {}
    for seed in question.seeds:
        dealt = Dealt.of(deal(table, seed, question.min_ratings), seed)
        for truth in question.truths:
            scene = Scene.of(dealt, truth)
            for starter in question.starters:
                held = starter_items(scene, question.held, starter)
                for way, epsilon, got in _ways(holding(scene, held), question):
                    found.setdefault((truth, starter, way, epsilon), []).append(got)
    return [_row(*label, runs) for label, runs in found.items()]


@dataclass(frozen=True, eq=False)
class _Got:
    """One seed's part of a row: what clients got, what `anybody` got, and what there was."""

    got: Outcome
    anybody: NDArray[np.float64] = field(repr=False)
    possible: NDArray[np.float64] = field(repr=False)
    n_items: int
    per_rating: float


def _ways(where: Holding, question: Question) -> Iterator[tuple[str, float, _Got]]:
    scene, k = where.scene, question.k
    n, n_items = len(scene.wanted), scene.wanted.n_items
    together = starter_items(scene, len(where.held) + k, "for anybody")
    clients = scene.dealt.clients

    def alone(items: Items) -> Outcome:
        slates = np.tile(items, (n, 1))
        return outcome(scene.wanted.at(slates), slates, clients.held_out)

    anybody = alone(together)

    def of(got: Outcome, per_rating: float = 0.0) -> _Got:
        return _Got(got, anybody.score, scene.possible, n_items, per_rating)

    yield "anybody", 0.0, of(anybody)
    if len(where.held):
        yield "starter", 0.0, of(alone(where.held))
    yield "shared", 0.0, of(where.got(np.tile(where.others.shared[:k], (n, 1))))
    for epsilon in question.epsilons:
        slates, per_rating = _posterior(where.others, epsilon, k, learned=question.learned)
        yield "posterior", epsilon, of(where.got(slates), per_rating)
    for epsilon, slates in _buckets(where.others, question):
        yield "buckets", epsilon, of(where.got(slates), epsilon)
    yield "whole", 0.0, of(alone(np.arange(n_items)))


def _posterior(others: Scene, epsilon: float, k: int, *, learned: bool) -> tuple[Items, float]:
    """Each client's slate (n, k), and the epsilon of their signal per rating."""
    dimension = others.dimension_for(epsilon)
    space = others.space(dimension, epsilon, _LEARNED_FOR, learned=learned)
    signals = rules.Signals.drawn(others, space, epsilon)
    slates = rules.posterior_slates(others, signals, (k,))[k]
    return slates, signals.guarantee().per_rating or 0.0


def _buckets(others: Scene, question: Question) -> Iterator[tuple[float, Items]]:
    """Each client's slate (n, k) at each epsilon, as a server trained for one epsilon answers."""
    trained_for, k = question.trained_for, question.k
    response, design = rules.best_design(others, trained_for, k, question.sizes)
    tastes = others.dealt.server.tastes
    people = PriorPeople(
        tastes.vectors.astype(np.float32),
        np.zeros((len(tastes.vectors), 1)),  # a bucket comes from no point
        tastes.people.seen,
        np.ones(len(tastes.vectors)),
        "the server's people",
    )
    prior = Prior(people.points, others.served, others.pool, people.weights)
    shared = others.shared.tolist()
    rule = bucket_rule_of(people, prior, design.buckets, Fraction(trained_for), shared)
    own = labels_of(design.buckets, others.dealt.clients.tastes.vectors)
    for epsilon in question.epsilons:
        asked = RandomizedResponse.for_epsilon(response.buckets, Fraction(epsilon))
        rng = np.random.default_rng([others.dealt.seed, 5])
        answers = [
            rule.answer(Signal("00" * 16, asked, (bucket,)), k)
            for bucket in range(response.buckets)
        ]
        yield epsilon, np.array(answers)[response_signals(asked, own, rng)]


def _row(truth: TruthName, starter: StarterName, way: str, epsilon: float, runs: list[_Got]) -> Row:
    got = np.concatenate([run.got.score for run in runs])
    possible = np.concatenate([run.possible for run in runs])
    anybody = np.concatenate([run.anybody for run in runs])
    picked = [coverage_of(run.got.picked, run.n_items) for run in runs]
    return Row(
        truth,
        starter,
        way,
        epsilon,
        runs[0].per_rating,
        ratio_of(got, possible),
        ratio_of(got - anybody, possible),
        float(np.mean(picked)),
    )
