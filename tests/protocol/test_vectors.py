"""The core and this device against the vectors by which every other implementation is tested."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from asked import near
from made_device import made_device
from protocol import vectors
from protocol.tape import TapeBits, tape
from small_map import NearServer

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.metric_card import MetricCard
from askew.spaces.map import MapNoise, Position, Region
from askew.wire.places import metric_card_from_bytes
from askew_client.near.pick import is_open
from askew_client.settings.settings import LEVELS, ClientSettings

VECTORS: dict[str, Any] = json.loads(vectors.FILE.read_text(encoding="utf-8"))
REGIONS = {row[0]: Region(*row[2:6]) for row in VECTORS["regions"]}
CODES = [*REGIONS]


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return vectors.vectors()


def test_the_file_is_what_the_core_makes(made: dict[str, Any]) -> None:
    """Byte for byte, so that a law, a message or a rounding that changes is seen."""
    same = {name: vectors.text_of(made[name]) == vectors.text_of(VECTORS[name]) for name in VECTORS}
    assert [name for name, is_same in same.items() if not is_same] == []
    assert vectors.FILE.read_text(encoding="utf-8") == vectors.file_of(made)


def test_the_table_of_regions_is_the_device_s() -> None:
    rows = json.loads(vectors.REGIONS_FILE.read_text(encoding="utf-8"))
    assert rows == VECTORS["regions"]
    assert [REGIONS[row[0]].cosine for row in rows] == [row[6] for row in rows]


def drawn(row: list[Any], bits: RandomBits) -> list[int]:
    region, level, latitude, longitude, *_ = row
    plane = REGIONS[CODES[region]]
    noise = MapNoise.in_region(LEVELS[level], plane)
    return [*noise.perturb(Position(latitude, longitude), plane, bits)]


@pytest.mark.slow
def test_every_draw_is_that_of_the_file() -> None:
    rows = VECTORS["draws"]
    assert len(rows) >= 4000
    assert Counter(row[0] for row in rows).keys() == set(range(len(CODES)))
    assert {row[1] for row in rows} == set(LEVELS)
    assert [n for n, row in enumerate(rows) if drawn(row, TapeBits(n)) != row[4:]] == []


def test_every_rare_branch_is_that_of_the_file() -> None:
    """Planted bugs: a coin on its bound that falls without reading on; a geometric draw that ends
    at its digits.
    """
    for row in VECTORS["forced"]:
        seed, patches, count = row[6:]
        bits = TapeBits(seed, {place: bytes.fromhex(patch) for place, patch in patches})
        assert drawn(row, bits) == row[4:6]
        assert bits.read_bytes == count


def test_draws_on_the_edges_of_their_grain_are_those_of_the_file() -> None:
    """Elsewhere 512 steps are one, and hide how a point is rounded. Planted bug: two coins that do
    not share a uniform.
    """
    assert len(VECTORS["edges"]) >= 100
    for row in VECTORS["edges"]:
        assert drawn(row, TapeBits(row[6])) == row[4:6]


def test_the_rare_branches_are_forced_and_not_only_named() -> None:
    """Each coin of a level reads on once and twice; draws go beyond their digits up to three times;
    some stay.
    """
    for level, numbers in VECTORS["levels"].items():
        coins = 2 + 4 + 2 * (numbers["digits"] + 1)
        extra = Counter(row[8] // 16 - coins for row in VECTORS["forced"] if row[1] == level)
        assert extra[0] > 0
        assert {1, 2, 3, 4, 5, 6} <= extra.keys()
        # All but the two halves, heads and tails.
        assert extra[1] >= 2 * (coins - 2) - 4
        assert extra[2] >= 2 * (coins - 2) - 4


def test_a_tape_is_what_the_document_says() -> None:
    first = hashlib.sha256(b"askew 7 0").digest() + hashlib.sha256(b"askew 7 1").digest()
    assert bytes(islice(tape(7), 64)) == first
    assert bytes(islice(tape(7, {31: b"\1\2"}), 34)) == first[:31] + b"\1\2" + first[33:34]


def test_noise_on_axes_and_of_tastes_is_that_of_the_file() -> None:
    for seed, epsilon, exponent, rate, digits, point, values in VECTORS["lattices"]:
        lattice = LatticeLaplace.for_epsilon(Fraction(epsilon))
        assert lattice == LatticeLaplace(exponent, rate)
        assert lattice.noise.levels == digits
        assert [*lattice.perturb(map(Fraction, point), TapeBits(seed))] == values


def test_opening_hours_are_read_as_in_the_file() -> None:
    assert {tuple(row) for row in VECTORS["opening_hours"]} == {
        (text, now.weekday(), 60 * now.hour + now.minute, is_open(text, now))
        for text in vectors.HOURS
        for now in vectors.NOWS
    }


class Recorded(NearServer):
    """A server that answers with a recorded reply, whatever is asked."""

    reply: bytes = b""

    async def call(self, method: str, request: bytes) -> bytes:
        recorded = await super().call(method, request) if method != "Retrieve" else self.reply
        if method == "Retrieve":
            self.requests.append(request)
        return recorded


class Handles(TapeBits):
    """A tape for draws, whose first bytes are not those of a handle."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._handle = True

    def read(self, count: int) -> bytes:
        if self._handle:
            self._handle = False
            return bytes(count)
        return super().read(count)


WHOLE = [
    (n, row)
    for n, row in enumerate(VECTORS["replies"])
    if row["collection"] != "*" and row["preferences"] == "" and row["card"] == 0
]


@pytest.mark.parametrize(("number", "row"), WHOLE, ids=[str(n) for n, _ in WHOLE])
async def test_a_whole_question_of_this_device_is_that_of_the_file(
    tmp_path: Path, number: int, row: dict[str, Any]
) -> None:
    """From the same random bytes the same question, and of the same reply the same order."""
    card: MetricCard = metric_card_from_bytes(bytes.fromhex(VECTORS["cards"][row["card"]]["bytes"]))
    server = Recorded(card)
    server.reply = bytes.fromhex(row["reply"])
    germany = CODES.index("DE")
    settings = ClientSettings(region="DE", near_k=row["k"])
    device = made_device(server, tmp_path, settings, bits=Handles(number))
    position = Position(*row["true"])
    if not REGIONS["DE"].contains(position):
        position = Position(50.0, 9.0)
    answer = await near(device, row["collection"], position)
    values = drawn([germany, "town", position.latitude, position.longitude], TapeBits(number))
    noise = MapNoise.in_region(LEVELS["town"], REGIONS["DE"])
    packed = b"".join(value.to_bytes(4, "little", signed=True) for value in values)
    numbers = (noise.lattice.step_exponent, noise.lattice.inverse_rate, noise.cosine)
    law = b"".join(bytes([8 * n + 5]) + v.to_bytes(4, "little") for n, v in enumerate(numbers, 1))
    number = card.asked_number(row["collection"])
    [request] = server.requests
    assert request == (
        b"\x0d" + number.to_bytes(4, "little")
        + b"\x15" + row["k"].to_bytes(4, "little") + b"\x22\x08" + packed
        + b"\x2a\x0f" + law
    )  # fmt: skip
    if position == Position(*row["true"]):
        assert [each.distance for each in answer.results] == row["answers"][0]["distances"]
