"""What one side puts on the wire is what the other side takes off it, and sizes say nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made_encoder, made_space
from wire import metric_world as metric
from wire import taste_world as taste

from askew.catalog.catalog import Catalog, Neighbors
from askew.catalog.catalog_file import FIRST, HEAD_BYTES, LAST, FileHead, Part
from askew.catalog.item import Attribute, AttributeKind, Item, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import Malformed, OutOfRange, WireError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.metric_card import MetricCard, MetricRuleKind, PlaceSlate
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Region
from askew.spaces.vectors import RatingScale
from askew.wire.catalog_file import catalog_files, catalog_from_body, catalog_to_bytes
from askew.wire.places import (
    metric_card_from_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import (
    card_from_bytes,
    card_to_bytes,
    slate_from_bytes,
    slate_to_bytes,
)
from askew.wire.v1 import retrieval_pb2 as pb

# Values whose varint or zigzag encodings would have every length from nothing to ten bytes.
LIMIT = 2**31 - 1
LATTICE = LatticeLaplace(10, 1024)
CARD, CATALOG = taste.CARD, taste.CATALOG
COORDINATES = (0, 1, -1, 63, -64, 64, 127, 128, -129, 2**14, -(2**21), LIMIT, -LIMIT)


def query_of(card: ModelCard, coordinates: tuple[int, ...]) -> Query:
    return replace(taste.QUERY, signal=Signal(card.space.version, LATTICE, coordinates))


@pytest.mark.parametrize("dimension", [1, 2, 3, 16])
@pytest.mark.parametrize(
    "lattice", [LatticeLaplace(0, 1), LatticeLaplace(10, 1024), LatticeLaplace(20, 4096)]
)
def test_a_query_survives_the_wire(dimension: int, lattice: LatticeLaplace) -> None:
    card, _ = taste.world(dimension, 20)
    coordinates = tuple(itertools.islice(itertools.cycle(COORDINATES), dimension))
    query = Query(Signal(card.space.version, lattice, coordinates), 20, catalog_date=FIRST)
    assert query == query_from_bytes(query_to_bytes(query), card)
    signal = replace(metric.AXES_QUERY.signal, mechanism=lattice)
    query = replace(metric.AXES_QUERY, signal=signal, holds_rows=dimension == 2)
    assert query == query_from_bytes(query_to_bytes(query), metric.AXES_CARD)


@pytest.mark.parametrize("dimension", [1, 2, 3, 16])
def test_a_card_survives_the_wire_with_its_version(dimension: int) -> None:
    card, _ = taste.world(dimension, 5)
    received = card_from_bytes(card_to_bytes(card))
    assert received == card
    assert received.space.version == card.space.version


def test_a_space_in_whole_numbers_keeps_its_version_over_the_wire() -> None:
    """1 and 1.0 are the same limit; a server that wrote 1 must not refuse every device as stale."""
    space = made_space(made_encoder(unit=1, clip=1))
    space = replace(space, scale=RatingScale(1, 5, 4))
    received = card_from_bytes(card_to_bytes(replace(CARD, space=space)))
    assert space.version == received.space.version


@pytest.mark.parametrize("item_ids", [(0,), (0, 1, 2), (2, 3, 4), (0, 1, 2, 3, 4)])
def test_a_slate_survives_the_wire(item_ids: tuple[int, ...]) -> None:
    slate = Slate.of_catalog(CATALOG, item_ids)
    data = slate_to_bytes(slate, CARD)
    received = slate_from_bytes(data, CARD, len(item_ids))
    assert (slate.catalog_version, item_ids) == (received.catalog_version, received.item_ids)
    assert slate.items == received.items
    np.testing.assert_array_equal(slate.vectors, received.vectors, strict=True)
    np.testing.assert_array_equal(slate.boosts, received.boosts, strict=True)


def received_from(file: bytes) -> tuple[ModelCard, Catalog]:
    head, body = FileHead.of(file), file[HEAD_BYTES:]
    head.check(body)
    return catalog_from_body(body)


@pytest.mark.parametrize("n_items", [1, 2, 5, 999, 2500])
def test_what_devices_hold_survives_the_wire(n_items: int) -> None:
    card, catalog = taste.world(2, n_items)
    held_card, held = received_from(catalog_to_bytes(card, catalog))
    assert (held_card, held.items, held.shared_slate) == (card, catalog.items, catalog.shared_slate)
    np.testing.assert_array_equal(catalog.vectors, held.vectors, strict=True)
    np.testing.assert_array_equal(catalog.boosts, held.boosts, strict=True)
    assert catalog.version == held.version


def with_neighbors(
    card: ModelCard, catalog: Catalog, neighbors: Neighbors
) -> tuple[ModelCard, Catalog]:
    catalog = replace(catalog, neighbors=neighbors)
    return replace(card, catalog_version=catalog.version), catalog


@pytest.mark.parametrize("count", [1, 2, 13, 32])
def test_neighbors_survive_the_wire(count: int) -> None:
    """In two and a half bytes each, the odd one out in three."""
    items = (np.arange(999 * count).reshape(999, count) * 7919 % 999).astype(np.uint16)
    codes = (items % 16).astype(np.uint8)
    neighbors = Neighbors(np.where(codes, items, 0).astype(np.uint16), codes, 0.125)
    card, plain = taste.world(2, 999)
    card, catalog = with_neighbors(card, plain, neighbors)
    file = catalog_to_bytes(card, catalog)
    held_card, held = received_from(file)
    assert (held_card, held.version) == (card, catalog.version)
    assert held.neighbors is not None
    np.testing.assert_array_equal(neighbors.items, held.neighbors.items, strict=True)
    np.testing.assert_array_equal(neighbors.codes, held.neighbors.codes, strict=True)
    assert held.neighbors.step == neighbors.step
    size = len(file) - len(catalog_to_bytes(card, plain))
    assert 999 * (2 * count + (count + 1) // 2) < size < 999 * (2 * count + (count + 1) // 2) + 40


@pytest.mark.parametrize(
    "changed",
    [
        {"neighbors": b"\0" * 11},
        {"neighbors": b""},
        {"neighbor_codes": b"\x01" * 6},
        {"neighbor_codes": b""},
        {"neighbors": b"\5\0" * 5},
        {"neighbor_codes": b"\0" * 5, "neighbors": b"\1\0" * 5},
        {"neighbor_codes": b"\x21" * 5},
        {"neighbor_step": 0.0},
        {"neighbor_step": float("nan")},
        {"neighbor_step": 0.25},
    ],
)
def test_a_file_of_improper_neighbors_is_refused(changed: dict[str, object]) -> None:
    """The last is well formed: it is another catalog than its card's."""
    neighbors = Neighbors(np.full((5, 1), 2, np.uint16), np.full((5, 1), 1, np.uint8), 0.125)
    file = catalog_to_bytes(*with_neighbors(*taste.world(2, 5), neighbors))
    message = pb.CatalogFile.FromString(file[HEAD_BYTES:])
    for name, value in changed.items():
        setattr(message, name, value)
    with pytest.raises(WireError):
        catalog_from_body(message.SerializeToString())


def test_the_default_items_are_the_first_ones() -> None:
    """And the shared slate that goes with them names no other. Planted bug: all items in both."""
    card, catalog = taste.world(2, 100)
    card = replace(card, n_default=70)
    files = catalog_files(card, catalog)
    assert files.keys() == {Part.WHOLE, Part.DEFAULT}
    held_card, held = received_from(files[Part.DEFAULT])
    assert (held_card, held.items) == (card, catalog.items[:70])
    assert held.shared_slate == tuple(item for item in catalog.shared_slate if item < 70)
    assert len(received_from(files[Part.WHOLE])[1]) == 100
    assert catalog_files(replace(card, n_default=100), catalog).keys() == {Part.WHOLE}


def test_a_vector_that_codes_cannot_say_is_held_by_nobody() -> None:
    card, catalog = taste.world(2, 5)
    with pytest.raises(OutOfRange, match="4-bit codes"):
        catalog_to_bytes(card, replace(catalog, vectors=catalog.vectors + np.float32(0.1)))


def test_words_that_pack_better_than_devices_unpack_are_held_like_any_others() -> None:
    """Planted bug: packed all the same, which every device refuses."""
    card, catalog = taste.world(2, 1000)
    items = tuple([Item(f"{'The same words ' * 30}{i % 7}") for i in range(1000)])
    catalog = replace(catalog, items=items)
    card = replace(card, catalog_version=catalog.version)
    assert received_from(catalog_to_bytes(card, catalog))[1].items == items


@pytest.mark.parametrize("length", [0, 63])
def test_a_slate_for_anybody_that_is_too_short_to_compare_with_is_refused(length: int) -> None:
    """Planted bug: a server looks better than it is beside a slate of fewer items, or of none."""
    card, catalog = taste.world(2, 100)
    cut = replace(catalog, shared_slate=catalog.shared_slate[:length])
    card = replace(card, catalog_version=cut.version)
    with pytest.raises(Malformed, match="shared slate is shorter"):
        received_from(catalog_to_bytes(card, cut))


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        # 5 k + 12 lattice + 2 tag and length + 4 a coordinate + 5 catalog date
        (1, 28),
        (2, 32),
        (3, 36),
        (16, 88),
    ],
)
def test_the_size_of_a_request_depends_on_the_dimension_alone(
    dimension: int, expected: int
) -> None:
    """Fails for int32, sint32 or any other encoding that is shorter for small coordinates."""
    card, _ = taste.world(dimension, 5)
    rows = [
        *((value,) * dimension for value in COORDINATES),
        *((0,) * (dimension - 1) + (value,) for value in COORDINATES),
    ]
    sizes = {len(query_to_bytes(query_of(card, row))) for row in rows}
    assert {expected} == sizes


@pytest.mark.parametrize("epsilon", ["1/1024", "1/1023", "4", "1024"])
def test_the_size_of_a_request_is_one_for_all_epsilons(epsilon: str) -> None:
    """Planted bug: a lattice of step 1, whose exponent 0 vanishes from the message."""
    signal = Signal("00" * 16, LatticeLaplace.for_epsilon(Fraction(epsilon)), (0, 0))
    assert len(query_to_bytes(Query(signal, 3, catalog_date=FIRST))) == 32


def test_the_size_of_a_request_is_one_for_all_editions() -> None:
    """Planted bug: the day as a plain number, which grows with time."""
    signal = query_of(CARD, (0, 0)).signal
    sizes = {len(query_to_bytes(Query(signal, 3, catalog_date=day))) for day in (4, 20_000, LAST)}
    assert sizes == {32}


# -- places ---------------------------------------------------------------------------------------

degrees = st.floats(-60, 60)
texts = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)
Edges = tuple[float, float, float, float]
SIX_DIGITS = st.integers(-999_999, 999_998)


def survives(card: MetricCard) -> None:
    received = metric_card_from_bytes(metric_card_to_bytes(card))
    assert received == card
    assert received.space.version == card.space.version


@given(degrees, degrees, st.floats(0.01, 10), st.floats(-170, 180), st.floats(0.01, 10))
def test_any_area_survives_the_wire_to_the_last_bit(
    south: float, other: float, height: float, west: float, width: float
) -> None:
    area = Area(south, west, south + height, (west + width + 180) % 360 - 180)
    survives(replace(metric.MAP_CARD, space=MapSpace(area)))


@given(SIX_DIGITS, st.integers(1, 99), st.integers(-6, 3), st.integers(0, 255))
def test_axes_of_any_six_digits_survive_the_wire(
    low: int, width: int, power: int, number: int
) -> None:
    scale = float(f"1e{power}")
    start, end = (float(f"{n}e{power}") for n in (low, min(low + width, 999_999)))
    axes = AxisSpace((Axis("ç", "€", start, end, scale), *metric.AXES.axes))
    asked = (replace(metric.PLACES, number=number),)
    survives(replace(metric.AXES_CARD, space=axes, collections=asked))


@given(
    texts,
    st.sampled_from(AttributeKind),
    st.booleans(),
    st.just("") | texts,
    st.integers(5, 20_000_000),
    st.lists(texts, max_size=3),
)
def test_any_attribute_survives_the_wire(  # noqa: PLR0917  # one a field
    name: str,
    kind: AttributeKind,
    live: bool,
    unit: str,
    n_items: int,
    words: list[str],
) -> None:
    category = kind is AttributeKind.CATEGORY
    attribute = Attribute(name, kind, live, unit, tuple(words) if category else ())
    cafes = replace(metric.CAFES, n_items=n_items, attributes=(attribute,), wants=())
    card = replace(metric.MAP_CARD, collections=(cafes,), rule=MetricRuleKind.ITEMS, density="none")
    survives(card)


@given(
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.none() | texts,
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.booleans(),
)
def test_any_item_survives_the_wire(
    latitude: float, longitude: float, kind: str | None, price: float | None, is_open: bool | None
) -> None:
    item = Listing(3, "X", (latitude, longitude), (kind, price, is_open, kind))
    for listings in ((item,), metric.LISTINGS):
        slate = PlaceSlate("ff" * 16, listings)
        query = replace(metric.QUERY, k=len(listings))
        data = places_to_bytes(slate, metric.CAFES)
        assert places_from_bytes(data, metric.MAP_CARD, query) == (slate,)


MICRODEGREES = (0, 1, -1, 127, 128, -129, 2**14, -(2**21), 90_000_000, -90_000_000)


def test_the_size_of_a_question_near_a_place_is_one_for_all() -> None:
    """Of positions, levels, regions, collections. Planted bug: numbers of varying length, or zeros
    that vanish.
    """
    near = [metric.place_query(pair) for pair in itertools.product(MICRODEGREES, repeat=2)]
    near += [replace(metric.QUERY, collection=number) for number in (0, 1, 255, 256)]
    for region in (metric.GERMANY, Region(-1, 10, 1, 12), Region(74, 0, 74.9, 1)):
        for epsilon in ("1/1024", "0.0693", "0.277", "1.386", "1024"):
            noise = MapNoise.in_region(Fraction(epsilon), region)
            near.append(replace(metric.QUERY, signal=Signal(ANY_SPACE, noise, (0, 0))))
    # 5 collection + 5 k + 10 values + 17 noise
    assert {len(query_to_bytes(each)) for each in near} == {37}
    points = itertools.product((0, 1, -1, 127, 2**14, 2**31 - 1, 1 - 2**31), range(0, 300, 7))
    assert {len(query_to_bytes(metric.axes_query(each))) for each in points} == {37}


@settings(max_examples=50)
@given(st.integers(-90_000_000, 90_000_000), st.integers(-180_000_000, 180_000_000))
def test_nothing_but_public_settings_and_the_noisy_position_is_sent(north: int, east: int) -> None:
    """Byte for byte, everything else is the same."""
    data = query_to_bytes(metric.place_query((north, east)))
    values = north.to_bytes(4, "little", signed=True) + east.to_bytes(4, "little", signed=True)
    other = query_to_bytes(metric.place_query((0, 0)))
    assert (data[:12], data[12:20], data[20:]) == (other[:12], values, other[20:])


@pytest.mark.parametrize("value", [1, True, "4", float("nan"), float("inf")])
def test_a_number_is_a_finite_float_and_nothing_else(value: object) -> None:
    price = Attribute("price", AttributeKind.NUMBER)
    price.check(None)
    price.check(4.0)
    with pytest.raises(OutOfRange):
        price.check(value)  # type: ignore[arg-type]
