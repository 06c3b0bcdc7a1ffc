"""The exact bytes of the wire, written down, so that it cannot drift unnoticed.

A tag byte is 8 * field number + wire type: 1 for eight fixed bytes, 2 for bytes and packed numbers,
5 for four fixed bytes. All numbers are little-endian. There is no room for an id or a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from small_world import made_encoder, made_space
from wire.messages import QUESTION
from wire.metric_world import CAFES, MAP_CARD, MONDAY, NOISE, PLACES, place_query

from askew.catalog.item import Item, Listing
from askew.dp.privacy import ANY_SPACE
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import ModelCard, PlaceSlate
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.places import (
    metric_card_from_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.releases import question_from_bytes, question_to_bytes
from askew.wire.tastes import card_from_bytes, card_to_bytes, slate_from_bytes, slate_to_bytes

LATTICE = LatticeLaplace(5, 1024)
VERSION = "000102030405060708090a0b0c0d0e0f"
# 33 knots of one dimension: -1, -15/16, ..., 1.
KNOTS = np.linspace(-1, 1, 33).astype("<f8").tobytes().hex()
ENCODER = made_encoder(d=1, ranking=2, width=1.0, clip=0.5, least_likes=20, unit=1.5)
THE_CARD = ModelCard(made_space(ENCODER), VERSION, 300, 64, "notte", True, 12, 0.5)
THREE = replace(THE_CARD, space=made_space(made_encoder(d=3, ranking=3)))
SLATE = Slate(
    VERSION,
    (0, 259),
    np.array([[1.75, 0.0, -2.0], [-2.0, 0.0, -0.25]], np.float32),
    np.array([1, 0.5], np.float32),
    (Item("Alien", 1979, ("Sci",)), Item("X")),
)
BAR = Listing(1, "Bar", (52.5, 13.375), ("café", 4.5, False, "Mo-Fr 08-18"))
UNKNOWN = Listing(2, "X", (0.0, 0.0), (None,) * 4)
BARS = PlaceSlate("ff" * 16, (BAR, UNKNOWN))
TASTE = Query(Signal(THREE.space.version, LATTICE, (0, -1, 2**31 - 1)), 7, None, 11)
NEAR = replace(place_query((52_500_000, 0)), k=2)
HELD = Query(Signal(ANY_SPACE, NOISE, (0, -1)), 3, 256, MONDAY, holds_rows=True)
ONE_COLLECTION = replace(MAP_CARD, collections=(PLACES,))

Golden = tuple[str, Callable[[], bytes], Callable[[bytes], object], object]
GOLDEN: dict[str, Golden] = {
    "a question of tastes": (
        (
            "15 07000000"  # field 2, fixed32: k = 7; no collection, which would be field 1
            "1a 0a"  # field 3, the lattice: 10 bytes
            "0d 05000000"  # step_exponent 5, a step of 1/32
            "15 00040000"  # inverse_rate 1024, so epsilon is 32/1024
            "22 0c"  # field 4, packed: three sfixed32 take 12 bytes
            "00000000"  # 0 takes its four bytes too
            "ffffffff"  # -1, two's complement
            "ffffff7f"  # 2**31 - 1
            "35 0b000000"
        ),  # field 6, fixed32: the Monday, the second one of 1970
        lambda: query_to_bytes(TASTE),
        lambda data: query_from_bytes(data, THREE),
        TASTE,
    ),
    "a question near a place": (
        (
            "0d 07000000"  # field 1, fixed32: collection 7
            "15 02000000"  # field 2, fixed32: k = 2
            "22 08"  # field 4, packed: two sfixed32 take 8 bytes
            "20162103"  # 52,500,000 microdegrees
            "00000000"  # 0 takes its four bytes too
            "2a 0f"  # field 5, the noise of a map: 15 bytes
            "0d 08000000"  # step_exponent 8, a step of 1/256 km
            "15 2b040000"  # inverse_rate 1067
            "1d 24920000"
        ),  # cosine 37412, Germany's
        lambda: query_to_bytes(NEAR),
        lambda data: query_from_bytes(data, MAP_CARD),
        NEAR,
    ),
    "a question of all for live values": (
        (
            "0d 00010000 15 03000000"  # collection 256, which is all of them; k = 3
            "22 08 00000000 ffffffff"
            "2a 0f 0d 08000000 15 2b040000 1d 24920000"
            "35 2c510000"  # field 6: the Monday of the rows
            "38 01"
        ),  # field 7: it holds them
        lambda: query_to_bytes(HELD),
        lambda data: query_from_bytes(data, MAP_CARD),
        HELD,
    ),
    "a reply of titles": (
        (
            "0a 10"  # field 1, bytes: 16 of them follow
            "000102030405060708090a0b0c0d0e0f"  # catalog_version
            "12 08"  # field 2, packed: two fixed32 take 8 bytes
            "00000000"  # item 0 takes its four bytes too
            "03010000"  # item 259 = 3 + 1 * 256
            "1a 02 c0 b8"  # field 3: two boosts, 1 and 1/2
            "22 04"  # field 4: two items of three codes take 2 bytes each
            "8f 00"  # item 0: codes 15 (1.75), 8 (0) and 0 (-2)
            "80 07"  # item 259: codes 0 (-2), 8 (0) and 7 (-1/4)
            "32 0f"  # field 6, an Item: 15 bytes
            "0a 05 416c69656e"  # its title, "Alien"
            "10 bb0f"  # its year, 1979
            "1a 03 536369"  # a genre, "Sci"
            "32 03 0a 01 58"
        ),  # an item without year and genre, "X"
        lambda: slate_to_bytes(SLATE, THREE),
        lambda data: said(slate_from_bytes(data, THREE, 2)),
        ((0, 259), SLATE.items, SLATE.vectors.tolist(), [1, 0.5]),
    ),
    "a reply of places": (
        (
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
            "45 07000000"
        ),  # field 8, fixed32: it is of collection 7
        lambda: places_to_bytes(BARS, CAFES),
        lambda data: places_from_bytes(data, MAP_CARD, NEAR),
        (BARS,),
    ),
    "a card of titles": (
        (
            "0a db02"  # field 1, FeatureSpace: 347 bytes
            "09 000000000000f03f"  # lowest_rating 1.0
            "11 0000000000001440"  # highest_rating 5.0
            "19 0000000000001040"  # like_from 4.0
            f"22 8802 {KNOTS}"  # knots, packed: 264 bytes
            "2a 08 0000803f 00000000"  # directions: 1 and 0
            "32 08 00000000 00000000"  # origin
            "39 000000000000e03f"  # clip 1/2
            "45 14000000"  # least_likes 20
            "49 000000000000f83f"  # unit 1.5
            "52 08 0000803e 0000803e"  # scales of item codes, 1/4 each
            "12 10 000102030405060708090a0b0c0d0e0f"  # field 2: catalog_version
            "1d 2c010000"  # field 3, fixed32: 300 items
            "25 40000000"  # field 4, fixed32: slates of at most 64
            "2a 05 6e6f747465"  # field 5: the source, "notte"
            "30 01"  # field 6: simulated
            "55 0c000000"  # field 10, fixed32: 12 default items
            "59 000000000000e03f"
        ),  # field 11: the median distance, 1/2
        lambda: card_to_bytes(THE_CARD),
        card_from_bytes,
        THE_CARD,
    ),
    "a card of places": (
        (
            "25 05000000"  # field 4, fixed32: slates of at most 5
            "3a 1e"  # field 7, ServingRule: 30 bytes
            "0a 09 706f73746572696f72"  # "posterior"
            "12 11 746f776e73206f662047656f4e616d6573"  # "towns of GeoNames"
            "42 26"  # field 8, MetricSpace: 38 bytes
            "0a 24"  # field 1, a region: 36 bytes
            "09 9a99999999994740 11 3333333333331740"  # south 47.2, west 5.8
            "19 cdcccccccc8c4b40 21 3333333333332e40"  # north 55.1, east 15.1
            "4a 42"  # field 9, a collection: 66 bytes
            "0a 0d 706c6163657320746f20656174"  # "places to eat"
            "12 10 000102030405060708090a0b0c0d0e0f"  # its version
            "1a 09 53494d554c41544544"  # source: "SIMULATED"
            "20 01"  # simulated
            "35 2c010000"  # field 6, fixed32: 300 items
            "3d 64000000"  # field 7, fixed32: 100 bytes an item
            "42 03 61736b"  # field 8: "ask"
            "55 02000000"
        ),  # field 10, fixed32: its number, 2
        lambda: metric_card_to_bytes(ONE_COLLECTION),
        metric_card_from_bytes,
        ONE_COLLECTION,
    ),
    "a question of an analyst": (
        "0a 05 66696c6d73 15 14000000 1a 06 6d6f6e646179",  # "films", k = 20, "monday"
        lambda: question_to_bytes(QUESTION),
        question_from_bytes,
        QUESTION,
    ),
}


def said(slate: Slate) -> object:
    return slate.item_ids, slate.items, slate.vectors.tolist(), slate.boosts.tolist()


@pytest.mark.parametrize("name", GOLDEN)
def test_a_message_is_these_bytes_and_these_bytes_are_the_message(name: str) -> None:
    """Planted bug: a digest of the space in place of its Monday."""
    golden, encode, parse, value = GOLDEN[name]
    assert encode() == bytes.fromhex(golden)
    assert parse(bytes.fromhex(golden)) == value
