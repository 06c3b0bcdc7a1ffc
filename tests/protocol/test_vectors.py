"""The core against the vectors by which every implementation of the protocol is tested."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import islice
from typing import Any

from protocol import vectors
from protocol.tape import tape

from askew_client.settings.settings import LEVELS

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
