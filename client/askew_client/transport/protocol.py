"""What the device needs of a network, whatever it is made of."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from askew.held_file import Part
    from askew.metric_card import Card, MetricCard
    from askew.model_card import Catalog, ModelCard
    from askew.ranking import Slate
    from askew.signal import Query
    from askew_client.views.values import Refreshed


@dataclass(frozen=True, eq=False)
class Holding:
    """What a device holds of a server: its card, items, all of them or the first, the Monday of
    their version, and the bytes that they take, by the device's own count.
    """

    card: ModelCard
    catalog: Catalog
    edition: int
    size: int


class Library(Protocol):
    """Where a device has what it holds."""

    async def holding(self, day: datetime.date) -> Holding:
        """What is held on this day; fetched, where it has to be. Raises as a Transport, and
        ShelfError.
        """

    async def refresh(self) -> Refreshed:
        """Look for the current edition if its turn has come. No question does. Raises alike."""


class Transport(Protocol):
    """A way to one server. Every method raises a TransportError or a WireError."""

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of what a server lets devices hold: of a version and a part, from byte `start`.

        The head alone from 0, empty beyond the end. The version is named by its Monday. Raises
        OtherKind where there is no such file.
        """

    async def metric_card(self) -> MetricCard:
        """The public card of a server with a metric space."""

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The server's answer: exactly query.k items. The same query sends the same bytes."""

    def mark(self) -> None:
        """What was done since the last reply was public: it took as long for everybody."""
