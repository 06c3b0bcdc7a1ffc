"""A server in this process, for demos and tests: the public rule, and no network at all."""

from __future__ import annotations

from askew.errors import StaleSpace
from askew.model_card import Catalog, ModelCard
from askew.placement import OffsetRule
from askew.ranking import Slate
from askew.signal import Query


class LocalTransport:
    """Answers as a server without a prior does. Implements Transport."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self._card, self._catalog = card, catalog
        self._rule = OffsetRule(card.space, catalog.positions)

    async def model_card(self) -> ModelCard:
        """The card."""
        return self._card

    async def catalog(self, card: ModelCard) -> Catalog:  # noqa: ARG002  # a server has one
        """The catalog."""
        return self._catalog

    async def retrieve(self, query: Query, card: ModelCard) -> Slate:
        """The items around the signal. Raises StaleSpace for a signal of another space."""
        if query.signal.space_version != card.space.version:
            raise StaleSpace
        offsets = self._rule.offsets(query.signal.lattice, query.k)
        found = self._rule.items(query.signal.vector(card.space.dimension), offsets, query.k)
        positions = self._catalog.positions[list(found)]
        return Slate(self._catalog.version, found, positions)
