"""The anchor: a file, best on another disk, that says which links of the chain are ours.

Append-only text, a JSON line for each step of an act. Before the ledger commits a link, the link
is announced here; once it is committed, it is kept: its sequence, its hash, and what the data sets
that it touched had spent. So a ledger ends where the last kept line says or, after a crash, at the
link announced since then. A row that somebody else wrote is noticed, one that was rolled back too,
and what the lost rows had spent is still known.

After the last line break there is room, or a line that a crash cut short: both are ignored and
written over. Room is zeros, and a line with zeros in it is one of which a crash left only the end:
ignored as well. Room is made before the ledger commits, so that a full disk stops a charge before
it is made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from askew.errors import LedgerError, LedgerFrozen
from askew.odometer import Spent
from askew_server.ledger.rationals import columns_of, spent_of

_CHUNK = 16384
_LAST = 1 << 62  # far from the last number that SQLite can count to
FARTHEST = _LAST >> 1  # a repair goes here at most, so that rows after it have numbers left
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@dataclass(frozen=True)
class Mark:
    """One line: a link of the chain, and the totals after it of the data sets that it touched.

    kept: whether the link was committed when the line was written. An announcement has no totals.
    """

    sequence: int
    hash: bytes
    spent: dict[str, Spent]
    kept: bool = True

    @property
    def link(self) -> tuple[int, bytes]:
        """Its link, as the chain has it."""
        return self.sequence, self.hash


START = Mark(0, bytes(32), {})


class Anchor:
    """Only whoever holds the ledger's write lock may call anything but `head` and `lines`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """An empty file of mode 0600, durably in its directory."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _sync_directory(self.path.parent)

    def head(self) -> tuple[Mark, Mark | None]:
        """The last kept line, or `START`, and what was announced last since. Raises LedgerFrozen.

        An announcement before the last one was given up: its process died before it committed.
        """
        announced = None
        for line in filter(_is_whole, self._backwards()):
            mark = self._parse(line)
            if mark.kept:
                return mark, announced
            announced = announced or mark
        return START, announced

    def lines(self) -> tuple[list[Mark], str | None]:
        """Every kept line that can be read, oldest first, and what is wrong with others or None."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            return [], str(self._lost(error))
        marks: list[Mark] = []
        fault = None if b"\n" in content else f"the anchor {self.path} is empty"
        for line in filter(_is_whole, content.split(b"\n")[:-1]):
            try:
                marks.append(self._parse(line))
            except LedgerFrozen as damage:
                fault = str(damage)
        return [mark for mark in marks if mark.kept], fault

    def make_room(self, size: int = _CHUNK) -> None:
        """Take `size` bytes of the disk for the lines to come. Raises OSError, LedgerFrozen."""
        end = self._end()
        if self.path.stat().st_size < end + size:
            file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                _write_all(file, bytes(2 * size), end)
            finally:
                os.close(file)

    def announce(self, mark: Mark) -> None:
        """Before the commit of this link. Durable on return. Raises OSError, LedgerFrozen."""
        line = {"announced": mark.sequence, "hash": mark.hash.hex()}
        self._write(self.path, line, self._end())

    def keep(self, mark: Mark) -> None:
        """After the commit of this link. Durable on return. Raises OSError, LedgerFrozen."""
        self._write(self.path, _kept(mark), self._end())

    def renew(self, mark: Mark) -> None:
        """Start again from one kept line, where nothing readable is left. Raises OSError."""
        fresh = self.path.with_name(self.path.name + ".new")
        self._write(fresh, _kept(mark), 0)
        fresh.replace(self.path)
        _sync_directory(self.path.parent)

    @staticmethod
    def _write(path: Path, line: dict[str, object], end: int) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, json.dumps(line).encode() + b"\n", end)
        finally:
            os.close(file)

    def _backwards(self) -> Iterator[bytes]:
        """What is before each line break, newest first."""
        with self._reading() as file:
            position, rest = file.seek(0, os.SEEK_END), b""
            while position:
                size = min(_CHUNK, position)
                position = file.seek(position - size)
                first, *others = (file.read(size) + rest).split(b"\n")
                yield from reversed(others[:-1])
                rest = first + b"\n" if others else first
            if rest.endswith(b"\n"):
                yield rest[:-1]

    def _end(self) -> int:
        """Where the whole lines end."""
        with self._reading() as file:
            position = file.seek(0, os.SEEK_END)
            while position:
                size = min(_CHUNK, position)
                position = file.seek(position - size)
                found = file.read(size).rfind(b"\n")
                if found >= 0:
                    return position + found + 1
        return 0

    @contextmanager
    def _reading(self) -> Iterator[BinaryIO]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise self._lost(error) from None

    def _parse(self, line: bytes) -> Mark:
        try:
            content = json.loads(line)
            kept = "announced" not in content
            sequence = content["sequence" if kept else "announced"]
            totals = content["spent"] if kept else {}
            spent = {name: spent_of(columns) for name, columns in totals.items()}
            if type(sequence) is not int or not 0 < sequence < _LAST:
                raise ValueError
            return Mark(sequence, bytes.fromhex(content["hash"]), spent, kept)
        except (LedgerError, ValueError, KeyError, TypeError, AttributeError):
            raise LedgerFrozen(f"the anchor {self.path} is damaged") from None

    def _lost(self, error: OSError) -> LedgerFrozen:
        return LedgerFrozen(f"the anchor {self.path} cannot be read: {error.strerror}")


def _is_whole(line: bytes) -> bool:
    return b"\0" not in line


def _kept(mark: Mark) -> dict[str, object]:
    spent = {name: columns_of(total) for name, total in sorted(mark.spent.items())}
    return {"sequence": mark.sequence, "hash": mark.hash.hex(), "spent": spent}


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
