"""Maps, axes and items that come whole: the exact bytes, there and back, and what sizes say."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.metric_world import (
    AXES_CARD,
    CAFES,
    GERMANY,
    LISTINGS,
    MAP_CARD,
    NOISE,
    PLACES,
    VERSION,
    axes_query,
    place_query,
)

from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import OutOfRange, StaleSpace
from askew.protocol.metric_card import MetricCard, MetricRule, MetricRuleKind, PlaceSlate
from askew.protocol.model_card import Card
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Region
from askew.wire.places import (
    metric_card_from_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_from_bytes, query_to_bytes

# A tag byte is 8 * field number + wire type, as in test_golden_bytes.
REQUEST = bytes.fromhex(
    "15 03000000"  # field 2, fixed32: k = 3; no space version, which would be field 1
    "2a 08"  # field 5, packed: two sfixed32 take 8 bytes
    "20162103"  # 52,500,000 microdegrees
    "00000000"  # 0 takes its four bytes too
    "32 0f"  # field 6, the noise of a map: 15 bytes
    "0d 08000000"  # step_exponent 8, a step of 1/256 km
    "15 2b040000"  # inverse_rate 1067
    "1d 24920000"  # cosine 37412, Germany's
    "3a 06 636166c3a973"  # field 7: the collection, "cafés"
)

REPLY = bytes.fromhex(
    "0a 10 ffffffffffffffffffffffffffffffff"  # field 1: catalog_version
    "2a 43"  # field 5, a listing: 67 bytes
    "0d 01000000"  # item 1
    "12 03 426172"  # title "Bar"
    "1a 10 0000000000404a40 0000000000c02a40"  # 52.5, 13.375
    "22 07 0a05 6361 66c3a9"  # "café"
    "22 09 11 0000000000001240"  # 4.5
    "22 02 1800"  # closed: a flag takes its byte too
    "22 0d 0a0b 4d6f2d46722030382d3138"  # "Mo-Fr 08-18"
    "2a 22"  # field 5, another: 34 bytes
    "0d 02000000"  # item 2
    "12 01 58"  # title "X"
    "1a 10 0000000000000000 0000000000000000"  # zeros of eight bytes
    "2200 2200 2200 2200"  # nothing is known of it
)

CARD = bytes.fromhex(
    "25 05000000"  # field 4, fixed32: slates of at most 5
    "3a 1e"  # field 7, ServingRule: 30 bytes
    "0a 09 706f73746572696f72"  # "posterior"
    "22 11 746f776e73206f662047656f4e616d6573"  # "towns of GeoNames"
    "42 26"  # field 8, MetricSpace: 38 bytes
    "0a 24"  # field 1, a region: 36 bytes
    "09 9a99999999994740 11 3333333333331740"  # south 47.2, west 5.8
    "19 cdcccccccc8c4b40 21 3333333333332e40"  # north 55.1, east 15.1
    "4a 33"  # field 9, a collection: 51 bytes
    "0a 0d 706c6163657320746f20656174"  # "places to eat"
    "12 10 000102030405060708090a0b0c0d0e0f"  # its version
    "1a 09 53494d554c41544544"  # source: "SIMULATED"
    "20 01"  # simulated
    "35 2c010000"  # field 6, fixed32: 300 items
)


def whole(*listings: Listing) -> bytes:
    return places_to_bytes(PlaceSlate("ff" * 16, listings))


def test_a_request_is_these_bytes() -> None:
    assert query_to_bytes(place_query((52_500_000, 0))) == REQUEST
    assert query_from_bytes(REQUEST, MAP_CARD) == place_query((52_500_000, 0))


def test_a_reply_is_these_bytes() -> None:
    bar = Listing(1, "Bar", (52.5, 13.375), ("café", 4.5, False, "Mo-Fr 08-18"))
    unknown = Listing(2, "X", (0.0, 0.0), (None,) * 4)
    assert whole(bar, unknown) == REPLY
    slate = places_from_bytes(REPLY, MAP_CARD, 2, "cafés")
    assert (slate.listings, slate.item_ids) == ((bar, unknown), (1, 2))


def test_a_card_is_these_bytes() -> None:
    card = replace(MAP_CARD, collections=(PLACES,))
    assert metric_card_to_bytes(card) == CARD
    assert metric_card_from_bytes(CARD) == card


# -- there and back -------------------------------------------------------------------------------


@pytest.mark.parametrize("card", [MAP_CARD, AXES_CARD], ids=["map", "axes"])
def test_a_card_survives_the_wire_with_its_version(card: MetricCard) -> None:
    received = metric_card_from_bytes(metric_card_to_bytes(card))
    assert received == card
    assert received.space.version == card.space.version


degrees = st.floats(-60, 60)
texts = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)


@given(degrees, degrees, st.floats(0.01, 10), st.floats(-170, 180), st.floats(0.01, 10))
def test_any_area_survives_the_wire_to_the_last_bit(
    south: float, other: float, height: float, west: float, width: float
) -> None:
    area = Area(south, west, south + height, (west + width + 180) % 360 - 180)
    card = replace(MAP_CARD, space=MapSpace(area))
    received = metric_card_from_bytes(metric_card_to_bytes(card))
    assert received.space == MapSpace(area)


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
    cafes = replace(CAFES, n_items=n_items, attributes=(attribute,))
    card = replace(MAP_CARD, collections=(cafes,), rule=MetricRule(MetricRuleKind.ITEMS))
    assert metric_card_from_bytes(metric_card_to_bytes(card)) == card


def test_three_axes_survive_the_wire() -> None:
    axes = AxisSpace(
        (
            Axis("a", "km", -1e6, 0.1, scale=3.3),
            Axis("b", "hours", 0.0, 24.0, scale=0.5),
            Axis("ç", "€", -0.0, 1.0, scale=1e-3),
        )
    )
    card = replace(AXES_CARD, space=axes)
    received = metric_card_from_bytes(metric_card_to_bytes(card))
    assert received == card
    assert received.space.version == axes.version


@pytest.mark.parametrize(
    ("query", "card"), [(place_query(), MAP_CARD), (axes_query(), AXES_CARD)], ids=["map", "axes"]
)
def test_a_query_survives_the_wire(query: Query, card: Card) -> None:
    assert query_from_bytes(query_to_bytes(query), card) == query


@pytest.mark.parametrize("count", [1, 2, 3])
def test_items_survive_the_wire_whole(count: int) -> None:
    received = places_from_bytes(whole(*LISTINGS[:count]), MAP_CARD, count, "cafés")
    assert received.listings == LISTINGS[:count]


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
    assert places_from_bytes(whole(item), MAP_CARD, 1, "cafés").listings == (item,)


# -- sizes ----------------------------------------------------------------------------------------

MICRODEGREES = (0, 1, -1, 127, 128, -129, 2**14, -(2**21), 90_000_000, -90_000_000)


def test_the_size_of_a_question_is_one_for_all_positions() -> None:
    """Planted bug: numbers of varying length, or zeros that vanish."""
    pairs = [(north, east) for north in MICRODEGREES for east in MICRODEGREES]
    sizes = {len(query_to_bytes(place_query(pair))) for pair in pairs}
    # 5 k + 10 values + 17 noise + 8 collection
    assert sizes == {40}


@pytest.mark.parametrize("region", [GERMANY, Region(-1, 10, 1, 12), Region(74, 0, 74.9, 1)])
@pytest.mark.parametrize("epsilon", ["1/1024", "0.0693", "0.277", "1.386", "1024"])
def test_the_size_of_a_question_is_one_for_all_levels_and_regions(
    region: Region, epsilon: str
) -> None:
    noise = MapNoise.in_region(Fraction(epsilon), region)
    query = Query(Signal(ANY_SPACE, noise, (0, 0)), 20, "cafés")
    assert len(query_to_bytes(query)) == 40


def test_the_size_of_a_question_on_axes_is_one_for_all_points() -> None:
    pairs = itertools.product((0, 1, -1, 127, 2**14, 2**31 - 1, 1 - 2**31), range(0, 300, 7))
    assert len({len(query_to_bytes(axes_query(pair))) for pair in pairs}) == 1


@settings(max_examples=50)
@given(st.integers(-90_000_000, 90_000_000), st.integers(-180_000_000, 180_000_000))
def test_nothing_but_public_settings_and_the_noisy_position_is_sent(north: int, east: int) -> None:
    """Byte for byte, everything else is the same."""
    data = query_to_bytes(place_query((north, east)))
    values = north.to_bytes(4, "little", signed=True) + east.to_bytes(4, "little", signed=True)
    other = query_to_bytes(place_query((0, 0)))
    assert (data[:7], data[7:15], data[15:]) == (other[:7], values, other[15:])


def test_the_question_names_no_region_and_no_space() -> None:
    """A cosine is public, and two regions of one cosine ask with the same bytes."""
    assert NOISE.cosine == GERMANY.cosine
    assert VERSION not in query_to_bytes(place_query()).hex()


@pytest.mark.parametrize(("collection", "most"), [("places to eat", 50), ("cafés", 5)])
def test_k_ends_where_the_collection_that_is_asked_ends(collection: str, most: int) -> None:
    """Planted bug: one small collection lowers k for all."""
    card = replace(MAP_CARD, max_slate_size=50)
    for k in (most, most + 1):
        data = query_to_bytes(replace(place_query(k=k), collection=collection))
        if k == most:
            assert query_from_bytes(data, card).k == most
        else:
            with pytest.raises(OutOfRange, match=f"k must be from 1 to {most}"):
                query_from_bytes(data, card)


def test_a_question_of_tastes_is_of_another_space_to_a_server_of_places() -> None:
    tastes = replace(place_query(), catalog_date=20780)
    with pytest.raises(StaleSpace):
        query_from_bytes(query_to_bytes(tastes), MAP_CARD)
