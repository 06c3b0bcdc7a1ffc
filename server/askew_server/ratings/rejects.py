"""The count of bad rows while a file is read."""

from __future__ import annotations

from pathlib import Path

from askew.errors import DataError
from askew_server.ratings.table import BadRow, Rejects

EXAMPLES = 20


class RejectLog:
    """Counts the bad rows of one file and keeps the first ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0
        self._examples: list[BadRow] = []

    def add(self, line: int, reason: object) -> None:
        """Counts one bad row."""
        self._count += 1
        if len(self._examples) < EXAMPLES:
            self._examples.append(BadRow(str(self._path), line, str(reason)))

    def summary(self) -> Rejects:
        """What was counted so far."""
        return Rejects(self._count, tuple(self._examples))

    def nothing_good(self, kind: str) -> DataError:
        """The error for a file whose every row is bad."""
        message = f"{self._path}: no usable {kind} in the file, bad rows: {self._count}"
        if self._examples:
            message += f"; line {self._examples[0].line}: {self._examples[0].reason}"
        return DataError(message)
