"""The file of rows: to the last bit there and back, small, and refused where anything is amiss."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from served_rows import rows_model
from small_collections import DAY, GERMANY, posts

from askew.catalog.catalog_file import HEAD_BYTES, FileHead, Part
from askew.errors import AskewError, WireError
from askew.protocol.cards import MetricCard
from askew.protocol.collection import Collection, curve_order
from askew.spaces.map import MapSpace
from askew.wire.catalog_file import rows_files, rows_from_body, rows_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.collections.model import model_of
from askew_server.demo.places import GERMANY as REGION
from askew_server.demo.places import german_towns, places_to_eat

MODEL = rows_model(60)


def body_of(card: MetricCard, *collections: Collection) -> bytes:
    return rows_to_bytes(card, {each.card.name: each for each in collections})[HEAD_BYTES:]


BODY = body_of(MODEL.card, *MODEL.collections.values())


def same(received: Collection, sent: Collection) -> bool:
    """All but live values, which are unknown of the received."""
    live, rows = [each.live for each in sent.card.attributes], range(len(sent))
    pairs = zip(received.listings(rows), sent.listings(rows), strict=True)
    return all(
        (a.title, a.coordinates) == (b.title, b.coordinates)
        and [*a.values] == [None if now else v for now, v in zip(live, b.values, strict=True)]
        for a, b in pairs
    )


def test_rows_survive_their_file_to_the_last_bit() -> None:
    """Of five decimals as steps, of more as they are; with the version that is their content's."""
    card, rows = rows_from_body(BODY)
    assert card == MODEL.card
    for name, sent in MODEL.collections.items():
        assert same(rows[name], sent)
        assert rows[name].own_version == sent.card.version
    six = MODEL.collections["cafes"].coordinates
    assert (np.round(six, 5) != six).any()


def test_rows_on_axes_and_on_both_sides_of_180_degrees_survive() -> None:
    day = model_of(DAY, [posts(DAY, n=24)])
    _, rows = rows_from_body(body_of(day.card, day.collections["posts"]))
    assert same(rows["posts"], day.collections["posts"])
    held = posts(n=4)
    held = replace(held, coordinates=np.array([[-17.5, 179.99999], [0, -180], [1, 180.0], [2, 3]]))
    held = replace(held, card=replace(held.card, version=held.own_version))
    model = model_of(MapSpace(GERMANY.area), [held])
    _, rows = rows_from_body(body_of(model.card, held))
    assert rows["posts"].coordinates.tolist() == held.coordinates.tolist()


def test_ten_thousand_places_take_ten_bytes_each() -> None:
    """With titles of three words, a kind, a price and hours. Planted bug: rows off the curve."""
    held = places_to_eat(10_000, german_towns(), REGION)
    held = held.part(curve_order(held.coordinates))
    held = replace(held, card=replace(held.card, version=held.own_version))
    card = model_of(MapSpace(REGION), [held]).card
    body = body_of(card, held)
    assert len(body) / 10_000 < 10.5
    _, some = rows_from_body(body_of(card, held.spread(0.01)))
    assert len(some["food"]) == 100
    assert some["food"].card.version == held.card.version


def test_the_default_rows_are_of_collections_without_live_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("askew.wire.catalog_file.DEVICE_BYTES", 1000)
    monkeypatch.setattr("askew.wire.catalog_file.DEFAULT_BYTES", 700)
    files = rows_files(MODEL.card, MODEL.collections)
    _, rows = rows_from_body(files[Part.DEFAULT][HEAD_BYTES:])
    assert rows.keys() == {"posts"}
    assert 0 < len(rows["posts"]) < len(MODEL.collections["posts"])
    assert FileHead.of(files[Part.DEFAULT]).size < 1.2 * 700


def changed(change: Callable[[pb.CollectionRows], object]) -> bytes:
    """The body with other rows of the first collection."""
    message = pb.CatalogFile.FromString(BODY)
    rows = pb.CollectionRows.FromString(zlib.decompress(message.rows[0]))
    change(rows)
    message.rows[0] = zlib.compress(rows.SerializeToString())
    return message.SerializeToString()


def at_no_number(rows: pb.CollectionRows) -> None:
    rows.steps, rows.coordinates = b"", b"\xff" * 16 * 60


def packed(*rows: bytes) -> bytes:
    """The body with the rows of the first collection, and these."""
    message = pb.CatalogFile.FromString(BODY)
    message.rows[1:] = rows
    return message.SerializeToString()


def of_no_word() -> bytes:
    rows = pb.CollectionRows.FromString(zlib.decompress(pb.CatalogFile.FromString(BODY).rows[1]))
    rows.columns[0].words = "tea"
    return packed(zlib.compress(rows.SerializeToString()))


def of_titles() -> bytes:
    message = pb.CatalogFile()
    message.card.space.unit = 1.0
    return message.SerializeToString()


def steps(change: Callable[[bytes], bytes]) -> bytes:
    return changed(lambda rows: setattr(rows, "steps", change(rows.steps)))


def titles(change: Callable[[str], str]) -> bytes:
    return changed(lambda rows: setattr(rows, "titles", change(rows.titles)))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "half of it": (lambda: BODY[: len(BODY) // 2], "not a message"),
    "rows of one collection": (packed, "one part for each collection"),
    "no zlib": (lambda: packed(b"askew"), "cannot be unpacked"),
    "titles too few": (lambda: titles(lambda _: "Post 1"), "one value for each row"),
    "a title that steers": (lambda: titles(lambda text: "\x1b" + text[1:]), "the titles must be"),
    "a step too few": (lambda: steps(lambda data: data[:-4]), "one value for each row"),
    "beyond the pole": (lambda: steps(lambda data: b"\xff" * len(data)), "lies outside"),
    "NaN": (lambda: changed(at_no_number), "lies outside"),
    "other positions": (lambda: steps(lambda data: bytes(len(data))), "its content's"),
    "a number of no word": (of_no_word, "the number of a word that it does not have"),
    "a catalog of titles": (of_titles, "a catalog of titles"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_of_rows_is_refused(name: str) -> None:
    made, why = HOSTILE[name]
    with pytest.raises(WireError, match=why):
        rows_from_body(made())


def test_what_unpacks_to_far_more_than_rows_is_not_unpacked() -> None:
    """Planted bug: all of it is unpacked, and refused then."""
    body = packed(zlib.compress(bytes(10**8), 9))
    tracemalloc.start()
    try:
        with pytest.raises(AskewError, match="too large"):
            rows_from_body(body)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
