"""Everything public about a model: its card, and the catalog of what it can recommend."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import NotFound, OutOfRange, StaleSpace
from askew.limits import check_text
from askew.protocol.metric_card import MetricCard
from askew.protocol.signal import Query
from askew.protocol.utility_table import SERVED, RuleKind, UtilityTable
from askew.spaces.buckets import SlateCodebook
from askew.spaces.vectors import FeatureSpace

NO_PRIOR = "none"  # the `prior` of a rule that knows nobody


@dataclass(frozen=True)
class ServingRule:
    """How the server chooses k items for a signal.

    kind: offsets and codebook look around the signal, posterior weighs a prior, buckets looks a
    slate up, none shows everybody the same. epsilon, k: what it was chosen for. prior: what it
    knows of other people, in words. Raises OutOfRange for anything else.
    """

    kind: RuleKind
    epsilon: float
    k: int
    prior: str = NO_PRIOR

    def __post_init__(self) -> None:
        if self.kind not in SERVED:
            raise OutOfRange("the serving rule", f"one of {', '.join(SERVED)}")
        if not 0 < self.epsilon <= 1024 or not 1 <= self.k <= 1024:
            raise OutOfRange("what a rule was chosen for", "positive and at most 1024")
        check_text("the prior of a rule", self.prior)


@dataclass(frozen=True)
class ModelCard:
    """What a device must know before it asks.

    source says in words where the ratings came from; simulated is set when no person gave them.
    max_slate_size is the largest k that the server answers. n_default: the first so many items are
    the default items, which a device holds that does not hold all; n_items where there is no such.
    utility_table: if the server has one. The guarantee covers the person who
    asks, not the people that the model was trained on.
    """

    space: FeatureSpace
    catalog_version: str
    n_items: int
    max_slate_size: int
    source: str
    simulated: bool
    rule: ServingRule
    n_default: int
    utility_table: UtilityTable | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.max_slate_size <= self.n_items:
            raise OutOfRange("max_slate_size", "from 1 to the number of items")
        if not 1 <= self.n_default <= self.n_items:
            raise OutOfRange("the number of default items", "from 1 to the number of items")
        table = self.utility_table
        if table is not None and any(each.held > self.n_items for each in table.rows):
            raise OutOfRange("the items that a row holds", "at most the number of items")
        check_text("the source of a model", self.source)

    @property
    def n_held(self) -> int:
        """How many items, the first ones, no answer needs to name, since whoever asks has them: the
        default items, or none where a catalog has no others.
        """
        return self.n_default if self.n_default < self.n_items else 0

    @property
    def has_payloads(self) -> bool:
        """Whether payloads come with answers alone: who holds every vector still has to ask."""
        return isinstance(self.space.buckets, SlateCodebook)

    def check(self, query: Query) -> None:
        """Raises StaleSpace, OutOfRange, DimensionMismatch or NotFound: it cannot answer."""
        if query.signal.space_version != self.space.version:
            raise StaleSpace
        if not 1 <= query.k <= self.max_slate_size:
            raise OutOfRange("k", f"from 1 to {self.max_slate_size}")
        query.signal.check(self.space.dimension, self.space.n_buckets)
        if query.collection:
            raise NotFound("collection")


Card = ModelCard | MetricCard
