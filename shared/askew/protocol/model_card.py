"""Everything public about a model: its card, and the catalog of what it can recommend."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import NotFound, OutOfRange, StaleSpace
from askew.limits import check_text
from askew.protocol.metric_card import MetricCard
from askew.protocol.signal import Query
from askew.spaces.vectors import FeatureSpace


@dataclass(frozen=True)
class ModelCard:
    """What a device must know before it asks.

    source says in words where the ratings came from; simulated is set when no person gave them.
    max_slate_size is the largest k that the server answers. n_default: the first so many items are
    the default items, which a device holds that does not hold all; n_items where there is no such.
    median_distance: of two people, by the server's word, in the ratings that a device counts by; no
    promise depends on it.
    The guarantee covers the person who asks, not the people that the model was trained on.
    """

    space: FeatureSpace
    catalog_version: str
    n_items: int
    max_slate_size: int
    source: str
    simulated: bool
    n_default: int
    median_distance: float

    def __post_init__(self) -> None:
        if not 1 <= self.max_slate_size <= self.n_items:
            raise OutOfRange("max_slate_size", "from 1 to the number of items")
        if not 1 <= self.n_default <= self.n_items:
            raise OutOfRange("the number of default items", "from 1 to the number of items")
        if not 0 < self.median_distance <= self.space.diameter:
            raise OutOfRange("the median distance", "above 0, within the space")
        check_text("the source of a model", self.source)

    @property
    def n_held(self) -> int:
        """Return how many first items no answer needs to name, since whoever asks has them:
        n_default, or 0 where those are all items.
        """
        return self.n_default if self.n_default < self.n_items else 0

    def check(self, query: Query) -> None:
        """Raise StaleSpace for a signal of another space, OutOfRange for a k beyond 1 to
        max_slate_size, DimensionMismatch for another dimension, NotFound for a query that names a
        collection.
        """
        if query.signal.space_version != self.space.version:
            raise StaleSpace
        if not 1 <= query.k <= self.max_slate_size:
            raise OutOfRange("k", f"from 1 to {self.max_slate_size}")
        query.signal.check(self.space.dimension)
        if query.collection is not None:
            raise NotFound("collection")


Card = ModelCard | MetricCard
