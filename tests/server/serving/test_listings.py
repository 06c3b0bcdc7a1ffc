"""A reply of items from the columns of a collection is what its listings would be."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from near_world import INLAND, signal_at
from small_collections import DAY, cafes, posts, small_map

from askew.catalog.listing import AttributeKind
from askew.protocol.signal import Query
from askew.spaces.map import MapNoise
from askew.wire.listing_bytes import listings_to_bytes, parts_of
from askew_server.collections.collection import Collection, Picked
from askew_server.collections.columns import Column, Flags, Numbers, Titles, Words
from askew_server.collections.live import live_path, write_live
from askew_server.retrieval.served import LiveValues
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving import retrieval
from askew_server.serving.retrieval import ListingReplies, RetrievalService


def from_listings(collection: Collection, rows: np.ndarray) -> bytes:
    return listings_to_bytes(collection.card.version, collection.each(rows, parts_of))


@pytest.mark.parametrize("collection", [cafes(), posts(), posts(DAY)])
def test_with_and_without_values_of_every_kind(collection: Collection) -> None:
    """Planted bug: what is unknown takes the first value."""
    replies, all_rows = ListingReplies(), np.arange(len(collection))
    for rows in (all_rows, all_rows[:1], all_rows[5:9]):
        assert replies.reply(Picked(collection, rows)) == from_listings(collection, rows)


def test_live_values_are_those_of_the_collection_that_answers() -> None:
    """Planted bug: tables by the name of a collection."""
    replies, before, rows = ListingReplies(), cafes(), np.arange(30)
    replies.reply(Picked(before, rows))
    live: dict[str, Column] = {
        "open": Flags(np.ones(30, np.int8)),
        "free": Numbers(np.full(30, 0.1, np.float32)),
    }
    after = before.with_live(live)
    assert replies.reply(Picked(after, rows)) == from_listings(after, rows)
    assert replies.reply(Picked(after, rows)) != replies.reply(Picked(before, rows))


def test_nobody_finds_out_by_the_time_whether_others_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start and after each change of live values all is made before the first question.

    Planted bugs: the first question of a collection makes its tables; only a start makes them.
    """
    made, plain = list[Column](), retrieval._encoder

    def noted(column: Column) -> retrieval._Encoder:
        made.append(column)
        return plain(column)

    monkeypatch.setattr(retrieval, "_encoder", noted)
    live = LiveValues(tmp_path, small_map())
    service = RetrievalService(SnapshotHolder(live.snapshot))
    assert len(made) == len(cafes().columns)
    write_live(live_path(tmp_path, 0), cafes())
    assert live.refresh(pytest.fail)
    service.make_ready(live.snapshot)
    assert len(made) == 2 * len(cafes().columns)
    noise = MapNoise.in_region(Fraction(277, 1000), INLAND)
    service._reply(live.snapshot, Query(signal_at(49.0, 9.0, noise), 8, "cafes"))
    assert len(made) == 2 * len(cafes().columns)


def test_numbers_that_are_few_and_those_that_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: a table by value, in which no NaN is found, and where -0.0 is 0.0; a table of
    those numbers alone that are asked for.
    """
    plain, rows = cafes(), np.arange(30)
    numbers = np.array([7, 23.6, -0.0, 0.0, np.nan, 1e-30] * 5, np.float32)
    numbers.view(np.uint32)[4] |= 1  # another NaN
    columns = (plain.columns[0], Numbers(numbers), *plain.columns[2:])
    kinds = [each.kind for each in plain.card.attributes]
    assert kinds[1] is AttributeKind.NUMBER
    collection = Collection(plain.card, plain.coordinates, plain.titles, columns)
    expected = from_listings(collection, rows)
    assert ListingReplies().reply(Picked(collection, rows)) == expected
    monkeypatch.setattr(retrieval, "_FEW", 0)
    monkeypatch.setattr(retrieval, "_of_bits", pytest.fail)
    assert ListingReplies().reply(Picked(collection, rows)) == expected


def test_of_many_words_no_table_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, rows = cafes(), np.arange(30)
    expected = from_listings(collection, rows)
    monkeypatch.setattr(retrieval, "_FEW", 1)
    assert ListingReplies().reply(Picked(collection, rows)) == expected


def test_a_vocabulary_as_it_is_saved() -> None:
    collection, rows = cafes(), np.arange(30)
    kinds = collection.columns[0]
    assert isinstance(kinds, Words)
    saved = Words(kinds.codes, Titles.of(list(kinds.vocabulary)))
    read = Collection(
        collection.card, collection.coordinates, collection.titles, (saved, *collection.columns[1:])
    )
    assert ListingReplies().reply(Picked(read, rows)) == from_listings(collection, rows)
