"""All that a server answers from at one moment, and the holder that swaps it for the next.

A snapshot never changes. Whoever answers a call takes the current one once, at its beginning, and
uses nothing else: a swap in between cannot mix two models, and what was taken stays whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from askew.metric_card import Card
from askew.model_card import Catalog
from askew.ranking import Slate
from askew.signal import Query


class Answers(Protocol):
    """A way to answer questions that the card has checked."""

    def answer(self, query: Query) -> Slate:
        """The k items of a query."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A card, what answers for it, and the catalog that devices hold, if they hold one."""

    card: Card
    answers: Answers = field(repr=False)
    catalog: Catalog | None = field(default=None, repr=False)


class Serving(Protocol):
    """A snapshot that may be followed by another while it is served."""

    @property
    def snapshot(self) -> Snapshot:
        """What serves now."""

    @property
    def changes(self) -> bool:
        """Whether it is ever followed by another."""

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        """Looks for the next; whether there is one."""


class SnapshotHolder:
    """The current snapshot. Reading and swapping are one step each, so any thread may."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._current = snapshot

    @property
    def current(self) -> Snapshot:
        """What serves now."""
        return self._current

    def swap(self, snapshot: Snapshot) -> None:
        """Serve another from now on; calls under way end with the one that they began with."""
        self._current = snapshot
