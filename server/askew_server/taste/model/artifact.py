"""A model as a directory: arrays as safetensors, text as JSON, and a card that names every file.

    card.json           schema version, space, rule, training parameters, SHA-256 of each file
    arrays.safetensors  the space's arrays, the catalog's vectors (n_items, D), boosts, shared
                        slate, and where there is a prior its people and pool, and the slates
                        of buckets
    items.json          [[key, title, year, [genres]], ...]
    tables.safetensors  answers made beforehand, where there are any
    payloads.bin        the payload of each item, one after the other, where items have any

Data only: nothing here is ever executed. `load` refuses what is truncated, altered or hostile with
an ArtifactError, and trusts no size before it has checked it. The digests find damage; against
somebody who can write the directory, keep the card's own digest elsewhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.errors import ArtifactError, WireError
from askew.protocol.model_card import COVERS, ModelCard, ServingRule
from askew.protocol.utility_table import UtilityTable
from askew.spaces.buckets import Buckets, SlateCodebook
from askew.spaces.encoder import Encoder
from askew.spaces.item_codes import encode, encode_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.taste.model import directory as array_file
from askew_server.taste.model import directory as folder
from askew_server.taste.model.answer_tables import LIMIT as TABLE_LIMIT
from askew_server.taste.model.answer_tables import (
    TABLES,
    AnswerTables,
    TableFields,
    decode_tables,
    encode_tables,
)
from askew_server.taste.model.directory import (
    CARD,
    UNSIGNED,
    ArrayKind,
    Arrays,
    Count,
    FileFields,
    Files,
    SignedCard,
    Strict,
    Version,
    check_shapes,
    decode_arrays,
    decode_card,
    describe,
    encode_arrays,
)
from askew_server.taste.model.held_out import Figure
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.model.payloads import PAYLOADS, StoredPayloads, parts_of, surveyed
from askew_server.taste.prior.source import (
    NAMED,
    PRIOR_KINDS,
    SLATE_KINDS,
    arrays_of_prior,
    arrays_of_slates,
    prior_of_arrays,
    slates_of_arrays,
)
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
        buckets = SlateCodebook(*slates) if slates else Buckets(*linear) if linear else None
        return FeatureSpace(
            RatingScale(*self.rating_scale), encoder, arrays["scales"], buckets, self.metric
        )


class CardFields(SignedCard, frozen=True, kw_only=True):
    """The card of a model of tastes."""

    kind: Literal["tastes"]
    schema_version: Literal[4]
    space_version: Version
    catalog_version: Version
    source: str
    simulated: bool
    max_slate_size: Count
    n_default: Count
    guarantee_covers: str
    rule: ServingRule
    shapes: dict[str, list[Count]]
    space: SpaceFields
    training: TrainingOptions
    counts: dict[str, Count]
    figures: dict[str, Figure]
    median_distance: Annotated[float, Meta(gt=0, le=1)]
    utility_table: UtilityTable | None
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
        if isinstance(slates := space.buckets, SlateCodebook):
            encode(slates.vectors.reshape(-1, space.ranking_dimension), space.scales)
            encode_boosts(slates.boosts)
        return ModelCard(
            space=space,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=self.max_slate_size,
            source=self.source,
            simulated=self.simulated,
            rule=self.rule,
            n_default=self.n_default,
            utility_table=self.utility_table,
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
    card, space = model.card, model.card.space
    return CardFields(
        kind="tastes",
        schema_version=4,
        space_version=space.version,
        catalog_version=card.catalog_version,
        source=card.source,
        simulated=card.simulated,
        max_slate_size=card.max_slate_size,
        n_default=card.n_default,
        guarantee_covers=COVERS,
        rule=card.rule,
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
        utility_table=card.utility_table,
        tables=[] if model.tables is None else list(map(TableFields.of, model.tables.tables)),
        files={name: describe(data) for name, data in files.items()} | dict(large),
        card_sha256=UNSIGNED,
    )


class StoredKeys(Sequence[str]):
    """Keys in order of item id. distinct: whether no two are the same."""

    def __init__(self, keys: Iterable[str]) -> None:
        text, ends, hashes = bytearray(), array("q", [0]), array("q")
        for key in keys:
            text += key.encode()
            ends.append(len(text))
            hashes.append(hash(key))
        self._text, self._ends = bytes(text), ends
        ascending = np.frombuffer(hashes, dtype=np.int64)
        ascending.sort()  # in place: a set of all keys is larger than they are
        differ = bool((ascending[1:] != ascending[:-1]).all())
        self.distinct = differ or len(set(self)) == len(self)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(*at.indices(len(self)))])
        place = range(len(self))[at]
        return self._text[self._ends[place] : self._ends[place + 1]].decode()


Year = Annotated[int, Meta(ge=1, le=9999)]
_BETWEEN = b"],\n["  # rows, and nothing else: no text has a line break as it is
_Items = list[tuple[str, str, Year | None, tuple[str, ...]]]


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


_ARRAYS, _ITEMS, _ENDS = "arrays.safetensors", "items.json", "payload_ends"
_LIMITS = {CARD: folder.CARD_LIMIT, _ARRAYS: array_file.LIMIT, _ITEMS: 1 << 30}  # bytes
# Type and number of dimensions of each array.
_KINDS: dict[str, ArrayKind] = {
    "vectors": (np.dtype(np.float32), 2),
    "boosts": (np.dtype(np.float32), 1),
    "shared_slate": (np.dtype(np.int64), 1),
    "directions": (np.dtype(np.float32), 2),
    "origin": (np.dtype(np.float32), 1),
    "knots": (np.dtype(np.float64), 2),
    "scales": (np.dtype(np.float32), 1),
}
_OPTIONAL_KINDS: dict[str, ArrayKind] = {
    "bucket_directions": (np.dtype(np.float32), 2),
    "bucket_biases": (np.dtype(np.float32), 1),
    "slate_vectors": (np.dtype(np.float32), 3),
    "slate_boosts": (np.dtype(np.float32), 2),
    _ENDS: (np.dtype(np.int64), 1),
    NAMED: (np.dtype(np.int64), 1),
    **PRIOR_KINDS,
    **SLATE_KINDS,
}


def save(model: ItemModel, directory: Path) -> None:
    """Write a model to a directory that does not exist yet, all of it or nothing.

    Raises ArtifactError when something is already there, or cannot be written.
    """
    arrays, described, large = _arrays_of(model), {}, {}
    if model.payloads is not None:
        arrays[_ENDS], described[PAYLOADS] = surveyed(model.payloads)
        large[PAYLOADS] = parts_of(model.payloads)
    files = {_ARRAYS: encode_arrays(arrays), _ITEMS: encode_items(model.keys, model.catalog.items)}
    if model.tables is not None:
        files[TABLES] = encode_tables(model.tables)
    files[CARD] = card_of(model, array_file.shapes_of(arrays), files, described).encoded()
    folder.save(directory, files, large)


def load(directory: Path) -> ItemModel:
    """Read a model back, with every check. Raises ArtifactError with the reason."""
    fields = decode_card(folder.read(directory / CARD, _LIMITS[CARD]), CardFields)
    try:
        arrays = decode_arrays(_ARRAYS, _read(directory, fields), _KINDS, _OPTIONAL_KINDS)
        check_shapes(_ARRAYS, arrays, fields.shapes)
        files, limit = fields.files, _LIMITS[_ITEMS]
        keys, items = decode_items(folder.pieces_named(directory, _ITEMS, files, limit))
        slate = tuple(arrays["shared_slate"].tolist())
        catalog = Catalog(items, arrays["vectors"], arrays["boosts"], slate)
        card = fields.model_card(catalog, arrays)
        prior = prior_of_arrays(arrays, card)
        slates = slates_of_arrays(arrays, card)
        payloads = _payloads_of(directory, arrays, fields)
        return ItemModel(
            card,
            catalog,
            keys,
            fields.training,
            fields.counts,
            prior,
            fields.figures,
            fields.median_distance,
            payloads,
            _tables_of(directory, card, fields),
            slates,
        )
    except WireError as error:  # a core type refused what the files say
        raise ArtifactError(f"{directory} holds no usable model: {error}") from None


def _read(directory: Path, fields: CardFields) -> bytes:
    """The arrays' bytes, for which there is no name: they are as large as what is made of them."""
    return folder.read_named(directory, _ARRAYS, fields.files, _LIMITS[_ARRAYS])


def _payloads_of(directory: Path, arrays: Arrays, fields: CardFields) -> StoredPayloads | None:
    if _ENDS not in arrays:
        return None
    if len(arrays[_ENDS]) != len(arrays["vectors"]):
        raise ArtifactError("the payloads of a model are not one an item")
    return StoredPayloads(directory / PAYLOADS, arrays[_ENDS], fields.files.get(PAYLOADS))


def _tables_of(directory: Path, card: ModelCard, fields: CardFields) -> AnswerTables | None:
    if TABLES not in fields.files:
        if fields.tables:
            raise ArtifactError("a card tells of tables and names no file of them")
        return None
    data = folder.read_named(directory, TABLES, fields.files, TABLE_LIMIT)
    return decode_tables(data, fields.tables, card)


def _arrays_of(model: ItemModel) -> Arrays:
    catalog, encoder, buckets = model.catalog, model.card.space.encoder, model.card.space.buckets
    arrays: Arrays = {
        "vectors": catalog.vectors,
        "boosts": catalog.boosts,
        "shared_slate": np.array(catalog.shared_slate, dtype=np.int64),
        "directions": encoder.directions,
        "origin": encoder.origin,
        "knots": encoder.knots,
        "scales": model.card.space.scales,
    }
    if isinstance(buckets, Buckets):
        arrays |= {"bucket_directions": buckets.directions, "bucket_biases": buckets.biases}
    elif buckets is not None:
        arrays |= {"slate_vectors": buckets.vectors, "slate_boosts": buckets.boosts}
    if model.prior is not None:
        arrays |= arrays_of_prior(model.prior, model.prior.pool_in(catalog, model.card.n_held))
        if (slates := model.bucket_slates()) is not None:
            arrays |= arrays_of_slates(slates)
    return arrays
