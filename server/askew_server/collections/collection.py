"""One collection: where its items are, what they are called, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, ParameterError
from askew.listing import Listing
from askew.metric_card import CollectionCard
from askew_server.collections.columns import Column, Titles


@dataclass(frozen=True, eq=False)
class Collection:
    """An item's id is its row. coordinates: (n, d) float64, degrees of latitude and longitude on a
    map, else one value an axis. columns: one an attribute of the card, in their order.
    """

    card: CollectionCard
    coordinates: NDArray[np.float64] = field(repr=False)
    titles: Titles = field(repr=False)
    columns: tuple[Column, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for part in (self.coordinates, self.titles, *self.columns):
            if len(part) != self.card.n_items:
                raise DimensionMismatch(len(part), self.card.n_items)
        if len(self.columns) != len(self.card.attributes):
            raise DimensionMismatch(len(self.columns), len(self.card.attributes))

    def __len__(self) -> int:
        return self.card.n_items

    def listings(self, items: Iterable[int]) -> tuple[Listing, ...]:
        """The items of these ids, whole, in the given order."""
        return tuple([self._listing(int(item)) for item in items])

    def with_live(self, columns: Mapping[str, Column]) -> Collection:
        """The same items with other live values; nothing else is copied.

        Raises ParameterError for a name that is no live attribute.
        """
        live = {each.name for each in self.card.attributes if each.live}
        if unknown := sorted(columns.keys() - live):
            raise ParameterError("live", unknown[0], f"one of {', '.join(sorted(live)) or 'none'}")
        names = [each.name for each in self.card.attributes]
        pairs = zip(names, self.columns, strict=True)
        return replace(self, columns=tuple([columns.get(name, old) for name, old in pairs]))

    def _listing(self, item: int) -> Listing:
        coordinates = tuple(self.coordinates[item].tolist())
        values = tuple([column[item] for column in self.columns])
        return Listing(item, self.titles[item], coordinates, values)
