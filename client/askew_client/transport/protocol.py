"""What the device needs of a network, whatever it is made of."""

from __future__ import annotations

from typing import Protocol

from askew.metric_card import Card, MetricCard
from askew.model_card import Catalog, ModelCard
from askew.ranking import Slate
from askew.signal import Query


class Transport(Protocol):
    """A way to one server. Every method raises a TransportError or a WireError."""

    async def model_card(self) -> ModelCard:
        """The public card of the model that serves."""

    async def metric_card(self) -> MetricCard:
        """The public card of a server with a metric space."""

    async def catalog(self, card: ModelCard) -> Catalog:
        """The whole public catalog that the card names."""

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The server's answer: exactly query.k items. The same query sends the same bytes."""

    def mark(self) -> None:
        """What was done since the last reply was public: it took as long for everybody."""
