"""Items with payloads over a real socket: a device names a slate, and its payloads come with the
reply.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from small_world import made_card, made_encoder, made_space
from typed_calls import retrieve

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, HEAD_BYTES
from askew.catalog.item import Item
from askew.limits import MAX_PAYLOAD
from askew.noise.randomized_response import RandomizedResponse
from askew.noise.randomness import SystemBits
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Query
from askew.spaces.buckets import SlateCodebook
from askew.wire.catalog_file import catalog_from_body, catalog_to_bytes
from askew_client.settings.settings import ClientSettings
from askew_client.taste.exchange import Exchange
from askew_client.transport.grpc import GrpcTransport
from askew_server.retrieval.snapshot import Retriever, SnapshotHolder
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.settings import ServerConfig
from askew_server.taste.prior.people import PriorPeople

PATIENCE = 20.0  # seconds; only ever waited for by a server that does not do what it should
K = 20  # of the largest payloads: 5 MiB, more than gRPC receives unless it is told to


def world() -> tuple[ModelCard, Catalog, PriorPeople]:
    """Forty articles, the even ones east and the odd ones north, a slate of either; two people."""
    along = np.arange(2, 42) % 5 / 4 + 0.5
    east = np.arange(40) % 2 == 0
    vectors = np.column_stack([along * east, along * ~east]).astype(np.float32)
    items = tuple(Item(f"Article {i}") for i in range(40))
    catalog = Catalog(items, vectors, np.ones(40, np.float32), tuple(range(K)))
    slates = SlateCodebook(vectors[[[0, 2, 4], [1, 3, 5]]], np.ones((2, 3), np.float32))
    card = made_card(made_space(made_encoder(ranking=2), slates), catalog, K)
    tastes, nothing = np.eye(2, dtype=np.float32), csr_array((2, 40))
    people = PriorPeople(tastes, np.ones((2, 2)), nothing, np.ones(2), "two people")
    return card, catalog, people.naming(slates, catalog)


@pytest.mark.parametrize("side", [0, 1])
async def test_a_device_names_a_slate_and_reads_its_pick_without_another_question(
    side: int,
) -> None:
    """Planted bug: the payload of another item. The largest there are, and the most of them."""
    card, catalog, people = world()
    payloads = tuple(bytes([item]) * MAX_PAYLOAD for item in range(40))
    snapshot = Retriever(card, catalog, people, payloads).snapshot
    server = RunningServer([RetrievalService(SnapshotHolder(snapshot))], ServerConfig())
    await server.start()
    try:
        # what the device holds tells it which slate suits it; epsilon 20, so that it says so
        own_card, held = catalog_from_body(catalog_to_bytes(card, catalog)[HEAD_BYTES:])
        settings = ClientSettings(k=K, mechanism="bucket_rr", epsilon=Fraction(20))
        exchange = Exchange(own_card, held, settings, {6 + side: 5.0, 8 + side: 5.0})
        assert exchange.mechanism == RandomizedResponse.for_epsilon(2, Fraction(20))
        assert exchange.profile.bucket == side
        query = Query(exchange.perturb(SystemBits()), K, catalog_date=FIRST)
        async with GrpcTransport(f"127.0.0.1:{server.port}", PATIENCE) as transport:
            slate = await retrieve(transport, query, own_card)
    finally:
        await server.stop(grace=0)
    pick = exchange.rank(slate).best
    assert pick % 2 == side
    assert pick not in {6 + side, 8 + side}
    assert slate.payloads == tuple(payloads[item] for item in slate.item_ids)


def test_what_a_device_sends_of_a_slate_has_the_guarantee_of_its_odds() -> None:
    """Naming a slate costs what randomized response costs, whatever epsilon per rating may be."""
    card, catalog, _ = world()
    settings = ClientSettings(k=K, mechanism="bucket_rr", epsilon=Fraction(3, 2))
    exchange = Exchange(card, catalog, settings, {0: 5.0})
    response = RandomizedResponse.for_epsilon(2, Fraction(3, 2))
    assert exchange.mechanism == response
    assert exchange.loss.epsilon == response.epsilon <= Fraction(3, 2)
    wider = replace(exchange, ratings={})
    assert wider.loss == exchange.loss
