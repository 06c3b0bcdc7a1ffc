"""The person's profile on this device: one SQLite file, mode 0600, encrypted if they want.

The profile is stored as one document in one row, so that an encrypted one shows neither how many
ratings there are nor which changed. Every edit is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from askew.errors import ProfileError, VaultError
from askew.noise.randomness import RandomBits
from askew_client.profile import encryption
from askew_client.profile.document import ProfileDocument
from askew_client.profile.encryption import NO_KEY, Key, Lock, Sealed
from askew_client.storage.guard import Guard
from askew_client.storage.private_files import PrivateDatabase

_SCHEMA = """
CREATE TABLE profile (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    lock TEXT NOT NULL,
    salt BLOB NOT NULL,
    nonce BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT
"""


class ProfileStore:
    """One person's profile. Safe for several processes at once.

    Methods raise ProfileError when the file cannot be read or written, VaultError when it is
    encrypted and its key is missing, and ConnectionOpen while a connection of this device is open,
    which is the device's own guard's to say.
    """

    def __init__(self, path: Path, bits: RandomBits) -> None:
        self.path = path
        self._bits = bits
        self._key = NO_KEY
        self._last: tuple[Sealed, ProfileDocument] | None = None  # as it was read, and what it says
        self._file = PrivateDatabase(path, "profile", 0x41736B70, 2, _SCHEMA, ProfileError)
        self.guard = Guard()

    @property
    def lock(self) -> Lock:
        """How the stored profile is encrypted."""
        sealed = self._sealed()
        return "none" if sealed is None else sealed.lock

    @property
    def locked(self) -> bool:
        """Whether a passphrase is needed and was not given yet."""
        sealed = self._sealed()
        return sealed is not None and sealed.lock == "passphrase" and not self._fits(sealed)

    def unlock(self, passphrase: str) -> None:
        """Open a profile that is encrypted with a passphrase. Raises VaultError."""
        with self.guard.private():
            sealed = self._sealed()
            if sealed is not None and sealed.lock == "passphrase":
                key = encryption.passphrase_key(passphrase, sealed.salt)
                key.open(sealed)
                self._key = key

    def read(self) -> ProfileDocument:
        """The profile; an empty one where there is no file. The same object while it is the same:
        it is read with every key press.
        """
        with self.guard.private():
            sealed, last = self._sealed(), self._last
            if last is not None and last[0] != sealed:
                last = self._last = None  # before what may fail: another program may have locked it
            if sealed is None:
                return ProfileDocument()
            key = self._key_of(sealed)
            if last is None:
                last = self._last = (sealed, _document(sealed, key))
            return last[1]

    def change(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> ProfileDocument:
        """Replace the profile by what `edit` makes of it, in one transaction."""
        with self.guard.private(), self._file.transaction() as database:
            sealed, last = _find(database), self._last
            self._last = None  # what was forgotten is not kept here
            key = NO_KEY if sealed is None else self._key_of(sealed)
            before = _document(sealed, key) if last is None or last[0] != sealed else last[1]
            document = edit(before)
            after = key.seal(document.to_bytes(), self._bits)
            _put(database, after)
        self._last = after, document
        return document

    def change_for_good(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> None:
        """As `change`, and what `edit` leaves out is erased from the file too.

        Raises ProfileError while another program reads the file, which then may still hold it.
        """
        with self.guard.private():
            self._check_erasable()
            self.change(edit)
            self._file.purge()

    def encrypt(self, passphrase: str | None) -> None:
        """Encrypt with a passphrase, or with a key in the system's keyring for None.

        Raises ProfileError while another program reads the file, which may still hold plain text.
        """
        with self.guard.private():
            if passphrase is None:
                self._seal_with(encryption.new_keyring_key(self._bits))
            else:
                self._seal_with(encryption.new_passphrase_key(passphrase, self._bits))

    def decrypt(self) -> None:
        """Keep the profile in the clear again; it must be open."""
        with self.guard.private():
            self._seal_with(NO_KEY)

    def wipe(self) -> None:
        """Overwrite, empty and remove the file, locked or not, and forget its key.

        What SQLite can promise: its own pages are overwritten. Copies that a file system, a disk
        or a backup made of them are out of its reach. Raises ProfileError while another program
        reads the file, which then stays.
        """
        with self.guard.private():
            self._wipe()

    def _wipe(self) -> None:
        sealed = self._sealed()
        self._last = None
        if self.path.exists():
            self._file.check_unread()
            with self._file.transaction() as database:
                database.execute("DELETE FROM profile")
            _forget_key(sealed)  # before what may fail: what is left cannot be read without it
            self._file.purge()
        try:
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        except OSError as error:
            text = f"the profile {self.path} is empty and cannot be removed: {error.strerror}"
            raise ProfileError(text) from None
        self._key = NO_KEY

    def _seal_with(self, key: Key) -> None:
        """Store the profile under another key, and leave nothing of the old one in the file."""
        self._check_erasable()
        with self._file.transaction() as database:
            old = _find(database)
            document = _document(old, NO_KEY if old is None else self._key_of(old))
            _put(database, key.seal(document.to_bytes(), self._bits))
        self._key, self._last = key, None
        _forget_key(old)
        self._file.purge()

    def _check_erasable(self) -> None:
        """Raises, before any change, where the key is missing or the old state cannot be erased."""
        self.read()
        self._file.check_unread()

    def _sealed(self) -> Sealed | None:
        with self.guard.private():
            return self._found()

    def _found(self) -> Sealed | None:
        try:
            if not self.path.exists():
                return None
        except OSError as error:
            text = f"the profile {self.path} cannot be opened: {error.strerror}"
            raise ProfileError(text) from None
        with self._file.transaction() as database:
            return _find(database)

    def _fits(self, sealed: Sealed) -> bool:
        return (self._key.lock, self._key.salt) == (sealed.lock, sealed.salt)

    def _key_of(self, sealed: Sealed) -> Key:
        if sealed.lock == "none":
            return NO_KEY
        if not self._fits(sealed):
            if sealed.lock == "passphrase":
                raise VaultError("the profile is encrypted: its passphrase is needed")
            self._key = encryption.keyring_key(sealed.salt)
        return self._key


class PassingProfile(ProfileStore):
    """A profile in memory alone, for one question or a demo: nothing of it reaches a file."""

    def __init__(self, document: ProfileDocument | None = None) -> None:
        self._document = document or ProfileDocument()
        self.guard = Guard()

    @property
    def lock(self) -> Lock:
        """Nothing is stored, so nothing is locked."""
        return "none"

    @property
    def locked(self) -> bool:
        """Never."""
        return False

    def unlock(self, passphrase: str) -> None:
        """There is nothing to unlock."""

    def read(self) -> ProfileDocument:
        """The profile."""
        with self.guard.private():
            return self._document

    def change(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> ProfileDocument:
        """Replace the profile."""
        with self.guard.private():
            self._document = edit(self._document)
        return self._document

    def change_for_good(self, edit: Callable[[ProfileDocument], ProfileDocument]) -> None:
        """The same: there is no file."""
        self.change(edit)

    def encrypt(self, passphrase: str | None) -> None:  # noqa: ARG002
        """Raises VaultError: there is no file to encrypt."""
        raise VaultError("this profile is in memory only; there is nothing to encrypt")

    def decrypt(self) -> None:
        """There is nothing to decrypt."""

    def wipe(self) -> None:
        """Forget it."""
        with self.guard.private():
            self._document = ProfileDocument()


def _find(database: sqlite3.Connection) -> Sealed | None:
    row = database.execute("SELECT lock, salt, nonce, body FROM profile").fetchone()
    return None if row is None else Sealed(encryption.lock_of(row[0]), *row[1:])


def _document(sealed: Sealed | None, key: Key) -> ProfileDocument:
    return ProfileDocument() if sealed is None else ProfileDocument.from_bytes(key.open(sealed))


def _put(database: sqlite3.Connection, sealed: Sealed) -> None:
    database.execute(
        "INSERT OR REPLACE INTO profile VALUES (1, ?, ?, ?, ?)",
        (sealed.lock, sealed.salt, sealed.nonce, sealed.body),
    )


def _forget_key(sealed: Sealed | None) -> None:
    """Delete the key of what is not stored any more."""
    if sealed is not None and sealed.lock == "keyring":
        with suppress(VaultError):
            encryption.forget_keyring_key(sealed.salt)
