"""Files for the person alone: who may write one, the directory that it is in, how a small one is
replaced whole, and a SQLite file that is marked as ours, one transaction at a time.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from askew.errors import AskewError, storage_reason

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_own(path: Path, name: str, error: type[AskewError]) -> None:
    """Raise `error` for a file that is not this account's, or that its group or others may write;
    else return None. name: what messages call the file.

    A missing file passes. Who can write its directory can still replace it. Raises OSError where
    the file cannot be looked at.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        text = f"the {name} {path} cannot be used: it is not yours alone. It must be owned by you"
        raise error(f"{text} (chown), and writable by nobody else (chmod go-w)")


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, each of mode 0700, durably: each
    new name is synced in its parent. One that exists stays as it is. Raises OSError.
    """
    for each in (*reversed(path.parents), path):
        try:
            each.mkdir(mode=0o700)
        except OSError:  # it exists, which a read-only disk may say otherwise
            if not each.is_dir():
                raise
        else:
            with suppress(PermissionError):  # a directory may be written and not read
                _sync_directory(each.parent)


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file of mode 0600 in place of another, durably, in a directory that is made if need
    be. Raises OSError, in which case the old file or the new one is there, whole.
    """
    import tempfile  # most commands write no such file

    make_directory(path.parent)
    _sync_directory(path.parent)  # where that fails, nothing is replaced
    # A name that no rival writer has, and mode 0600.
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_PATIENCE = 10  # seconds that SQLite waits for another's lock
_TRIES = 100


@dataclass(frozen=True)
class PrivateDatabase:
    """What a file must be: its name in messages, SQLite's application id, its version and its
    tables.

    schema: its statements, split at ";" before a line's end. error: what every failure is raised
    as; the message names the file, never what is in it. whole: a new file has its tables from its
    first moment, so an empty one has lost what it held, and is refused.
    """

    path: Path
    name: str
    application: int
    version: int
    schema: str
    error: type[AskewError]
    whole: bool = False

    @property
    def is_emptied(self) -> bool:
        """Return True if the file has no byte, and so has lost all that it held: only of a `whole`
        database, which is never empty by itself.
        """
        return self.whole and self.path.is_file() and self.path.stat().st_size == 0

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file and yield a connection in an immediate transaction, committed at the end:
        no other of these begins until then. An error rolls it back, and is raised as `error` if it
        is SQLite's.
        """
        with self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Closed at the end, which rolls back what was not committed.
        try:
            database = self._open()
        except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
            raise self._unusable(error) from None
        try:
            yield database
        except (UnicodeDecodeError, sqlite3.Error) as error:
            raise self._unusable(error) from None
        finally:
            database.close()

    def _unusable(self, error: Exception) -> AskewError:
        return self.error(f"the {self.name} {self.path} cannot be used: {storage_reason(error)}")

    def check_unread(self) -> None:
        """Raise `error` while another connection reads, after waiting for that: as long as it does,
        SQLite keeps what was there before, and nothing can be erased. Else return None.
        """
        with self._connection() as database:
            # The same number again: the log has a page then, which waits for every reader.
            database.execute(f"PRAGMA user_version = {self.version}")
            self._empty_log(database)

    def purge(self) -> None:
        """Erase from the file what was deleted from its tables: overwrite it, shrink the file,
        empty the log. Raises `error` as `check_unread`.
        """
        with self._connection() as database:
            self._empty_log(database)  # overwrites freed pages, before the file loses them
            database.execute("VACUUM")
            self._empty_log(database)

    def _empty_log(self, database: sqlite3.Connection) -> None:
        busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            text = f"another program is reading the {self.name} {self.path}"
            advice = "so what it held before cannot be erased; end that program and try again"
            raise self.error(f"{text}, {advice}")

    def _open(self) -> sqlite3.Connection:
        make_directory(self.path.parent)
        if not self.path.exists():
            self._make()
        if self.is_emptied:
            text = f"the {self.name} {self.path} is empty, and it was not: something emptied it"
            raise self.error(f"{text}. Put a backup in its place, or remove it to begin anew")
        if not self.path.is_file():
            raise self.error(f"the {self.name} {self.path} is no regular file")
        real = self.path.resolve()  # SQLite keeps its journal beside the file that a link names
        for ending in ("", "-wal", "-shm"):
            check_own(real.with_name(real.name + ending), self.name, self.error)
        database = sqlite3.connect(self.path, isolation_level=None, timeout=_PATIENCE)
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA recursive_triggers = ON")  # also for rows that REPLACE deletes
            self._create_if_new(database)
            self.path.chmod(0o600)
            write_ahead(database)
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA temp_store = MEMORY")  # VACUUM makes a copy of everything
        except BaseException:
            database.close()
            raise
        return database

    def _make(self) -> None:
        # A rival process may make it first: then theirs stays.
        if not self.whole:
            self.path.touch(mode=0o600)
            return
        import tempfile  # most commands make no file

        real = self.path.resolve()
        handle, name = tempfile.mkstemp(prefix=f"{real.name}.", suffix=".new", dir=real.parent)
        os.close(handle)
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as database:
                self._create_if_new(database)
            try:
                os.link(name, real)  # which replaces no file that a rival made meanwhile
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                if not real.exists():
                    Path(name).rename(real)
        finally:
            Path(name).unlink(missing_ok=True)
        if os.access(real.parent, os.R_OK):  # a directory may be written and not read
            _sync_directory(real.parent)

    def _create_if_new(self, database: sqlite3.Connection) -> None:
        # A file that is not ours is refused, and left alone.
        database.execute("BEGIN IMMEDIATE")  # one of several processes makes them, others wait
        version = _pragma(database, "user_version")
        if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            database.execute(f"PRAGMA application_id = {self.application}")
            for statement in self.schema.split(";\n"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {self.version}")
            version = self.version
        elif _pragma(database, "application_id") != self.application:
            raise self.error(f"{self.path} is not a {self.name} of this program")
        if version != self.version:
            text = f"has version {version}, this program reads {self.version}"
            raise self.error(f"the {self.name} {self.path} {text}")
        # One more trigger would copy what is written; one less check would let anything in.
        if _objects(database) != _made(self.schema):
            text = "has tables that are not as this program makes them"
            raise self.error(f"the {self.name} {self.path} {text}")
        database.execute("COMMIT")


def write_ahead(database: sqlite3.Connection) -> None:
    """Turn write-ahead logging on for this connection's file. SQLite does not wait for
    others here, so this tries up to 100 times, then raises sqlite3.OperationalError.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not tries_left or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            database.execute("BEGIN IMMEDIATE")  # which waits until the rival has ended
            database.execute("ROLLBACK")


def _objects(database: sqlite3.Connection) -> frozenset[tuple[str, str, str, str | None]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _made(schema: str) -> frozenset[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in schema.split(";\n"):
            database.execute(statement)
        return _objects(database)


def _pragma(database: sqlite3.Connection, name: str) -> int:
    value: int = database.execute(f"PRAGMA {name}").fetchone()[0]
    return value
