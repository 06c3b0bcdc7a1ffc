"""A forecast on the device: 200 draws of the noise, k results and one, from 10^5 SIMULATED items.

    python -m benchmarks.forecast_speed

Ours is all of it: the search is made, made-up people too where the rule weighs any, and every draw
is answered. Beside it stands what the draws alone would take at least in one go: by a rule of
probes, one float32 product of all probes of all draws with all vectors; by a rule that weighs
people, one float32 product of all people's tastes with all vectors. The goal is 2 s of CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from benchmarks.serving.models import made_tastes

from askew.noise.randomness import SystemBits
from askew.protocol.rule_kind import RuleKind
from askew_client.device.what_if import forecast_of
from askew_client.forecast.synthetic_people import PEOPLE
from askew_client.settings.settings import ClientSettings, MechanismName
from askew_client.taste.exchange import Exchange

ITEMS, DRAWS, K, LIKES = 10**5, 200, 8, 30
_AT_ONCE = 64  # tastes: all at once with 10^5 items are 640 MB
GOAL = Goal(milliseconds=2000)
FORECASTS: tuple[tuple[str, RuleKind, int, MechanismName], ...] = (
    ("codebook, d = 2", RuleKind.CODEBOOK, 2, "geo_laplace"),
    ("codebook, d = 4", RuleKind.CODEBOOK, 4, "geo_laplace"),
    ("codebook, d = 16", RuleKind.CODEBOOK, 16, "geo_laplace"),
    ("posterior, made-up people", RuleKind.POSTERIOR, 2, "geo_laplace"),
    ("buckets, made-up people", RuleKind.BUCKETS, 2, "bucket_rr"),
)


def main() -> None:
    rows = [
        Row(name, partial(made, rule, dimension, mechanism), GOAL)
        for name, rule, dimension, mechanism in FORECASTS
    ]
    finish([run(f"A forecast of {DRAWS} draws, {ITEMS:,} SIMULATED items, k = {K}", rows)])


def made(rule: RuleKind, dimension: int, mechanism: MechanismName) -> Mapping[str, Work]:
    """The floor and ours, for one person."""
    exchange = made_exchange(rule, dimension, mechanism)
    count = PEOPLE if rule.needs_prior else DRAWS * (K + 1)
    factors = exchange.card.space.ranking_dimension
    tastes = np.random.default_rng(6).normal(size=(count, factors)).astype(np.float32)

    def ours() -> object:
        return forecast_of(exchange, exchange.settings, DRAWS, SystemBits())

    return {"floor": product(exchange.catalog.scoring, tastes), OURS: ours}


def product(vectors: np.ndarray, tastes: np.ndarray) -> Callable[[], None]:
    """One float32 product, some tastes at a time."""

    def work() -> None:
        for start in range(0, len(tastes), _AT_ONCE):
            np.dot(tastes[start : start + _AT_ONCE], vectors.T)

    return work


def made_exchange(rule: RuleKind, dimension: int, mechanism: MechanismName) -> Exchange:
    """Of somebody who likes some items at random."""
    model = made_tastes(ITEMS, rule, dimension)
    liked = np.random.default_rng(5).choice(ITEMS, LIKES, replace=False)
    settings = ClientSettings(
        mechanism=mechanism,
        epsilon=Fraction(2),
        k=K,
        lifetime_cap=Fraction(96),
        max_diameter=320.0,
        max_one_rating=320.0,
    )
    return Exchange(model.card, model.catalog, settings, dict.fromkeys(liked.tolist(), 5.0))


if __name__ == "__main__":
    main()
