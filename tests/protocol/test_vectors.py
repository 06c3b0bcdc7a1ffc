"""The core and this device against the vectors by which every other implementation is tested."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from asked import near
from made_device import made_device
from protocol import vectors
from protocol.tape import TapeBits, tape
from small_map import NearServer

from askew.dp.privacy import ANY_SPACE
from askew.protocol.metric_card import MetricCard
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise, Position, Region
from askew.wire.places import metric_card_from_bytes
from askew.wire.queries import query_to_bytes
from askew_client.settings.settings import LEVELS, ClientSettings

VECTORS: dict[str, Any] = json.loads(vectors.FILE.read_text(encoding="utf-8"))


def test_the_file_is_what_the_core_makes() -> None:
    """Byte for byte, so that a draw, a rare branch of one, a message, opening hours or a rounding
    that changes is seen. Planted bugs: a coin on its bound that falls without reading on; two coins
    that do not share a uniform.
    """
    made = vectors.vectors()
    same = {name: vectors.text_of(made[name]) == vectors.text_of(VECTORS[name]) for name in VECTORS}
    assert [name for name, is_same in same.items() if not is_same] == []
    assert vectors.FILE.read_text(encoding="utf-8") == vectors.file_of(made)
    assert json.loads(vectors.REGIONS_FILE.read_text(encoding="utf-8")) == made["regions"]
    assert min(len(made["draws"]) / 40, len(made["edges"])) >= 100
    assert {row[1] for row in made["draws"]} == set(LEVELS)


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


class Recorded(NearServer):
    """A server that answers with a recorded reply, whatever is asked."""

    reply: bytes = b""

    async def call(self, method: str, request: bytes) -> bytes:
        if method != "Retrieve":
            return await super().call(method, request)
        self.requests.append(request)
        return self.reply


class Handles(TapeBits):
    """A tape for draws, whose first bytes are not those of a handle."""

    handle_is_read = False

    def read(self, count: int) -> bytes:
        if self.handle_is_read:
            return super().read(count)
        self.handle_is_read = True
        return bytes(count)


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
    [edges] = [edges for code, _, *edges, _ in VECTORS["regions"] if code == "DE"]
    germany = Region(*edges)
    card: MetricCard = metric_card_from_bytes(bytes.fromhex(VECTORS["cards"][row["card"]]["bytes"]))
    server = Recorded(card)
    server.reply = bytes.fromhex(row["reply"])
    settings = ClientSettings(region="DE", near_k=row["k"])
    device = made_device(server, tmp_path, settings, bits=Handles(number))
    true = Position(*row["true"])
    position = true if germany.contains(true) else Position(50.0, 9.0)
    answer = await near(device, row["collection"], position)
    noise = MapNoise.in_region(LEVELS["town"], germany)
    signal = Signal(ANY_SPACE, noise, noise.perturb(position, germany, TapeBits(number)))
    query = Query(signal, row["k"], card.asked_number(row["collection"]))
    assert server.requests == [query_to_bytes(query)]
    if position == true:
        assert [each.distance for each in answer.results] == row["answers"][0]["distances"]
