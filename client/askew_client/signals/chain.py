"""The chain of a ledger's entries, and the anchor: a second file that remembers its links.

Each entry's link is a digest of the link before it and of all that the entry says, its signal
included. The device announces the next link in the anchor before it commits the entry, and keeps
it there after that, before it returns the signal. So at any crash

    the chain is what is kept         nothing was going on, or nothing was committed
    its last link is the announced    an entry was committed and its signal was not sent yet

and every other pair of a chain and an anchor was made by somebody who put a file back, or who wrote
entries: the chain has no key, and anybody can add a link that fits.

The anchor lies in another directory than the ledger, so that a backup of one does not bring back
the other. It is replaced atomically and synced: after a crash it is the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import takewhile
from pathlib import Path

from askew.dp.privacy import ANY_SPACE
from askew.errors import LedgerError, LedgerFrozen

_STORED = re.compile("[0-9]+(/[1-9][0-9]*)?")  # nothing that is stored is negative


def rational_of(text: str) -> Fraction:
    """The number whose `str` is this text. Raises ValueError for a negative one and for any other
    text, also where it means a number: "1e999999999" would take all memory to read.
    """
    if _STORED.fullmatch(text) is None:
        raise ValueError
    value = Fraction(text)
    if str(value) != text:
        raise ValueError
    return value


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, as it is hashed. kind: "signal"; or "unfreeze" for the
    person's act.

    epsilon and epsilon_per_km are what the two accounts add; epsilon_per_distance stands beside
    where the mechanism has one. handle: of the place or value whose signal it is, or "". signal is
    the stored signal. salt is random: a link that is announced, and whose entry a crash then takes
    back, tells nothing of the signal that was drawn for it and never charged.
    """

    kind: str
    space_version: str
    month: str
    epsilon: Fraction
    epsilon_per_distance: Fraction | None
    salt: str = field(repr=False)
    signal: bytes | None = field(repr=False, default=None)
    handle: str = field(repr=False, default="")
    epsilon_per_km: Fraction = Fraction(0)

    @property
    def lasts(self) -> bool:
        """Whether its signal is a place's, which is of every month and of no server's space."""
        return self.signal is not None and self.space_version == ANY_SPACE


@dataclass(frozen=True)
class Head:
    """Where a chain ends: how many entries, their last link, and the sums of what they spent."""

    count: int
    link: str
    spent: Fraction
    spent_per_km: Fraction = Fraction(0)

    def extended(self, entry: Entry) -> Head:
        """The head after one more entry."""
        signal = None if entry.signal is None else hashlib.sha256(entry.signal).hexdigest()
        said = [entry.kind, entry.space_version, entry.handle, entry.month, entry.salt, signal]
        numbers = [str(entry.epsilon), str(entry.epsilon_per_distance), str(entry.epsilon_per_km)]
        text = json.dumps([self.count, self.link, *said, *numbers])
        link = hashlib.sha256(text.encode()).hexdigest()
        per_km = self.spent_per_km + entry.epsilon_per_km
        return Head(self.count + 1, link, self.spent + entry.epsilon, per_km)


EMPTY = Head(0, "0" * 64, Fraction(0))


def heads(entries: Iterable[Entry]) -> list[Head]:
    """The head before the first entry, and after each."""
    found = [EMPTY]
    for entry in entries:
        found.append(found[-1].extended(entry))
    return found


@dataclass(frozen=True)
class Anchored:
    """What an anchor remembers: every link that was kept, what their entries spent, and the link
    that may have been committed since then.
    """

    links: tuple[str, ...] = ()
    spent: Fraction = Fraction(0)
    announced: str | None = None
    spent_per_km: Fraction = Fraction(0)


def kept(found: list[Head]) -> Anchored:
    """What an anchor has to remember of a chain with these heads."""
    links, last = tuple(head.link for head in found[1:]), found[-1]
    return Anchored(links, last.spent, spent_per_km=last.spent_per_km)


def trusted(found: list[Head], anchor: Anchored | None) -> int:
    """How many entries, from the oldest, are this program's own: the anchor knows their links."""
    if anchor is None:
        return 0
    if found[-1].link == anchor.announced:
        return len(found) - 1
    pairs = zip((head.link for head in found[1:]), anchor.links, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class Standing(Enum):
    """What a chain and its anchor say together; the value is what the person is told."""

    ANCHORED = ""
    BEHIND = " "  # the crash window: the anchor is brought up to date
    UNANCHORED = "its anchor is missing: the ledger was put here from somewhere else, or only it"
    SHORTER = "it has fewer entries than its anchor: an older copy was put back"
    ANOTHER = (
        "it and its anchor tell two different stories: one of them was put back, or somebody else "
        "wrote entries"
    )


def standing(found: list[Head], anchor: Anchored | None) -> Standing:
    """How a chain with these heads stands to its anchor; None for an anchor that is missing."""
    count = len(found) - 1
    if anchor is None:
        return Standing.UNANCHORED if count else Standing.ANCHORED
    if found[-1].link == anchor.announced:
        return Standing.BEHIND
    if kept(found) == replace(anchor, announced=None):
        return Standing.ANCHORED
    older = trusted(found, anchor) == count < len(anchor.links)
    return Standing.SHORTER if older else Standing.ANOTHER


_MAX_BYTES = 1 << 24  # some 240,000 entries


class Anchor:
    """One anchor file, mode 0600. Who writes holds the ledger's lock."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # a link may lead to another disk: it is kept

    def read(self) -> Anchored | None:
        """What it remembers, or None where there is no file. Raises LedgerFrozen if damaged, and
        LedgerError if others may write it.
        """
        from askew_client.storage.private_files import check_own  # with SQLite: not at a start

        try:
            check_own(self.path, "ledger's anchor", LedgerError)
            with self.path.open("rb") as file:
                return _decode(file.read(_MAX_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise LedgerFrozen(f"the ledger's anchor {self.path} cannot be read") from None

    def write(self, state: Anchored) -> None:
        """Replace it. Raises LedgerError, in which case it is the old one or the new one."""
        from askew_client.storage.private_files import replace_file

        said = {
            "links": state.links,
            "spent": str(state.spent),
            "spent_per_km": str(state.spent_per_km),
            "announced": state.announced,
        }
        try:
            replace_file(self.path, json.dumps(said))
        except OSError as error:
            reason = f"the ledger's anchor {self.path} cannot be written: {error.strerror}"
            raise LedgerError(reason) from None


def _decode(text: bytes) -> Anchored:
    """Raises ValueError, KeyError, TypeError and RecursionError for anything else."""
    value = json.loads(text)
    links, announced = tuple(value["links"]), value["announced"]
    for link in links if announced is None else (*links, announced):
        if re.fullmatch("[0-9a-f]{64}", link) is None:
            raise ValueError
    spent, per_km = rational_of(value["spent"]), rational_of(value["spent_per_km"])
    return Anchored(links, spent, announced, per_km)
