"""Collections behind a real socket: a map, a line, live values that change between questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import numpy as np
import pytest
from small_collections import CAFES, DAY, POSTS, cafes, keys_of, posts, small_map
from small_world import made_card, made_catalog, made_space
from typed_calls import metric_card, places

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.catalog_file import FIRST
from askew.dp.privacy import ANY_SPACE
from askew.errors import NotFound, OtherKind, StaleSpace
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.metric_card import ALL_NUMBER, MetricRuleKind
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise
from askew.wire.places import all_places_to_bytes, places_from_bytes
from askew.wire.queries import query_to_bytes
from askew_client.transport.grpc import GrpcTransport
from askew_server.collections import artifact
from askew_server.collections.artifact import live_path, write_live
from askew_server.collections.model import MetricModel, model_of
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Retriever, Snapshot, SnapshotHolder
from askew_server.serving.metrics import Observer
from askew_server.serving.models import ModelWatch
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig

PATIENCE = 20  # seconds; only ever waited for by a server that does not do what it should
NOISE = MapNoise(HexagonalLattice(0, 8), 37000)
RETRIEVE = "/askew.wire.v1.Retrieval/Retrieve"


def near(latitude: float, longitude: float, collection: int = CAFES, k: int = 5) -> Query:
    values = (round(latitude * 1e6), round(longitude * 1e6))
    return Query(Signal(ANY_SPACE, NOISE, values), k, collection)


@asynccontextmanager
async def served(holder: SnapshotHolder) -> AsyncIterator[GrpcTransport]:
    async with (
        running([RetrievalService(holder)], ServerConfig(), grace=0) as server,
        GrpcTransport(f"127.0.0.1:{server.port}", PATIENCE) as transport,
    ):
        yield transport


@asynccontextmanager
async def serving(model: MetricModel) -> AsyncIterator[GrpcTransport]:
    async with served(SnapshotHolder(Serving(model).snapshot)) as transport:
        yield transport


async def asked(transport: GrpcTransport, data: bytes) -> bytes:
    """The reply to any bytes."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
    call = transport.channel.unary_unary(RETRIEVE)
    return await call(data, timeout=PATIENCE)


def nearest(model: MetricModel, query: Query) -> list[int]:
    """The items nearest to the signal on a sphere, by the haversine formula."""
    here = np.radians(np.array(query.signal.values) / 1e6)
    there = np.radians(model.asked(query).coordinates)
    across = np.cos(here[0]) * np.cos(there[:, 0]) * np.sin((there[:, 1] - here[1]) / 2) ** 2
    away = np.sin((there[:, 0] - here[0]) / 2) ** 2 + across
    return sorted(np.argsort(away)[: query.k].tolist())


@pytest.mark.thin
@pytest.mark.parametrize("collection", [CAFES, POSTS])
@pytest.mark.parametrize("place", [(52.5, 13.4), (47.0, 5.0), (51.25, 15.5)])
async def test_one_position_asks_every_collection_and_gets_items_whole(
    collection: int, place: tuple[float, float]
) -> None:
    """Planted bug: the first collection answers for every other."""
    model, query = small_map(), near(*place, collection)
    async with serving(model) as transport:
        card = await metric_card(transport)
        slate = await places(transport, query, card)
    assert card == model.card
    assert list(slate.item_ids) == nearest(model, query)
    assert slate.listings == model.asked(query).listings(slate.item_ids)
    assert slate.catalog_version == model.card.collection(collection).version


async def test_one_question_asks_every_collection() -> None:
    """Each part is what that collection answers alone, byte for byte."""
    model = small_map()
    alone = [near(52.5, 13.4, each.number) for each in model.card.collections]
    async with serving(model) as transport:
        together = await asked(transport, query_to_bytes(near(52.5, 13.4, ALL_NUMBER)))
        parts = [await asked(transport, query_to_bytes(each)) for each in alone]
    assert together == all_places_to_bytes(parts)
    every = near(52.5, 13.4, ALL_NUMBER)
    assert len(places_from_bytes(together, model.card, every)) == len(parts)


async def test_a_map_is_asked_with_no_space_and_no_region_in_the_bytes() -> None:
    model = small_map()
    data = query_to_bytes(near(52.5, 13.4))
    assert bytes.fromhex(model.card.space.version) not in data
    async with serving(model) as transport:
        reply = await asked(transport, data)
    assert places_from_bytes(reply, model.card, near(52.5, 13.4))[0].item_ids


async def test_a_line_is_asked_at_its_end() -> None:
    model = model_of(DAY, [posts(DAY, 24)], rule=MetricRuleKind.NEAREST)
    signal = Signal(DAY.version, LatticeLaplace(4, 16), (round(23.5 * 16),))
    query = Query(signal, 4, POSTS, catalog_date=FIRST)
    async with serving(model) as transport:
        slate = await places(transport, query, await metric_card(transport))
    hours = model.collections["posts"].coordinates[:, 0]
    away = np.abs(hours - 23.5)
    assert list(slate.item_ids) == sorted(np.argsort(away, kind="stable")[:4].tolist())


async def test_a_small_collection_answers_with_all_of_its_items() -> None:
    """So k, which is the same number for all, does not say how many there are."""
    model = model_of(small_map().card.space, [cafes(), posts(n=3)], rule=MetricRuleKind.NEAREST)
    async with serving(model) as transport:
        card = await metric_card(transport)
        assert len((await places(transport, near(50, 10, k=4), card)).listings) == 4
        assert len((await places(transport, near(50, 10, POSTS, k=4), card)).listings) == 3
        beyond = near(50, 10, POSTS, k=257)
        assert await code_of(transport, beyond) is grpc.StatusCode.OUT_OF_RANGE


# -- the wrong question ---------------------------------------------------------------------------


async def code_of(transport: GrpcTransport, query: Query) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asked(transport, query_to_bytes(query))
    return caught.value.code()


async def test_a_collection_that_is_not_there_is_not_found() -> None:
    async with serving(small_map()) as transport:
        query = near(50, 10, 7)
        assert await code_of(transport, query) is grpc.StatusCode.NOT_FOUND
        with pytest.raises(NotFound, match="no such collection"):
            await places(transport, query, await metric_card(transport))


def tastes() -> Snapshot:
    """A model of tastes, ready to be served."""
    space = made_space()
    catalog = made_catalog([(i % 8 / 4, i // 8 / 4, 0.0) for i in range(20)], tuple(range(8)))
    return Retriever(made_card(space, catalog, 8), catalog).snapshot


async def test_a_question_of_tastes_gets_a_clear_code_from_collections() -> None:
    query = Query(Signal(tastes().card.space.version, LatticeLaplace(4, 16), (1, 2)), 3)
    async with serving(small_map()) as transport:
        assert await code_of(transport, query) is grpc.StatusCode.FAILED_PRECONDITION
        with pytest.raises(StaleSpace):
            await transport.call("Retrieve", query_to_bytes(query))


async def test_a_position_gets_a_clear_code_from_a_server_of_tastes() -> None:
    async with served(SnapshotHolder(tastes())) as transport:
        code = await code_of(transport, near(50, 10))
        assert code is grpc.StatusCode.FAILED_PRECONDITION


async def test_each_kind_of_card_is_told_from_the_other() -> None:
    async with served(SnapshotHolder(tastes())) as transport:
        with pytest.raises(OtherKind, match="has a catalog of titles"):
            await metric_card(transport)


# -- live values ----------------------------------------------------------------------------------


@pytest.mark.slow
async def test_questions_while_live_values_change_are_all_answered_whole(tmp_path: Path) -> None:
    """Planted bug: columns are swapped one after the other, so a reply can mix two states."""
    directory = tmp_path / "model"
    artifact.save(small_map(), directory, {"cafes": keys_of(30)})
    live = Serving(artifact.load(directory), directory)
    assert live.refresh(pytest.fail)
    holder, said = SnapshotHolder(live.snapshot), [0]
    observer = Observer()
    servings = {FIRST: live}
    watch = ModelWatch(
        servings, None, holder, lambda _: None, observer=observer, today=lambda: FIRST
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
            states = {each.values[3:] for each in slate.listings}
            assert len(states) == 1, "a reply mixes two states"
            seen |= states
        return seen

    write(0)
    watch.look(at_once=True)
    async with served(holder) as transport:
        asking = [asyncio.create_task(ask(transport)) for _ in range(4)]
        for value in range(1, 25):
            await asyncio.to_thread(write, value)
            await asyncio.to_thread(watch.look, at_once=True)
            said.append(value)
            await places(transport, near(50, 10), await metric_card(transport))
        done.set()
        seen = set().union(*await asyncio.gather(*asking))
    assert observer.registry.get_sample_value("askew_snapshot_swaps_total") == 25
    assert len(seen) > 2
    assert seen <= {(value % 2 == 1, float(value)) for value in said}
