"""The retrieval service: bytes in, checked, answered, bytes out.

Replies of items of tastes. What 4-bit codes say of them is in the file that devices hold, and is
taken from there; words are written for each reply.

Replies of whole items, from the columns of their collection: what an attribute's values are as
bytes is made once a collection, as far as its values are few.

Nothing is kept of a question: the tables are those of all values there are, and made before a
snapshot is served, or the time of an answer would tell that nobody has asked since.

Replies that were encoded before the first question: looked up by the numbers of a request.

What is found here is what the long way would find: a request that breaks any rule has no reply
here, so that the long way refuses it. Nothing is ever added, because a reply that comes sooner for
having been asked for before would tell others what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.held_file import Head, Part, piece_of
from askew.catalog.listing import Value
from askew.errors import NotFound, StaleSpace
from askew.noise.randomized_response import ODDS_BITS, RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Query, TasteMechanism
from askew.wire import convert
from askew.wire.held import codes_within, held_files
from askew.wire.listing_bytes import listings_to_bytes, value_to_bytes
from askew.wire.slate_bytes import reply_of_parts
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.collections.collection import Collection, Picked
from askew_server.collections.columns import Column, Flags, Numbers, Rows, Words
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.call import Answer, Caller, Job
from askew_server.taste.model.answer_tables import AnswerTable


class SlateReplies:
    """For any number of threads; nothing is kept of a reply. whole: the file of all items."""

    def __init__(self, card: ModelCard, catalog: Catalog, whole: bytes) -> None:
        self._version, self._items = bytes.fromhex(card.catalog_version), catalog.items
        self._boosts, self._codes = codes_within(whole, card)

    def reply(self, items: Sequence[int], payloads: Sequence[bytes] = ()) -> bytes:
        """Some items of the catalog, ascending, and their payloads, if any, on the wire."""
        rows = np.array(items)
        return reply_of_parts(
            self._version,
            rows.astype("<u4").tobytes(),
            self._boosts[rows].tobytes(),
            self._codes[rows].tobytes(),
            [self._items[item] for item in items],
            payloads,
        )


_FEW = 4096  # words are encoded beforehand; more take long

_Encoder = Callable[[Rows], list[bytes]]


class ListingReplies:
    """For any number of threads. What was not made ready is made at the first reply."""

    def __init__(self) -> None:
        self._encoders = WeakKeyDictionary[Collection, list[_Encoder]]()

    def make_ready(self, collection: Collection) -> list[_Encoder]:
        """What gives the values of its columns as bytes, made once."""
        found = self._encoders.get(collection)
        if found is None:
            found = self._encoders[collection] = [*map(_encoder, collection.columns)]
        return found

    def reply(self, picked: Picked) -> bytes:
        """Some items of a collection, on the wire."""
        collection, rows = picked
        titles = collection.titles.encoded(rows)
        coordinates = collection.coordinates[rows].astype("<f8", copy=False).tobytes()
        size = len(coordinates) // len(rows)
        places = [coordinates[at : at + size] for at in range(0, len(coordinates), size)]
        columns = [encode(rows) for encode in self.make_ready(collection)]
        values = zip(*columns, strict=True) if columns else repeat(())
        listings = zip(rows.tolist(), titles, places, values, strict=False)  # values have no end
        return listings_to_bytes(collection.card.version, listings)


def _encoder(column: Column) -> _Encoder:
    """What gives the values of some rows of a column as bytes."""
    if isinstance(column, Flags):
        return _of_table(column.values, [False, True])
    if isinstance(column, Words) and len(column.vocabulary) <= _FEW:
        return _of_table(column.codes, list(column.vocabulary))
    if isinstance(column, Numbers) and len(few := np.unique(column.values.view(np.uint32))) <= _FEW:
        return _of_bits(column, few)
    return lambda rows: [value_to_bytes(value) for value in column.take(rows)]


def _of_bits(column: Numbers, few: NDArray[np.uint32]) -> _Encoder:
    """By the bits of numbers, of which these are all: as numbers, not every NaN is found."""
    values = Numbers(few.view(np.float32)).take(np.arange(len(few)))
    table = dict(zip(few.tolist(), map(value_to_bytes, values), strict=True))
    bits = column.values.view(np.uint32)
    return lambda rows: [table[each] for each in bits[rows].tolist()]


def _of_table(codes: NDArray[np.signedinteger[Any]], values: list[Value]) -> _Encoder:
    table = [value_to_bytes(value) for value in [*values, None]]  # UNKNOWN is the last
    return lambda rows: [table[code] for code in codes[rows].tolist()]


_Key = tuple[str, int, int, int]
_Find = Callable[[Sequence[int]], int]
_Reply = Callable[[tuple[int, ...]], bytes]


class TabulatedReplies:
    """The replies of tables; equal slates share one."""

    def __init__(self, tables: Sequence[AnswerTable], reply: _Reply) -> None:
        """reply: to some items, ascending."""
        reply_once = cache(reply)
        self._tables: dict[_Key | None, tuple[_Find, list[bytes]]] = {}
        for table in tables:
            encoded = [reply_once(tuple(slate)) for slate in table.slates.tolist()]
            replies = [encoded[number] for number in table.numbers.tolist()]
            self._tables[_key_of(table.mechanism, table.k)] = table.cells.find, replies

    @property
    def size(self) -> int:
        """The bytes of all replies."""
        replies = {id(each): each for _, table in self._tables.values() for each in table}
        return sum(map(len, replies.values()))

    def find(self, message: pb.RetrieveRequest) -> bytes | None:
        """The reply to a request; None where it has to be made, or refused. O(d)."""
        table = self._tables.get(_key(message))
        if table is None or message.space_version or message.collection or not message.edition:
            return None
        find, replies = table
        cell = find(message.values)
        return None if cell < 0 else replies[cell]


def _key(message: pb.RetrieveRequest) -> _Key | None:
    match message.WhichOneof("mechanism"):
        case "lattice" as name:
            lattice = message.lattice
            return name, lattice.step_exponent, lattice.inverse_rate, message.k
        case "randomized_response" as name:
            response = message.randomized_response
            return name, response.buckets, response.odds, message.k
        case _:
            return None


def _key_of(mechanism: TasteMechanism, k: int) -> _Key:
    """As a request spells it."""
    if isinstance(mechanism, RandomizedResponse):
        odds = int(mechanism.odds * 2**ODDS_BITS)
        return "randomized_response", mechanism.buckets, odds, k
    return "lattice", mechanism.step_exponent, mechanism.inverse_rate, k


class RetrievalService:
    """The current snapshot behind the three methods of the service."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    def __init__(self, holder: SnapshotHolder) -> None:
        self._holder = holder
        self._encoded = WeakKeyDictionary[Snapshot, _Encoded]()
        self._listings = ListingReplies()
        for version in holder.versions:  # before the first call: a large one takes seconds
            self.make_ready(version)

    @property
    def methods(self) -> Mapping[str, Answer]:
        """What is answered."""
        return {
            "Retrieve": self._retrieve,
            "GetModelCard": self._model_card,
            "GetHeld": self._held,
        }

    def check(self) -> None:
        """Raises StaleSpace while no model is in force: every device is refused."""
        if not self._holder.in_force:
            raise StaleSpace

    def catalogs(self) -> Mapping[int, str]:
        """By their Mondays, the files that devices hold whole, by the beginning of a digest."""
        found = {each.since: self._encoded_of(each).files for each in self._holder.versions}
        return {
            since: Head.of(files[Part.WHOLE]).digest.hex()[:16]
            for since, files in found.items()
            if files
        }

    def make_ready(self, snapshot: Snapshot) -> Mapping[str, bytes]:
        """Makes what everybody gets alike of a snapshot, once: before it is swapped in. Gives the
        files that devices hold.
        """
        for collection in snapshot.collections:
            self._listings.make_ready(collection)
        return self._encoded_of(snapshot).files

    def _retrieve(self, request: bytes, _: Caller) -> bytes | Job:
        message = convert.parse(pb.RetrieveRequest(), request)
        edition = message.edition
        snapshot = self._holder.at(edition) if edition else self._holder.current
        reply = self._encoded_of(snapshot).tabulated.find(message)
        if reply is not None:
            return reply
        query = convert.query_from_message(message, snapshot.card)

        def made() -> bytes:
            return self._reply(snapshot, query)

        cost = snapshot.answers.cost(query)
        return Job(made, cost=cost) if cost else made()

    def _model_card(self, _: bytes, __: Caller) -> bytes:
        return self._encoded_of(self._holder.current).card

    def _held(self, request: bytes, _: Caller) -> bytes:
        wanted = convert.parse(pb.GetHeldRequest(), request)
        encoded = self._encoded_of(self._holder.at(wanted.edition))
        file = encoded.files.get(wanted.part)
        if file is None:
            raise NotFound("held file")
        piece = piece_of(file, wanted.start)
        return pb.GetHeldResponse(data=piece).SerializeToString()

    def _reply(self, snapshot: Snapshot, query: Query) -> bytes:
        picked = snapshot.answers.picked(query)
        if isinstance(picked, Picked):
            return self._listings.reply(picked)
        return self._encoded_of(snapshot).reply(*picked)

    def _encoded_of(self, snapshot: Snapshot) -> _Encoded:
        """What everybody gets alike, encoded once a snapshot."""
        found = self._encoded.get(snapshot)
        if found is None:
            found = self._encoded[snapshot] = _Encoded(snapshot)
        return found


class _Encoded:
    """The card, the held files and the replies of one snapshot, as far as they are made before."""

    def __init__(self, snapshot: Snapshot) -> None:
        card, held = snapshot.card, snapshot.catalog
        self.card = convert.card_to_bytes(card)
        self.files: Mapping[str, bytes] = {}
        self._slates: SlateReplies | None = None
        if held is not None and isinstance(card, ModelCard):
            self.files = {str(part): file for part, file in held_files(card, held).items()}
            self._slates = SlateReplies(card, held, self.files[Part.WHOLE])
        self.tabulated = TabulatedReplies(snapshot.tables, self.reply)

    def reply(self, items: Sequence[int], payloads: Sequence[bytes] = ()) -> bytes:
        """Some items of the catalog. Raises NotFound where there is none."""
        if self._slates is None:
            raise NotFound("catalog")
        return self._slates.reply(items, payloads)
