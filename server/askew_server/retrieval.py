"""The server's role, without I/O: a noisy signal in, k items out. Post-processing throughout."""

from __future__ import annotations

from functools import lru_cache

from askew.model_card import Catalog, ModelCard
from askew.placement import OffsetRule
from askew.ranking import Slate
from askew.signal import Query

_CACHED_PLACEMENTS = 256  # devices choose epsilon and k, so the cache needs a limit


class Retriever:
    """Answers queries that are valid for its card."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self.card = card
        self.catalog = catalog
        self._rule = OffsetRule(card.space, catalog.positions)
        self._offsets = lru_cache(maxsize=_CACHED_PLACEMENTS)(self._rule.offsets)

    def answer(self, query: Query) -> Slate:
        """The k items at the optimal offsets around the signal."""
        signal = query.signal.vector(self.card.space.dimension)
        offsets = self._offsets(query.signal.lattice, query.k)
        chosen = self._rule.items(signal, offsets, query.k)
        return Slate(self.card.catalog_version, chosen, self.catalog.positions[list(chosen)])
