"""Does the chain end where the anchor says, and what an operator's unfreeze carries over if not."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields

from askew.errors import LedgerError, LedgerFrozen
from askew.odometer import Spent
from askew_server.ledger.acts import add_total, insert
from askew_server.ledger.anchor import START, Anchor, Mark
from askew_server.ledger.chain import follows, holds, last_link
from askew_server.ledger.rationals import columns_of
from askew_server.ledger.reading import dataset_names, spent_on


def is_anchored(database: sqlite3.Connection, anchor: Anchor) -> bool:
    """False if the anchor is the one link behind that a crash explains. Raises LedgerFrozen."""
    head, (sequence, link) = anchor.head(), last_link(database)
    if (head.sequence, head.hash) == (sequence, link):
        return True
    if follows(database, head):
        return False
    if not holds(database, head):
        found = "rows are missing or were replaced: an old copy was restored, or another anchor"
    else:
        found = "the anchor is behind: an old copy of it was restored"
    where = f"the ledger ends at row {sequence}, its anchor at row {head.sequence}"
    raise LedgerFrozen(f"{where}; {found}. Nothing is spent until an operator unfreezes it")


def record(
    database: sqlite3.Connection, sequence: int, anchor: Anchor, reason: str, nothing_lost: bool
) -> bool:
    """Write the repair, and for each data set what was lost. Whether the anchor starts anew.

    Lost is what the anchor's lines add after the last one that this chain still has. So rows that
    were lost are paid, and rows that came after a fork are paid as well.
    Raises LedgerError if there is nothing to repair, or the anchor cannot say what was lost.
    """
    try:
        is_anchored(database, anchor)
    except LedgerFrozen:
        pass
    else:
        raise LedgerError("the ledger is not frozen")
    marks = _remembered(anchor, nothing_lost)
    renewed = not marks
    shared = max((n for n, mark in enumerate(marks, 1) if holds(database, mark)), default=0)
    head = marks[-1] if marks else START
    row = (sequence, reason, shared < len(marks), head.sequence, head.hash)
    insert(database, "repairs", row)
    before, after = _spent(marks[:shared]), _spent(marks)
    for name in sorted({*dataset_names(database), *after}):
        lost = _increase(before.get(name, Spent()), after.get(name, Spent()))
        insert(database, "carried", (sequence, name, *columns_of(lost)))
        add_total(database, sequence, name, spent_on(database, name) + lost)
    return renewed


def _remembered(anchor: Anchor, nothing_lost: bool) -> list[Mark]:
    """The anchor's lines. Raises LedgerError without any, unless nothing_lost is stated."""
    try:
        marks, fault = anchor.marks(), f"the anchor {anchor.path} is empty"
    except LedgerFrozen as frozen:
        marks, fault = [], str(frozen)
    if not marks and not nothing_lost:
        text = "so what was lost is unknown; state nothing_lost if this file is complete"
        raise LedgerError(f"{fault}, {text}")
    return marks


def _spent(marks: Sequence[Mark]) -> dict[str, Spent]:
    """What the anchor last said of each data set."""
    return {name: spent for mark in marks for name, spent in mark.spent.items()}


def _increase(before: Spent, after: Spent) -> Spent:
    change = after - before
    names = [field.name for field in fields(Spent)]
    return Spent(**{name: max(getattr(change, name), 0 * change.rho) for name in names})
