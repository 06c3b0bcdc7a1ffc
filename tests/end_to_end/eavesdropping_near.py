"""Hostile servers with made-up maps and axes, and people who are to sound alike to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import grpc
import numpy as np
from end_to_end.eavesdropping import Eavesdropper, Heard, Reply
from small_map import GERMANY, made_card, made_items, nearest

from askew.catalog.item import Listing
from askew.errors import AskewError, NotFound
from askew.protocol.cards import MetricCard
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace, Position, Region
from askew.wire import status
from askew.wire.places import metric_card_to_bytes, places_to_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.near.pick import NO_PREFERENCES, Preferences
from askew_server.collections.model import MetricModel
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.call import Job
from askew_server.serving.retrieval import RetrievalService

MADE_UP = 50  # hostile servers


@dataclass
class HostileMap(Eavesdropper):
    """A metric space of the server's choosing. questions: the whole bytes of what was asked."""

    card: MetricCard
    items: Sequence[Listing] = ()
    spoil: Reply = lambda data: data
    heard: list[Heard] = field(default_factory=list)
    questions: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.items = self.items or made_items(self.card.space)

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        return {
            "GetModelCard": grpc.unary_unary_rpc_method_handler(self._model_card),
            "Retrieve": grpc.unary_unary_rpc_method_handler(self._retrieve),
        }

    def _model_card(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.note("GetModelCard", request, context)
        return metric_card_to_bytes(self.card)

    def _retrieve(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self.questions.append(request)
        self.note_question(request, context)
        try:
            query = query_from_bytes(request, self.card)
            answer = nearest(self.items, query.signal, query.k)
            return self.spoil(places_to_bytes(answer, self.card.collection(query.collection)))
        except AskewError as error:
            code, text = status.status_of(error)
            context.abort(code, text)


class HonestRows(Eavesdropper):
    """The service of a model whose rows devices hold, static ones and live ones."""

    def __init__(self, model: MetricModel) -> None:
        self.heard: list[Heard] = []
        self._service = RetrievalService(SnapshotHolder(Serving(model).snapshot))

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        answers = {name: partial(self._answer, name) for name in self._service.methods}
        return {name: grpc.unary_unary_rpc_method_handler(each) for name, each in answers.items()}

    def held(self, catalog_date: int, part: str) -> bytes | None:
        with suppress(NotFound):
            return self._service.catalog_file(catalog_date, part)
        return None

    def calls(self) -> list[str]:
        return [method for method, _, _ in self.heard]

    def _answer(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        if method == "Retrieve":
            self.note_question(request, context)
        else:
            self.note(method, request, context)
        reply = self._service.methods[method](request, tuple)
        return reply.run() if isinstance(reply, Job) else reply


@dataclass(frozen=True)
class Neighbor:
    """Someone with a home, an hour, preferences and ratings."""

    home: Position
    hour: float
    preferences: Preferences
    ratings: dict[str, float]


def neighbors(count: int) -> list[Neighbor]:
    """In every corner of the region, with preferences of every kind."""
    preferences = [
        NO_PREFERENCES,
        Preferences(open_now=True),
        Preferences(at_most={"price": -1.0}),
        Preferences({"cuisine": {"italian": 50.0}}, {"view": frozenset({"sea"})}, ratings=3.0),
        Preferences(trades={"EUR": 2.0, "price": -9.0}),
    ]
    chance = np.random.default_rng(0)
    corners = [(47.2, 5.6), (55.3, 15.3), (47.2, 15.3), (52.52, 13.405)]
    spread = zip(chance.uniform(47.2, 55.3, count), chance.uniform(5.6, 15.3, count), strict=True)
    homes = [*corners, *((float(lat), float(lon)) for lat, lon in spread)]
    hours = [-5.0, 0.0, 8.5, 12.0, 23.99, 24.0, 30.0]
    return [
        Neighbor(
            Position(*homes[n]),
            hours[n % len(hours)],
            preferences[n % len(preferences)],
            {f"Item {i}": float(i % 6) for i in range(n * 7 % 60)},
        )
        for n in range(count)
    ]


def made_up_spaces() -> list[MetricSpace]:
    chance = np.random.default_rng(1)
    fixed: list[Area] = [
        GERMANY,
        Area(-90.0, -180.0, 90.0, 180.0),
        Region(52.51, 13.40, 52.53, 13.41),  # one block
        Region(52.0, 13.0, 52.5, 13.4),  # beside it
        Region(-0.001, -0.001, 0.001, 0.001),
        Region(-20.0, 177.0, -15.0, -178.0),
        Region(60.0, -10.0, 72.0, 10.0),
        Region(-45.0, -60.0, 45.0, 60.0),
    ]
    while len(fixed) < MADE_UP:
        south, west = float(chance.uniform(-60, 55)), float(chance.uniform(-180, 180))
        tall, wide = (float(chance.uniform(0.01, 12)) for _ in range(2))
        fixed.append(Region(south, west, south + tall, (west + wide + 180) % 360 - 180))
    return [MapSpace(region) for region in fixed]


def _map(region: Region = GERMANY, spoil: Reply = lambda data: data, most: int = 50) -> HostileMap:
    return HostileMap(made_card(MapSpace(region), most=most), spoil=spoil)


def _axis(low: float, high: float, scale: float) -> HostileMap:
    return HostileMap(made_card(AxisSpace((Axis("hour", "h", low, high, scale),))))


def _edited(*, far: bool = False, fewer: bool = False, text: bool = False) -> HostileMap:
    """Its answers have an item far outside, an item less or a text in place of a number."""

    def spoil(data: bytes) -> bytes:
        message = pb.RetrieveResponse.FromString(data)
        if far:
            message.listings[0].coordinates[:] = [-80.0, 170.0]
        if fewer:
            del message.listings[-1]
        if text:
            message.listings[3].values[1].text = "has_payloads"
        return message.SerializeToString()

    return _map(spoil=spoil)


def _other_collection() -> HostileMap:
    honest = _map()
    renamed = tuple(replace(each, name=f"{each.name}!") for each in honest.card.collections)
    return HostileMap(replace(honest.card, collections=renamed))


# Each would learn something of a device that adapts to its person.
MAPS: dict[str, Callable[[], HostileMap]] = {
    "an honest one": _map,
    "a block around one home": lambda: _map(Region(52.51, 13.40, 52.53, 13.41)),
    "the other side of the Earth": lambda: _map(Region(-45.0, 166.0, -35.0, 178.0)),
    "half of the region": lambda: _map(Region(47.0, 5.5, 51.0, 15.5)),
    "fewer results than asked for": lambda: _map(most=5),
    "no such collection": _other_collection,
    "an answer of garbage": lambda: _map(spoil=lambda _: b"\xff\xff"),
    "an item far outside": lambda: _edited(far=True),
    "one item less": lambda: _edited(fewer=True),
    "values of another type": lambda: _edited(text=True),
    "a line of a day": lambda: _axis(0.0, 24.0, 8.0),
    "a line that ends before noon": lambda: _axis(0.0, 11.0, 4.0),
    "a line of one minute": lambda: _axis(8.49, 8.51, 1.0),
    "an hour that is a second": lambda: _axis(0.0, 24.0, 0.0003),
}
