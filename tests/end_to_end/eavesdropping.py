"""Hostile servers that write down all that they hear, and people who are to sound alike to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import numpy as np
import static_host
from small_world import made_card, made_catalog, made_encoder

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import Part
from askew.catalog.item import Item
from askew.errors import AskewError, StaleSpace
from askew.protocol.cards import ModelCard
from askew.spaces.item_codes import rounded, rounded_boosts, scales_of
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew.wire import status
from askew.wire.catalog_file import catalog_files
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import slate_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.retrieval.snapshot import Retriever

FILMS, STRANGERS = 12, 400
Ratings = dict[str, float | None]
Heard = tuple[str, bytes, tuple[tuple[str, str], ...]]
Reply = Callable[[bytes], bytes]


class Eavesdropper:
    """Something that serves, and what it heard: method, request, metadata.

    A question is kept with its noisy values blanked: they are what was charged. Its size counts.
    """

    heard: list[Any]

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        raise NotImplementedError

    def held(self, catalog_date: int, part: str) -> bytes | None:
        del catalog_date, part
        return None

    def hear_file(self, request: bytes) -> None:
        self.heard.append(("file", request, ()))

    def note(self, method: str, request: bytes, context: grpc.ServicerContext) -> None:
        metadata = tuple(sorted((key, str(value)) for key, value in context.invocation_metadata()))
        self.heard.append((method, request, metadata))

    def note_question(self, request: bytes, context: grpc.ServicerContext) -> None:
        message = pb.RetrieveRequest.FromString(request)
        message.values[:] = [0] * len(message.values)
        self.note("Retrieve", message.SerializeToString() + b"%d" % len(request), context)


@dataclass
class HostileServer(Eavesdropper):
    """A model of the server's choosing."""

    card: ModelCard
    catalog: Catalog
    spoil: Reply = lambda data: data
    heard: list[Heard] = field(default_factory=list)

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        return {"Retrieve": grpc.unary_unary_rpc_method_handler(self._retrieve)}

    def held(self, catalog_date: int, part: str) -> bytes | None:
        del catalog_date
        return catalog_files(self.card, self.catalog).get(Part(part))

    def _retrieve(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.note_question(request, context)
        try:
            query = query_from_bytes(request, self.card)
            slate = Retriever(self.card, self.catalog).answer(query)
            return self.spoil(slate_to_bytes(slate, self.card))
        except AskewError as error:
            code, text = status.status_of(error)
            context.abort(code, text)


@contextmanager
def serving(
    server: Eavesdropper, credentials: grpc.ServerCredentials | None = None
) -> Iterator[str]:
    """The server on a port of this machine, its files on the next; its address."""
    running = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.method_handlers_generic_handler("askew.wire.v1.Retrieval", server.methods())
    running.add_generic_rpc_handlers((handler,))

    def listen(address: str) -> int:
        if credentials is None:
            return running.add_insecure_port(address)
        return running.add_secure_port(address, credentials)

    with static_host.beside(listen, server.held, hear=server.hear_file) as host:
        running.start()
        try:
            yield f"127.0.0.1:{host.port - 1}"
        finally:
            running.stop(None).wait()


def people(count: int) -> list[Ratings]:
    """Profiles of every kind: none at all, strangers to the catalog, extremes, many, few."""
    films = [f"Film {i} ({1960 + i})" for i in range(FILMS)]
    elsewhere = [f"Elsewhere {i}" for i in range(STRANGERS)]
    fixed: list[Ratings] = [
        {},
        dict.fromkeys(elsewhere[:5], 5.0),
        dict.fromkeys(films, 1.0),
        dict.fromkeys(films, None),
        dict.fromkeys(films, -1000.0),
        dict.fromkeys(films, 1000.0),
        {films[0]: 5.0},
        {films[0].upper(): 5.0, "Film 0": 0.0},
        dict.fromkeys([*films, *elsewhere], 4.0),
        {"Film": 3.0, "Film 3, The (1963)": 2.0},
    ]
    chance = np.random.default_rng(0)
    while len(fixed) < count:
        known = chance.choice(films, size=chance.integers(0, FILMS + 1), replace=False)
        strange = chance.choice(elsewhere, size=chance.integers(0, 40), replace=False)
        fixed.append({str(each): float(chance.integers(-2, 8)) for each in (*known, *strange)})
    return fixed[:count]


def made_world(
    *,
    scale: tuple[float, float, float] = (1.0, 5.0, 4.0),
    vectors: Callable[[Any], Any] = lambda rows: rows,
    boosts: list[float] | None = None,
    titles: Callable[[int], Item] | None = None,
    n_items: int = FILMS,
    shared: int = 6,
    most: int = 6,
    spoil: Reply = lambda data: data,
    **encoder: Any,
) -> HostileServer:
    """A small model, every part of which may be made for one device. encoder: of `made_encoder`."""
    rows = vectors(np.random.default_rng(1).normal(size=(n_items, 2))).astype(np.float32)
    scales = scales_of(rows)
    coded = [tuple(row) for row in rounded(rows, scales).tolist()]
    catalog = made_catalog(coded, tuple(range(min(shared, n_items))))
    if boosts is not None:
        catalog = replace(catalog, boosts=rounded_boosts(np.array(boosts, np.float32)))
    if titles is not None:
        catalog = replace(catalog, items=tuple(titles(i) for i in range(n_items)))
    encoding = made_encoder(ranking=2, **{"unit": 1.5, "least_likes": 20, "clip": 0.5} | encoder)
    space = FeatureSpace(RatingScale(*scale), encoding, scales)
    return HostileServer(made_card(space, catalog, most), catalog, spoil)


def large_server() -> HostileServer:
    """A catalog of which a device with `default_budget` holds the films."""
    made = made_world(n_items=FILMS + STRANGERS, titles=_film_or_stranger)
    return HostileServer(replace(made.card, n_default=FILMS), made.catalog, made.spoil)


def default_budget(server: HostileServer) -> int:
    """The bytes that a device gives which holds the default items, and not all."""
    return len(catalog_files(server.card, server.catalog)[Part.DEFAULT])


def _film_or_stranger(i: int) -> Item:
    return Item(f"Film {i}", 1960 + i) if i < FILMS else Item(f"Elsewhere {i - FILMS}")


def _stale(_: bytes) -> bytes:
    raise StaleSpace


def _upside_down(data: bytes) -> bytes:
    message = pb.RetrieveResponse.FromString(data)
    message.codes = message.codes[::-1]
    return message.SerializeToString()


SERVERS: dict[str, Callable[[], HostileServer]] = {
    "an honest one": made_world,
    "decoys alone": lambda: made_world(titles=lambda i: Item(f"Decoy {i}")),
    "one target among decoys": lambda: made_world(
        titles=lambda i: Item("Film 0", 1960) if i == 0 else Item(f"Decoy {i}")
    ),
    "half of the targets": lambda: made_world(
        titles=lambda i: Item(f"Film {i}", 1960 + i) if i % 2 else Item(f"Decoy {i}")
    ),
    "a catalog of which some have rated hundreds": lambda: made_world(
        n_items=FILMS + STRANGERS, titles=_film_or_stranger
    ),
    "one title for all": lambda: made_world(titles=lambda _: Item("Film", 1960)),
    "titles that differ in case": lambda: made_world(titles=lambda i: Item("film" * (i + 1))),
    "one item": lambda: made_world(n_items=1, most=1),
    "a scale whose lowest end is raised": lambda: made_world(scale=(4.5, 5.0, 4.75)),
    "a scale beyond all ratings": lambda: made_world(scale=(900.0, 1000.0, 950.0)),
    "a scale below all ratings": lambda: made_world(scale=(-1000.0, -900.0, -950.0)),
    "everything a like": lambda: made_world(scale=(1.0, 5.0, 1.0 + 1e-9)),
    "every other vector of nothing": lambda: made_world(
        vectors=lambda rows: rows * (np.arange(len(rows)) % 2)[:, None]
    ),
    "vectors of nothing": lambda: made_world(vectors=lambda rows: 0 * rows),
    "vectors as large as allowed": lambda: made_world(vectors=lambda rows: 448 * np.sign(rows)),
    "one vector apart": lambda: made_world(
        vectors=lambda rows: np.where(rows == rows[0], 440, 1e-9)
    ),
    "boosts at both ends": lambda: made_world(boosts=[1e-6, 1024.0] * 6),
    "a profile divided by ten thousand likes": lambda: made_world(least_likes=10_000),
    "the smallest clip": lambda: made_world(clip=1e-6),
    "a space too wide": lambda: made_world(unit=16.0, clip=0.1),
    "one rating worth all": lambda: made_world(d=1, unit=4.0, least_likes=1, clip=1.0, width=0.05),
    "fewer results than asked for": lambda: made_world(most=3),
    "a space that is stale at once": lambda: made_world(spoil=_stale),
    "an answer of garbage": lambda: made_world(spoil=lambda _: b"\xff\xff"),
    "an answer that scores in its own way": lambda: made_world(spoil=_upside_down),
}
