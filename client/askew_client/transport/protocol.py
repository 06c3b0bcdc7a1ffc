"""What the device needs of a network, whatever it is made of."""

from __future__ import annotations

from typing import Protocol

from askew.held_file import Part
from askew.metric_card import Card, MetricCard
from askew.ranking import Slate
from askew.signal import Query


class Transport(Protocol):
    """A way to one server. Every method raises a TransportError or a WireError."""

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of what a server lets devices hold: of a version and a part, from byte `start`.

        Empty beyond the end. The version is named by its Monday. Raises OtherKind where there is no
        such file.
        """

    async def metric_card(self) -> MetricCard:
        """The public card of a server with a metric space."""

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The server's answer: exactly query.k items. The same query sends the same bytes."""

    def mark(self) -> None:
        """What was done since the last reply was public: it took as long for everybody."""
