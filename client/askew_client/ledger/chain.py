"""The chain of a ledger's entries, and what it means when its anchor says something else.

Each entry's link is a digest of the link before it and of all that the entry says, its signal
included. The head of the chain is kept a second time, in the anchor, which is written after each
commit and before a signal is returned. So at any crash

    anchor == head                    nothing was going on, or nothing was committed
    anchor == the head before it      an entry was committed and its signal was not sent yet

and every other pair of a chain and an anchor was made by somebody who put a file back. Without I/O.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, as it is hashed. kind: "signal", or "unfreeze" for the person's act.

    epsilon is what the budget adds, per_distance stands beside it where the mechanism has one.
    signal is a digest of the stored signal, or empty.
    """

    kind: str
    space_version: str
    slot: str
    epsilon: Fraction
    per_distance: Fraction | None = None
    signal: str = ""


@dataclass(frozen=True)
class Head:
    """Where a chain ends: how many entries, their last link, and the sum of what they spent."""

    count: int
    link: str
    spent: Fraction

    def extended(self, entry: Entry) -> Head:
        """The head after one more entry."""
        said = [entry.kind, entry.space_version, entry.slot, entry.signal]
        numbers = [str(entry.epsilon), str(entry.per_distance)]
        text = json.dumps([self.count, self.link, *said, *numbers])
        link = hashlib.sha256(text.encode()).hexdigest()
        return Head(self.count + 1, link, self.spent + entry.epsilon)


EMPTY = Head(0, "0" * 64, Fraction(0))


def heads(entries: Iterable[Entry]) -> list[Head]:
    """The head before the first entry, and after each."""
    found = [EMPTY]
    for entry in entries:
        found.append(found[-1].extended(entry))
    return found


class Standing(Enum):
    """What a chain and its anchor say together; the value is what the person is told."""

    ANCHORED = ""
    BEHIND = " "  # the crash window: the anchor is brought up to date
    UNANCHORED = "its anchor is missing: the ledger was put here from somewhere else, or only it"
    SHORTER = "it has fewer entries than its anchor: an older copy was put back"
    ANOTHER = "it and its anchor tell two different stories: one of them was put back"


def standing(found: list[Head], anchor: Head | None) -> Standing:
    """How a chain with these heads stands to its anchor; None for an anchor that is missing."""
    if anchor is None:
        return Standing.BEHIND if len(found) == 1 else Standing.UNANCHORED
    if anchor == found[-1]:
        return Standing.ANCHORED
    if len(found) > 1 and anchor == found[-2]:
        return Standing.BEHIND
    return Standing.SHORTER if anchor.count >= len(found) else Standing.ANOTHER
