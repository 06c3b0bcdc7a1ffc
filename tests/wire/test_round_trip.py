"""What one side puts on the wire is what the other side takes off it, and sizes say nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_world import made_encoder, made_space

from askew.errors import Malformed
from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.randomized_response import RandomizedResponse
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
    return Slate(card.catalog_version, item_ids, catalog.scoring[list(item_ids)])


@pytest.mark.parametrize("dimension", [1, 2, 3, 16])
@pytest.mark.parametrize("lattice", [Lattice(0, 1), Lattice(10, 1024), Lattice(20, 4096)])
def test_a_query_survives_the_wire(world: World, dimension: int, lattice: Lattice) -> None:
    card, _ = world(dimension, 20)
    coordinates = tuple(itertools.islice(itertools.cycle(COORDINATES), dimension))
    query = Query(Signal(card.space.version, lattice, coordinates), 20)
    assert query == convert.query_from_bytes(convert.query_to_bytes(query), card)


@pytest.mark.parametrize("dimension", [1, 2, 3, 16])
def test_a_card_survives_the_wire(world: World, dimension: int) -> None:
    card, _ = world(dimension, 5)
    assert card == convert.card_from_bytes(convert.card_to_bytes(card))


@pytest.mark.parametrize("dimension", [1, 2, 3, 16])
def test_a_space_keeps_its_version_over_the_wire(world: World, dimension: int) -> None:
    card, _ = world(dimension, 5)
    received = convert.card_from_bytes(convert.card_to_bytes(card))
    assert card.space.version == received.space.version


def test_a_space_given_in_whole_numbers_keeps_its_version_over_the_wire(card: ModelCard) -> None:
    """1 and 1.0 are the same limit; a server that wrote 1 must not refuse every device as stale."""
    space = made_space(made_encoder(unit=1, clip=1), card.space.buckets)
    space = replace(space, scale=RatingScale(1, 5, 4))
    received = convert.card_from_bytes(convert.card_to_bytes(replace(card, space=space)))
    assert space.version == received.space.version


def test_a_space_without_buckets_survives_the_wire(card: ModelCard) -> None:
    bare = replace(card, space=replace(card.space, buckets=None))
    received = convert.card_from_bytes(convert.card_to_bytes(bare))
    assert received == bare
    assert received.space.buckets is None


@pytest.mark.parametrize("bucket", range(4))
def test_a_bucket_survives_the_wire(card: ModelCard, bucket: int) -> None:
    response = RandomizedResponse.for_epsilon(4, Fraction(20))
    query = Query(Signal(card.space.version, response, (bucket,)), 2)
    assert query == convert.query_from_bytes(convert.query_to_bytes(query), card)


@pytest.mark.parametrize("item_ids", [(0,), (0, 1, 2), (2, 3, 4), (0, 1, 2, 3, 4)])
def test_a_slate_survives_the_wire(
    card: ModelCard, catalog: Catalog, item_ids: tuple[int, ...]
) -> None:
    slate = slate_of(card, catalog, item_ids)
    received = convert.slate_from_bytes(convert.slate_to_bytes(slate), card, len(item_ids))
    assert (slate.catalog_version, item_ids) == (received.catalog_version, received.item_ids)
    step = np.abs(slate.vectors).max(axis=0) / 7.5
    assert (np.abs(slate.vectors - received.vectors) <= step / 2 + 1e-6).all()


@pytest.mark.parametrize("chunk_items", [1, 2, 5, 1000])
def test_a_catalog_survives_the_wire_in_any_chunks(
    card: ModelCard, catalog: Catalog, chunk_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "CHUNK_ITEMS", chunk_items)
    chunks = list(convert.catalog_to_chunks(catalog))
    received = convert.catalog_from_chunks(chunks, card)
    assert -(-5 // chunk_items) == len(chunks)
    assert (catalog.items, catalog.shared_slate) == (received.items, received.shared_slate)
    np.testing.assert_array_equal(catalog.vectors, received.vectors, strict=True)
    np.testing.assert_array_equal(catalog.boosts, received.boosts, strict=True)


@pytest.mark.parametrize("n_items", [1, 999, 1000, 1001, 2500])
def test_a_catalog_of_any_length_survives_the_wire(world: World, n_items: int) -> None:
    card, catalog = world(2, n_items)
    received = convert.catalog_from_chunks(convert.catalog_to_chunks(catalog), card)
    assert catalog.version == received.version


@pytest.mark.parametrize("length", [0, 63])
def test_a_slate_for_anybody_that_is_too_short_to_compare_with_is_refused(
    world: World, length: int
) -> None:
    """Planted bug: a server looks better than it is beside a slate of fewer items, or of none."""
    card, catalog = world(2, 100)
    cut = replace(catalog, shared_slate=catalog.shared_slate[:length])
    card = replace(card, catalog_version=cut.version)
    with pytest.raises(Malformed, match="shared slate is shorter"):
        convert.catalog_from_chunks(convert.catalog_to_chunks(cut), card)


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
        # 18 version + 5 k + 12 lattice + 2 tag and length + 4 a coordinate
        (1, 41),
        (2, 45),
        (3, 49),
        (16, 101),
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
    assert {45} == {len(convert.query_to_bytes(query_of(card, pair))) for pair in pairs}


@pytest.mark.parametrize("epsilon", ["1/1024", "1/1023", "4", "1024"])
def test_the_size_of_a_request_is_one_for_all_epsilons(epsilon: str) -> None:
    """Planted bug: a lattice of step 1, whose exponent 0 vanishes from the message."""
    signal = Signal("00" * 16, Lattice.for_epsilon(Fraction(epsilon)), (0, 0))
    assert len(convert.query_to_bytes(Query(signal, 3))) == 45


@pytest.mark.parametrize("buckets", [2, 24, 4096])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1024), Fraction(4), Fraction(20)])
def test_the_size_of_a_request_by_bucket_is_one_for_all_buckets(
    buckets: int, epsilon: Fraction
) -> None:
    """Planted bug: the bucket as a plain number, which vanishes from the message when it is 0."""
    response = RandomizedResponse.for_epsilon(buckets, epsilon)
    queries = (Query(Signal("00" * 16, response, (bucket,)), 3) for bucket in range(buckets))
    # 18 version + 5 k + 16 response + 6 bucket
    assert {45} == {len(convert.query_to_bytes(query)) for query in queries}


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 5, 32])
def test_the_size_of_a_reply_depends_on_k_and_the_ranking_dimension_alone(
    world: World, dimension: int, k: int
) -> None:
    card, catalog = world(dimension, 300)
    ranking = dimension + 1
    starts = range(300 - k)  # ids below and above 128 and 256, vectors of every size
    slates = [slate_of(card, catalog, tuple(range(i, i + k))) for i in starts]
    zeros = np.zeros((k, ranking), dtype=np.float32)
    slates.append(Slate(card.catalog_version, tuple(range(k)), zeros))
    sizes = [4 * k, 4 * ranking, (k * ranking + 1) // 2]
    # 18 version, then a tag, a length of one byte or two, and the content, three times
    expected = 18 + sum(size + (2 if size < 128 else 3) for size in sizes)
    assert {expected} == {len(convert.slate_to_bytes(slate)) for slate in slates}


def test_twenty_items_of_32_dimensions_take_less_than_600_bytes() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 32)).astype(np.float32)
    assert len(convert.slate_to_bytes(Slate("00" * 16, tuple(range(20)), vectors))) == 554
