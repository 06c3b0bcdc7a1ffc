"""A server behind a real socket: asked by bytes of the .proto, and by devices of every kind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import grpc
import grpc.aio
import numpy as np
import pytest
from end_to_end.eavesdropping import made_world
from small_collections import CAFES, DAY, POSTS, cafes, keys_of, posts, small_map
from small_world import SOURCE
from typed_calls import metric_card, places, retrieve

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, PERIOD, Part
from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import ALL_NUMBER, MetricRuleKind, ModelCard
from askew.protocol.signal import Query, Signal
from askew.spaces.item_codes import encode, encode_boosts
from askew.spaces.map import MapNoise
from askew.wire.catalog_file import catalog_files
from askew.wire.places import all_places_to_bytes, places_from_bytes
from askew.wire.queries import query_to_bytes
from askew.wire.tastes import card_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport.grpc import GrpcTransport
from askew_server.collections import artifact
from askew_server.collections.artifact import live_path, write_live
from askew_server.collections.model import MetricModel, model_of
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Retriever, SnapshotHolder
from askew_server.serving.metrics import Observer
from askew_server.serving.models import ModelWatch
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig

PATIENCE = 20  # seconds; only ever waited for by a server that does not do what it should
Code = grpc.StatusCode
Refusal = tuple[grpc.StatusCode, str | None]
NOISE = MapNoise(HexagonalLattice(0, 8), 37000)


@dataclass(frozen=True)
class Served:
    address: str
    transport: GrpcTransport

    async def call(
        self, method: str, data: bytes, compression: grpc.Compression | None = None
    ) -> bytes:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        call = self.transport.channel.unary_unary(f"/askew.wire.v1.Retrieval/{method}")
        return await call(data, timeout=PATIENCE, compression=compression)

    async def refusal(
        self, method: str, data: bytes, compression: grpc.Compression | None = None
    ) -> Refusal:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.call(method, data, compression)
        return caught.value.code(), caught.value.details()


@asynccontextmanager
async def serving(served: Retriever | MetricModel | RetrievalService) -> AsyncIterator[Served]:
    if not isinstance(served, RetrievalService):
        answers = Serving(served) if isinstance(served, MetricModel) else served
        served = RetrievalService(SnapshotHolder(answers.snapshot))
    async with running([served], ServerConfig(grace=0)) as server:
        address = f"127.0.0.1:{server.port}"
        async with GrpcTransport(address, PATIENCE) as transport:
            yield Served(address, transport)


def retriever_of(n_items: int) -> Retriever:
    made = made_world(n_items=n_items, shared=8, most=8)
    return Retriever(made.card, made.catalog)


FILMS = retriever_of(40)


def request_to(**fields: object) -> bytes:
    """Return a request as another implementation would make it, field by field."""
    noise = pb.LatticeNoise(step_exponent=10, inverse_rate=1024)
    usual: dict[str, object] = {"catalog_date": FIRST, "k": 3, "values": [-700, 1300]}
    return pb.RetrieveRequest(lattice=noise, **{**usual, **fields}).SerializeToString()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("k", "values"), [(1, [-700, 1300]), (8, [2**31 - 1, -(2**31) + 1])], ids=str
)
async def test_an_independent_client_gets_the_answer_of_the_rule_in_memory(
    k: int, values: list[int]
) -> None:
    signal = Signal(FILMS.card.space.version, LatticeLaplace(10, 1024), tuple(values))
    query = Query(signal, k, catalog_date=FIRST)
    slate = FILMS.answer(query)
    async with serving(FILMS) as server:
        data, again = [
            await server.call("Retrieve", request_to(k=k, values=values)) for _ in range(2)
        ]
        card = await server.call("GetModelCard", b"")
        by_device = await retrieve(server.transport, query, FILMS.card)
    assert data == again
    reply = pb.RetrieveResponse.FromString(data)
    assert slate.item_ids == tuple(reply.item_ids) == by_device.item_ids
    assert bytes.fromhex(slate.catalog_version) == reply.catalog_version
    codes = encode(slate.vectors, FILMS.card.space.scales).tobytes()
    assert (codes, encode_boosts(slate.boosts)) == (reply.codes, reply.boosts)
    assert [item.title for item in slate.items] == [item.title for item in reply.items]
    said = pb.GetModelCardResponse.FromString(card)
    assert (said.n_items, said.max_slate_size, said.source) == (40, 8, SOURCE)
    assert card_from_bytes(card) == FILMS.card


def test_every_model_is_encoded_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million items take seconds, in which nobody else is answered."""
    encoded: list[Catalog] = []

    def noted(card: ModelCard, catalog: Catalog) -> dict[Part, bytes]:
        encoded.append(catalog)
        return catalog_files(card, catalog)

    monkeypatch.setattr("askew_server.serving.retrieval.catalog_files", noted)
    coming = replace(retriever_of(41).snapshot, since=FIRST + PERIOD)
    RetrievalService(SnapshotHolder(FILMS.snapshot, coming))
    assert [len(catalog) for catalog in encoded] == [40, 41]


def near(latitude: float, longitude: float, collection: int = CAFES, k: int = 5) -> Query:
    values = (round(latitude * 1e6), round(longitude * 1e6))
    return Query(Signal(ANY_SPACE, NOISE, values), k, collection)


def nearest(model: MetricModel, query: Query) -> list[int]:
    """Return the items nearest to the signal on a sphere, by the haversine formula."""
    here = np.radians(np.array(query.signal.values) / 1e6)
    there = np.radians(model.asked(query).coordinates)
    across = np.cos(here[0]) * np.cos(there[:, 0]) * np.sin((there[:, 1] - here[1]) / 2) ** 2
    away = np.sin((there[:, 0] - here[0]) / 2) ** 2 + across
    return sorted(np.argsort(away)[: query.k].tolist())


async def test_one_position_asks_every_collection_and_gets_items_whole() -> None:
    """Alone, and all by one question, whose parts are the same bytes. Planted bug: the first
    collection answers for every other.
    """
    model, everything = small_map(), near(47.0, 5.0, ALL_NUMBER)
    async with serving(model) as server:
        card = await metric_card(server.transport)
        assert card == model.card
        parts = []
        for collection in (CAFES, POSTS):
            for place in ((52.5, 13.4), (47.0, 5.0)):
                query = near(*place, collection)
                slate = await places(server.transport, query, card)
                assert list(slate.item_ids) == nearest(model, query)
                assert slate.listings == model.asked(query).listings(slate.item_ids)
                assert slate.catalog_version == card.collection(collection).version
            parts.append(await server.call("Retrieve", query_to_bytes(query)))
        together = await server.call("Retrieve", query_to_bytes(everything))
    assert together == all_places_to_bytes(parts)
    assert len(places_from_bytes(together, model.card, everything)) == len(parts)
    assert bytes.fromhex(card.space.version) not in query_to_bytes(query)


async def test_a_small_collection_answers_with_all_of_its_items() -> None:
    """So k, which is the same number for all, does not say how many there are."""
    model = model_of(small_map().card.space, [cafes(), posts(n=3)], rule=MetricRuleKind.NEAREST)
    async with serving(model) as server:
        card = await metric_card(server.transport)
        for collection, count in ((CAFES, 4), (POSTS, 3)):
            slate = await places(server.transport, near(50, 10, collection, k=4), card)
            assert len(slate.listings) == count


ANOTHER = "this server does not answer for that space, or not for that Monday"
AXES = Query(Signal(DAY.version, LatticeLaplace(4, 16), (1,)), 3, CAFES, FIRST)
MONDAY, RANGE = (Code.FAILED_PRECONDITION, ANOTHER), (Code.OUT_OF_RANGE, "k must be from 1 to 8")
NOWHERE = (Code.NOT_FOUND, "there is no such collection")
REFUSALS: dict[str, list[tuple[bytes, Refusal]]] = {
    "titles": [
        (b"\xff" * 40, (Code.INVALID_ARGUMENT, "not a message of the expected type")),
        (request_to(catalog_date=FIRST + 1), MONDAY),  # no Monday
        (query_to_bytes(near(50, 10)), MONDAY),  # a position asks for titles
        (request_to(k=9), RANGE),
    ],
    "places": [
        (request_to(), MONDAY),  # a taste asks near a place
        (query_to_bytes(AXES), MONDAY),
        (query_to_bytes(near(50, 10, 7)), NOWHERE),
    ],
}


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_bad_request_is_refused_by_its_code_and_the_server_goes_on(kind: str) -> None:
    async with serving(FILMS if kind == "titles" else small_map()) as server:
        for data, expected in REFUSALS[kind]:
            assert await server.refusal("Retrieve", data) == expected
        assert await server.call("GetModelCard", b"")


async def test_grpc_refuses_what_is_too_large_compressed_or_unknown() -> None:
    """Compressed sizes depend on content."""
    large, zeros = request_to(values=[0] * 4096), request_to(values=[0] * 2000)
    async with serving(FILMS) as server:
        assert (await server.refusal("Retrieve", large))[0] is Code.RESOURCE_EXHAUSTED
        packed = await server.refusal("Retrieve", zeros, grpc.Compression.Gzip)
        assert packed[0] is Code.UNIMPLEMENTED
        assert (await server.refusal("GetItem", b""))[0] is Code.UNIMPLEMENTED


@pytest.mark.slow
async def test_questions_while_live_values_change_are_all_answered_whole(tmp_path: Path) -> None:
    """Planted bug: columns are swapped one after the other, so a reply can mix two states."""
    directory = tmp_path / "model"
    artifact.save(small_map(), directory, {"cafes": keys_of(30)})
    live = Serving(artifact.load(directory), directory)
    assert live.refresh(pytest.fail)
    holder, said = SnapshotHolder(live.snapshot), [0]
    service, observer = RetrievalService(holder), Observer()
    watch = ModelWatch(
        {FIRST: live}, None, holder, service.make_ready, observer=observer, today=lambda: FIRST
    )
    done = asyncio.Event()

    def write(value: int) -> None:
        flags, numbers = np.full(30, value % 2, np.int8), np.full(30, value, np.float32)
        columns: dict[str, Column] = {"open": Flags(flags), "free": Numbers(numbers)}
        write_live(live_path(directory, 0), cafes().with_live(columns))

    async def ask(transport: GrpcTransport) -> set[tuple[object, ...]]:
        seen: set[tuple[object, ...]] = set()
        card = await metric_card(transport)
        while not done.is_set():
            slate = await places(transport, near(50, 10, k=8), card)
            states = {listing.values[3:] for listing in slate.listings}
            assert len(states) == 1, "a reply mixes two states"
            seen |= states
        return seen

    write(0)
    watch.look(at_once=True)
    async with serving(service) as server:
        asking = [asyncio.create_task(ask(server.transport)) for _ in range(4)]
        for value in range(1, 25):
            await asyncio.to_thread(write, value)
            await asyncio.to_thread(watch.look, at_once=True)
            said.append(value)
            card = await metric_card(server.transport)
            await places(server.transport, near(50, 10), card)
        done.set()
        seen = set().union(*await asyncio.gather(*asking))
    assert observer.registry.get_sample_value("askew_snapshot_swaps_total") == 25
    assert len(seen) > 2
    assert seen <= {(value % 2 == 1, float(value)) for value in said}


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None  # any import of numpy now fails
from askew_client.cli.start import main
main()
"""


@pytest.mark.slow
async def test_a_place_is_added_and_asked_from_without_numpy(tmp_path: Path) -> None:
    """The first question fetches the card. Planted bug: numpy at the top of the typed calls."""
    async with serving(small_map()) as server:
        asked = ("near", "posts", "-k", "4", "--server", server.address)
        for words, typed in (
            (("place", "add", "home", "--region", "DE"), b"52.5, 13.4"), (asked, b""), (asked, b"")
        ):  # fmt: skip
            device = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", WITHOUT_NUMPY, *words, "--data", str(tmp_path)),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            out, errors = await device.communicate(typed)
            assert device.returncode == 0, errors.decode()
    assert b"Post " in out
