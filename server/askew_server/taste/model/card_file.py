"""What the card of a saved model must look like, down to the type of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.dp.privacy import rational
from askew.errors import ArtifactError
from askew.protocol.model_card import COVERS, ModelCard, ServingRule
from askew.protocol.rule_kind import RuleKind
from askew.protocol.utility_table import MechanismName, ModeUtility, ServingMode, UtilityTable
from askew.spaces.buckets import Buckets, Meanings
from askew.spaces.encoder import Encoder
from askew.spaces.item_codes import encode, encode_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.taste.model.answer_tables import TableFields
from askew_server.taste.model.directory import (
    UNSIGNED,
    Count,
    FileFields,
    Files,
    SignedCard,
    Strict,
    Version,
    describe,
)
from askew_server.taste.model.held_out import Figure
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.training.options import TrainingOptions


class SpaceFields(Strict, frozen=True):
    """A feature space, but for its arrays. rating_scale: lowest, highest, like_from."""

    metric: Literal["l1"]
    rating_scale: tuple[float, float, float]
    clip: float
    least_likes: Count
    unit: float

    def space(self, arrays: Mapping[str, NDArray[Any]]) -> FeatureSpace:
        """The core's space. Raises ArtifactError for half a set of buckets, or two sets, else as
        the core.
        """
        encoder = Encoder(
            arrays["directions"],
            arrays["origin"],
            arrays["knots"],
            self.clip,
            self.least_likes,
            self.unit,
        )
        linear = [arrays[n] for n in ("bucket_directions", "bucket_biases") if n in arrays]
        slates = [arrays[n] for n in ("slate_vectors", "slate_boosts") if n in arrays]
        if 1 in {len(linear), len(slates)} or (linear and slates):
            raise ArtifactError("buckets need directions and biases, or slates vectors and boosts")
        buckets = Meanings(*slates) if slates else Buckets(*linear) if linear else None
        return FeatureSpace(
            RatingScale(*self.rating_scale), encoder, arrays["scales"], buckets, self.metric
        )


class RuleFields(Strict, frozen=True):
    """The serving rule."""

    name: RuleKind
    epsilon: float
    k: Count
    prior: str


class ModeUtilityFields(Strict, frozen=True):
    """A row of the utility table. epsilon: an exact rational."""

    mode: ServingMode
    held: Annotated[int, Meta(ge=0)]
    size: Annotated[int, Meta(ge=0)]
    ratio: float
    gain: float
    gain_error: float
    mechanism: MechanismName | None
    epsilon: str
    k: Annotated[int, Meta(ge=0)]
    equivalent_items: Annotated[int, Meta(ge=0)]

    @classmethod
    def of(cls, offer: ModeUtility) -> ModeUtilityFields:
        """The row of the core."""
        values = {name: getattr(offer, name) for name in cls.__struct_fields__}
        return cls(**{**values, "epsilon": str(offer.epsilon)})

    def offer(self) -> ModeUtility:
        """The core's row. Raises as it does, and Malformed for an epsilon that is none."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return ModeUtility(**{**values, "epsilon": rational(self.epsilon)})


class UtilityTableFields(Strict, frozen=True):
    """The utility table."""

    rows: list[ModeUtilityFields]
    proposed: Annotated[int, Meta(ge=0)]

    @classmethod
    def of(cls, table: UtilityTable) -> UtilityTableFields:
        """The table of the core."""
        return cls([ModeUtilityFields.of(each) for each in table.rows], table.proposed)

    def table(self) -> UtilityTable:
        """The core's table. Raises as it does."""
        return UtilityTable(tuple([each.offer() for each in self.rows]), self.proposed)


class CardFields(SignedCard, frozen=True, kw_only=True):
    """The card of a model of tastes."""

    kind: Literal["tastes"]
    schema_version: Literal[4]
    space_version: Version
    catalog_version: Version
    source: str
    simulated: bool
    max_slate_size: Count
    n_starter: Count
    guarantee_covers: str
    rule: RuleFields
    shapes: dict[str, list[Count]]
    space: SpaceFields
    training: TrainingOptions
    counts: dict[str, Count]
    figures: dict[str, Figure]
    median_distance: Annotated[float, Meta(gt=0, le=1)]
    utility_table: UtilityTableFields | None
    tables: list[TableFields]

    def model_card(self, catalog: Catalog, arrays: Mapping[str, NDArray[Any]]) -> ModelCard:
        """The core's card of a catalog. Raises ArtifactError where the two do not fit."""
        space = self.space.space(arrays)
        if space.version != self.space_version:
            raise ArtifactError("the space is not the one that the card names")
        if self.guarantee_covers != COVERS:
            raise ArtifactError("the card misstates whom the guarantee covers")
        if catalog.version != self.catalog_version:
            raise ArtifactError("the catalog is not the one that the card names")
        if catalog.vectors.shape[1] != space.ranking_dimension:
            raise ArtifactError("the catalog has another ranking dimension than the space")
        encode(catalog.vectors, space.scales), encode_boosts(catalog.boosts)  # devices hold codes
        if isinstance(slates := space.buckets, Meanings):
            encode(slates.vectors.reshape(-1, space.ranking_dimension), space.scales)
            encode_boosts(slates.boosts)
        return ModelCard(
            space=space,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=self.max_slate_size,
            source=self.source,
            simulated=self.simulated,
            rule=ServingRule(self.rule.name, self.rule.epsilon, self.rule.k, self.rule.prior),
            n_starter=self.n_starter,
            utility_table=None if self.utility_table is None else self.utility_table.table(),
        )


def card_of(
    model: ItemModel,
    shapes: dict[str, list[int]],
    files: Files,
    large: Mapping[str, FileFields],
) -> CardFields:
    """The card of a model and of the files that hold the rest of it; large: of some, what is said
    of them.
    """
    card, space, rule = model.card, model.card.space, model.card.rule
    return CardFields(
        kind="tastes",
        schema_version=4,
        space_version=space.version,
        catalog_version=card.catalog_version,
        source=card.source,
        simulated=card.simulated,
        max_slate_size=card.max_slate_size,
        n_starter=card.n_starter,
        guarantee_covers=COVERS,
        rule=RuleFields(rule.kind, rule.epsilon, rule.k, rule.prior),
        shapes=shapes,
        space=SpaceFields(
            metric=space.metric,
            rating_scale=(space.scale.lowest, space.scale.highest, space.scale.like_from),
            clip=space.encoder.clip,
            least_likes=space.encoder.least_likes,
            unit=space.encoder.unit,
        ),
        training=model.training,
        counts=dict(model.counts),
        figures=dict(model.figures),
        median_distance=model.median_distance,
        utility_table=None
        if card.utility_table is None
        else UtilityTableFields.of(card.utility_table),
        tables=[] if model.tables is None else list(map(TableFields.of, model.tables.tables)),
        files={name: describe(data) for name, data in files.items()} | dict(large),
        card_sha256=UNSIGNED,
    )
