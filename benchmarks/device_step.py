"""How long a device works on one question: fold in, encode, add noise, check and rank the answer.

A catalog of 3,000 items with 32 factors, a person of 150 ratings, k = 20. The step is over in less
than the limit of 1 ms that this script fails beyond; the best of many runs is taken, since a
machine that does something else in between says nothing of the work.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from benchmarks.results import Result, record

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.noise.randomness import SystemBits
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.spaces.encoder import KNOTS, Encoder
from askew.spaces.item_codes import rounded, scales_of
from askew.spaces.vectors import FeatureSpace, RatingScale, fold_in
from askew_client.settings.settings import ClientSettings
from askew_client.taste.exchange import Exchange

ITEMS, FACTORS, DIMENSION, RATINGS, K = 3000, 32, 4, 150, 20
LIMIT = 1.0  # milliseconds
RUNS = 200


def made_exchange() -> Exchange:
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(ITEMS, FACTORS)) / np.sqrt(ITEMS)).astype(np.float32)
    directions = np.linalg.qr(rng.normal(size=(FACTORS, DIMENSION)))[0].astype(np.float32)
    knots = np.tile(np.linspace(-0.2, 0.2, KNOTS), (DIMENSION, 1))
    encoder = Encoder(directions, np.zeros(FACTORS, np.float32), knots, 0.5, 20, 1.5)
    scales = scales_of(vectors)
    space = FeatureSpace(RatingScale(1, 5, 4), encoder, scales)
    items = tuple(Item(f"Item {i}") for i in range(ITEMS))
    catalog = Catalog(items, rounded(vectors, scales), np.ones(ITEMS, np.float32), tuple(range(64)))
    card = ModelCard(space, catalog.version, ITEMS, 64, "made up", True, ITEMS, 1.0)
    rated = rng.choice(ITEMS, RATINGS, replace=False)
    ratings = {int(item): float(rng.integers(1, 6)) for item in rated}
    settings = ClientSettings(k=K)
    return Exchange(card, catalog, settings, ratings)


def best_time(step: Callable[[], object]) -> float:
    """Milliseconds of the fastest of many runs."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def steps_of(exchange: Exchange) -> dict[str, Callable[[], object]]:
    catalog, bits = exchange.catalog, SystemBits()
    ids = tuple(range(0, ITEMS, ITEMS // K))[:K]
    slate = Slate.of_catalog(catalog, ids)
    return {
        "fold in and encode": lambda: fold_in(
            exchange.ratings, catalog.vectors, exchange.card.space
        ),
        "noise": lambda: exchange.perturb(bits),
        "check and rank": lambda: exchange.rank(slate),
    }


def main() -> None:
    times = {name: best_time(step) for name, step in steps_of(made_exchange()).items()}
    total = sum(times.values())
    figures = ", ".join(f"{name} {each:.3f}" for name, each in times.items())
    print(f"{total:.3f} ms ({figures}); limit {LIMIT:g} ms")
    met = total <= LIMIT
    record(Result("a question", "of tastes", ours=total, goal=f"{LIMIT:g} ms", met=met))
    sys.exit(not met)


if __name__ == "__main__":
    main()
