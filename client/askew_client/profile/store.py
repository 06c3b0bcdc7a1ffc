"""The person's profile on this device, and what they do with it: rate, undo, look back, wipe.

It is one SQLite file, mode 0600: one document in one row. Every edit is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from askew.catalog.item import title_key
from askew.errors import ProfileError
from askew_client.profile.document import PastAnswer, ProfileDocument, State
from askew_client.storage.guard import Guard
from askew_client.storage.private_files import PrivateDatabase

if TYPE_CHECKING:
    from askew.catalog.item import Item
    from askew.catalog.titles import TitleIndex  # brings numpy
    from askew_client.views.answers import Rated

    _Known = tuple[TitleIndex, Sequence[Item]]


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
        """Write what `edit` makes of the stored profile (an empty one where there is no file) in
        its place, in one transaction, and return that. An error of `edit` is raised as it is, and
        leaves the profile as it was.
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

        Raises ProfileError while another program reads the file: if it began before this, nothing
        is changed; if during this, the file may still hold what was left out.
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


class ProfileService:
    """One person's profile. Methods raise ProfileError, which names no title.

    Each edit is one transaction, a few milliseconds; methods may be called from any thread.
    """

    def __init__(
        self,
        profile: ProfileStore,
        known: Callable[[ProfileDocument], _Known | None] = lambda _: None,
    ) -> None:
        """Make a service on this store. known: returns the index and the items of a connected
        catalog, with those that a profile has met; None before a connection.
        """
        self._profile, self._known = profile, known

    def ratings(self) -> tuple[Rated, ...]:
        """Return a Rated (label, rating, known) of everything that the person rated or liked, what
        was touched last first. rating is None for a like; known is False for a title of no item
        that is held or was met, and True of all before a connection.
        """
        from askew_client.views.answers import Rated  # commands that show the ledger do without

        with self._profile.guard.private():
            document = self._profile.read()
            known = self._known(document)
            return tuple(
                Rated(label, liking, _has(known, label))
                for label, liking in reversed([*document.ratings.items()])
            )

    def knows(self, label: str) -> bool:
        """Return True if an item, held or met, has this title, "Alien (1979)", or "alien" where no
        other item has it; before a connection, always.
        """
        with self._profile.guard.private():
            return _has(self._known(self._profile.read()), label)

    def unmatched(self) -> tuple[Rated, ...]:
        """Return the ratings of titles of no item that is held or was met, newest first; () before
        a connection.
        """
        return tuple(rating for rating in self.ratings() if not rating.known)

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, in place of a rating before, as one edit. A number beyond a server's scale
        is kept as it is, and counts as its nearest end there: a refusal by a scale that a server
        chooses could keep a program from asking. Raises ProfileError for NaN, a number beyond 1000
        in size, and a title that is no printable text.
        """
        self.edit({label: (rating,)})

    def like(self, label: str) -> None:
        """Like a title, known or not, without a number, in place of a rating before."""
        self.edit({label: (None,)})

    def unrate(self, label: str) -> None:
        """Take the rating of a title back; `undo` brings it again. A title without one is
        no error.
        """
        self.edit({label: ()})

    def forget(self, labels: Iterable[str]) -> tuple[int, int]:
        """Forget titles for good, with every past answer that names one: no undo brings them back,
        and the file holds no trace. Return how many titles were in ratings or edits, and how many
        answers went: (1, 2). Raises ProfileError while another program reads the file.
        """
        keys = {title_key(label) for label in labels}
        forgotten = [(0, 0)]

        def without(document: ProfileDocument) -> ProfileDocument:
            left = document.without(lambda label: title_key(label) in keys)
            traces = {*document.ratings, *chain.from_iterable(document.edits)}
            titles = {title_key(label) for label in traces} & keys
            forgotten[0] = len(titles), len(document.answers) - len(left.answers)
            return left

        self._profile.change_for_good(without)
        return forgotten[0]

    def edit(self, changes: Mapping[str, State]) -> int:
        """Make many changes as one edit, which one `undo` takes back, and return how many titles
        changed; without any there is no edit. changes: by title, (4.5,) for a rating, (None,) for a
        like, or () to take a rating back. A title is kept as the profile already writes it, else as
        the catalog does, else as it is here. Raises ProfileError as `ProfileDocument.edited`.
        """
        changed = [0]

        def edited(document: ProfileDocument) -> ProfileDocument:
            known = self._known(document)
            kept = {_identity(known, label): label for label in reversed([*document.ratings])}
            spelled = {_spelled(known, label, kept): state for label, state in changes.items()}
            after = document.edited(spelled)
            changed[0] = sum(
                document.ratings.get(label, ()) != after.ratings.get(label, ()) for label in spelled
            )
            return after

        self._profile.change(edited)
        return changed[0]

    def undo(self) -> int:
        """Take the last edit back; an import is one. Return how many titles that edit had changed,
        0 where there is nothing to undo.
        """
        changed = [0]

        def undone(document: ProfileDocument) -> ProfileDocument:
            before, changed[0] = document.undone()
            return before

        self._profile.change(undone)
        return changed[0]

    def history(self) -> tuple[PastAnswer, ...]:
        """Return the past answers, newest first: PastAnswer of when, month, labels and picked."""
        return self._profile.read().answers[::-1]

    def forget_history(self) -> None:
        """Erase for good every past answer, the items that answers brought and nobody rated, and
        the spot whose signal was charged and not answered. Ratings and their edits stay.
        """
        self._profile.change_for_good(ProfileDocument.without_answers)

    def wipe(self) -> None:
        """Forget ratings, past answers and named places for good. The ledger stays: it counts what
        left.
        """
        self._profile.wipe()


def _has(known: _Known | None, label: str) -> bool:
    return known is None or title_key(label) in known[0]


def _identity(known: _Known | None, label: str) -> int | str:
    # Of a stranger to the catalog its key.
    key = title_key(label)
    item = None if known is None else known[0].get(key)
    return key if item is None else item


def _spelled(known: _Known | None, label: str, kept: Mapping[int | str, str]) -> str:
    # As the profile or the catalog already writes it.
    identity = _identity(known, label)
    if identity in kept:
        return kept[identity]
    if known is None or isinstance(identity, str):
        return label.strip()
    return known[1][identity].label
