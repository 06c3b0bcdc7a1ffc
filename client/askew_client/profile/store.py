"""The person's profile on this device: one SQLite file, mode 0600.

The profile is stored as one document in one row. Every edit is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from askew.errors import ProfileError
from askew_client.profile.document import ProfileDocument
from askew_client.storage.guard import Guard
from askew_client.storage.private_files import PrivateDatabase

_SCHEMA = """
CREATE TABLE profile (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    body BLOB NOT NULL
) STRICT
"""


class ProfileStore:
    """One person's profile. Safe for several processes at once.

    Methods raise ProfileError when the file cannot be read or written, and ConnectionOpen while a
    connection of this device is open, which is the device's own guard's to say.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last: tuple[bytes, ProfileDocument] | None = None  # as it was read, and what it says
        self._file = PrivateDatabase(path, "profile", 0x41736B70, 1, _SCHEMA, ProfileError, True)
        self.guard = Guard()

    def read(self) -> ProfileDocument:
        """Return the stored profile; an empty one where there is no file. The same object while it
        is the same: it is read with every key press.
        """
        with self.guard.private():
            body, last = self._body(), self._last
            if last is not None and last[0] != body:
                last = self._last = None  # before what may fail
            if body is None:
                return ProfileDocument()
            if last is None:
                last = self._last = (body, ProfileDocument.from_bytes(body))
            return last[1]

    def change(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> ProfileDocument:
        """Write what `edit` makes of the stored profile in its place, in one transaction, and
        return that. An error of `edit` leaves the profile as it was.
        """
        with self.guard.private(), self._file.transaction() as database:
            body, last = _find(database), self._last
            self._last = None  # what was forgotten is not kept here
            if last is None or last[0] != body:
                before = ProfileDocument() if body is None else ProfileDocument.from_bytes(body)
            else:
                before = last[1]
            document = edit(before)
            after = document.to_bytes()
            database.execute("INSERT OR REPLACE INTO profile VALUES (1, ?)", (after,))
        self._last = after, document
        return document

    def change_for_good(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> None:
        """Change the profile as `change`, return None, and erase from the file too what `edit`
        leaves out.

        Raises ProfileError while another program reads the file, which then may still hold it.
        """
        with self.guard.private():
            self.read()  # what cannot be read stays as it is
            self._file.check_unread()
            self.change(edit)
            self._file.purge()

    def wipe(self) -> None:
        """Overwrite, empty and remove the profile's file; no file is no error.

        What SQLite can promise: its own pages are overwritten. Copies that a file system, a disk or
        a backup made of them are out of its reach. Raises ProfileError while another program reads
        the file, which then stays.
        """
        with self.guard.private():
            self._last = None
            emptied = self._file.is_emptied
            if not emptied:
                self._body()  # a file that is not ours is left alone
            if self.path.exists() and not emptied:
                self._file.check_unread()
                with self._file.transaction() as database:
                    database.execute("DELETE FROM profile")
                self._file.purge()
            try:
                for ending in ("", "-wal", "-shm"):
                    self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            except OSError as error:
                text = f"the profile {self.path} is empty and cannot be removed: {error.strerror}"
                raise ProfileError(text) from None

    def _body(self) -> bytes | None:
        try:
            if not self.path.exists():
                return None
        except OSError as error:
            text = f"the profile {self.path} cannot be opened: {error.strerror}"
            raise ProfileError(text) from None
        with self._file.transaction() as database:
            return _find(database)


class PassingProfile(ProfileStore):
    """A profile in memory alone, for one question or a demo: nothing of it reaches a file."""

    def __init__(self, document: ProfileDocument | None = None) -> None:
        self._document = document or ProfileDocument()
        self.guard = Guard()

    def read(self) -> ProfileDocument:
        """Return the profile in memory."""
        with self.guard.private():
            return self._document

    def change(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> ProfileDocument:
        """Replace the profile in memory by what `edit` makes of it, and return that."""
        with self.guard.private():
            self._document = edit(self._document)
        return self._document

    def change_for_good(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> None:
        """Replace the profile as `change`, and return None: there is no file."""
        self.change(edit)

    def wipe(self) -> None:
        """Replace the profile in memory by an empty one."""
        with self.guard.private():
            self._document = ProfileDocument()


def _find(database: sqlite3.Connection) -> bytes | None:
    row = database.execute("SELECT body FROM profile").fetchone()
    return None if row is None else row[0]
