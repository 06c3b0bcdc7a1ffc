"""The mark of a ledger: a small file beside it that says where the ledger ends and what is spent.

A ledger is an append-only file of SQLite. Each entry has a sequence and a random id. Whoever spends
does, under the ledger's write lock: compare with the mark, commit the entry, write the mark, and
only then count or draw. So after a crash the mark names the ledger's last entry or the one before
it, and every other pair was made by a copy that somebody put back or carried elsewhere. The mark's
sequence only rises, so a ledger that was put back is noticed, and what it lost is still known.
docs/proofs/mark.md has the cases. Without I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction

from askew.errors import ParameterError

Position = tuple[int, str]  # an entry's sequence and its random id
START: Position = (0, "")
ID_BYTES = 16
Losses = Mapping[str, tuple[Fraction, ...]]  # by account: its running sums, one for each notion

_ID = re.compile("[0-9a-f]{32}")
_STORED = re.compile("([0-9a-f]+)/([1-9a-f][0-9a-f]*)")  # nothing that is stored is negative
_LAST = 1 << 62  # far from the last number that SQLite can count to


@dataclass(frozen=True)
class Mark:
    """Where a ledger ends, and the running losses of all its entries by account."""

    position: Position = START
    spent: Losses = field(default_factory=dict)


class Standing(Enum):
    """How a ledger stands to its mark."""

    OK = auto()
    NEW = auto()
    BEHIND = auto()
    OLDER = auto()
    FORKED = auto()
    UNMARKED = auto()
    DAMAGED = auto()

    @property
    def may_spend(self) -> bool:
        """Return True for OK, NEW and BEHIND, which a crash explains.

        Whoever spends writes the mark first, unless OK.
        """
        return self in {Standing.OK, Standing.NEW, Standing.BEHIND}


MESSAGES: Mapping[Standing, str] = {
    Standing.OLDER: "the ledger is older than its mark, or gone: an old copy was put back, or its "
    "file was deleted",
    Standing.FORKED: "the ledger and its mark name different last entries: one of them was put "
    "back, or is a copy that another device or server went on with",
    Standing.UNMARKED: "the ledger's mark is missing: the ledger was copied here without it, or "
    "the mark was deleted",
    Standing.DAMAGED: "the ledger's mark cannot be read",
}


def compare(
    content: bytes | None, notions: int, end: Position, before: Position | None
) -> tuple[Standing, Mark]:
    """Return how a ledger stands to its mark, and the mark: OK if that names the ledger's end,
    BEHIND if the entry before, OLDER if it has a higher sequence than the end, else FORKED. With an
    empty Mark(): without content NEW if the ledger is empty, else UNMARKED; DAMAGED if `decode`
    refuses it.

    content: of the mark's file, or None where there is none. notions: how many sums an account has.
    end: the ledger's last entry, or START where it has none. before: the entry before that, START
    for the first, None for an empty ledger.
    """
    if content is None:
        return (Standing.NEW if end == START else Standing.UNMARKED), Mark()
    try:
        mark = decode(content, notions)
    except ParameterError:
        return Standing.DAMAGED, Mark()
    if mark.position == end:
        return Standing.OK, mark
    if mark.position == before:
        return Standing.BEHIND, mark
    return (Standing.OLDER if end[0] < mark.position[0] else Standing.FORKED), mark


def larger(one: Losses, other: Losses) -> dict[str, tuple[Fraction, ...]]:
    """Return the larger of the two sums for each account and notion, sorted by account; of an
    account that only one side has, its sums.
    """
    both = {name: (one.get(name, ()), other.get(name, ())) for name in {*one, *other}}
    return {
        name: tuple(map(max, mine, theirs)) if mine and theirs else mine or theirs
        for name, (mine, theirs) in sorted(both.items())
    }


def encode(mark: Mark) -> bytes:
    """Return the content of a mark's file, JSON that `decode` reads: {"sequence": 3, "id": "...",
    "spent": {"me": ["1/3", "a/1"]}}, sums in hexadecimal.
    """
    sequence, name = mark.position
    spent = {account: [_text(value) for value in sums] for account, sums in mark.spent.items()}
    return json.dumps({"sequence": sequence, "id": name, "spent": spent}).encode()


def decode(content: bytes, notions: int) -> Mark:
    """Return the mark in JSON as `encode` writes it, with exactly `notions` sums an account; white
    space and further keys are ignored.

    Raises ParameterError for other JSON or none, and unless the id is 32 hexadecimal digits in
    lower case and the sequence from 1 to 2**62 - 1, or they are "" and 0.
    """
    try:
        said = json.loads(content)
        sequence, name = said["sequence"], said["id"]
        spent = {account: tuple(map(_number, sums)) for account, sums in said["spent"].items()}
        named = sequence == 0 if name == "" else 0 < sequence < _LAST and _ID.fullmatch(name)
        whole = named and type(sequence) is int and {*map(len, spent.values())} <= {notions}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise ParameterError("mark", "other bytes", "what this program writes")
    return Mark((sequence, name), spent)


def _text(value: Fraction) -> str:
    # Hexadecimal: Python limits the decimal digits of an int.
    return f"{value.numerator:x}/{value.denominator:x}"


def _number(text: str) -> Fraction:
    parts = _STORED.fullmatch(text)
    if parts is None:
        raise ValueError
    return Fraction(int(parts[1], 16), int(parts[2], 16))
