"""The exact bytes of the wire, written down, so that it cannot drift unnoticed.

A tag byte is 8 * field number + wire type: 2 for bytes and packed numbers, 5 for four fixed bytes.
All numbers are little-endian.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew.vectors import FeatureSpace, RatingScale
from askew.wire import convert

VERSION = "000102030405060708090a0b0c0d0e0f"
BASIS = "ab" * 32

REQUEST = bytes.fromhex(
    "0a 10"  # field 1, bytes: 16 of them follow
    "000102030405060708090a0b0c0d0e0f"  # space_version
    "15 05000000"  # field 2, fixed32: step_exponent 5, a step of 1/32
    "1d 00040000"  # field 3, fixed32: inverse_rate 1024, so epsilon is 32/1024
    "25 07000000"  # field 4, fixed32: k = 7
    "2a 0c"  # field 5, packed: three sfixed32 take 12 bytes
    "00000000"  # 0 takes its four bytes too
    "ffffffff"  # -1, two's complement
    "ffffff7f"  # 2**31 - 1
)

REPLY = bytes.fromhex(
    "0a 10"  # field 1, bytes: 16 of them follow
    "000102030405060708090a0b0c0d0e0f"  # catalog_version
    "12 08"  # field 2, packed: two fixed32 take 8 bytes
    "00000000"  # item 0 takes its four bytes too
    "03010000"  # item 259 = 3 + 1 * 256
    "1a 10"  # field 3, bytes: two positions of two float32
    "0000803f 000020c0"  # 1.0 = 2**0 and -2.5 = -1.25 * 2**1
    "00000000 0000003f"  # 0.0 and 0.5 = 2**-1
)

CARD = bytes.fromhex(
    "0a 5a"  # field 1, FeatureSpace: 90 bytes
    "0a 08 000000000000f0bf"  # lower, packed double: -1.0
    "12 08 000000000000f03f"  # upper, packed double: 1.0
    "19 0000000000000440"  # gain 2.5
    "21 0000000000002040"  # weight_floor 8.0
    "29 000000000000e03f"  # lowest_rating 0.5
    "31 0000000000001440"  # highest_rating 5.0
    f"3a 20 {BASIS}"  # basis: 32 bytes
    "12 10 000102030405060708090a0b0c0d0e0f"  # field 2: catalog_version
    "1d 2c010000"  # field 3, fixed32: 300 items
    "25 40000000"  # field 4, fixed32: slates of at most 64
    "2a 05 6e6f747465"  # field 5: the source, "notte"
    "30 01"  # field 6: simulated
)

SPACE = FeatureSpace((-1.0,), (1.0,), 2.5, 8.0, RatingScale(0.5, 5.0), BASIS)


def card_of(space: FeatureSpace) -> ModelCard:
    return ModelCard(space, VERSION, 300, 64, "notte", simulated=True)


def test_a_request_is_these_bytes() -> None:
    query = Query(Signal(VERSION, Lattice(5, 1024), (0, -1, 2**31 - 1)), 7)
    expected = REQUEST
    assert expected == convert.query_to_bytes(query)


def test_a_reply_is_these_bytes() -> None:
    positions = np.array([[1.0, -2.5], [0.0, 0.5]], dtype=np.float32)
    expected = REPLY
    assert expected == convert.slate_to_bytes(Slate(VERSION, (0, 259), positions))


def test_these_bytes_are_a_reply() -> None:
    plane = FeatureSpace((-1.0,) * 2, (1.0,) * 2, 2.5, 8.0, RatingScale(0.5, 5.0), BASIS)
    slate = convert.slate_from_bytes(REPLY, card_of(plane), 2)
    expected = ((0, 259), [[1.0, -2.5], [0.0, 0.5]])
    assert expected == (slate.item_ids, slate.positions.tolist())


def test_a_card_is_these_bytes() -> None:
    expected = CARD
    assert expected == convert.card_to_bytes(card_of(SPACE))


def test_these_bytes_are_a_card() -> None:
    assert card_of(SPACE) == convert.card_from_bytes(CARD)


def test_the_version_of_a_space_is_a_digest_of_this_text() -> None:
    """Devices and servers compute it apart, so another spelling would make every signal stale."""
    text = f'[[-1.0], [1.0], [2.5, 8.0, 0.5, 5.0], "{BASIS}", "l1"]'
    assert hashlib.sha256(text.encode()).hexdigest()[:32] == SPACE.version


def test_the_version_of_a_catalog_is_a_digest_of_these_bytes() -> None:
    positions = np.array([[1.0], [-2.5]], dtype=np.float32)
    catalog = Catalog((Item("Heat", 1995, ("Crime",)), Item("It's")), positions, (1, 0))
    content = (
        b"(2, 1)('Heat', 1995, ('Crime',))\n"
        b'("It\'s", None, ())' + bytes.fromhex("0000803f 000020c0") + b"(1, 0)"
    )
    assert hashlib.sha256(content).hexdigest()[:32] == catalog.version


@pytest.mark.parametrize("golden", [REQUEST, REPLY, CARD], ids=["request", "reply", "card"])
def test_the_golden_bytes_hold_nothing_else(golden: bytes) -> None:
    """The sizes by the sum of their fields: no room for an id or a clock."""
    sizes = {REQUEST: 18 + 3 * 5 + 2 + 12, REPLY: 18 + 10 + 18, CARD: 92 + 18 + 5 + 5 + 7 + 2}
    assert sizes[golden] == len(golden)
