"""What a person does with their own profile: rate, undo, look back, lock, wipe. No network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from askew.vectors import RatingScale
from askew_client.profile.document import ProfileDocument, State
from askew_client.profile.store import ProfileStore
from askew_client.profile.title_search import title_key
from askew_client.views.values import PastAnswer, Rated


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
        # What a connected catalog adds: the titles that it knows, by `title_key`, and a scale.
        self._known: Mapping[str, int] | None = None
        self._labels: Mapping[int, str] = MappingProxyType({})
        self._scale: RatingScale | None = None

    def ratings(self) -> tuple[Rated, ...]:
        """Everything that the person rated or liked, newest first."""
        known = self._known
        return tuple(
            Rated(label, liking, known is None or title_key(label) in known)
            for label, liking in reversed([*self._profile.read().ratings.items()])
        )

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, on the server's scale if one is connected. Raises ProfileError."""
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
        for state in changes.values():
            if self._scale is not None and state and state[0] is not None:
                self._scale.is_like(state[0])
        found = [0]

        def edited(document: ProfileDocument) -> ProfileDocument:
            spelled = {self._spelled(label, document): state for label, state in changes.items()}
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

    def _spelled(self, label: str, document: ProfileDocument) -> str:
        """A typed title as the profile or the catalog already writes it."""
        typed = label.strip()
        known = None if self._known is None else self._known.get(title_key(typed))
        if known is not None:
            typed = self._labels[known]
        same = (each for each in document.ratings if title_key(each) == title_key(typed))
        return next(same, typed)
