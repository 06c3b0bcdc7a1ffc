"""What a connected server serves, with what the device makes of it once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.model_card import Catalog, ModelCard
from askew.titles import TitleIndex
from askew_client.device import present
from askew_client.profile.title_search import TitleSearch
from askew_client.transport.protocol import Holding
from askew_client.views.values import Connection


@dataclass(frozen=True, eq=False)
class Model:
    """A card and what the device holds of its catalog, titles to be searched, and each item's part
    of a point. edition: the version that is held. Public.
    """

    card: ModelCard
    catalog: Catalog
    connection: Connection
    index: TitleIndex = field(repr=False)
    search: TitleSearch = field(repr=False)
    contributions: NDArray[np.float64] = field(repr=False)
    edition: int

    @classmethod
    def of(cls, held: Holding) -> Self:
        """What a server said, prepared for any profile."""
        card, catalog = held.card, held.catalog
        return cls(
            card,
            catalog,
            present.connection_of(card, catalog),
            TitleIndex(catalog),
            TitleSearch(catalog),
            card.space.encoder.contributions(catalog.vectors),
            held.edition,
        )
