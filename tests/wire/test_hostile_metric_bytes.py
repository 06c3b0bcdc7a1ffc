"""Whatever a server or a device of a metric space sends is a core type or a WireError."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_world import RULE, made_encoder, made_space
from wire.hostility import HOSTILE_TEXTS, Case, accepted_parts, altered
from wire.metric_world import (
    AXES_CARD,
    AXES_CARD_BYTES,
    AXES_REQUEST_BYTES,
    CAFES,
    CARD_BYTES,
    LISTINGS,
    MAP_CARD,
    REPLY_BYTES,
    REQUEST_BYTES,
    VERSION,
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
from askew.protocol.metric_card import PlaceSlate
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapSpace, Region
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes, places_from_bytes
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.tastes import card_from_bytes, card_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb

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
    return ModelCard(space, VERSION, 5, 5, "x", simulated=True, rule=RULE, n_default=5)


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
    "a rule of tastes": (lambda m: setattr(m.rule, "name", "buckets"), OutOfRange),
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
