"""What the text files of a saved model must look like, down to the type of every field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from numpy.typing import NDArray

from askew.break_even import BreakEven, MechanismName, Offer, Way
from askew.encoder import Encoder
from askew.errors import ArtifactError
from askew.item import Item
from askew.item_codes import encode, encode_boosts
from askew.meanings import Meanings
from askew.model_card import COVERS, Catalog, ModelCard, ServingRule
from askew.privacy import rational
from askew.rule_kind import RuleKind
from askew.taste_buckets import Buckets
from askew.vectors import FeatureSpace, RatingScale
from askew_server.model.directory import Files, describe
from askew_server.model.item_model import ItemModel
from askew_server.model.kept_aside import Figure
from askew_server.model.signed_card import UNSIGNED, Count, FileFields, SignedCard, Strict, Version
from askew_server.model.stored_keys import StoredKeys
from askew_server.model.table_file import TableFields
from askew_server.training.options import TrainingOptions

Year = Annotated[int, Meta(ge=1, le=9999)]
_BETWEEN = b"],\n["  # rows, and nothing else: no text has a line break as it is
_Items = list[tuple[str, str, Year | None, tuple[str, ...]]]


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


class OfferFields(Strict, frozen=True):
    """A row of what asking is worth. epsilon: an exact rational."""

    way: Way
    held: Annotated[int, Meta(ge=0)]
    size: Annotated[int, Meta(ge=0)]
    ratio: float
    gain: float
    gain_error: float
    mechanism: MechanismName | None
    epsilon: str
    k: Annotated[int, Meta(ge=0)]
    worth: Annotated[int, Meta(ge=0)]

    @classmethod
    def of(cls, offer: Offer) -> OfferFields:
        """The row of the core."""
        values = {name: getattr(offer, name) for name in cls.__struct_fields__}
        return cls(**{**values, "epsilon": str(offer.epsilon)})

    def offer(self) -> Offer:
        """The core's row. Raises as it does, and Malformed for an epsilon that is none."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return Offer(**{**values, "epsilon": rational(self.epsilon)})


class BreakEvenFields(Strict, frozen=True):
    """What asking is worth."""

    offers: list[OfferFields]
    proposed: Annotated[int, Meta(ge=0)]

    @classmethod
    def of(cls, table: BreakEven) -> BreakEvenFields:
        """The table of the core."""
        return cls([OfferFields.of(each) for each in table.offers], table.proposed)

    def table(self) -> BreakEven:
        """The core's table. Raises as it does."""
        return BreakEven(tuple([each.offer() for each in self.offers]), self.proposed)


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
    break_even: BreakEvenFields | None
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
            break_even=None if self.break_even is None else self.break_even.table(),
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
        break_even=None if card.break_even is None else BreakEvenFields.of(card.break_even),
        tables=[] if model.tables is None else list(map(TableFields.of, model.tables.tables)),
        files={name: describe(data) for name, data in files.items()} | dict(large),
        card_sha256=UNSIGNED,
    )


def encode_items(keys: Iterable[str], items: Sequence[Item]) -> bytes:
    """Keys, titles, years and genres, in order of item id, one item a line."""
    rows = ((key, i.title, i.year, i.genres) for key, i in zip(keys, items, strict=True))
    return b"[" + b",\n".join(map(msgspec.json.encode, rows)) + b"]"


def decode_items(pieces: Iterable[bytes]) -> tuple[StoredKeys, tuple[Item, ...]]:
    """The keys and the items of a catalog, of its file in pieces: all of it is half as large as
    what is made of it. Raises ArtifactError for anything else.
    """
    items: list[Item] = []
    years: dict[int | None, int | None] = {}  # one object for all items of a year, or of the same
    genres: dict[tuple[str, ...], tuple[str, ...]] = {}  # genres: there are few of either

    def read() -> Iterator[str]:
        for part in _parts_of(pieces):
            for key, title, year, kinds in msgspec.json.decode(part, type=_Items):
                known = genres.setdefault(kinds, kinds)
                items.append(Item(title, years.setdefault(year, year), known))
                yield key

    try:
        keys = StoredKeys(read())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"the items cannot be read: {error}") from None
    if not keys.distinct:
        raise ArtifactError("two items have the same key")
    return keys, tuple(items)


def _parts_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A list of rows as shorter lists, for all rows at once are far larger than what is made of
    them; or as it is, where it has no lines.
    """
    rest, opening = bytearray(), b""
    for piece in pieces:
        seen = max(len(rest) - len(_BETWEEN) + 1, 0)
        rest += piece
        end = rest.rfind(_BETWEEN, seen)
        if end >= 0:
            yield opening + rest[: end + 1] + b"]"
            del rest[: end + 3]
            opening = b"["
    yield opening + rest
