"""All that a server answers from at one moment, and the holder that swaps it for the next.

A snapshot never changes. A call takes the current one once, at its beginning, and uses nothing
else: a swap in between cannot mix two models. From a noisy signal to k items everything is
post-processing, without I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, Part, is_catalog_date
from askew.errors import ArtifactError, StaleSpace
from askew.offset_rule import OffsetRule
from askew.protocol.cards import Card, MetricCard, ModelCard, PlaceSlate
from askew.protocol.collection import Collection
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew_server.folders import today


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A card, what answers for it, and the catalog that devices hold, if they hold one.

    answer: gives the k items of a query that the card has checked, in ascending order of id, as a
    reply has them. slots: what that takes, in slots of a queue; 0 where no queue is needed. since:
    the Monday from which on it is in force. collections: whose items are answered whole, if it has
    any. files: what devices may hold of those.
    """

    card: Card
    answer: Callable[[Query], Slate | PlaceSlate] = field(repr=False)
    slots: Callable[[Query], int] = field(repr=False)
    catalog: Catalog | None = field(default=None, repr=False)
    since: int = FIRST
    collections: tuple[Collection, ...] = field(default=(), repr=False)
    files: Mapping[Part, bytes] = field(default_factory=dict, repr=False)


class SnapshotHolder:
    """The snapshots of all models that are answered, by their Mondays. Any thread may read; one
    swaps. today: in days since 1970-01-01, UTC.
    """

    def __init__(self, *snapshots: Snapshot, today: Callable[[], int] = today) -> None:
        """Hold these snapshots, at least one, of different Mondays. Raises ArtifactError as
        `swap`.
        """
        self._today = today
        self._all = _checked(snapshots)

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all snapshots, the oldest Monday first."""
        return self._all

    @property
    def current(self) -> Snapshot:
        """Return the newest snapshot whose Monday has come; where none has, the oldest. At least
        one must be left.
        """
        day, snapshots = self._today(), self._all
        return next(
            (snapshot for snapshot in reversed(snapshots) if snapshot.since <= day), snapshots[0]
        )

    def at(self, catalog_date: int) -> Snapshot:
        """Return the newest snapshot whose Monday had come on the Monday that a device names, in
        days since 1970-01-01.

        Raises StaleSpace where there is none, and for a day that is no Monday or has not come: a
        clock may be ahead by a day, since days begin elsewhere first.
        """
        if is_catalog_date(catalog_date) and catalog_date <= self._today() + 1:
            for snapshot in reversed(self._all):
                if snapshot.since <= catalog_date:
                    return snapshot
        raise StaleSpace

    def swap(self, snapshot: Snapshot) -> None:
        """Serve this snapshot from now on, in place of the one of the same Monday or beside the
        others; calls under way end with the one that they began with. Raises ArtifactError, and
        serves what it served, where a number names one collection here and another one there.
        """
        self._all = _checked([*(e for e in self._all if e.since != snapshot.since), snapshot])

    def withdraw(self, since: int) -> None:
        """Answer from the snapshot of this Monday no more; nothing happens where there is none."""
        self._all = tuple(snapshot for snapshot in self._all if snapshot.since != since)


def _checked(snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    names: dict[int, str] = {}
    for card in [snapshot.card for snapshot in snapshots if isinstance(snapshot.card, MetricCard)]:
        for collection in card.collections:
            if (name := names.setdefault(collection.number, collection.name)) != collection.name:
                raise ArtifactError(
                    f"number {collection.number} is that of the collection {name}, and of "
                    f"{collection.name} in another model; questions would reach the wrong one: "
                    "collect the newer model beside the older one, and a new name gets a new number"
                )
    return tuple(sorted(snapshots, key=lambda snapshot: snapshot.since))


_FEW = 16  # results
# Products of numbers, of which a core does 2 in a nanosecond: in .1 ms, less than a hand-over to a
# thread, and in 4 ms.
_QUICK, _SLOT = 1 << 17, 1 << 23


class Retriever:
    """Answers queries that are valid for its card, by the offset rule. No answer names a default
    item: whoever asks has those.
    """

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self.card, self.catalog = card, catalog
        self._rule = OffsetRule(card.space.encoder, catalog.scoring, held=card.n_held)
        self._rule.prepare(card.max_slate_size)

    @property
    def snapshot(self) -> Snapshot:
        """Return a snapshot of this model, card and catalog, ready to be served."""
        return Snapshot(self.card, self.answer, self.slots, self.catalog)

    def answer(self, query: Query) -> Slate:
        """Return the Slate of a query: `item_ids` of k items, ascending, with their `items`,
        `vectors` and `boosts`.
        """
        return Slate.of_catalog(self.catalog, self._rule.answer(query.signal, query.k))

    def slots(self, query: Query) -> int:
        """Return 0 for at most 16 results that take at most 2**17 products, k (1 + d) n in d
        dimensions, of the n items that an answer may name (none of the card's first n_held); else
        1 + the larger of k // 16 and products // 2**23.
        """
        products = query.k * (1 + self.card.space.dimension) * self._rule.n_items
        if query.k <= _FEW and products <= _QUICK:
            return 0
        return 1 + max(query.k // _FEW, products // _SLOT)
