"""Beside a server, a task looks for the next snapshot and swaps it in whole."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from small_collections import small_map

from askew_server.retrieval.served import Fixed, serving_of, snapshot_of
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.running import snapshot_watch
from askew_server.serving.running.snapshot_watch import SnapshotWatch


@dataclass
class Script:
    """A serving that does what it is told, one look after the other."""

    looks: Iterator[object]
    snapshot: Snapshot = field(default_factory=lambda: snapshot_of(small_map()))
    changes: bool = True

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        what = next(self.looks, False)
        if isinstance(what, Exception):
            raise what
        if isinstance(what, Snapshot):
            self.snapshot = what
        return isinstance(what, Snapshot)


async def test_what_was_taken_before_a_swap_stays_whole() -> None:
    first, second = snapshot_of(small_map()), snapshot_of(small_map())
    holder = SnapshotHolder(first)
    taken = holder.current
    assert await SnapshotWatch(Script(iter([second])), holder).look()
    assert (taken, holder.current) == (first, second)


async def test_it_looks_at_once_when_woken_and_an_error_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted bugs: the event wakes nothing; an error ends the task."""
    monkeypatch.setattr(snapshot_watch, "_EVERY", 3600)
    next_one = snapshot_of(small_map())
    holder = SnapshotHolder(snapshot_of(small_map()))
    swapped, wake = asyncio.Event(), asyncio.Event()
    swap = holder.swap

    def noticed(snapshot: Snapshot) -> None:
        swap(snapshot)
        swapped.set()

    monkeypatch.setattr(holder, "swap", noticed)
    looks = iter([ValueError("a secret value"), False, next_one])
    task = asyncio.create_task(SnapshotWatch(Script(looks), holder).run(wake))

    async def keep_waking() -> None:
        while not swapped.is_set():
            wake.set()
            await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING):
        await asyncio.wait_for(keep_waking(), 20)
    assert holder.current is next_one
    assert caplog.messages == ["no next snapshot: ValueError"]
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_model_without_a_directory_stays_as_it_is() -> None:
    serving = serving_of(small_map())
    assert isinstance(serving, Fixed)
    holder = SnapshotHolder(serving.snapshot)
    assert not serving.changes
    assert not await SnapshotWatch(serving, holder).look()
    assert holder.current is serving.snapshot
