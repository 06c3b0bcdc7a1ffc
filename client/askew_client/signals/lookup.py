"""Which entry of a ledger is sent again. Without I/O.

A signal of tastes or axes is found by its space, the handle of a named value or "", and its slot. A
place's is of no space and of every slot: its random handle alone finds it, so no server, space,
region or month draws a second one.
"""

from __future__ import annotations

from collections.abc import Sequence

from askew.protocol.signal import Signal
from askew_client.signals.chain import Entry
from askew_client.signals.record import decode_signal


def find(
    known: Sequence[Entry], space_version: str, slot: str, handle: str
) -> tuple[str, Signal | None]:
    """The slot by the clock of these entries, and the signal that is sent in it."""
    record = stored(known, space_version, handle, slot)
    if record is None:
        slot = max(slot, clock(known))
        record = stored(known, space_version, handle, slot)
    return slot, None if record is None else decode_signal(space_version, record)


def stored(known: Sequence[Entry], space_version: str, handle: str, slot: str) -> bytes | None:
    """The record of this space, handle and slot; of whatever slot where it lasts."""
    return next(
        (
            entry.signal
            for entry in known
            if (entry.space_version, entry.handle) == (space_version, handle)
            and (entry.lasts or entry.slot == slot)
            and entry.signal is not None
        ),
        None,
    )


def clock(known: Sequence[Entry]) -> str:
    """The slot of the last entry that this device's own clock gave, or ""."""
    return next((entry.slot for entry in reversed(known) if entry.kind != "copy"), "")
