"""The lines of the anchor: what they say of a link of the chain, and how it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from askew.dp.odometer import RunningLoss
from askew.errors import LedgerError
from askew_server.ledger.rationals import columns_of, spent_of

_LAST = 1 << 62  # far from the last number that SQLite can count to
FARTHEST = _LAST >> 1  # a repair goes here at most, so that rows after it have numbers left


@dataclass(frozen=True)
class Mark:
    """One line: a link of the chain, and the totals after it of the data sets that it touched.

    kept: whether the link was committed when the line was written. An announcement has no totals.
    """

    sequence: int
    hash: bytes
    spent: dict[str, RunningLoss]
    kept: bool = True

    @property
    def link(self) -> tuple[int, bytes]:
        """Its link, as the chain has it."""
        return self.sequence, self.hash


START = Mark(0, bytes(32), {})


def announced_line(mark: Mark) -> bytes:
    """That this link is about to be committed."""
    return _line({"announced": mark.sequence, "hash": mark.hash.hex()})


def kept_line(mark: Mark) -> bytes:
    """That this link was committed, and the totals after it."""
    spent = {name: columns_of(total) for name, total in sorted(mark.spent.items())}
    return _line({"sequence": mark.sequence, "hash": mark.hash.hex(), "spent": spent})


def read_line(line: bytes) -> Mark:
    """Either of the two, without its break. Raises ValueError."""
    try:
        content = json.loads(line)
        kept = "announced" not in content
        sequence = content["sequence" if kept else "announced"]
        totals = content["spent"] if kept else {}
        spent = {name: spent_of(columns) for name, columns in totals.items()}
        mark = Mark(sequence, bytes.fromhex(content["hash"]), spent, kept)
    except (LedgerError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(line) from error
    if type(sequence) is not int or not 0 < sequence < _LAST:
        raise ValueError(line)
    return mark


def is_whole(line: bytes) -> bool:
    """Whether a crash left all of it: room is zeros."""
    return b"\0" not in line


def _line(content: dict[str, object]) -> bytes:
    return msgspec.json.encode(content) + b"\n"
