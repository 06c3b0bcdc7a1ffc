"""The anchor: a file, best on another disk, that says which links of the chain are ours.

It is append-only text, with a JSON line for each step of an act. Before the ledger commits a link,
a line announces it. Once it is committed, a line keeps it: its sequence, its hash, and what the
data sets that it touched had spent. So a ledger ends where the last kept line says or, after a
crash, at the link announced since then. A row that somebody else wrote is noticed, and so is one
that was rolled back; what the lost rows had spent is still known.

After the last line break there is room, or a line that a crash cut short. Both are ignored and
written over. Room is zeros. A line with zeros in it is one of which a crash left only the end: it
is ignored as well. Room is made before the ledger commits, so that a full disk stops a charge
before it is made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from askew.dp.composition import RunningLoss
from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger.records import columns_of, spent_of

_CHUNK = 16384
_TOTAL = 4096  # more than a line takes for the name of a data set and its five fractions
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@dataclass(frozen=True)
class _Tail:
    """The last line as it was read or written, with its break, and what the file said up to it."""

    start: int
    line: bytes
    kept: AnchorEntry
    announced: AnchorEntry | None

    @property
    def end(self) -> int:
        """Where the next line goes."""
        return self.start + len(self.line)


class AnchorFile:
    """Only whoever holds the ledger's write lock may call anything but `lines`."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # a link leads to another disk: it is kept
        self._tail: _Tail | None = None  # of this process; others write the file, too

    def create(self) -> None:
        """An empty file of mode 0600, durably in its directory."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _sync_directory(self.path.parent)

    def head(self) -> tuple[AnchorEntry, AnchorEntry | None]:
        """The last kept line, or `START`, and what was announced last since. Raises LedgerFrozen.

        An announcement before the last one was given up: its process died before it committed.
        """
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                tail = self._last(file)
            finally:
                os.close(file)
        except OSError as error:
            raise self._lost(error) from None
        return tail.kept, tail.announced

    def lines(self) -> tuple[list[AnchorEntry], str | None]:
        """Every kept line that can be read, oldest first, and what is wrong with others or None."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            return [], str(self._lost(error))
        marks: list[AnchorEntry] = []
        fault = None if b"\n" in content else f"the anchor {self.path} is empty"
        for line in filter(is_whole, content.split(b"\n")[:-1]):
            try:
                marks.append(self._parse(line))
            except LedgerFrozen as damage:
                fault = str(damage)
        return [mark for mark in marks if mark.kept], fault

    def announce(self, mark: AnchorEntry, totals: int = 1) -> None:
        """Before the commit of this link. Durable on return. Raises OSError, LedgerFrozen.

        Takes the room on the disk that the line and the one that keeps the link need, with the
        totals of so many data sets.
        """
        self._append(announced_line(mark), None, mark, _CHUNK + totals * _TOTAL)

    def keep(self, mark: AnchorEntry) -> None:
        """After the commit of this link. Durable on return. Raises OSError, LedgerFrozen."""
        self._append(kept_line(mark), mark, None)

    def renew(self, mark: AnchorEntry) -> None:
        """Start again from one kept line, where nothing readable is left. Raises OSError."""
        fresh = self.path.with_name(self.path.name + ".new")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, kept_line(mark), 0)
        finally:
            os.close(file)
        fresh.replace(self.path)
        _sync_directory(self.path.parent)

    def _append(
        self, line: bytes, kept: AnchorEntry | None, announced: AnchorEntry | None, room: int = 0
    ) -> None:
        """The line after the last, in so much room at least, and what the file says with it."""
        file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            last = self._last(file)
            if room:
                self._make_room(file, last.end, room)
            _write_all(file, line, last.end)
        finally:
            os.close(file)
        self._tail = _Tail(last.end, line, kept or last.kept, announced)

    def _make_room(self, file: int, end: int, room: int) -> None:
        """So many bytes after the end, of the disk."""
        if os.fstat(file).st_size < end + room:
            _write_all(file, bytes(2 * room), end)

    def _last(self, file: int) -> _Tail:
        """The last line, read anew unless the open file still ends with the one seen last: a next
        line would begin where that ends, since there is nothing, or room.
        """
        tail = self._tail
        if tail is not None and tail.line:
            found = os.pread(file, len(tail.line) + 1, tail.start)
            if found in {tail.line, tail.line + b"\0"}:
                return tail
        self._tail = self._read_tail(file)
        return self._tail

    def _read_tail(self, file: int) -> _Tail:
        end, last, announced = 0, b"", None
        for place, line in _lines_backwards(file):
            if not end:
                end, last = place, line + b"\n" if is_whole(line) else b""  # else nothing to know
            if not is_whole(line):
                continue
            mark = self._parse(line)
            if mark.kept:
                return _Tail(end - len(last), last, mark, announced)
            announced = announced or mark
        return _Tail(end - len(last), last, START, announced)

    def _parse(self, line: bytes) -> AnchorEntry:
        try:
            return read_line(line)
        except ValueError:
            raise LedgerFrozen(f"the anchor {self.path} is damaged") from None

    def _lost(self, error: OSError) -> LedgerFrozen:
        return LedgerFrozen(f"the anchor {self.path} cannot be read: {error.strerror}")


def _lines_backwards(file: int) -> Iterator[tuple[int, bytes]]:
    """Each line without its break and where that ends, newest first. What follows the last break is
    left out.
    """
    position, rest = os.fstat(file).st_size, b""
    while position:
        size = min(_CHUNK, position)
        position -= size
        rest = os.pread(file, size, position) + rest
        while (end := rest.rfind(b"\n")) >= 0:
            start = rest.rfind(b"\n", 0, end) + 1
            if position and not start:  # it begins further up
                break
            yield position + end + 1, rest[start:end]
            rest = rest[:start]
        else:
            rest = b""


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


_LAST = 1 << 62  # far from the last number that SQLite can count to
FARTHEST = _LAST >> 1  # a repair goes here at most, so that rows after it have numbers left


@dataclass(frozen=True)
class AnchorEntry:
    """One line: a link of the chain, and the totals after it of the data sets that it touched.

    kept: whether the link was committed when the line was written. An announcement has no totals.
    """

    sequence: int
    hash: bytes
    spent: dict[str, RunningLoss]
    kept: bool = True

    @property
    def link(self) -> tuple[int, bytes]:
        """Its link, as the chain has it."""
        return self.sequence, self.hash


START = AnchorEntry(0, bytes(32), {})


def announced_line(mark: AnchorEntry) -> bytes:
    """That this link is about to be committed."""
    return _line({"announced": mark.sequence, "hash": mark.hash.hex()})


def kept_line(mark: AnchorEntry) -> bytes:
    """That this link was committed, and the totals after it."""
    spent = {name: columns_of(total) for name, total in sorted(mark.spent.items())}
    return _line({"sequence": mark.sequence, "hash": mark.hash.hex(), "spent": spent})


def read_line(line: bytes) -> AnchorEntry:
    """Either of the two, without its break. Raises ValueError."""
    try:
        content = json.loads(line)
        kept = "announced" not in content
        sequence = content["sequence" if kept else "announced"]
        totals = content["spent"] if kept else {}
        spent = {name: spent_of(columns) for name, columns in totals.items()}
        mark = AnchorEntry(sequence, bytes.fromhex(content["hash"]), spent, kept)
    except (LedgerError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(line) from error
    if type(sequence) is not int or not 0 < sequence < _LAST:
        raise ValueError(line)
    return mark


def is_whole(line: bytes) -> bool:
    """Whether a crash left all of it: room is zeros."""
    return b"\0" not in line


def _line(content: dict[str, object]) -> bytes:
    return msgspec.json.encode(content) + b"\n"
