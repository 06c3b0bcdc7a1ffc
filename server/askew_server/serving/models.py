"""The models that a server serves, and a task that swaps in new ones when their files change.

The task reads, checks and prepares a model first, in another thread than calls. A model that cannot
be used leaves the one before. One rule protects those who ask: **what devices hold of a Monday that
has come never changes.** They fetched it under the name of that Monday, and cannot use answers from
anything else until the next one. So the task takes a model with other items or another card for a
Monday to come alone. It takes one that differs in what only the server has, such as its
figures, at any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from askew.catalog.catalog_file import PERIOD, answered, catalog_date_of
from askew.errors import AskewError
from askew_server.collections.artifact import LIVE
from askew_server.retrieval.snapshot import Serving, Snapshot, SnapshotHolder
from askew_server.taste.model.mondays import text_of_date

Mark = tuple[tuple[str, int, int, int], ...]
"""What changes with the files of a model: of each its name, time, size and place on the disk."""
Find = Callable[[], Mapping[int, Path]]
"""Where the models are now, by the Mondays from which on they are in force."""
Build = Callable[[Path, int], Serving]
"""Reads a model and checks it. Raises AskewError or OSError."""


class ServedModels:
    """Models by their Mondays, as they were last read. For one thread at a time."""

    def __init__(
        self,
        find: Find,
        build: Build,
        today: Callable[[], int],
        others: Mapping[int, Serving] = MappingProxyType({}),
    ) -> None:
        """Reads those that are answered or will be. Raises as `find` and `build` do. others: what
        is served and has no files.
        """
        self._find, self._build, self._today = find, build, today
        self._marks: dict[int, Mark] = {}
        self._seen: dict[int, Mark] = {}
        self._unusable: set[int] = set()
        self.servings = dict(others)
        self.servings |= {day: self.read(day, path) for day, path in self._needed().items()}

    def read(self, day: int, path: Path) -> Serving:
        """One model. Raises as `build` does; then it is not read again until its files change."""
        self._marks[day] = mark_of(path)  # before it is read: what changes meanwhile is read again
        self._unusable.add(day)
        serving = self._build(path, day)
        self._unusable.discard(day)
        return serving

    def refuse(self, day: int) -> None:
        """What was read is not taken."""
        self._unusable.add(day)

    def changed(self, at_once: bool) -> Iterator[tuple[int, Path]]:
        """Models with other files than when they were read. At once: all of them, and those that
        could not be used. Else what looks the same as at the last look, so that nothing is read
        while it is written.
        """
        for day, path in self._needed().items():
            mark = mark_of(path)
            settled = self._seen.get(day) == mark
            self._seen[day] = mark
            if mark != self._marks.get(day):
                if settled or at_once:
                    yield day, path
            elif at_once and day in self._unusable:
                yield day, path

    def gone(self) -> list[int]:
        """The Mondays of models that were read and are not there any more."""
        return sorted(set(self.servings) - set(self._find()))

    def keep(self, days: Set[int]) -> None:
        """Forget the models of other days, as if they had never been read."""
        for day in self.servings.keys() - days:
            for kept in (self.servings, self._marks, self._seen):
                kept.pop(day, None)

    def _needed(self) -> dict[int, Path]:
        found = self._find()
        return {day: found[day] for day in answered(list(found), self._today())}


def mark_of(directory: Path) -> Mark:
    """The model's mark now; live values are none of it, they have a way of their own."""
    try:
        with os.scandir(directory) as entries:
            found = [(entry.name, entry.stat()) for entry in entries if _is_part(entry.name)]
    except OSError:
        return ()
    return tuple(sorted((name, s.st_mtime_ns, s.st_size, s.st_ino) for name, s in found))


def _is_part(name: str) -> bool:
    return not name.startswith((".", LIVE))


_EVERY = 0.5  # seconds between two looks at the files

MakeReady = Callable[[Snapshot], Mapping[str, bytes]]
"""Makes what everybody gets alike of a snapshot, once, and gives the files that devices hold."""


class Listener(Protocol):
    """Who is told."""

    def swapped(self, day: int, now: float, /) -> None:
        """Another snapshot serves what is in force from a day on."""

    def withdrawn(self, day: int, /) -> None:
        """What was to come from a day on is taken back."""

    def swap_refused(self, error: BaseException | None = None, reason: str = "") -> None:
        """What was served goes on being served."""


class ModelWatch:
    """Looks at the files every half second, and at once when woken. today: in days since
    1970-01-01, UTC.
    """

    def __init__(
        self,
        models: ServedModels,
        holder: SnapshotHolder,
        make_ready: MakeReady,
        told: Listener,
        today: Callable[[], int],
    ) -> None:
        self._models, self._holder, self._today = models, holder, today
        self._make_ready, self._told = make_ready, told
        self._complaint = ""

    async def run(self, wake: asyncio.Event) -> None:
        """Until cancelled; an error is told by its type alone and ends nothing."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EVERY):
                    await wake.wait()
            at_once = wake.is_set()
            wake.clear()
            try:
                await asyncio.to_thread(self.look, at_once)
            except Exception as error:
                self._told.swap_refused(error, "no look at the models")

    def look(self, at_once: bool) -> None:
        """Swap in what changed; at once: also what may still be being written."""
        try:
            for day, path in self._models.changed(at_once):
                self._take(day, path)
            for day in self._models.gone():
                self._withdraw(day)
        except (AskewError, OSError) as error:  # the folder itself
            self._complain(str(error), again=at_once)
        else:
            self._complaint = ""
        self._follow_live_values()
        self._holder.retire()
        self._models.keep({each.since for each in self._holder.versions})

    def _follow_live_values(self) -> None:
        for day, serving in self._models.servings.items():
            if serving.changes and serving.refresh(self._complain):
                snapshot = serving.snapshot
                self._make_ready(snapshot)
                self._swap(day, snapshot)

    def _complain(self, reason: str, *, again: bool = True) -> None:
        if again or reason != self._complaint:  # not twice a second
            self._told.swap_refused(reason=reason)
        self._complaint = reason

    def _take(self, day: int, path: Path) -> None:
        try:
            serving = self._models.read(day, path)
            snapshot = serving.snapshot
            objection = self._objection(day, self._make_ready(snapshot))
        except (AskewError, OSError, MemoryError) as error:
            self._told.swap_refused(reason=f"{path} is not taken: {error}")
            return
        if objection:
            self._models.refuse(day)
            self._told.swap_refused(reason=f"{path} is not taken: {objection}")
            return
        self._models.servings[day] = serving
        self._swap(day, snapshot)

    def _swap(self, day: int, snapshot: Snapshot) -> None:
        self._holder.swap(snapshot)
        self._told.swapped(day, time.time())

    def _objection(self, day: int, files: Mapping[str, bytes]) -> str | None:
        """Why a model with these files for devices cannot be in force from a day on."""
        today = self._today()
        before = [each for each in self._holder.versions if each.since <= day]
        if day > today or not before or self._make_ready(before[-1]) == files:
            return None
        coming = text_of_date(catalog_date_of(today) + PERIOD)
        return f"devices hold other items since that Monday; name it by a Monday to come, {coming}"

    def _withdraw(self, day: int) -> None:
        """What is still to come is taken back; what was in force stays while it is needed."""
        if day <= self._today() or len(self._holder.versions) == 1:
            return
        self._holder.withdraw(day)
        self._told.withdrawn(day)
