"""The models of a folder, and a task that follows it while a server runs.

A server answers from every model of its folder. While it runs, it takes a model for a Monday to
come alone: it reads, checks and prepares it in another thread than calls, and swaps it in. One rule
protects those who ask: **what devices hold of a Monday that has come never changes, but that items
are withdrawn, or are back.** They fetched it under the name of that Monday, and cannot use answers
from anything else until the next one. A model that leaves the folder is answered from no more,
unless nothing else would be in force.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew.errors import ArtifactError, AskewError
from askew_server.collections.artifact import LIVE
from askew_server.folders import models_in, text_of_date
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.metrics import Observer
from askew_server.taste.directory import MANIFEST

Mark = tuple[tuple[str, int, int, int], ...]
"""What changes with the files of a model: of each its name, time, size and place on the disk."""
Build = Callable[[Path, int], Serving]
"""Reads a model and checks it. Raises AskewError or OSError."""
_EVERY = 0.5  # seconds between two looks at the files


class ModelFolder:
    """A folder of models, and what was read of it. For one thread at a time."""

    def __init__(self, folder: Path, build: Build) -> None:
        self._folder, self._build = folder, build
        self._marks: dict[int, Mark] = {}
        self._seen: dict[int, Mark] = {}
        self._refused: set[int] = set()
        self.manifests: dict[int, bytes] = {}  # of what was read last

    def find(self) -> dict[int, Path]:
        """Return the directories of the models that are there now, by their Mondays in days since
        1970-01-01, the oldest first. Raises as `models_in` does.
        """
        return models_in(self._folder)

    def others(self) -> list[Path]:
        """Return the directories of models whose names are no Monday, in order: nobody is answered
        from them. A name that begins with a point is of a copy under way, and is left out.
        """
        mondays = {*self.find().values()}
        models = sorted(manifest.parent for manifest in self._folder.glob(f"*/{MANIFEST}"))
        return [path for path in models if path not in mondays and not path.name.startswith(".")]

    def read_all(self, today: int) -> dict[int, Serving]:
        """Return every model of the folder, read, by its Monday. Raises as `build` does, and
        ArtifactError where none is in force on the day `today`.
        """
        models = self.find()
        if not models or min(models) > today:
            monday = text_of_date(catalog_date_of(today))
            raise ArtifactError(
                f"{self._folder} holds no model that is in force: name one by a Monday that has "
                f"come, such as {monday}"
            )
        return {day: self.read(day, path) for day, path in models.items()}

    def read(self, day: int, path: Path) -> Serving:
        """Return the model of a Monday, read now. Raises as `build` does; then it is not read again
        until its files change.
        """
        self.refuse(day, path)  # before it is read: what changes meanwhile is read again
        serving = self._build(path, day)
        self.manifests[day] = (path / MANIFEST).read_bytes()
        self._refused.discard(day)
        return serving

    def refuse(self, day: int, path: Path) -> None:
        """Note a model's files as they are now as refused: `has_changed` takes them for no new
        ones.
        """
        self._marks[day] = mark_of(path)
        self._refused.add(day)

    def has_changed(self, day: int, path: Path, *, at_once: bool) -> bool:
        """Return True for other files than were read or refused, where they look as at the last
        look: nothing is read while it is written, and the first look is False. at_once: without
        that wait, and True again for what was refused.
        """
        mark = mark_of(path)
        settled = self._seen.get(day) == mark
        self._seen[day] = mark
        if mark == self._marks.get(day):
            return at_once and day in self._refused
        return at_once or settled

    def is_as_read(self, day: int) -> bool:
        """Return True if the model's files looked the same at the last look as when they were read;
        also for a Monday that was neither looked at nor read.
        """
        return self._seen.get(day) == self._marks.get(day)

    def forget(self, day: int) -> None:
        """Drop what is noted of a Monday's files (days since 1970-01-01): `has_changed` then takes
        them for new ones, at its second look or at once.
        """
        self._marks.pop(day, None)
        self._seen.pop(day, None)
        self._refused.discard(day)


def mark_of(directory: Path) -> Mark:
    """Return (name, time in nanoseconds, size, inode) of every file of a model's directory, in the
    order of their names; () where there is no directory. Live values are no part of it, and neither
    are names with a point before.
    """
    try:
        with os.scandir(directory) as entries:
            files = [(e.name, e.stat()) for e in entries if not e.name.startswith((".", LIVE))]
    except OSError:
        return ()
    return tuple(sorted((name, s.st_mtime_ns, s.st_size, s.st_ino) for name, s in files))


def withdraws(before: Snapshot, after: Snapshot) -> bool:
    """Return True if `after` is a model of the same space as `before` with fewer items, none of
    which is new.
    """
    old, new = _items_of(before), _items_of(after)
    return new < old and before.card.space == after.card.space


def _items_of(snapshot: Snapshot) -> set[object]:
    if snapshot.catalog is not None:
        return set(snapshot.catalog.items)
    return {
        (collection.card.name, item.title, item.coordinates)
        for collection in snapshot.collections
        for item in collection.listings(range(len(collection)))
    }


class ModelWatch:
    """Looks at the folder and at live values every half second, and at once when woken. servings:
    what is served, by its Monday. folder: None for one model that is always in force. make_ready:
    makes what everybody gets alike of a snapshot, once. today: in days since 1970-01-01, UTC.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        servings: Mapping[int, Serving],
        folder: ModelFolder | None,
        holder: SnapshotHolder,
        make_ready: Callable[[Snapshot], None],
        *,
        observer: Observer,
        today: Callable[[], int],
    ) -> None:
        self._servings, self._folder, self._holder = dict(servings), folder, holder
        self._make_ready, self._observer, self._today = make_ready, observer, today
        self._manifests = {} if folder is None else dict(folder.manifests)
        self._first = dict(self._manifests)  # what may come back after a withdrawal
        self._complaints: set[str] = set()  # of the last look
        self._said: set[str] = set()

    async def run(self, wake: asyncio.Event) -> None:
        """Look at folder and live values every half second, and at once when `wake` is set, until
        cancelled; an error is logged by its type alone and ends nothing.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EVERY):
                    await wake.wait()
            at_once = wake.is_set()
            wake.clear()
            try:
                await asyncio.to_thread(self.look, at_once)
            except Exception as error:
                self._observer.swap_refused("no look at the models", type(error).__name__)

    def look(self, at_once: bool) -> None:
        """Take models and live values that are new and withdraw models that are gone. at_once: also
        take what may still be being written, and say again what is wrong.
        """
        self._said = set() if at_once else self._complaints
        self._complaints = set()
        if self._folder is not None:
            try:
                self._follow(self._folder, at_once=at_once)
            except (AskewError, OSError) as error:  # the folder itself
                self._complain(str(error))
        for day, serving in self._servings.items():
            # Else live values may already be those of a model that is copied over this one.
            is_whole = self._folder is None or self._folder.is_as_read(day)
            if is_whole and serving.refresh(self._complain):
                self._swap(day, serving.snapshot)

    def _follow(self, folder: ModelFolder, *, at_once: bool) -> None:
        models = folder.find()
        for day, path in models.items():
            if folder.has_changed(day, path, at_once=at_once):
                self._take(folder, day, path)
        for day in sorted(self._servings.keys() - models):
            if any(each <= self._today() for each in self._servings.keys() - {day}):
                folder.forget(day)
                del self._servings[day]
                self._holder.withdraw(day)
                self._observer.withdrawn(day)
            else:
                name = text_of_date(day)
                self._complain(f"{name} is gone and answered from: no other is in force")

    def _take(self, folder: ModelFolder, day: int, path: Path) -> None:
        try:
            before = self._servings.get(day)
            serving, manifest = folder.read(day, path), folder.manifests[day]
            is_held = day <= self._today()
            if is_held and before and manifest == self._manifests[day]:
                return  # touched, or copied once more
            if not is_held:
                self._first[day] = manifest
            elif before is None or not (
                manifest == self._first[day] or withdraws(before.snapshot, serving.snapshot)
            ):
                folder.refuse(day, path)
                coming = text_of_date(catalog_date_of(self._today()) + PERIOD)
                raise ArtifactError(
                    "devices hold something of that Monday already, and it has other items; name "
                    f"it by a Monday to come, such as {coming}"
                )
            self._swap(day, serving.snapshot)
        except (AskewError, OSError, MemoryError) as error:
            self._observer.swap_refused(f"{path} is not taken: {error}")
        else:
            self._servings[day], self._manifests[day] = serving, manifest

    def _swap(self, day: int, snapshot: Snapshot) -> None:
        self._make_ready(snapshot)
        self._holder.swap(snapshot)
        self._observer.swapped(day)

    def _complain(self, reason: str) -> None:
        if reason not in self._said:
            self._observer.swap_refused(reason)
        self._complaints.add(reason)
