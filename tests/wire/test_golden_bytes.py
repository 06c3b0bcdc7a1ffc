"""The exact bytes of the wire, written down, so that it cannot drift unnoticed.

A tag byte is 8 * field number + wire type: 1 for eight fixed bytes, 2 for bytes and packed numbers,
5 for four fixed bytes. All numbers are little-endian.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_world import made_encoder, made_space

from askew.catalog.item import Item
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.queries import query_to_bytes
from askew.wire.tastes import card_from_bytes, card_to_bytes, slate_from_bytes, slate_to_bytes

VERSION = "000102030405060708090a0b0c0d0e0f"

REQUEST = bytes.fromhex(
    "15 07000000"  # field 2, fixed32: k = 7
    "1a 0a"  # field 3, the lattice: 10 bytes
    "0d 05000000"  # step_exponent 5, a step of 1/32
    "15 00040000"  # inverse_rate 1024, so epsilon is 32/1024
    "22 0c"  # field 4, packed: three sfixed32 take 12 bytes
    "00000000"  # 0 takes its four bytes too
    "ffffffff"  # -1, two's complement
    "ffffff7f"  # 2**31 - 1
    "3d 0b000000"  # field 7, fixed32: the catalog date, the second Monday of 1970
)


REPLY = bytes.fromhex(
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
    "32 03 0a 01 58"  # an item without year and genre, "X"
)
ITEMS = (Item("Alien", 1979, ("Sci",)), Item("X"))
NUMBERS = [[1.75, 0.0, -2.0], [-2.0, 0.0, -0.25]]

# 33 knots of one dimension: -1, -15/16, ..., 1.
KNOTS = np.linspace(-1, 1, 33).astype("<f8").tobytes().hex()

CARD = bytes.fromhex(
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
    "58 01"  # field 11: a signal was worth it
    "61 000000000000e03f"  # field 12: the median distance, 1/2
)

ENCODER = made_encoder(d=1, ranking=2, width=1.0, clip=0.5, least_likes=20, unit=1.5)
SPACE = made_space(ENCODER)
THE_CARD = ModelCard(SPACE, VERSION, 300, 64, "notte", True, 12, 0.5, worth_asking=True)
REPLYING = replace(THE_CARD, space=made_space(made_encoder(d=1, ranking=3)))


def test_a_request_is_these_bytes() -> None:
    query = Query(Signal(VERSION, LatticeLaplace(5, 1024), (0, -1, 2**31 - 1)), 7, catalog_date=11)
    expected = REQUEST
    assert expected == query_to_bytes(query)


def test_a_reply_is_these_bytes() -> None:
    numbers, boosts = np.array(NUMBERS, np.float32), np.array([1, 0.5], np.float32)
    slate = Slate(VERSION, (0, 259), numbers, boosts, ITEMS)
    expected = REPLY
    assert expected == slate_to_bytes(slate, REPLYING)


def test_these_bytes_are_a_reply() -> None:
    slate = slate_from_bytes(REPLY, REPLYING, 2)
    assert (slate.item_ids, slate.items) == ((0, 259), ITEMS)
    assert (slate.vectors.tolist(), slate.boosts.tolist()) == (NUMBERS, [1, 0.5])


def test_a_card_is_these_bytes() -> None:
    expected = CARD
    assert expected == card_to_bytes(THE_CARD)


def test_these_bytes_are_a_card() -> None:
    assert card_from_bytes(CARD) == THE_CARD


GOLDEN = {"request": REQUEST, "reply": REPLY, "card": CARD}
SIZES = {
    "request": 5 + 12 + 2 + 12 + 5,
    "reply": 18 + 10 + 4 + 6 + 17 + 5,
    "card": 3 + 347 + 18 + 5 + 5 + 7 + 2 + 5 + 2 + 9,
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_bytes_hold_nothing_else(name: str) -> None:
    """The sizes by the sum of their fields: no room for an id or a clock."""
    assert SIZES[name] == len(GOLDEN[name])
