"""The models that a server was told of, and which of them have other files than when last read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from types import MappingProxyType

from askew.editions import answered
from askew_server.collections.live import LIVE
from askew_server.retrieval.snapshot import Serving

Mark = tuple[tuple[str, int, int, int], ...]
"""What changes with the files of a model: of each its name, time, size and place on the disk."""
Find = Callable[[], Mapping[int, Path]]
"""Where the models are now, by the Mondays from which on they are in force."""
Build = Callable[[Path, int], Serving]
"""Reads a model and checks it. Raises AskewError or OSError."""


class Models:
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
