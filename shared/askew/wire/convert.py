"""Bytes to core types and back: the only place that validates what came from the other side.

Every `..._from_bytes` raises a WireError for anything but a well-formed message, and a core type
is valid because it exists. No function here trusts a length, a shape, an order or a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, Malformed, OutOfRange, ParameterError, StaleSpace
from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew.vectors import VERSION_BYTES, FeatureSpace, RatingScale
from askew.wire.v1 import retrieval_pb2 as pb

CHUNK_ITEMS = 1000
MAX_ITEMS = 2_000_000

_Message = TypeVar("_Message", bound=Message)


def query_to_bytes(query: Query) -> bytes:
    """The request on the wire. Its size depends on public settings alone."""
    signal = query.signal
    return pb.RetrieveRequest(
        space_version=bytes.fromhex(signal.space_version),
        step_exponent=signal.lattice.step_exponent,
        inverse_rate=signal.lattice.inverse_rate,
        k=query.k,
        coordinates=signal.coordinates,
    ).SerializeToString()


def query_from_bytes(data: bytes, card: ModelCard) -> Query:
    """A request, checked against the model that is to answer it."""
    message = parse(pb.RetrieveRequest(), data)
    if _version(message.space_version) != card.space.version:
        raise StaleSpace
    if len(message.coordinates) != card.space.dimension:
        raise DimensionMismatch(len(message.coordinates), card.space.dimension)
    if not 1 <= message.k <= card.max_slate_size:
        raise OutOfRange("k", f"from 1 to {card.max_slate_size}")
    try:
        lattice = Lattice(message.step_exponent, message.inverse_rate)
    except ParameterError as error:
        raise OutOfRange(error.name, error.limit) from None
    signal = Signal(card.space.version, lattice, tuple(message.coordinates))
    return Query(signal, message.k)


def slate_to_bytes(slate: Slate) -> bytes:
    """The reply on the wire. Its size depends on k and the dimension alone."""
    return pb.RetrieveResponse(
        catalog_version=bytes.fromhex(slate.catalog_version),
        item_ids=slate.item_ids,
        positions=_floats_to_bytes(slate.positions),
    ).SerializeToString()


def slate_from_bytes(data: bytes, card: ModelCard, k: int) -> Slate:
    """A reply of exactly k items of this card's catalog."""
    message = parse(pb.RetrieveResponse(), data)
    if len(message.item_ids) != k:
        raise Malformed(f"the answer has {len(message.item_ids)} items, {k} were asked for")
    if _version(message.catalog_version) != card.catalog_version:
        raise Malformed("the answer is about another catalog than the model card's")
    if any(item >= card.n_items for item in message.item_ids):
        raise OutOfRange("an item id", f"below the number of items, {card.n_items}")
    positions = _floats_from_bytes(message.positions, k, card.space.dimension)
    return Slate(card.catalog_version, tuple(message.item_ids), positions)


def card_to_bytes(card: ModelCard) -> bytes:
    """The model card on the wire."""
    space = card.space
    return pb.GetModelCardResponse(
        space=pb.FeatureSpace(
            lower=space.lower,
            upper=space.upper,
            gain=space.gain,
            weight_floor=space.weight_floor,
            lowest_rating=space.scale.lowest,
            highest_rating=space.scale.highest,
            basis=bytes.fromhex(space.basis),
        ),
        catalog_version=bytes.fromhex(card.catalog_version),
        n_items=card.n_items,
        max_slate_size=card.max_slate_size,
        source=card.source,
        simulated=card.simulated,
    ).SerializeToString()


def card_from_bytes(data: bytes) -> ModelCard:
    """A model card; its space version is computed here, never taken on trust."""
    message = parse(pb.GetModelCardResponse(), data)
    if not 1 <= message.n_items <= MAX_ITEMS:
        raise OutOfRange("the number of items", f"from 1 to {MAX_ITEMS}")
    if len(message.space.basis) != 32:
        raise Malformed("the basis of a feature space must be 32 bytes")
    space = FeatureSpace(
        lower=tuple(message.space.lower),
        upper=tuple(message.space.upper),
        gain=message.space.gain,
        weight_floor=message.space.weight_floor,
        scale=RatingScale(message.space.lowest_rating, message.space.highest_rating),
        basis=message.space.basis.hex(),
    )
    return ModelCard(
        space=space,
        catalog_version=_version(message.catalog_version),
        n_items=message.n_items,
        max_slate_size=message.max_slate_size,
        source=message.source,
        simulated=message.simulated,
    )


def catalog_to_chunks(catalog: Catalog) -> Iterator[bytes]:
    """The catalog on the wire, in messages of at most CHUNK_ITEMS items."""
    for start in range(0, len(catalog), CHUNK_ITEMS):
        items = catalog.items[start : start + CHUNK_ITEMS]
        yield pb.GetCatalogResponse(
            items=[pb.Item(title=i.title, year=i.year or 0, genres=i.genres) for i in items],
            positions=_floats_to_bytes(catalog.positions[start : start + CHUNK_ITEMS]),
            shared_slate=catalog.shared_slate if start == 0 else (),
        ).SerializeToString()


def catalog_from_chunks(chunks: Iterable[bytes], card: ModelCard) -> Catalog:
    """The catalog that the card names; its version is computed and compared."""
    items: list[Item] = []
    positions: list[NDArray[np.float32]] = []
    shared_slate: list[int] = []
    for chunk in chunks:
        message = parse(pb.GetCatalogResponse(), chunk)
        if len(items) + len(message.items) > card.n_items:
            raise Malformed("the catalog has more items than its card says")
        items += [_item(each) for each in message.items]
        rows = _floats_from_bytes(message.positions, len(message.items), card.space.dimension)
        positions.append(rows)
        if shared_slate and message.shared_slate:
            raise Malformed("the shared slate belongs to the first part of the catalog")
        shared_slate += message.shared_slate
    if len(items) != card.n_items:
        raise Malformed("the catalog has fewer items than its card says")
    catalog = Catalog(tuple(items), np.concatenate(positions), tuple(shared_slate))
    if catalog.version != card.catalog_version:
        raise Malformed("the catalog is not the one that its card names")
    return catalog


def parse(message: _Message, data: bytes) -> _Message:
    """The message that the bytes are. Raises Malformed."""
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Malformed("not a message of the expected type") from None
    return message


def _version(digest: bytes) -> str:
    if len(digest) != VERSION_BYTES:
        raise Malformed(f"a version must be {VERSION_BYTES} bytes")
    return digest.hex()


def _item(message: pb.Item) -> Item:
    return Item(message.title, message.year or None, tuple(message.genres))


def _floats_to_bytes(rows: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(rows, dtype="<f4").tobytes()


def _floats_from_bytes(data: bytes, n: int, dimension: int) -> NDArray[np.float32]:
    if len(data) != 4 * n * dimension:
        raise Malformed(f"expected {n} positions of dimension {dimension}")
    return np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(n, dimension)
