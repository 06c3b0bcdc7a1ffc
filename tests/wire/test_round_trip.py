"""What one side puts on the wire is what the other side takes off it, and sizes say nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew.vectors import RatingScale
from askew.wire import convert

World = Callable[[int, int], tuple[ModelCard, Catalog]]

# Values whose varint or zigzag encodings would have every length from nothing to ten bytes.
LIMIT = 2**31 - 1
COORDINATES = (0, 1, -1, 63, -64, 64, 127, 128, -129, 2**14, -(2**21), LIMIT, -LIMIT)


def query_of(card: ModelCard, coordinates: tuple[int, ...], k: int = 3) -> Query:
    return Query(Signal(card.space.version, Lattice(10, 1024), coordinates), k)


def slate_of(card: ModelCard, catalog: Catalog, item_ids: tuple[int, ...]) -> Slate:
    return Slate(card.catalog_version, item_ids, catalog.positions[list(item_ids)])


@pytest.mark.parametrize("dimension", [1, 2, 3, 64])
@pytest.mark.parametrize("lattice", [Lattice(0, 1), Lattice(10, 1024), Lattice(20, 4096)])
def test_a_query_survives_the_wire(world: World, dimension: int, lattice: Lattice) -> None:
    card, _ = world(dimension, 20)
    coordinates = tuple(itertools.islice(itertools.cycle(COORDINATES), dimension))
    query = Query(Signal(card.space.version, lattice, coordinates), 20)
    assert query == convert.query_from_bytes(convert.query_to_bytes(query), card)


@pytest.mark.parametrize("dimension", [1, 2, 3, 64])
def test_a_card_survives_the_wire(world: World, dimension: int) -> None:
    card, _ = world(dimension, 5)
    assert card == convert.card_from_bytes(convert.card_to_bytes(card))


@pytest.mark.parametrize("dimension", [1, 2, 3, 64])
def test_a_space_keeps_its_version_over_the_wire(world: World, dimension: int) -> None:
    card, _ = world(dimension, 5)
    received = convert.card_from_bytes(convert.card_to_bytes(card))
    assert card.space.version == received.space.version


def test_a_space_given_in_whole_numbers_keeps_its_version_over_the_wire(card: ModelCard) -> None:
    """1 and 1.0 are the same bound; a server that wrote 1 must not refuse every device as stale."""
    space = replace(
        card.space, lower=(-1, -2), upper=(1, 2), gain=2, weight_floor=8, scale=RatingScale(1, 5)
    )
    received = convert.card_from_bytes(convert.card_to_bytes(replace(card, space=space)))
    assert space.version == received.space.version


@pytest.mark.parametrize("item_ids", [(0,), (0, 1, 2), (2, 3, 4), (0, 1, 2, 3, 4)])
def test_a_slate_survives_the_wire(
    card: ModelCard, catalog: Catalog, item_ids: tuple[int, ...]
) -> None:
    slate = slate_of(card, catalog, item_ids)
    received = convert.slate_from_bytes(convert.slate_to_bytes(slate), card, len(item_ids))
    assert (slate.catalog_version, item_ids) == (received.catalog_version, received.item_ids)
    np.testing.assert_array_equal(slate.positions, received.positions, strict=True)


@pytest.mark.parametrize("chunk_items", [1, 2, 5, 1000])
def test_a_catalog_survives_the_wire_in_any_chunks(
    card: ModelCard, catalog: Catalog, chunk_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "CHUNK_ITEMS", chunk_items)
    chunks = list(convert.catalog_to_chunks(catalog))
    received = convert.catalog_from_chunks(chunks, card)
    assert -(-5 // chunk_items) == len(chunks)
    assert (catalog.items, catalog.shared_slate) == (received.items, received.shared_slate)
    np.testing.assert_array_equal(catalog.positions, received.positions, strict=True)


@pytest.mark.parametrize("n_items", [1, 999, 1000, 1001, 2500])
def test_a_catalog_of_any_length_survives_the_wire(world: World, n_items: int) -> None:
    card, catalog = world(2, n_items)
    received = convert.catalog_from_chunks(convert.catalog_to_chunks(catalog), card)
    assert catalog.version == received.version


@pytest.mark.parametrize(
    "other",
    [
        Item("Alien", 1980, ("Horror", "Science Fiction")),
        Item("Alien", None, ("Horror", "Science Fiction")),
        Item("Aliens", 1979, ("Horror", "Science Fiction")),
        Item("Alien", 1979, ("Science Fiction", "Horror")),
        Item("Alien", 1979, ("Horror, Science Fiction",)),
    ],
    ids=str,
)
def test_the_version_of_a_catalog_covers_every_word_of_it(catalog: Catalog, other: Item) -> None:
    changed = replace(catalog, items=(other, *catalog.items[1:]))
    assert catalog.version != changed.version


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        # 18 version + 3 * 5 lattice and k + 2 tag and length + 4 a coordinate
        (1, 39),
        (2, 43),
        (3, 47),
        (31, 159),
        # from 128 bytes on, the length takes a second byte
        (32, 164),
        (64, 292),
    ],
)
def test_the_size_of_a_request_depends_on_the_dimension_alone(
    world: World, dimension: int, expected: int
) -> None:
    """Fails for int32, sint32 or any other encoding that is shorter for small coordinates."""
    card, _ = world(dimension, 5)
    rows = [
        *((value,) * dimension for value in COORDINATES),
        *((0,) * (dimension - 1) + (value,) for value in COORDINATES),
    ]
    sizes = {len(convert.query_to_bytes(query_of(card, row))) for row in rows}
    assert {expected} == sizes


def test_the_size_of_a_request_in_the_plane_is_one_for_all_pairs(card: ModelCard) -> None:
    pairs = itertools.product(COORDINATES, repeat=2)
    assert {43} == {len(convert.query_to_bytes(query_of(card, pair))) for pair in pairs}


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 5, 32])
def test_the_size_of_a_reply_depends_on_k_and_the_dimension_alone(
    world: World, dimension: int, k: int
) -> None:
    card, catalog = world(dimension, 300)
    starts = range(300 - k)  # ids below and above 128 and 256, positions of every size
    slates = [slate_of(card, catalog, tuple(range(i, i + k))) for i in starts]
    zeros = np.zeros((k, dimension), dtype=np.float32)
    slates.append(Slate(card.catalog_version, tuple(range(k)), zeros))
    length = [4 * k, 4 * k * dimension]
    # 18 version, then a tag, a length of one byte or two, and the numbers, twice
    expected = 18 + sum(size + (2 if size < 128 else 3) for size in length)
    assert {expected} == {len(convert.slate_to_bytes(slate)) for slate in slates}
