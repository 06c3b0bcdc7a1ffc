"""What a person does with their own profile: rate, undo, look back, lock, wipe. No network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from askew.catalog.item import Item
from askew.catalog.title_key import title_key
from askew_client.profile.document import ProfileDocument, State
from askew_client.profile.store import ProfileStore
from askew_client.views.answers import PastAnswer, Rated

if TYPE_CHECKING:
    from askew.catalog.titles import TitleIndex  # brings numpy


@dataclass(frozen=True)
class Forgotten:
    """How many titles were found in the ratings and their edits, and how many answers named one."""

    titles: int
    answers: int


class ProfileDesk:
    """One person's profile. Methods raise ProfileError and VaultError, which name no title.

    Each edit is one transaction, a few milliseconds; methods may be called from any thread.
    """

    def __init__(self, profile: ProfileStore) -> None:
        self._profile = profile
        # What a connected catalog adds: the titles that it knows, and how it writes them.
        self._known: TitleIndex | None = None
        self._items: Sequence[Item] = ()

    def ratings(self) -> tuple[Rated, ...]:
        """Everything that the person rated or liked, newest first."""
        with self._profile.guard.private():
            document = self._profile.read()
            self._recall(document)
            return tuple(
                Rated(label, liking, self._has(label))
                for label, liking in reversed([*document.ratings.items()])
            )

    def knows(self, label: str) -> bool:
        """Whether an item that is held or was met has a title; before a connection, all do."""
        with self._profile.guard.private():
            self._recall(self._profile.read())
            return self._has(label)

    def unmatched(self) -> tuple[Rated, ...]:
        """What is rated and of no item that is held or was met, newest first."""
        return tuple(each for each in self.ratings() if not each.known)

    def rate(self, label: str, rating: float) -> None:
        """Rate a title. A number beyond a server's scale counts as its nearest end there: a refusal
        by a scale that a server chooses could keep a program from asking.
        """
        self.edit({label: (rating,)})

    def like(self, label: str) -> None:
        """Like a title, without a number."""
        self.edit({label: (None,)})

    def unrate(self, label: str) -> None:
        """Forget a rating. One that does not exist is no error."""
        self.edit({label: ()})

    def forget(self, labels: Iterable[str]) -> Forgotten:
        """Forget titles for good: no undo brings them back, and the file holds no trace of them.

        Past answers that name one are forgotten too. Raises ProfileError while another program
        reads the file.
        """
        keys = {title_key(label) for label in labels}
        found = [Forgotten(0, 0)]

        def without(document: ProfileDocument) -> ProfileDocument:
            left = document.without(lambda label: title_key(label) in keys)
            traces = {*document.ratings, *chain.from_iterable(document.edits)}
            titles = {title_key(label) for label in traces} & keys
            found[0] = Forgotten(len(titles), len(document.answers) - len(left.answers))
            return left

        self._profile.change_for_good(without)
        return found[0]

    def edit(self, changes: Mapping[str, State]) -> int:
        """Many changes as one edit, so that one `undo` takes all of them back.

        Returns how many of the named titles were rated before, so that a removal which found
        nothing can be told.
        """
        found = [0]

        def edited(document: ProfileDocument) -> ProfileDocument:
            self._recall(document)
            kept = {self._identity(label): label for label in reversed([*document.ratings])}
            spelled = {self._spelled(label, kept): state for label, state in changes.items()}
            found[0] = len(spelled.keys() & document.ratings.keys())
            return document.edited(spelled)

        self._profile.change(edited)
        return found[0]

    def undo(self) -> int:
        """Take the last edit back; an import is one. Returns how many ratings changed."""
        changed = [0]

        def undone(document: ProfileDocument) -> ProfileDocument:
            before, changed[0] = document.undone()
            return before

        self._profile.change(undone)
        return changed[0]

    def history(self) -> tuple[PastAnswer, ...]:
        """Earlier answers, newest first; kept on this device only."""
        return self._profile.read().answers[::-1]

    def forget_history(self) -> None:
        """Forget every earlier answer."""
        self._profile.change(ProfileDocument.without_answers)

    @property
    def locked(self) -> bool:
        """Whether the profile is encrypted and its passphrase was not given yet."""
        return self._profile.locked

    @property
    def lock(self) -> str:
        """How the profile is kept: "none", "passphrase" or "keyring"."""
        return self._profile.lock

    def unlock(self, passphrase: str) -> None:
        """Open an encrypted profile. Takes about half a second. Raises VaultError."""
        self._profile.unlock(passphrase)

    def encrypt(self, passphrase: str | None) -> None:
        """Encrypt the profile and the history, with a passphrase or (None) the system's keyring.

        Raises VaultError for a short passphrase, or where there is no keyring.
        """
        self._profile.encrypt(passphrase)

    def decrypt(self) -> None:
        """Keep the profile in the clear again; it must be open."""
        self._profile.decrypt()

    def wipe(self) -> None:
        """Forget the profile and the history for good. The ledger stays: it counts what left."""
        self._profile.wipe()

    def _recall(self, document: ProfileDocument) -> None:
        """Know the titles that this profile has met, where a catalog is connected."""

    def _has(self, label: str) -> bool:
        return self._known is None or title_key(label) in self._known

    def _identity(self, label: str) -> int | str:
        """The item that a title names, or for a stranger to the catalog its key."""
        key = title_key(label)
        item = None if self._known is None else self._known.get(key)
        return key if item is None else item

    def _spelled(self, label: str, kept: Mapping[int | str, str]) -> str:
        """A typed title as the profile or the catalog already writes it."""
        identity = self._identity(label)
        known = self._items[identity].label if isinstance(identity, int) else label.strip()
        return kept.get(identity, known)
