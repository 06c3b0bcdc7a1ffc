"""The anchor: a file, best on another disk, that remembers where the chain ended.

Append-only text, one JSON line for each link of the chain: its sequence, its hash, and what the
data sets that it touched had spent. So a ledger that was rolled back is noticed, and what the lost
rows had spent is still known. After the last line break there is room, or a line that a crash cut
short: both are ignored and written over. Room is made before the ledger commits, so that a full
disk stops a charge before it is made.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from askew.errors import LedgerError, LedgerFrozen
from askew.odometer import Spent
from askew_server.ledger.rationals import columns_of, spent_of

_CHUNK = 16384
_LAST = 1 << 62  # far from the last number that SQLite can count to
FARTHEST = _LAST >> 1  # a repair goes here at most, so that rows after it have numbers left
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@dataclass(frozen=True)
class Mark:
    """One line: a link of the chain, and the totals after it of the data sets that it touched."""

    sequence: int
    hash: bytes
    spent: dict[str, Spent]


START = Mark(0, bytes(32), {})


class Anchor:
    """Only whoever holds the ledger's write lock may call anything but `head` and `lines`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """An empty file of mode 0600, durably in its directory."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _sync_directory(self.path.parent)

    def head(self) -> Mark:
        """The last line; `START` in an empty file. Raises LedgerFrozen."""
        text, _ = self._tail(1)
        return self._parse(text) if text else START

    def lines(self) -> tuple[list[Mark], str | None]:
        """Every line that can be read, oldest first, and what is wrong with the others or None."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            return [], str(self._lost(error))
        marks: list[Mark] = []
        fault = None if b"\n" in content else f"the anchor {self.path} is empty"
        for line in content.split(b"\n")[:-1]:
            try:
                marks.append(self._parse(line))
            except LedgerFrozen as damage:
                fault = str(damage)
        return marks, fault

    def make_room(self, size: int = _CHUNK) -> None:
        """Take `size` bytes of the disk for the lines to come. Raises OSError, LedgerFrozen."""
        _, end = self._tail(0)
        if self.path.stat().st_size < end + size:
            file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _write_all(file, bytes(2 * size), end)
            finally:
                os.close(file)

    def append(self, mark: Mark) -> None:
        """Write a line and wait until the disk has it. Raises OSError, LedgerFrozen."""
        _, end = self._tail(0)
        self._write(self.path, mark, end)

    def renew(self, mark: Mark) -> None:
        """Start again from one line, where nothing readable is left. Raises OSError."""
        fresh = self.path.with_name(self.path.name + ".new")
        self._write(fresh, mark, 0)
        fresh.replace(self.path)
        _sync_directory(self.path.parent)

    @staticmethod
    def _write(path: Path, mark: Mark, end: int) -> None:
        spent = {name: columns_of(total) for name, total in sorted(mark.spent.items())}
        line = {"sequence": mark.sequence, "hash": mark.hash.hex(), "spent": spent}
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, json.dumps(line).encode() + b"\n", end)
        finally:
            os.close(file)

    def _tail(self, lines: int) -> tuple[bytes, int]:
        """The last whole line, if `lines`, and where the whole lines end."""
        try:
            with self.path.open("rb") as file:
                position, content = file.seek(0, os.SEEK_END), b""
                while position and content.count(b"\n") <= lines:
                    size = min(_CHUNK, position)
                    position = file.seek(position - size)
                    content = file.read(size) + content
        except OSError as error:
            raise self._lost(error) from None
        end = content.rfind(b"\n") + 1
        return content[:end].rstrip(b"\n").rpartition(b"\n")[2], position + end

    def _parse(self, line: bytes) -> Mark:
        try:
            content = json.loads(line)
            spent = {name: spent_of(columns) for name, columns in content["spent"].items()}
            sequence = content["sequence"]
            if type(sequence) is not int or not 0 < sequence < _LAST:
                raise ValueError
            return Mark(sequence, bytes.fromhex(content["hash"]), spent)
        except (LedgerError, ValueError, KeyError, TypeError, AttributeError):
            raise LedgerFrozen(f"the anchor {self.path} is damaged") from None

    def _lost(self, error: OSError) -> LedgerFrozen:
        return LedgerFrozen(f"the anchor {self.path} cannot be read: {error.strerror}")


def _write_all(file: int, content: bytes, offset: int) -> None:
    while content:
        written = os.pwrite(file, content, offset)
        content, offset = content[written:], offset + written
    _sync(file)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
