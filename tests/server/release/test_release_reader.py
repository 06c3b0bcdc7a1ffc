"""Everybody may read public releases: from the ledger's file, read-only, and nothing else of it.
As a popularity prior, a release orders what newcomers see, and changes nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from mounts import read_only
from server.release.conftest import OFFERED, TERMS, Count, MakePlan
from small_world import made_card, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.dp.analyst import TopKQuestion
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP
from askew.dp.release import Release, release_from_bytes
from askew.errors import LedgerError, NotFound
from askew.noise.randomness import SystemBits
from askew.wire.catalog_file import catalog_to_bytes
from askew.wire.tastes import card_to_bytes
from askew_server.counting import TopCounts
from askew_server.ledger import Ledger
from askew_server.published.popularity import with_popularity
from askew_server.published.reader import ReleaseReader
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import AnalystPlan, ReleasePlan


@pytest.fixture
def published(ledger: Ledger, count: Count, plan_of: MakePlan) -> list[bytes]:
    """Three releases, the payloads of which are what everybody gets."""
    job = ReleaseJob(ledger, count, SystemBits())
    plans = [plan_of(k=k) for k in (1, 2, 3)]
    return [job.publish(plan, plan.charge_request()).payload for plan in plans]


def test_pages_hold_every_release_once_and_no_charge_without_one(
    paths: tuple[Path, Path], ledger: Ledger, plan_of: MakePlan, published: list[bytes]
) -> None:
    reader = ReleaseReader(paths[0])
    first, more = reader.page("", 0, 2)
    second, still_more = reader.page("", first[-1].charge, 2)
    read = [summary.charge for summary in (*first, *second)]
    assert read == [charge.id for charge in ledger.charges()]
    assert (more, still_more, len(published)) == (True, False, 3)
    with reader._database() as database, pytest.raises(sqlite3.OperationalError, match="readonly"):
        database.execute("CREATE TABLE planted (x)")
    for charge in (ledger.charge(plan_of(k=4).charge_request()).id, 999, 2**63 - 1):
        with pytest.raises(NotFound):
            reader.document(charge)


@pytest.mark.parametrize(("bound", "counted"), [(None, 100), (250, 250)])
def test_an_offer_is_counted_by_the_bound_of_the_mechanism(bound: int | None, counted: int) -> None:
    """Planted bug: a threshold for 100 items of a person, and more of them counted."""
    task = replace(OFFERED, max_items_per_unit=bound)
    plan = AnalystPlan(TopKQuestion("films", 5, "a"), "1", TERMS, task)
    assert plan.task.max_items_per_unit == plan.mechanism.max_items_per_unit == counted


def test_an_answer_to_an_analyst_is_no_public_release(
    paths: tuple[Path, Path], ledger: Ledger, count: Count
) -> None:
    ledger.grant("films", "ada", TERMS)
    plan = AnalystPlan(TopKQuestion("films", 5, "a"), "1", TERMS, OFFERED)
    stored = ReleaseJob(ledger, count, SystemBits()).publish(plan, plan.charge_request("ada"))
    reader = ReleaseReader(paths[0])
    assert reader.page("", 0, 100) == ((), False)
    with pytest.raises(NotFound):
        reader.document(stored.id)


def test_a_copy_in_a_read_only_folder_can_be_read(
    paths: tuple[Path, Path], ledger: Ledger, published: list[bytes], tmp_path: Path
) -> None:
    """As in a container. SQLite would make files beside it, which the folder does not allow."""
    ledger.close()
    place = tmp_path / "read-only"
    place.mkdir()
    (place / "ledger.sqlite").write_bytes(paths[0].read_bytes())
    with read_only(place):
        summaries, _ = ReleaseReader(place / "ledger.sqlite").page("", 0, 10)
    assert len(summaries) == len(published)


@pytest.mark.parametrize("content", [b"", b"not a database at all", bytes(4096)])
def test_a_file_that_is_no_ledger_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        ReleaseReader(tmp_path / "none.sqlite").page("", 0, 10)
    assert [*tmp_path.iterdir()] == []  # and none is made
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        ReleaseReader(path).document(1)
    assert path.read_bytes() == content


def test_a_damaged_release_is_not_served(
    paths: tuple[Path, Path], ledger: Ledger, published: list[bytes]
) -> None:
    ledger.close()
    with closing(sqlite3.connect(paths[0])) as database:
        database.execute("DROP TRIGGER fulfilments_no_update")
        database.execute("UPDATE fulfilments SET payload = CAST(payload || ' ' AS BLOB)")
        database.commit()
    with pytest.raises(LedgerError, match="damaged"):
        ReleaseReader(paths[0]).page("", 0, 10)
    assert published


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
        (("Heat",), (1, 5, 0, 2), 0),  # the title of one item only
        (("Solaris",), (5, 1, 0, 2), 1),  # of two items: which one?
        (("Solaris (2002)",), (3, 5, 1, 0), 0),
        (("Alien (1979)",), (5, 1, 0, 2), 1),  # the label of two items
        (("Heat", "Heat (1995)"), (1, 5, 0, 2), 0),
        (("Nosferatu", "Brazil", "Heat"), (5, 1, 0, 2), 1),
        (("Héat, The (1995)",), (1, 5, 0, 2), 0),
        (("The Solaris",), (5, 1, 0, 2), 1),
    ],
)
def test_released_items_come_first_and_the_former_slate_fills_up(
    items: tuple[str, ...], slate: tuple[int, ...], missed: int
) -> None:
    _, catalog, unmatched = with_popularity(CARD, CATALOG, release(*items))
    assert (catalog.shared_slate, unmatched) == (slate, missed)


def test_the_catalog_gets_a_version_and_the_space_keeps_its_own() -> None:
    """Planted bugs: a new space, for which every device would draw and pay again; default items in
    a slate that is for what devices lack.
    """
    card, catalog, _ = with_popularity(CARD, CATALOG, release("Heat"))
    assert card.catalog_version == catalog.version != CATALOG.version
    assert card.space.version == CARD.space.version
    assert card.source == f"{CARD.source}; newcomers see release 1 of films first"
    assert catalog.items == CATALOG.items
    assert catalog.vectors is CATALOG.vectors
    card, lacking = replace(CARD, n_default=2), replace(CATALOG, shared_slate=(5, 3, 2))
    _, catalog, missed = with_popularity(card, lacking, release("Heat", "Solaris (1972)"))
    assert (catalog.shared_slate, missed) == ((2, 5, 3), 0)


# What is served first is a function of what a mechanism selected alone. Every selection of three
# items of four, in every order, is frozen in turn, and each of the 16 logs that give four items at
# most one like each is released, stored, read and served: what differs came past the mechanism.
# Exact: all pairs of neighboring logs are among them, and no draw is made.
TITLES = ("Alien", "Brazil", "Heat", "Solaris")
LOGS = list(product(range(2), repeat=len(TITLES)))
FOUR = Catalog(
    tuple(map(Item, TITLES)), np.zeros((4, 3), np.float32), np.ones(4, np.float32), (3, 1, 0, 2)
)
CARD_OF_FOUR = made_card(made_space(), FOUR, 4)


def as_counted(likes: Sequence[int]) -> TopCounts:
    """As engines count: by falling count, and ties by name."""
    rows = sorted(zip(TITLES, likes, strict=True), key=lambda row: (-row[1], row[0]))
    return TopCounts(tuple(name for name, _ in rows), tuple(count for _, count in rows))


def served(plan: ReleasePlan, likes: Sequence[int]) -> bytes:
    """What every device gets of a server that was started with this release."""
    stored = plan.select(as_counted(likes), charge=1, bits=SystemBits()).to_bytes()
    card, catalog, _ = with_popularity(CARD_OF_FOUR, FOUR, release_from_bytes(stored))
    return card_to_bytes(card) + catalog_to_bytes(card, catalog)


@pytest.mark.parametrize("mechanism", ["canonical", "permute-and-flip"])
def test_what_is_served_first_follows_from_the_selection_whatever_was_counted(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    """Of a set and of a ranking. Planted bugs: winners by their exact counts; places in the order
    of the engine, which is that of the counts.
    """
    plan = plan_of(mechanism=mechanism)
    heard = set()
    for chosen in permutations(range(len(TITLES)), 3):
        frozen = Mock(return_value=[*chosen])
        monkeypatch.setattr(type(plan.selector), "select", frozen)
        [bytes_of_all] = {served(plan, likes) for likes in LOGS}
        heard.add(bytes_of_all)
    assert len(heard) == 24  # and every selection is heard, so nothing was served in its place
