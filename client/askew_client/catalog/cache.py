"""Where a device fetches files from, and where it keeps what it fetched of one server: a catalog in
a file named by its digest, or the card of a server of places.

Beside it lies a small record: which file it is, and when the device looks next. A record that
cannot be read counts as none, and so does a file that is not what its name says: it is fetched
again. All of it is public, except for which server this device uses.

A device looks once a week, a random delay after Monday began, in UTC, so that not everybody asks a
server at once. Nothing that a person does takes part: no question makes a device look while what it
holds is at most sixteen days old. The device draws the delay once a week and keeps it: if it drew
one whenever it came by, it would look the earlier the more often it comes.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from askew.catalog.catalog_file import LONGEST_DELAY, LONGEST_USE, FileHead, Part
from askew.errors import CacheError, Malformed
from askew.noise.randomness import RandomBits
from askew_client.storage.private_files import check_own, make_directory, replace_file

DAY = 86_400  # seconds
_EPOCH = datetime.date(1970, 1, 1)


class CatalogSource(Protocol):
    """A way to the files of one server: entered, it is a connection, which is closed when it is
    left. It is told a date and a place in a file, and no more.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from byte `start` on, fewer at its end, never more.

        Raises TransportError or WireError; NotFound or OtherKind where there is no such file.
        """


def date_of(catalog_date: int) -> datetime.date:
    """Return the date of a catalog date, which counts days since 1970-01-01: 0 is 1970-01-01."""
    return _EPOCH + datetime.timedelta(days=catalog_date)


def name_of(catalog_date: int, part: Part) -> str:
    """Return the name of a file on a static host: "2026-11-23.whole"."""
    return f"{date_of(catalog_date).isoformat()}.{part}"


def draw_look(catalog_date: int, bits: RandomBits) -> int:
    """Draw and return when a device looks in the week of this Monday (in days since 1970-01-01), in
    seconds since 1970-01-01: after a uniform delay of whole seconds, shorter than two days.
    """
    return catalog_date * DAY + bits.below(LONGEST_DELAY * DAY)


def usable(catalog_date: int, day: int) -> bool:
    """Return True on a day from one before the file's Monday to 16 after, both counted since
    1970-01-01. A Monday to come was fetched by a clock that ran ahead; by a day it may, since days
    begin elsewhere first.
    """
    return catalog_date - 1 <= day <= catalog_date + LONGEST_USE


_RECORD, _LOCK, _CARD = "record.json", "lock", "card"
_DAY_BYTES = 8
_LARGEST_RECORD = 1 << 16  # bytes
_WAIT = 0.05  # seconds between two looks at a lock


@dataclass(frozen=True)
class Version:
    """A file of the catalog, by its Monday and its head."""

    catalog_date: int
    part: Part
    head: FileHead


@dataclass(frozen=True)
class Record:
    """What a device remembers.

    held: what lies in the cache. looked: the last Monday for which it saw a head. next_look: in
    seconds since 1970-01-01.
    """

    held: Version | None = None
    looked: int = 0
    next_look: int = 0


@dataclass(frozen=True)
class CatalogCache:
    """The files of one server. Who writes holds the lock."""

    directory: Path

    @classmethod
    def of(cls, directory: Path, server: str) -> CatalogCache:
        """Return the cache of a server's address, in a directory of caches; nothing is made on the
        disk.
        """
        return cls(directory / hashlib.sha256(server.encode()).hexdigest()[:32])

    def record(self) -> Record:
        """Return what is remembered of this server; an empty record where there is none or it
        cannot be read. Raises CacheError where others may write the file.
        """
        path = self.directory / _RECORD
        try:
            check_own(path, "record of what is held", CacheError)
            with path.open("rb") as file:
                return _decode(file.read(_LARGEST_RECORD))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Record()

    def remember(self, record: Record) -> None:
        """Write this record in place of the one before. Raises CacheError."""
        try:
            replace_file(self.directory / _RECORD, json.dumps(asdict(record), default=bytes.hex))
        except OSError as error:
            raise self._unusable(error) from None

    def body(self, version: Version) -> bytes | None:
        """Return the bytes that are kept of a file, checked by its head; None where there are none
        or they are damaged.
        """
        try:
            body = self._path(version.head).read_bytes()
            version.head.check(body)
        except (OSError, Malformed):
            return None
        return body

    def metric_card(self) -> tuple[int, bytes] | None:
        """Return the Monday of the kept card of places, in days since 1970-01-01, and the card's
        bytes; None where no card is kept. Raises CacheError where others may write the file.
        """
        path = self.directory / _CARD
        check_own(path, "card of what is held", CacheError)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        return int.from_bytes(data[:_DAY_BYTES], "big"), data[_DAY_BYTES:]

    def keep_metric_card(self, catalog_date: int, card: bytes) -> None:
        """Write this card of places, with its Monday, in place of the one before. Raises
        CacheError.
        """
        try:
            replace_file(self.directory / _CARD, catalog_date.to_bytes(_DAY_BYTES, "big") + card)
        except OSError as error:
            raise self._unusable(error) from None

    def forget_metric_card(self) -> None:
        """Remove the kept card of places, if there is one. Raises CacheError."""
        try:
            (self.directory / _CARD).unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    def keep(self, version: Version, body: bytes) -> None:
        """Write the body of a file, which the caller has checked, under its digest. Raises
        CacheError.
        """
        try:
            replace_file(self._path(version.head), body)
        except OSError as error:
            raise self._unusable(error) from None

    def tidy(self, kept: Version | None) -> None:
        """Remove every body but that of `kept` (None: all), and what a killed write left of one.
        Raises CacheError.
        """
        name = "" if kept is None else kept.head.digest.hex()
        try:
            for path in self.directory.iterdir():
                if re.match("[0-9a-f]{64}", path.name) and path.name != name:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    @asynccontextmanager
    async def locked(self, patience: float) -> AsyncIterator[None]:
        """Hold the right to write to this cache, alone among all programs; wait at most `patience`
        seconds for that.

        Raises CacheError after them. A program that ends, however it ends, gives the right back.
        """
        handle = await asyncio.to_thread(self._open_lock)
        try:
            waited = 0.0
            while not _try_to_lock(handle):
                if (waited := waited + _WAIT) > patience:
                    raise CacheError("another program is fetching what this device holds; wait")
                await asyncio.sleep(_WAIT)
            yield
        finally:
            os.close(handle)

    def _open_lock(self) -> int:
        try:
            make_directory(self.directory)
            return os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unusable(error) from None

    def _path(self, head: FileHead) -> Path:
        return self.directory / head.digest.hex()

    def _unusable(self, error: OSError) -> CacheError:
        return CacheError(f"the directory {self.directory} cannot be used: {error.strerror}")


def _try_to_lock(handle: int) -> bool:
    # Where there are no such locks, bodies are still checked before they are used.
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _decode(text: bytes) -> Record:
    # Raises ValueError, KeyError, TypeError and RecursionError for anything else.
    value = json.loads(text)
    return Record(_holding(value["held"]), _number(value["looked"]), _number(value["next_look"]))


def _holding(value: Any) -> Version | None:
    if value is None:
        return None
    digest, length = bytes.fromhex(value["head"]["digest"]), _number(value["head"]["length"])
    if len(digest) != 32:
        raise ValueError
    return Version(_number(value["catalog_date"]), Part(value["part"]), FileHead(length, digest))


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError
    return value
