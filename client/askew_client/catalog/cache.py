"""Where a device keeps what it fetched of one server: a catalog in a file named by its digest, or
the card of a server of places.

Beside it lies a small record: which version it is, and when the device looks next. A record that
cannot be read counts as none, and the device removes a file that is not what its name says: it
fetches again what is missing. All of it is public, except for which server this device uses.

A device looks once for each version, a random delay after its Monday began, in UTC, so that not
everybody asks a server at once. Nothing that a person does takes part: no question makes a device
look while the server still answers about what it has. The device draws the delay once for a version
and keeps it: if it drew one whenever it came by, it would look the earlier the more often it comes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from askew.catalog.catalog_file import LONGEST_DELAY, PERIOD, FileHead, Part, last_day
from askew.errors import CacheError, Malformed
from askew.noise.randomness import RandomBits
from askew_client.catalog.source import Draft
from askew_client.storage.private_files import check_own, make_directory, replace_file

DAY = 86_400  # seconds


@dataclass(frozen=True)
class RefreshTime:
    """When a device looks for one version: so many seconds after it came into force."""

    catalog_date: int
    delay: int

    @property
    def time(self) -> int:
        """Seconds since 1970-01-01."""
        return self.catalog_date * DAY + self.delay


def draw_refresh_time(catalog_date: int, bits: RandomBits) -> RefreshTime:
    """A uniform delay of whole seconds, shorter than the longest."""
    return RefreshTime(catalog_date, bits.below(LONGEST_DELAY * DAY))


def usable(catalog_date: int, day: int) -> bool:
    """Whether questions that name a catalog date are still answered: the next version comes into
    force a period later at the earliest. A version of a Monday to come was fetched by a clock that
    ran ahead; by a day it may, since days begin elsewhere first.
    """
    return catalog_date - 1 <= day <= last_day(catalog_date + PERIOD)


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

    held: what lies in the cache. looked: the date of the last version that was looked for to the
    end, well or not. refresh_time: when the next one is looked for. announced: a head that was
    seen, and whose body has not come whole.
    """

    held: Version | None = None
    looked: int | None = None
    refresh_time: RefreshTime | None = None
    announced: Version | None = None


@dataclass(frozen=True)
class CatalogCache:
    """The files of one server. Who writes holds the lock."""

    directory: Path

    @classmethod
    def of(cls, directory: Path, server: str) -> CatalogCache:
        """The cache of a server's address, in a directory of caches."""
        return cls(directory / hashlib.sha256(server.encode()).hexdigest()[:32])

    def record(self) -> Record:
        """What is remembered. Raises CacheError where others may write it."""
        path = self.directory / _RECORD
        try:
            check_own(path, "record of what is held", CacheError)
            with path.open("rb") as file:
                return _decode(file.read(_LARGEST_RECORD))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Record()

    def remember(self, record: Record) -> None:
        """Replace the record. Raises CacheError."""
        try:
            replace_file(self.directory / _RECORD, json.dumps(asdict(record), default=bytes.hex))
        except OSError as error:
            raise self._unusable(error) from None

    def body(self, version: Version) -> bytes | None:
        """What lies there of a version, checked; None where it is not there or damaged."""
        path = self._path(version.head)
        try:
            body = path.read_bytes()
        except OSError:
            return None
        try:
            version.head.check(body)
        except Malformed:
            with suppress(OSError):  # it is checked again before it is used
                path.unlink()
            return None
        return body

    def metric_card(self) -> tuple[int, bytes] | None:
        """The Monday of a card of places that lies there, and its bytes. Raises CacheError."""
        path = self.directory / _CARD
        check_own(path, "card of what is held", CacheError)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        return int.from_bytes(data[:_DAY_BYTES], "big"), data[_DAY_BYTES:]

    def keep_metric_card(self, catalog_date: int, card: bytes) -> None:
        """Replace it. Raises CacheError."""
        try:
            replace_file(self.directory / _CARD, catalog_date.to_bytes(_DAY_BYTES, "big") + card)
        except OSError as error:
            raise self._unusable(error) from None

    def forget_metric_card(self) -> None:
        """Remove it. Raises CacheError."""
        try:
            (self.directory / _CARD).unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    def draft(self, head: FileHead) -> Draft:
        """The draft of a body, new or begun before."""
        return Draft(self.directory / f"{head.digest.hex()}.part")

    def finish(self, head: FileHead, check: Callable[[bytes], object]) -> bytes:
        """A whole draft in its place, after both checks. Raises Malformed, CacheError."""
        try:
            return self.draft(head).finish(head, check, self._path(head))
        except OSError as error:
            raise self._unusable(error) from None

    def tidy(self, *kept: Version) -> None:
        """Remove every body and draft but those of these holdings. Raises CacheError."""
        names = {each.head.digest.hex() for each in kept}
        try:
            for path in self.directory.iterdir():
                digest, _, ending = path.name.partition(".")
                ours = re.fullmatch("[0-9a-f]{64}", digest) and ending in {"", "part"}
                if ours and digest not in names:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    @asynccontextmanager
    async def locked(self, patience: float) -> AsyncIterator[None]:
        """The right to write, alone among all programs; waits so many seconds for it.

        Raises CacheError. A program that ends, however it ends, gives it back.
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
    """Where there are no such locks, drafts are still checked before they are used."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _decode(text: bytes) -> Record:
    """Raises ValueError, KeyError, TypeError and RecursionError for anything else."""
    value = json.loads(text)
    looked, refresh_time = value["looked"], value["refresh_time"]
    return Record(
        held=_holding(value["held"]),
        looked=None if looked is None else _number(looked),
        refresh_time=None
        if refresh_time is None
        else RefreshTime(_number(refresh_time["catalog_date"]), _number(refresh_time["delay"])),
        announced=_holding(value["announced"]),
    )


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
