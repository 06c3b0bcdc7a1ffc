"""SIMULATED models of any size, made in seconds, and the questions that people would ask."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from askew.catalog.catalog_file import catalog_date_of
from askew.dp.privacy import ANY_SPACE
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import MetricCard, MetricRuleKind, ModelCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise, MapSpace
from askew.wire.queries import query_to_bytes
from askew_server.collections.model import MetricModel, model_of
from askew_server.demo.places import GERMANY, LARGE, german_towns, places_to_eat, scattered
from askew_server.demo.simulation import demo_model
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Snapshot

EPSILON, K = Fraction(1), 8
"""What most devices ask with."""
TOWN = Fraction(277, 1000)  # epsilon a kilometer: 4 times the odds within 5 km
QUESTIONS = 256


def snapshot(kind: str, size: str = "0", rule: str = "") -> Snapshot:
    """Return what a server answers from: `films` of the demo, or so many `places` by a rule."""
    if kind == "films":
        return Serving(demo_model()).snapshot
    return Serving(made_places(int(size), MetricRuleKind(rule))).snapshot


def made_places(count: int, rule: MetricRuleKind) -> MetricModel:
    """So many places to eat around real towns."""
    food = places_to_eat(count, german_towns(), GERMANY)
    return model_of(MapSpace(GERMANY), [food], german_towns(LARGE), rule)


def questions(card: ModelCard | MetricCard, k: int, epsilon: Fraction = EPSILON) -> list[bytes]:
    """What 256 people would send."""
    signals = _on_the_map(epsilon) if isinstance(card, MetricCard) else _in_the_box(card, epsilon)
    number = card.collections[0].number if isinstance(card, MetricCard) else None
    catalog_date = catalog_date_of(int(time.time() // 86_400)) if isinstance(card, ModelCard) else 0
    return [query_to_bytes(Query(each, k, number, catalog_date)) for each in signals]


def _in_the_box(card: ModelCard, epsilon: Fraction) -> list[Signal]:
    rng, lattice = np.random.default_rng(3), LatticeLaplace.for_epsilon(epsilon)
    size = (QUESTIONS, card.space.dimension)
    points = card.space.encoder.unit * rng.random(size) + rng.laplace(0.0, 1 / float(epsilon), size)
    return [Signal(card.space.version, lattice, each) for each in _steps(points / lattice.step)]


def _on_the_map(epsilon: Fraction) -> list[Signal]:
    rng, noise = np.random.default_rng(3), MapNoise.in_region(epsilon, GERMANY)
    homes = scattered(QUESTIONS, german_towns(), GERMANY, rng, 1.0)
    away = rng.gamma(2, 1 / float(epsilon), QUESTIONS)
    turn = 2 * np.pi * rng.random(QUESTIONS)
    moved = np.column_stack([away * np.sin(turn) / 110.57, away * np.cos(turn) / 70.0])
    return [Signal(ANY_SPACE, noise, each) for each in _steps((homes + moved) * 1e6)]


def _steps(places: np.ndarray) -> Sequence[tuple[int, ...]]:
    return [tuple(each) for each in np.rint(places).astype(np.int64).tolist()]
