"""What a device holds of one server: a catalog in a file named by its digest, or the card of a
server of places; where it comes from and lies, and when the device looks for a newer one.

Beside it lies a small record: which file it is, and when the device looks next. A record that
cannot be read counts as none, and so does a file that is not what its name says: it is fetched
again. All of it is public, except for which server this device uses.

A device looks once a week, a random delay after Monday began, in UTC, so that not everybody asks a
server at once. Nothing that a person does takes part: no question makes a device look while what it
holds is at most sixteen days old. The device draws the delay once a week and keeps it: if it drew
one whenever it came by, it would look the earlier the more often it comes.

A look is a head of 48 bytes; the body is fetched where its digest is another than that of what is
held. So a server that gives every device a file of its own learns from a look whether its guess of
the device was right. Hence one look a week, whatever comes of it: where the body breaks off or is
refused, the device stays with what it holds until the next Monday. Where it holds nothing that it
may use, it forgets what it held before it fetches: then there is nothing to guess, and the next
question fetches all of the file again.
"""

from __future__ import annotations

import asyncio
import datetime
import fcntl
import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from askew.catalog.catalog_file import (
    HEAD_BYTES,
    LONGEST_DELAY,
    LONGEST_USE,
    PERIOD,
    FileHead,
    Part,
    catalog_date_of,
)
from askew.errors import CacheError, Malformed, NotFound, OtherKind, ParameterError
from askew.noise.randomness import RandomBits
from askew_client.storage.private_files import check_own, make_directory, replace_file
from askew_client.views.answers import Refreshed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from askew.catalog.catalog import Catalog  # brings numpy
    from askew.protocol.cards import MetricCard, ModelCard
    from askew.protocol.collection import Collection  # brings numpy

DAY = 86_400  # seconds
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class CachedCatalog:
    """What a device holds of a server: its card, items, all of them or the first, the Monday of
    their version, and the bytes that they take, by the device's own count.
    """

    card: ModelCard
    catalog: Catalog
    catalog_date: int
    size: int


@dataclass(frozen=True, eq=False)
class CachedRows:
    """What a device holds of a server of places: its card, rows of its collections by name, if any,
    the Monday of their version, and their bytes.
    """

    card: MetricCard
    rows: Mapping[str, Collection]
    catalog_date: int
    size: int


class CatalogSource(ABC):
    """A way to the files of one server: entered, it is a connection, which is closed when it is
    left. It is told a date and a place in a file, and no more.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return  # most have a connection for each read

    @abstractmethod
    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from byte `start` on, fewer at its end, never more.

        Raises TransportError or WireError; NotFound or OtherKind where there is no such file.
        """


def date_of(catalog_date: int) -> datetime.date:
    """Return the date of a catalog date, which counts days since 1970-01-01: 0 is 1970-01-01."""
    return _EPOCH + datetime.timedelta(days=catalog_date)


def name_of(catalog_date: int, part: Part) -> str:
    """Return the name of a file on a static host: "2026-11-23.whole" of 20780 and Part.WHOLE."""
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


class CatalogCache:
    """The files of one server. Who writes holds the lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def of(cls, directory: Path, server: str) -> CatalogCache:
        """Return the cache of a server's address, in a directory of caches: its `directory` is
        called by the first 32 hexadecimal digits of the address' SHA-256. Nothing is made.
        """
        return cls(directory / hashlib.sha256(server.encode()).hexdigest()[:32])

    def record(self) -> Record:
        """Return what is remembered of this server; an empty Record(None, 0, 0) where there is none
        or it cannot be read. Raises CacheError where the file is another account's, or others may
        write it.
        """
        path = self.directory / _RECORD
        try:
            check_own(path, "record of what is held", CacheError)
            with path.open("rb") as file:
                return _decode(file.read(_LARGEST_RECORD))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Record()

    def remember(self, record: Record) -> None:
        """Write this record in place of the one before; the directory is made if need be. Raises
        CacheError where it cannot be used.
        """
        with self._usable():
            replace_file(self.directory / _RECORD, json.dumps(asdict(record), default=bytes.hex))

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
        bytes; None where no card is kept or it cannot be read. Raises CacheError where the file is
        another account's, or others may write it.
        """
        path = self.directory / _CARD
        try:
            check_own(path, "card of what is held", CacheError)
            data = path.read_bytes()
        except OSError:
            return None
        return int.from_bytes(data[:_DAY_BYTES], "big"), data[_DAY_BYTES:]

    def keep_metric_card(self, catalog_date: int, card: bytes) -> None:
        """Write this card of places, with its Monday, in place of the one before; the directory is
        made if need be. Raises CacheError where it cannot be used.
        """
        with self._usable():
            replace_file(self.directory / _CARD, catalog_date.to_bytes(_DAY_BYTES, "big") + card)

    def forget_metric_card(self) -> None:
        """Remove the kept card of places; none is no error. Raises CacheError where the directory
        cannot be used.
        """
        with self._usable():
            (self.directory / _CARD).unlink(missing_ok=True)

    def keep(self, version: Version, body: bytes) -> None:
        """Write the body of a file, which the caller has checked, to its own; the directory is made
        if need be. Raises CacheError where it cannot be used.
        """
        with self._usable():
            replace_file(self._path(version.head), body)

    def tidy(self, kept: Version | None) -> None:
        """Remove every body but that of `kept` (None: all), and what a killed write left of one.
        Raises CacheError where the directory is not there or cannot be used.
        """
        name = "" if kept is None else kept.head.digest.hex()
        with self._usable():
            for path in self.directory.iterdir():
                if re.match("[0-9a-f]{64}", path.name) and path.name != name:
                    path.unlink(missing_ok=True)

    @asynccontextmanager
    async def locked(self, patience: float) -> AsyncIterator[None]:
        """Hold the right to write to this cache, alone among all programs, from entry to exit. Wait
        at most `patience` seconds for that, then raise CacheError. Make the directory, if it is not
        there; raise CacheError where it cannot be used. A program that ends gives the right back.
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
        with self._usable():
            make_directory(self.directory)
            return os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)

    def _path(self, head: FileHead) -> Path:
        return self.directory / head.digest.hex()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = f"the directory {self.directory} cannot be used: {error.strerror}"
            raise CacheError(text) from None


def _try_to_lock(handle: int) -> bool:
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


_PATIENCE = 60.0


@dataclass(frozen=True)
class CachedFile:
    """A file that was checked. fetched: bytes, just now."""

    version: Version
    body: bytes = field(repr=False)
    fetched: int = 0


class CatalogSync:
    """Keeps one server's files. byte_budget: what one of them may have, with its head. check:
    raises Malformed for a body that is of no use. patience: seconds to wait for another program
    that fetches. Days count from 1970-01-01.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        cache: CatalogCache,
        source: CatalogSource,
        byte_budget: int,
        bits: RandomBits,
        *,
        check: Callable[[bytes], object],
        patience: float = _PATIENCE,
    ) -> None:
        self._cache, self._source, self._budget = cache, source, byte_budget
        self._bits, self._check, self._patience = bits, check, patience

    async def cached(self, day: int) -> CachedFile:
        """Return the file that is held, a CachedFile: version, body and fetched, the bytes that
        came just now, 0 if it was there. Where nothing usable on this day is, it is fetched first:
        the whole catalog if it fits the byte budget, else the default one. Raises AskewError.
        """
        file = await asyncio.to_thread(self.usable, day)
        if file is not None:
            return file
        async with self._cache.locked(self._patience):
            # Another program may have fetched it while this one waited.
            return await asyncio.to_thread(self.usable, day) or await self._renewed(day)

    async def refresh(self, now: int) -> Refreshed:
        """Look for this week's file if it is time, at once where nothing usable is held, and return
        what is held then, a Refreshed: catalog_date, its Monday (a date), part, "whole" or
        "default", size in bytes, fetched, the bytes just now (0 before the time, 48 for each head
        where nothing was new), and next_look, a datetime in UTC.

        now: in seconds since 1970-01-01. Raises AskewError; what is held, if usable, stays.
        """
        day = now // DAY
        async with self._cache.locked(self._patience):
            file = await asyncio.to_thread(self.usable, day)
            if file is None or await asyncio.to_thread(self._next_look, day) <= now:
                file = await self._renewed(day)
            next_look = await asyncio.to_thread(self._next_look, day)
        version, when = file.version, datetime.datetime.fromtimestamp(next_look, datetime.UTC)
        monday, size = date_of(version.catalog_date), version.head.size
        return Refreshed(monday, str(version.part), size, file.fetched, when)

    async def forget(self, catalog_date: int) -> None:
        """Forget the held file and its record, so that the next look is a first one and tells
        nothing of what was held; do nothing if the held file is of another Monday than this.
        """
        async with self._cache.locked(self._patience):
            held = await asyncio.to_thread(lambda: self._cache.record().held)
            # Another date means that another program has fetched a new file.
            if held is None or held.catalog_date == catalog_date:
                await asyncio.to_thread(self._settle, Record())

    def usable(self, day: int) -> CachedFile | None:
        """Return the file in the cache, checked, `fetched` 0; None where there is none, it is not
        `usable` on this day, or damaged. Raises CacheError where the record is another account's,
        or others may write it.
        """
        version = self._cache.record().held
        if version is None or not usable(version.catalog_date, day):
            return None
        body = self._cache.body(version)
        return None if body is None else CachedFile(version, body)

    def _next_look(self, day: int) -> int:
        # Drawn once a week, and kept before it is used.
        record = self._cache.record()
        monday = max(catalog_date_of(day), record.looked + PERIOD)
        if catalog_date_of(record.next_look // DAY) != monday:
            record = replace(record, next_look=draw_look(monday, self._bits))
            self._cache.remember(record)
        return record.next_look

    async def _renewed(self, day: int) -> CachedFile:
        catalog_date = catalog_date_of(day)
        async with self._source:
            version, fetched = await self._look(catalog_date)
            body = await asyncio.to_thread(self._cache.body, version)
            if body is None:
                held = await asyncio.to_thread(lambda: self._cache.record().held)
                if held is not None and not usable(held.catalog_date, day):
                    held = None
                # Before it comes: broken off or refused, it is not looked for again in this week.
                await asyncio.to_thread(self._settle, Record(held, catalog_date))
                place = (version.catalog_date, version.part, HEAD_BYTES)
                received = await self._source.read(*place, version.head.length)
        if body is None:  # what came is read when the connection is closed
            body, fetched = received, fetched + len(received)
            await asyncio.to_thread(self._keep, version, body)
        await asyncio.to_thread(self._settle, Record(version, catalog_date))
        return CachedFile(version, body, fetched)

    async def _look(self, catalog_date: int) -> tuple[Version, int]:
        # Raises what was wrong with the last part where none is offered.
        seen: list[FileHead] = []
        missing: NotFound | OtherKind = NotFound("catalog file")
        for part in (Part.WHOLE, Part.DEFAULT):
            try:
                beginning = await self._source.read(catalog_date, part, 0, HEAD_BYTES)
            except (NotFound, OtherKind) as error:
                missing = error
                continue
            head = FileHead.of(beginning)
            seen.append(head)
            if head.size <= self._budget:
                return Version(catalog_date, part, head), HEAD_BYTES * len(seen)
        if not seen:
            raise missing
        limit = f"at least {seen[-1].size}, the bytes that a device of this server must hold"
        raise ParameterError("byte_budget", self._budget, limit)

    def _keep(self, version: Version, body: bytes) -> None:
        version.head.check(body)
        self._check(body)
        self._cache.keep(version, body)

    def _settle(self, record: Record) -> None:
        # No body stays but the one that the record holds.
        self._cache.remember(record)
        self._cache.tidy(record.held)
