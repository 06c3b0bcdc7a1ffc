"""The server's rule, without I/O: a noisy signal in, k items out. Post-processing throughout."""

from __future__ import annotations

from functools import lru_cache

from askew.lattice import Lattice
from askew.model_card import Catalog, ModelCard
from askew.placement import Identity, Laplace, Placement, place, snap
from askew.ranking import Slate
from askew.signal import Query

_CACHED_PLACEMENTS = 256  # devices choose epsilon and k, so the cache needs a limit


class Retriever:
    """Answers queries that are valid for its card."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self.card = card
        self.catalog = catalog
        self._place = lru_cache(maxsize=_CACHED_PLACEMENTS)(self._placement)

    def answer(self, query: Query) -> Slate:
        """The k items at the optimal offsets around the signal."""
        space = self.card.space
        # No person is outside the space, so a signal out there says no more than its nearest point.
        signal = space.clamp(query.signal.vector(space.dimension))
        offsets = self._place(query.signal.lattice, query.k).offsets
        chosen = snap(signal, offsets, self.catalog.positions, query.k)
        return Slate(self.card.catalog_version, chosen, self.catalog.positions[list(chosen)])

    def _placement(self, lattice: Lattice, k: int) -> Placement:
        noise = Laplace(float(lattice.epsilon), self.card.space.dimension)
        return place(noise, Identity(), k, on_demand=False)
