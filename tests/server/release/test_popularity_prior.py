"""A release orders what a device shows before it knows anything, and changes nothing else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_world import made_card, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.dp.release import Release
from askew_server.published.popularity import with_popularity

ITEMS = (
    Item("Alien", 1979),
    Item("Heat", 1995),
    Item("Solaris", 1972),
    Item("Solaris", 2002),
    Item("Alien (1979)"),
    Item("Brazil", 1985),
)
CATALOG = Catalog(
    ITEMS, np.zeros((6, 3), dtype=np.float32), np.ones(6, dtype=np.float32), (5, 1, 0, 2)
)
CARD = made_card(made_space(), CATALOG, 6)


def release(*items: str) -> Release:
    loss = ApproximateDP(Fraction(1), Fraction(0), ADD_OR_REMOVE_ONE)
    return Release(1, "films", "joint", 20, items, True, False, loss, 10)


@pytest.mark.parametrize(
    ("items", "slate", "missed"),
    [
        ((), (5, 1, 0, 2), 0),
        (("Heat (1995)",), (1, 5, 0, 2), 0),
        (("Heat",), (1, 5, 0, 2), 0),  # the title of one item only
        (("Solaris",), (5, 1, 0, 2), 1),  # of two items: which one?
        (("Solaris (2002)",), (3, 5, 1, 0), 0),
        (("Alien (1979)",), (5, 1, 0, 2), 1),  # the label of two items
        (("Alien",), (0, 5, 1, 2), 0),
        (("Heat", "Heat (1995)"), (1, 5, 0, 2), 0),
        (("Nosferatu", "Brazil", "Heat"), (5, 1, 0, 2), 1),
        (("heat (1995)",), (1, 5, 0, 2), 0),
        (("Héat, The (1995)",), (1, 5, 0, 2), 0),
        (("The Solaris",), (5, 1, 0, 2), 1),
    ],
)
def test_released_items_come_first_and_the_former_slate_fills_up(
    items: tuple[str, ...], slate: tuple[int, ...], missed: int
) -> None:
    _, catalog, unmatched = with_popularity(CARD, CATALOG, release(*items))
    assert (catalog.shared_slate, unmatched) == (slate, missed)


def test_what_every_device_holds_already_is_not_shown_again() -> None:
    """Planted bug: default items in a slate that is for what they lack."""
    card, lacking = replace(CARD, n_default=2), replace(CATALOG, shared_slate=(5, 3, 2))
    _, catalog, missed = with_popularity(card, lacking, release("Heat", "Solaris (1972)"))
    assert (catalog.shared_slate, missed) == ((2, 5, 3), 0)


def test_the_catalog_gets_a_version_and_the_space_keeps_its_own() -> None:
    """Planted bug: a new space, for which every device would draw and pay again."""
    card, catalog, _ = with_popularity(CARD, CATALOG, release("Heat"))
    assert card.catalog_version == catalog.version != CATALOG.version
    assert card.space.version == CARD.space.version


def test_the_card_says_which_release_newcomers_see() -> None:
    card, _, _ = with_popularity(CARD, CATALOG, release("Heat"))
    assert card.source == f"{CARD.source}; newcomers see release 1 of films first"


def test_items_and_vectors_stay() -> None:
    _, catalog, _ = with_popularity(CARD, CATALOG, release("Heat"))
    assert catalog.items == CATALOG.items
    assert catalog.vectors is CATALOG.vectors
    assert catalog.boosts is CATALOG.boosts
