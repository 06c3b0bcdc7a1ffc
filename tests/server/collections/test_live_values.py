"""Live values are swapped whole, and nothing that is not this collection's is ever taken."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as decode
from safetensors.numpy import save as encode
from served_rows import rows_model
from small_collections import cafes, small_map

from askew.catalog.attributes import Flags, Numbers
from askew.catalog.catalog_file import FIRST, Part
from askew.errors import ArtifactError, DataError
from askew.protocol.cards import ServingMode
from askew.protocol.collection import Collection
from askew.wire.catalog_file import with_live_values
from askew_server.collections import artifact
from askew_server.collections.artifact import live_path, read_live, with_live_file, write_live
from askew_server.collections.intake import CollectionFile, LiveUpdate, update_live
from askew_server.collections.roles import KeyColumn
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.retrieval import RetrievalService


def with_all(value: int, collection: Collection) -> Collection:
    """Every café is open or closed, and has as many seats free."""
    n = len(collection)
    return collection.with_live(
        {"open": Flags(np.full(n, value, np.int8)), "free": Numbers(np.full(n, value, np.float32))}
    )


def seen(live: Serving) -> set[object]:
    """What replies would show."""
    return {cafe.values[3] for cafe in live.snapshot.collections[0].listings(range(30))}


@pytest.fixture
def live(directory: Path) -> Serving:
    """A served model."""
    live = Serving(artifact.load(directory), directory)
    assert live.refresh(pytest.fail)
    return live


def test_a_new_file_is_swapped_in_and_the_index_is_the_same(live: Serving, directory: Path) -> None:
    """Planted bugs: the rules are built anew for new live values; a file is written in place."""
    rules, path = live._answers._rules, live_path(directory, 0)  # type: ignore[union-attr]
    for value in (1, 0):
        before = path.stat().st_ino
        assert not live.refresh(pytest.fail)
        write_live(path, with_all(value, cafes()))
        assert path.stat().st_ino != before
        assert live.refresh(pytest.fail)
        assert seen(live) == {value == 1}
        assert live._answers._rules == rules  # type: ignore[union-attr]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "altered": lambda data: encode({**decode(data), "4.values": np.full(30, 5, np.float32)}),
    "of other arrays": lambda _: encode({"secret": np.zeros(3)}),
    "of another catalog": lambda d: encode({**decode(d), "version": np.zeros(16, np.uint8)}),
}


@pytest.mark.thin
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bad_file_leaves_the_values_of_before_and_is_told_without_values(
    live: Serving, directory: Path, damage: str
) -> None:
    """Planted bug: the digest of live values is not compared."""
    said, path = list[str](), live_path(directory, 0)
    write_live(path, with_all(1, cafes()))
    assert live.refresh(said.append)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    for _ in range(2):
        assert not live.refresh(said.append)
    assert seen(live) == {True}
    [line] = said
    assert "cafes were not taken" in line
    assert "secret" not in line
    write_live(path, with_all(0, cafes()))
    assert live.refresh(said.append)
    assert seen(live) == {False}


def test_forged_values_with_a_right_digest_are_refused(tmp_path: Path) -> None:
    """Of a made-up type, and for another number of items."""
    path, few = tmp_path / "live", cafes(5)
    object.__setattr__(few.card, "version", cafes().card.version)
    made_up = cafes().with_live({"open": Flags(np.full(30, 7, np.int8))})
    for forged, reason in ((made_up, "the column open must be"), (few, "a value for each item")):
        write_live(path, forged)
        with pytest.raises(ArtifactError, match=reason):
            read_live(path, cafes())


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    """Cafés with the keys c0, c1, ..."""
    keys = KeyColumn(["key"])
    keys.take([f"c{i}" for i in range(30)])
    artifact.save(small_map(), tmp_path / "keyed", {"cafes": keys.digests()})
    return tmp_path / "keyed"


def update(
    directory: Path, text: str, name: str = "cafes", *, file: str = "live.csv", strict: bool = False
) -> LiveUpdate:
    path = directory.parent / file
    path.write_text(text)
    named = CollectionFile(name, path, datetime.date(2026, 11, 23))
    return update_live(directory, named, strict=strict)


def values(directory: Path, item: int) -> tuple[object, ...]:
    collection = with_live_file(directory, artifact.load(directory).collections["cafes"])
    return collection.listings([item])[0].values


def test_items_and_columns_that_a_file_does_not_name_keep_their_values(keyed: Path) -> None:
    """What cannot be read is unknown: the old value is out of date. Planted bugs: what is not named
    becomes unknown; what cannot be read stays.
    """
    done = update(keyed, "id,open,free\nc3,no,12\nc4,,\nc99,no,1\n")
    assert done[:2] == (2, ("open", "free"))
    assert done[2].lines == ("1: no item has its key (line 4)",)
    fixed = cafes()
    assert values(keyed, 3) == (*fixed.listings([3])[0].values[:3], False, 12.0)
    assert values(keyed, 4)[3:] == (None, None)
    assert values(keyed, 7) == fixed.listings([7])[0].values
    done = update(keyed, "key,free\nc3,13\nc7,2.5\nc7,3.5\n")
    assert done[2].lines == ("1: its key stands on a later row again (line 3)",)
    assert values(keyed, 3)[3:] == (False, 13.0)
    assert values(keyed, 7)[3:] == (True, 3.5)
    done = update(keyed, "id,open,free\nc3,maybe,4\n")
    assert done[3].lines == ("1: open must be a flag, such as yes or no (line 2)",)
    assert values(keyed, 3)[3:] == (None, 4.0)


@pytest.mark.parametrize(
    ("text", "strict", "reason"),
    [
        ("open\nyes\n", False, "no column key or id"),
        ("id,kind\nc1,tea\n", False, "no live column; those of cafes are: open, free"),
        ("id,open\nc99,yes\n", False, "no row of it is usable: 1: no item has its key"),
        ("id,open\n", False, "it has no rows"),
        ("id,open\nc1,yes\nc99,yes\n", True, "1: no item has its key"),
        ("id,open\nc1,yes\nc2,maybe\n", True, "1: open must be a flag"),
    ],
)
def test_a_file_of_no_use_changes_nothing(
    keyed: Path, text: str, strict: bool, reason: str
) -> None:
    before = live_path(keyed, 0).read_bytes()
    with pytest.raises(DataError, match=reason):
        update(keyed, text, strict=strict)
    assert live_path(keyed, 0).read_bytes() == before


def test_values_of_before_that_cannot_be_read_and_items_without_keys_end_an_update(
    keyed: Path,
) -> None:
    """Planted bug: values that are not named are lost with a damaged file."""
    for name, why in (("posts", "posts was made without"), ("bars", "it has cafes, posts")):
        with pytest.raises((ArtifactError, DataError), match=why):
            update(keyed, "", name)
    live_path(keyed, 0).write_bytes(b"")
    with pytest.raises(ArtifactError):
        update(keyed, "id,open\nc1,yes\n")


def test_two_updates_at_once_both_last(keyed: Path) -> None:
    """Planted bug: the lock is not taken, so one update forgets what the other wrote."""

    def one(item: int) -> None:
        update(keyed, f"id,free\nc{item},{item}\n", file=f"live-{item}.csv")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(one, range(6)))
    assert [values(keyed, item)[4] for item in range(6)] == [0, 1, 2, 3, 4, 5]


def test_the_file_of_live_values_follows_each_swap(tmp_path: Path) -> None:
    """Rows and their file stay. Planted bug: a file that is made once."""
    artifact.save(rows_model(mode=ServingMode.HELD), tmp_path / "model")
    model = artifact.load(tmp_path / "model")
    live = Serving(model, tmp_path / "model")
    holder = SnapshotHolder(live.snapshot)
    service = RetrievalService(holder)
    rows = service.catalog_file(FIRST, Part.WHOLE)
    for value in (1, 0):
        write_live(live_path(tmp_path / "model", 0), with_all(value, model.collections["cafes"]))
        assert live.refresh(pytest.fail)
        service.make_ready(live.snapshot)
        holder.swap(live.snapshot)
        file = service.catalog_file(FIRST, Part.LIVE)
        cafes_now = with_live_values(model.card, model.collections, file)["cafes"]
        shown = {listing.values[3:] for listing in cafes_now.listings(range(300))}
        assert shown == {(value == 1, value)}
        assert service.catalog_file(FIRST, Part.WHOLE) == rows
