"""Maps, axes and items that come whole: the exact bytes, there and back, and what sizes say. What
a server or a device of a metric space sends is either a core type or a WireError.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made_encoder, made_space
from wire.hostility import HOSTILE_TEXTS, Case, accepted_parts, altered
from wire.metric_world import (
    AXES_CARD,
    AXES_CARD_BYTES,
    AXES_REQUEST_BYTES,
    CAFES,
    CARD_BYTES,
    GERMANY,
    LISTINGS,
    MAP_CARD,
    NOISE,
    PLACES,
    REPLY_BYTES,
    REQUEST_BYTES,
    VERSION,
    axes_query,
    place_query,
)

from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import (
    DimensionMismatch,
    Malformed,
    NotFound,
    OtherKind,
    OutOfRange,
    StaleSpace,
    WireError,
)
from askew.noise.lattice import LatticeLaplace
from askew.protocol.metric_card import ALL, MetricCard, MetricRuleKind, PlaceSlate
from askew.protocol.model_card import Card, ModelCard
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Region
from askew.wire.places import (
    all_places_from_bytes,
    all_places_to_bytes,
    metric_card_from_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import card_from_bytes, card_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb

# A tag byte is 8 * field number + wire type, as in test_golden_bytes.
REQUEST = bytes.fromhex(
    "15 03000000"  # field 2, fixed32: k = 3; no space version, which would be field 1
    "22 08"  # field 4, packed: two sfixed32 take 8 bytes
    "20162103"  # 52,500,000 microdegrees
    "00000000"  # 0 takes its four bytes too
    "2a 0f"  # field 5, the noise of a map: 15 bytes
    "0d 08000000"  # step_exponent 8, a step of 1/256 km
    "15 2b040000"  # inverse_rate 1067
    "1d 24920000"  # cosine 37412, Germany's
    "32 06 636166c3a973"  # field 6: the collection, "cafés"
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
    "12 11 746f776e73206f662047656f4e616d6573"  # "towns of GeoNames"
    "42 26"  # field 8, MetricSpace: 38 bytes
    "0a 24"  # field 1, a region: 36 bytes
    "09 9a99999999994740 11 3333333333331740"  # south 47.2, west 5.8
    "19 cdcccccccc8c4b40 21 3333333333332e40"  # north 55.1, east 15.1
    "4a 3d"  # field 9, a collection: 61 bytes
    "0a 0d 706c6163657320746f20656174"  # "places to eat"
    "12 10 000102030405060708090a0b0c0d0e0f"  # its version
    "1a 09 53494d554c41544544"  # source: "SIMULATED"
    "20 01"  # simulated
    "35 2c010000"  # field 6, fixed32: 300 items
    "3d 64000000"  # field 7, fixed32: 100 bytes an item
    "42 03 61736b"  # field 8: "ask"
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
    cafes = replace(CAFES, n_items=n_items, attributes=(attribute,), wants=())
    card = replace(MAP_CARD, collections=(cafes,), rule=MetricRuleKind.ITEMS, density="none")
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


def test_one_question_asks_all_and_k_ends_where_their_bytes_do() -> None:
    """305 items of 100 bytes each: 80 of each collection."""
    card = replace(MAP_CARD, max_slate_size=256)
    everything = replace(place_query(k=80), collection=ALL)
    query = query_from_bytes(query_to_bytes(everything), card)
    assert [(q.collection, q.k) for q in card.questions(query)] == [
        ("places to eat", 80),
        ("cafés", 5),
    ]
    refused(lambda: query_from_bytes(query_to_bytes(replace(everything, k=81)), card), OutOfRange)


def test_a_question_of_tastes_is_of_another_space_to_a_server_of_places() -> None:
    tastes = replace(place_query(), collection="", catalog_date=20780)
    with pytest.raises(StaleSpace):
        query_from_bytes(query_to_bytes(tastes), MAP_CARD)


NAN, INF = float("nan"), float("inf")


def refused(parse: Callable[[], object], kind: type[WireError]) -> str:
    with pytest.raises(WireError) as caught:
        parse()
    assert caught.type is kind
    return str(caught.value)


# -- requests -------------------------------------------------------------------------------------

REQUESTS: dict[str, Case] = {
    "no position": ("values", [], OutOfRange),
    "a latitude alone": ("values", [0], OutOfRange),
    "three coordinates": ("values", [0, 0, 0], OutOfRange),
    "a latitude beyond the pole": ("values", [90_000_001, 0], OutOfRange),
    "a longitude beyond 180 degrees": ("values", [0, 180_000_001], OutOfRange),
    "the lowest longitude of 32 bits": ("values", [0, -(2**31)], OutOfRange),
    "a space version": ("space_version", bytes(16), OutOfRange),
    "a space version of 15 bytes": ("space_version", bytes(15), Malformed),
    "k = 0": ("k", 0, OutOfRange),
    "k = 6 of 5 items": ("k", 6, OutOfRange),
    "the largest k of 32 bits": ("k", 2**32 - 1, OutOfRange),
    "no collection": ("collection", "", NotFound),
    "another collection": ("collection", "cafe", NotFound),
    "a collection of a megabyte": ("collection", "x" * 2**20, NotFound),
    "a step exponent of 21": ("map.step_exponent", 21, OutOfRange),
    "an inverse rate of 0": ("map.inverse_rate", 0, OutOfRange),
    "an inverse rate of 4097": ("map.inverse_rate", 4097, OutOfRange),
    "no cosine": ("map.cosine", 0, OutOfRange),
    "the cosine of 75.1 degrees": ("map.cosine", 16851, OutOfRange),
    "a cosine of one": ("map.cosine", 65536, OutOfRange),
    "the largest cosine of 32 bits": ("map.cosine", 2**32 - 1, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), REQUESTS.values(), ids=REQUESTS)
def test_a_bad_question_to_a_map_is_refused(
    path: str, value: object, kind: type[WireError]
) -> None:
    bad = altered(pb.RetrieveRequest.FromString(REQUEST_BYTES), path, value)
    message = refused(lambda: query_from_bytes(bad, MAP_CARD), kind)
    assert "52" not in message


AXES_REQUESTS: dict[str, Case] = {
    "a coordinate too few": ("values", [0], DimensionMismatch),
    "a coordinate too many": ("values", [0, 0, 0], DimensionMismatch),
    "below the limit of the wire": ("values", [-(2**31), 0], OutOfRange),
    "another space": ("space_version", bytes(16), StaleSpace),
    "no space": ("space_version", b"", Malformed),
    "another collection": ("collection", "cafés", NotFound),
    "k = 65 of 64": ("k", 65, OutOfRange),
}


@pytest.mark.parametrize(("path", "value", "kind"), AXES_REQUESTS.values(), ids=AXES_REQUESTS)
def test_a_bad_question_to_axes_is_refused(path: str, value: object, kind: type[WireError]) -> None:
    bad = altered(pb.RetrieveRequest.FromString(AXES_REQUEST_BYTES), path, value)
    refused(lambda: query_from_bytes(bad, AXES_CARD), kind)


def tastes() -> ModelCard:
    space = made_space(made_encoder(d=2, ranking=3))
    return ModelCard(space, VERSION, 5, 5, "x", simulated=True, n_default=5, median_distance=1.0)


def test_a_question_to_a_space_of_another_kind_is_refused() -> None:
    taste = Query(Signal(tastes().space.version, LatticeLaplace(5, 1024), (0, 0)), 3)
    data = query_to_bytes(taste)
    refused(lambda: query_from_bytes(data, MAP_CARD), StaleSpace)
    refused(lambda: query_from_bytes(data, AXES_CARD), StaleSpace)
    refused(lambda: query_from_bytes(REQUEST_BYTES, tastes()), StaleSpace)
    refused(lambda: query_from_bytes(REQUEST_BYTES, AXES_CARD), StaleSpace)
    refused(lambda: query_from_bytes(AXES_REQUEST_BYTES, MAP_CARD), StaleSpace)


def test_a_server_of_tastes_has_no_collections() -> None:
    signal = Signal(tastes().space.version, LatticeLaplace(5, 1024), (0, 0))
    tastes().check(Query(signal, 3))
    refused(lambda: tastes().check(Query(signal, 3, "cafés")), NotFound)


def test_a_point_that_claims_to_be_a_position_is_refused() -> None:
    """In one program, where no wire looks at it first."""
    query = Query(Signal(ANY_SPACE, LatticeLaplace(5, 1024), (0, 0)), 3, "cafés")
    refused(lambda: MAP_CARD.check(query), OutOfRange)


def test_every_part_of_a_question_is_refused() -> None:
    assert not accepted_parts(REQUEST_BYTES, lambda d: query_from_bytes(d, MAP_CARD))
    assert not accepted_parts(AXES_REQUEST_BYTES, lambda d: query_from_bytes(d, AXES_CARD))


# -- replies --------------------------------------------------------------------------------------


def reply(*listings: pb.Listing) -> bytes:
    version = bytes.fromhex(CAFES.version)
    return pb.RetrieveResponse(catalog_version=version, listings=listings).SerializeToString()


def listing(**fields: object) -> pb.Listing:
    """The first item of a proper reply with some fields set to something else."""
    message = pb.RetrieveResponse.FromString(REPLY_BYTES).listings[0]
    for name, value in fields.items():
        data = altered(message, name, value)
        message = pb.Listing.FromString(data)
    return message


def parse_one(data: bytes) -> PlaceSlate:
    return places_from_bytes(data, MAP_CARD, 1, "cafés")


TEXT, NUMBER, FLAG = (
    pb.AttributeValue(text="a"),
    pb.AttributeValue(number=1.0),
    pb.AttributeValue(flag=True),
)
UNKNOWN = pb.AttributeValue()
LISTED: dict[str, dict[str, object]] = {
    "an item beyond the collection": {"item": 5},
    "the largest item of 32 bits": {"item": 2**32 - 1},
    "no coordinates": {"coordinates": []},
    "a latitude alone": {"coordinates": [1.0]},
    "three coordinates": {"coordinates": [1.0, 2.0, 3.0]},
    "a NaN": {"coordinates": [NAN, 0.0]},
    "an infinite longitude": {"coordinates": [0.0, -INF]},
    "a latitude beyond the pole": {"coordinates": [90.0001, 0.0]},
    "a longitude beyond 180 degrees": {"coordinates": [0.0, 180.0001]},
    "latitude and longitude in microdegrees": {"coordinates": [52.5e6, 13.3e6]},
    "no values": {"values": []},
    "a value too few": {"values": [UNKNOWN] * 3},
    "a value too many": {"values": [UNKNOWN] * 5},
    "a number for a category": {"values": [NUMBER, UNKNOWN, UNKNOWN, UNKNOWN]},
    "a flag for a category": {"values": [FLAG, UNKNOWN, UNKNOWN, UNKNOWN]},
    "text for a number": {"values": [UNKNOWN, TEXT, UNKNOWN, UNKNOWN]},
    "a flag for a number": {"values": [UNKNOWN, FLAG, UNKNOWN, UNKNOWN]},
    "a NaN price": {"values": [UNKNOWN, pb.AttributeValue(number=NAN), UNKNOWN, UNKNOWN]},
    "an infinite price": {"values": [UNKNOWN, pb.AttributeValue(number=INF), UNKNOWN, UNKNOWN]},
    "a number for a flag": {"values": [UNKNOWN, UNKNOWN, NUMBER, UNKNOWN]},
    "text for a flag": {"values": [UNKNOWN, UNKNOWN, TEXT, UNKNOWN]},
    "a number for hours": {"values": [UNKNOWN, UNKNOWN, UNKNOWN, NUMBER]},
}


@pytest.mark.parametrize("fields", LISTED.values(), ids=LISTED)
def test_an_item_that_does_not_fit_its_collection_is_refused(fields: dict[str, object]) -> None:
    assert parse_one(reply(listing())).listings == LISTINGS[:1]
    refused(lambda: parse_one(reply(listing(**fields))), OutOfRange)


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
def test_texts_that_steer_terminals_are_refused_wherever_they_stand(text: str) -> None:
    said = [refused(lambda: parse_one(reply(listing(title=text))), OutOfRange)]
    for at in (0, 3):
        values = [UNKNOWN] * 4
        values[at] = pb.AttributeValue(text=text)
        item = listing(values=values)
        said.append(refused(lambda item=item: parse_one(reply(item)), OutOfRange))  # type: ignore[misc]
    assert all(each.isprintable() and len(each) < 200 for each in said)


def test_an_item_off_the_axes_is_refused() -> None:
    bare = {"values": [], "title": "a"}
    version = bytes.fromhex(VERSION)

    def parse(*coordinates: float) -> PlaceSlate:
        item = listing(coordinates=coordinates, **bare)
        message = pb.RetrieveResponse(catalog_version=version, listings=[item])
        return places_from_bytes(message.SerializeToString(), AXES_CARD, 1, "places to eat")

    assert parse(800.0, 24.0).listings[0].coordinates == (800.0, 24.0)
    for wrong in ((800.1, 1.0), (-0.1, 1.0), (1.0, 24.1), (1.0,), (1.0, 1.0, 1.0), (NAN, 1.0)):
        refused(lambda wrong=wrong: parse(*wrong), OutOfRange)  # type: ignore[misc]


@pytest.mark.parametrize("items", [(1, 1), (2, 1)], ids=["twice", "descending"])
def test_items_that_are_not_distinct_and_ascending_are_refused(items: tuple[int, int]) -> None:
    data = reply(*(listing(item=item) for item in items))
    refused(lambda: places_from_bytes(data, MAP_CARD, 2, "cafés"), OutOfRange)


REPLIES: dict[str, Case] = {
    "no items": ("listings", [], Malformed),
    "item ids beside": ("item_ids", [0, 2, 4], Malformed),
    "boosts beside": ("boosts", bytes(4), Malformed),
    "codes beside": ("codes", bytes(4), Malformed),
    "another catalog": ("catalog_version", bytes(16), StaleSpace),
    "no catalog": ("catalog_version", b"", Malformed),
}


@pytest.mark.parametrize(("path", "value", "kind"), REPLIES.values(), ids=REPLIES)
def test_a_bad_reply_is_refused(path: str, value: object, kind: type[WireError]) -> None:
    bad = altered(pb.RetrieveResponse.FromString(REPLY_BYTES), path, value)
    refused(lambda: places_from_bytes(bad, MAP_CARD, 3, "cafés"), kind)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_reply_to_another_k_is_refused(k: int) -> None:
    refused(lambda: places_from_bytes(REPLY_BYTES, MAP_CARD, k, "cafés"), Malformed)


def test_a_reply_about_another_collection_is_refused() -> None:
    refused(lambda: places_from_bytes(REPLY_BYTES, MAP_CARD, 3, "places to eat"), StaleSpace)
    refused(lambda: places_from_bytes(REPLY_BYTES, MAP_CARD, 3, "bars"), NotFound)


def test_the_answer_for_all_has_a_part_for_each_collection() -> None:
    """Planted bugs: parts in another order, a part too few, one within another."""
    query = replace(place_query(k=2), collection=ALL)
    one, other = [replace(each, name=name) for each, name in ((CAFES, "here"), (CAFES, "there"))]
    card = replace(MAP_CARD, collections=(one, replace(other, version="ee" * 16)))
    here, there = (
        places_to_bytes(PlaceSlate(version * 16, LISTINGS[:2])) for version in ("ff", "ee")
    )
    both = all_places_from_bytes(all_places_to_bytes([here, there]), card, query)
    assert [each.catalog_version[:2] for each in both] == ["ff", "ee"]
    bad = [[there, here], [here], [here, there, here], [all_places_to_bytes([here]), there]]
    for parts in bad:
        with pytest.raises(WireError):
            all_places_from_bytes(all_places_to_bytes(parts), card, query)
    with pytest.raises(Malformed):
        all_places_from_bytes(here, card, query)


def test_every_part_of_a_reply_is_refused() -> None:
    def parse(data: bytes) -> PlaceSlate:
        return places_from_bytes(data, MAP_CARD, 3, "cafés")

    assert not accepted_parts(REPLY_BYTES, parse)


# -- cards ----------------------------------------------------------------------------------------


def changed_card(whole: bytes, change: Callable[[pb.GetModelCardResponse], object]) -> bytes:
    message = pb.GetModelCardResponse.FromString(whole)
    change(message)
    return message.SerializeToString()


CARDS: dict[str, tuple[Callable[[pb.GetModelCardResponse], object], type[WireError]]] = {
    "no space": (lambda m: m.ClearField("metric_space"), OutOfRange),
    "neither map nor axes": (lambda m: m.metric_space.ClearField("region"), Malformed),
    "more than the whole Earth": (lambda m: region(m, -90, -180, 90, 180.1), OutOfRange),
    "an area of one meridian": (lambda m: region(m, -90, 180, 90, 180), OutOfRange),
    "an area without a width": (lambda m: region(m, -90, 180, 90, -180), OutOfRange),
    "a region of one line": (lambda m: region(m, 50, 0, 50, 10), OutOfRange),
    "a NaN edge": (lambda m: region(m, NAN, 0, 50, 10), OutOfRange),
    "an infinite edge": (lambda m: region(m, 40, 0, 50, INF), OutOfRange),
    "no collections": (lambda m: m.ClearField("collections"), OutOfRange),
    "a collection twice": (lambda m: m.collections.append(m.collections[0]), OutOfRange),
    "257 collections": (
        lambda m: m.collections.extend([m.collections[0]] * 255),
        OutOfRange,
    ),
    "slates of nothing": (lambda m: setattr(m, "max_slate_size", 0), OutOfRange),
    "slates larger than any collection": (
        lambda m: setattr(m, "max_slate_size", 301),
        OutOfRange,
    ),
    "a collection of nothing": (lambda m: setattr(m.collections[0], "n_items", 0), OutOfRange),
    "10^9 items": (lambda m: setattr(m.collections[0], "n_items", 10**9), OutOfRange),
    "a version cut short": (lambda m: setattr(m.collections[0], "version", b"0"), Malformed),
    "a rule of tastes": (lambda m: setattr(m.rule, "name", "offsets"), OutOfRange),
    "a rule of another name": (lambda m: setattr(m.rule, "name", "area"), OutOfRange),
    "no rule": (lambda m: m.ClearField("rule"), OutOfRange),
    "an attribute of no kind": (
        lambda m: setattr(m.collections[1].attributes[0], "kind", "picture"),
        OutOfRange,
    ),
    "two attributes of one name": (
        lambda m: m.collections[1].attributes.append(m.collections[1].attributes[0]),
        OutOfRange,
    ),
    "65 words": (lambda m: m.collections[1].attributes[0].words.extend(["w"] * 65), OutOfRange),
    "a word that steers a terminal": (
        lambda m: m.collections[1].attributes[0].words.append("\x1b[2J"),
        OutOfRange,
    ),
    "words of a number": (
        lambda m: m.collections[1].attributes[1].words.append("cheap"),
        OutOfRange,
    ),
    "17 attributes": (
        lambda m: m.collections[1].attributes.extend(
            [pb.Attribute(name=f"a{n}", kind="flag") for n in range(13)]
        ),
        OutOfRange,
    ),
}


def region(
    message: pb.GetModelCardResponse, south: float, west: float, north: float, east: float
) -> None:
    message.metric_space.region.CopyFrom(pb.Region(south=south, west=west, north=north, east=east))


@pytest.mark.parametrize(
    ("edges", "width"),
    [((-90, -180, 90, 180), 360), ((-90, 0, 90, 10), 10), ((-10, 10, 10, 5), 355)],
)
def test_a_card_may_name_any_part_of_the_earth_because_no_promise_rests_on_it(
    edges: tuple[float, float, float, float], width: int
) -> None:
    card = metric_card_from_bytes(changed_card(CARD_BYTES, lambda m: region(m, *edges)))
    assert isinstance(card.space, MapSpace)
    assert card.space.area.width == width
    assert not isinstance(card.space.area, Region)
    assert metric_card_from_bytes(metric_card_to_bytes(card)) == card


@pytest.mark.parametrize(("change", "kind"), CARDS.values(), ids=CARDS)
def test_a_hostile_card_is_refused(
    change: Callable[[pb.GetModelCardResponse], object], kind: type[WireError]
) -> None:
    bad = changed_card(CARD_BYTES, change)
    refused(lambda: metric_card_from_bytes(bad), kind)


AXIS_FIELDS: dict[str, dict[str, object]] = {
    "an endless axis": {"high": INF},
    "a NaN axis": {"low": NAN},
    "an axis of nothing": {"high": 0.0},
    "an axis of 10^9 units": {"high": 1e9, "scale": 1.0},
    "a tiny scale": {"scale": 5e-324},
    "a scale of zero": {"scale": 0.0},
    "a name that clears the screen": {"name": "\x1b[2J"},
    "no name": {"name": ""},
    "no unit": {"unit": ""},
    "the name of another axis": {"name": "time of day"},
}


@pytest.mark.parametrize("fields", AXIS_FIELDS.values(), ids=AXIS_FIELDS)
def test_hostile_axes_are_refused(fields: dict[str, object]) -> None:
    def change(message: pb.GetModelCardResponse) -> None:
        for name, value in fields.items():
            setattr(message.metric_space.axes.axes[0], name, value)

    bad = changed_card(AXES_CARD_BYTES, change)
    refused(lambda: metric_card_from_bytes(bad), OutOfRange)


@pytest.mark.parametrize("count", [0, 4, 1000])
def test_another_number_of_axes_is_refused(count: int) -> None:
    def change(message: pb.GetModelCardResponse) -> None:
        axes = [pb.Axis(name=f"a{n}", unit="km", low=0, high=1, scale=1) for n in range(count)]
        message.metric_space.axes.CopyFrom(pb.Axes(axes=axes))

    bad = changed_card(AXES_CARD_BYTES, change)
    refused(lambda: metric_card_from_bytes(bad), OutOfRange)


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
def test_a_card_whose_texts_steer_terminals_is_refused(text: str) -> None:
    def in_field(target: Callable[[pb.GetModelCardResponse], object], name: str) -> bytes:
        return changed_card(CARD_BYTES, lambda message: setattr(target(message), name, text))

    places = [
        in_field(lambda m: m.collections[0], "name"),
        in_field(lambda m: m.collections[0], "source"),
        in_field(lambda m: m.collections[1].attributes[1], "name"),
        in_field(lambda m: m.rule, "prior"),
    ]
    if text:  # an attribute may have no unit
        places.append(in_field(lambda m: m.collections[1].attributes[1], "unit"))
    for bad in places:
        said = refused(lambda bad=bad: metric_card_from_bytes(bad), OutOfRange)  # type: ignore[misc]
        assert said.isprintable()
        assert len(said) < 200


def test_a_card_of_the_other_kind_is_refused_with_a_clear_line() -> None:
    said = refused(lambda: card_from_bytes(CARD_BYTES), OtherKind)
    assert "has collections" in said
    taste = card_to_bytes(tastes())
    said = refused(lambda: metric_card_from_bytes(taste), OtherKind)
    assert "a catalog of titles" in said


@pytest.mark.parametrize("value", [1, True, "4", NAN, INF])
def test_a_number_is_a_finite_float_and_nothing_else(value: object) -> None:
    price = Attribute("price", AttributeKind.NUMBER)
    price.check(None)
    price.check(4.0)
    refused(lambda: price.check(value), OutOfRange)  # type: ignore[arg-type]


def test_a_negative_id_is_no_items() -> None:
    refused(lambda: Listing(-1, "a", (0.0, 0.0)), OutOfRange)


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 0, 1)])
def test_a_slate_whose_ids_do_not_ascend_cannot_be_made(order: tuple[int, ...]) -> None:
    items = tuple([LISTINGS[at] for at in order])
    refused(lambda: PlaceSlate(VERSION, items), OutOfRange)
