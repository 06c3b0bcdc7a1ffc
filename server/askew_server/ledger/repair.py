"""Does the chain end where the anchor says, and what an operator's unfreeze carries over if not."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields

from askew.dp.composition import RunningLoss
from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger.anchor import FARTHEST, START, AnchorEntry, AnchorFile
from askew_server.ledger.chain import CheckedLedger, LedgerEntry, Link, holds, last_link
from askew_server.ledger.reading import dataset_names, spent_on
from askew_server.ledger.records import columns_of

_RESTORED = "rows are missing: an old copy of the ledger was restored, or its file was deleted"
_BEHIND = "the anchor is behind: an old copy of it was restored, or somebody else wrote rows"
_FORKED = "rows were replaced: the ledger is a copy that went its own way"
_FOREIGN = "no row is known to both: the anchor is of another ledger, or was made anew since then"

_VOUCH = (
    "Rows that the anchor does not know may be forged, and charges may be lost that neither "
    "remembers; if ledger and anchor together hold every charge that was ever made, and no other "
    "row, state nothing_lost (--nothing-lost)"
)


@dataclass(frozen=True)
class Divergence:
    """What became of a ledger and its anchor.

    marks: the anchor's readable lines; shared: how many of them, up to the last that the chain has.
    complete: the chain's end is one of the anchor's lines, so whatever is missing after it is in
    the lines that follow. Else the rows after that end, if there were any, are known to nobody.
    """

    marks: list[AnchorEntry]
    shared: int
    complete: bool
    words: str


def unkept_since(database: sqlite3.Connection, anchor: AnchorFile, end: Link) -> int | None:
    """The last kept row, if the chain ends at the link that was announced since and not yet kept,
    as after a crash; None where nothing is left to keep.

    A chain that ends at any other link than these two raises LedgerFrozen, however well it is made:
    whoever cannot write the anchor cannot have a link believed.
    """
    kept, announced = anchor.head()
    if announced is not None and announced.link == end:
        return kept.sequence
    if kept.link == end:
        return None
    where = f"the ledger ends at row {end[0]}, its anchor at row {kept.sequence}"
    happened = _divergence(database, anchor).words
    raise LedgerFrozen(f"{where}; {happened}. Nothing is spent until an operator unfreezes it")


def record(
    database: sqlite3.Connection,
    anchor: AnchorFile,
    after: CheckedLedger,
    reason: str,
    nothing_lost: bool,
) -> tuple[LedgerEntry, bool]:
    """Write the repair after what was checked, and for each data set what was lost; and whether the
    anchor starts anew.

    Lost is what the anchor's lines add after the last one that this chain still has. So rows that
    were lost are paid, and rows that came after a fork are paid as well. The row is after the last
    that either of the two knows: the number of a lost row, by which its release is known, is not
    given to another.
    Raises LedgerError if there is nothing to repair, or if charges may have been lost that the
    anchor does not remember and nothing_lost is not stated.
    """
    try:
        unkept_since(database, anchor, after.link)
    except LedgerFrozen:
        pass
    else:
        raise LedgerError("the ledger is not frozen")
    divergence = _divergence(database, anchor)
    if not (divergence.complete or nothing_lost):
        raise LedgerError(f"{divergence.words}. {_VOUCH}")
    marks, shared = divergence.marks, divergence.shared
    head = marks[-1] if marks else START
    believed = head.sequence if head.sequence < FARTHEST else 0  # else nobody ever got there
    entry = LedgerEntry(database, after, max(after.link[0], believed) + 1)
    entry.insert("repairs", reason, int(shared < len(marks)), head.sequence, head.hash)
    until = marks[shared - 1].sequence if shared else 0
    anchored = _spent(marks)
    for name in sorted({*dataset_names(database), *anchored}):
        lost = _increase(spent_on(database, name, until), anchored.get(name, RunningLoss()))
        entry.insert("carried", name, *columns_of(lost))
        entry.add_total(name, entry.spent_on(name) + lost)
    return entry, anchor.lines()[1] is not None


def _divergence(database: sqlite3.Connection, anchor: AnchorFile) -> Divergence:
    marks, fault = anchor.lines()
    shared = max((n for n, mark in enumerate(marks, 1) if holds(database, mark)), default=0)
    end = last_link(database)
    known = any(mark.link == end for mark in (START, *marks))
    if fault is not None:
        words = fault
    elif known:
        words = _RESTORED
    elif shared == len(marks):
        words = _BEHIND
    else:
        words = _FORKED if shared else _FOREIGN
    return Divergence(marks, shared, known and fault is None, words)


def _spent(marks: Sequence[AnchorEntry]) -> dict[str, RunningLoss]:
    """What the anchor last said of each data set."""
    return {name: spent for mark in marks for name, spent in mark.spent.items()}


def _increase(before: RunningLoss, after: RunningLoss) -> RunningLoss:
    change = after - before
    names = [field.name for field in fields(RunningLoss)]
    return RunningLoss(**{name: max(getattr(change, name), 0 * change.rho) for name in names})
