"""The count of bad rows while files are read."""

from __future__ import annotations

from pathlib import Path

from askew.errors import DataError
from askew_server.ratings.table import BadRow, Rejects

EXAMPLES = 20


class RejectLog:
    """Counts the bad rows of a file, or of the files of a folder, and keeps the first ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file = path
        self._count = 0
        self._examples: list[BadRow] = []

    def begin(self, file: Path) -> None:
        """The next rows are of this file."""
        self.file = file

    def add(self, line: int, reason: object, file: Path | None = None) -> None:
        """Counts one bad row, of the file that was begun unless it is told."""
        self._count += 1
        if len(self._examples) < EXAMPLES:
            self._examples.append(BadRow(str(file or self.file), line, str(reason)))

    def count_more(self, rows: int) -> None:
        """Counts bad rows of which others are examples."""
        self._count += rows

    def summary(self) -> Rejects:
        """What was counted so far."""
        return Rejects(self._count, tuple(self._examples))

    def nothing_good(self, kind: str) -> DataError:
        """The error where every row is bad."""
        where = "file" if self._path == self.file else "folder"
        message = f"{self._path}: no usable {kind} in the {where}, bad rows: {self._count}"
        if self._examples:
            first = self._examples[0]
            of = "" if where == "file" else f"{Path(first.file).name}, "
            message += f"; {of}line {first.line}: {first.reason}"
        return DataError(message)
