"""The order of what is popular that a server serves: a function of what a mechanism selected alone.

Every selection of three items of four, in every order, is frozen in turn, and each of the 16 logs
that give four items at most one like each is released, stored, read and served. What differs then
came past the mechanism. Exact: all pairs of neighboring logs are among them, and no draw is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product

import numpy as np
import pytest
from small_world import made_card, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.dp.release import release_from_bytes
from askew.noise.randomness import RandomBits, SystemBits
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.tastes import card_to_bytes
from askew_server.counting import TopCounts
from askew_server.published.popularity import with_popularity
from askew_server.release.plan import ReleasePlan

TITLES = ("Alien", "Brazil", "Heat", "Solaris")
LOGS = list(product(range(2), repeat=len(TITLES)))
CATALOG = Catalog(
    tuple(map(Item, TITLES)), np.zeros((4, 3), np.float32), np.ones(4, np.float32), (3, 1, 0, 2)
)
CARD = made_card(made_space(), CATALOG, 4)


def as_counted(likes: Sequence[int]) -> TopCounts:
    """As engines count: by falling count, and ties by name."""
    rows = sorted(zip(TITLES, likes, strict=True), key=lambda row: (-row[1], row[0]))
    return TopCounts(tuple(name for name, _ in rows), tuple(count for _, count in rows))


def served(plan: ReleasePlan, likes: Sequence[int]) -> bytes:
    """What every device gets of a server that was started with this release."""
    stored = plan.select(as_counted(likes), charge=1, bits=SystemBits()).to_bytes()
    card, catalog, _ = with_popularity(CARD, CATALOG, release_from_bytes(stored))
    return card_to_bytes(card) + catalog_to_bytes(card, catalog)


@pytest.mark.parametrize("mechanism", ["canonical", "permute-and-flip"])
def test_what_is_served_first_follows_from_the_selection_whatever_was_counted(
    plan_of: Callable[..., ReleasePlan], monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    """Of a set and of a ranking. Planted bugs: winners by their exact counts; places in the order
    of the engine, which is that of the counts.
    """
    plan = plan_of(mechanism=mechanism)
    heard = set()
    for chosen in permutations(range(len(TITLES)), 3):

        def frozen(
            _: object, values: object, *, bits: RandomBits, chosen: Sequence[int] = chosen
        ) -> list[int]:
            return [*chosen]

        monkeypatch.setattr(type(plan.selector), "select", frozen)
        [bytes_of_all] = {served(plan, likes) for likes in LOGS}
        heard.add(bytes_of_all)
    assert len(heard) == 24  # and every selection is heard, so nothing was served in its place
