"""What a person does with their own profile: rate, undo, look back, wipe. No network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from askew.catalog.title_key import title_key
from askew_client.profile.document import PastAnswer, ProfileDocument, State
from askew_client.profile.store import ProfileStore
from askew_client.views.answers import Rated

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog
    from askew.catalog.titles import TitleIndex  # brings numpy


@dataclass(frozen=True)
class Forgotten:
    """How many titles were found in the ratings and their edits, and how many answers named one."""

    titles: int
    answers: int


class KnownTitles(Protocol):
    """The titles of a connected catalog, and how it writes them."""

    @property
    def index(self) -> TitleIndex:
        """Return the places of the items in `catalog`, found by `title_key`."""

    @property
    def catalog(self) -> Catalog:
        """Return the items, in the order of their places."""


class ProfileService:
    """One person's profile. Methods raise ProfileError, which names no title.

    Each edit is one transaction, a few milliseconds; methods may be called from any thread.
    """

    def __init__(
        self,
        profile: ProfileStore,
        known: Callable[[ProfileDocument], KnownTitles | None] = lambda _: None,
    ) -> None:
        """Make a service on this store. known: returns what a connected catalog, with the items
        that a profile has met, knows; None before a connection.
        """
        self._profile, self._known = profile, known

    def ratings(self) -> tuple[Rated, ...]:
        """Return everything that the person rated or liked, newest first; before a connection all
        counts as known.
        """
        with self._profile.guard.private():
            document = self._profile.read()
            known = self._known(document)
            return tuple(
                Rated(label, liking, _has(known, label))
                for label, liking in reversed([*document.ratings.items()])
            )

    def knows(self, label: str) -> bool:
        """Return True if an item, held or met, has this title; before a connection, always."""
        with self._profile.guard.private():
            return _has(self._known(self._profile.read()), label)

    def unmatched(self) -> tuple[Rated, ...]:
        """Return the ratings of titles of no item that is held or was met, newest first; () before
        a connection.
        """
        return tuple(rating for rating in self.ratings() if not rating.known)

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, in place of a rating before. A number beyond a server's scale counts as its
        nearest end there: a refusal by a scale that a server chooses could keep a program from
        asking.
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

    def forget(self, labels: Iterable[str]) -> Forgotten:
        """Forget titles for good, and return how many were found and how many past answers went: no
        undo brings them back, and the file holds no trace of them.

        Past answers that name one are forgotten too. Raises ProfileError while another program
        reads the file.
        """
        keys = {title_key(label) for label in labels}
        forgotten = [Forgotten(0, 0)]

        def without(document: ProfileDocument) -> ProfileDocument:
            left = document.without(lambda label: title_key(label) in keys)
            traces = {*document.ratings, *chain.from_iterable(document.edits)}
            titles = {title_key(label) for label in traces} & keys
            forgotten[0] = Forgotten(len(titles), len(document.answers) - len(left.answers))
            return left

        self._profile.change_for_good(without)
        return forgotten[0]

    def edit(self, changes: Mapping[str, State]) -> int:
        """Make many changes as one edit, so that one `undo` takes all of them back. changes: by
        title, (rating,), (None,) for a like, or () to take a rating back.

        Returns how many titles changed: without any there is no edit, and `undo` would take back
        the one before.
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
        """Take the last edit back; an import is one. Returns how many titles that edit had changed,
        0 where there is nothing to undo.
        """
        changed = [0]

        def undone(document: ProfileDocument) -> ProfileDocument:
            before, changed[0] = document.undone()
            return before

        self._profile.change(undone)
        return changed[0]

    def history(self) -> tuple[PastAnswer, ...]:
        """Return the past answers, newest first; kept on this device only."""
        return self._profile.read().answers[::-1]

    def forget_history(self) -> None:
        """Forget every past answer, and the items that answers brought and nobody rated."""
        self._profile.change(ProfileDocument.without_answers)

    def wipe(self) -> None:
        """Forget ratings, past answers and named places for good. The ledger stays: it counts what
        left.
        """
        self._profile.wipe()


def _has(known: KnownTitles | None, label: str) -> bool:
    return known is None or title_key(label) in known.index


def _identity(known: KnownTitles | None, label: str) -> int | str:
    # Of a stranger to the catalog its key.
    key = title_key(label)
    item = None if known is None else known.index.get(key)
    return key if item is None else item


def _spelled(known: KnownTitles | None, label: str, kept: Mapping[int | str, str]) -> str:
    # As the profile or the catalog already writes it.
    identity = _identity(known, label)
    if identity in kept:
        return kept[identity]
    if known is None or isinstance(identity, str):
        return label.strip()
    return known.catalog.items[identity].label
