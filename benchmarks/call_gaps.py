"""Whether a server can tell 3 ratings from 10,000 by the time between a device's calls.

A server in a process of its own, 12,000 items of 32 factors, a device that draws a fresh signal for
each question, in turn with 3 and with 10,000 ratings. The server's clock gives the gap from its
catalog to the question. Printed is how well it tells the two apart, as the area under the ROC
curve: .5 is not at all. With the device's pace,
and nearly without, since a measure that sees nothing anyway would prove nothing.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew_client.opening import open_companion
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.views.problems import value_of

ITEMS, FACTORS, FEW, MANY = 12_000, 32, 3, 10_000
PACES = (ClientSettings().pace, 0.0001)


def served(pipe: Connection) -> None:
    """The server: sends its address, then the gap that it saw for each question."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    import grpc.aio

    from askew.encoder import KNOTS, Encoder
    from askew.held_file import piece_of
    from askew.item import Item
    from askew.item_codes import rounded, scales_of
    from askew.model_card import Catalog, ModelCard, ServingRule
    from askew.rule_kind import RuleKind
    from askew.vectors import FeatureSpace, RatingScale
    from askew.wire import convert
    from askew.wire.held import held_to_bytes
    from askew.wire.v1 import retrieval_pb2 as pb
    from askew_server.retrieval.retriever import Retriever

    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(ITEMS, FACTORS)) / np.sqrt(ITEMS)).astype(np.float32)
    directions = np.linalg.qr(rng.normal(size=(FACTORS, 2)))[0].astype(np.float32)
    knots = np.tile(np.linspace(-0.2, 0.2, KNOTS), (2, 1))
    encoder = Encoder(directions, np.zeros(FACTORS, np.float32), knots, 0.5, 20, 1.5)
    items = tuple(Item(f"Item {i}") for i in range(ITEMS))
    scales = scales_of(vectors)
    catalog = Catalog(items, rounded(vectors, scales), np.ones(ITEMS, np.float32), tuple(range(64)))
    space = FeatureSpace(RatingScale(1, 5, 4), encoder, scales)
    rule = ServingRule(RuleKind.NONE, 4.0, 8)
    card = ModelCard(space, catalog.version, ITEMS, 64, "made up", True, rule, ITEMS)
    retriever, file = Retriever(card, catalog), held_to_bytes(card, catalog)
    times: dict[str, float] = {}

    async def get_held(request: bytes, __: object) -> bytes:
        start = convert.parse(pb.GetHeldRequest(), request).start
        times["held"] = time.perf_counter()
        return pb.GetHeldResponse(data=piece_of(file, start)).SerializeToString()

    async def retrieve(request: bytes, __: object) -> bytes:
        pipe.send(time.perf_counter() - times["held"])
        slate = retriever.answer(convert.query_from_bytes(request, card))
        return convert.slate_to_bytes(slate, card)

    server = grpc.aio.server()
    methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "GetHeld": grpc.unary_unary_rpc_method_handler(get_held),
        "Retrieve": grpc.unary_unary_rpc_method_handler(retrieve),
    }
    name = "askew.wire.v1.Retrieval"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, methods),))
    pipe.send(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    await server.start()
    await asyncio.to_thread(pipe.recv)
    await server.stop(None)


async def asked(address: str, ratings: int, pace: float, directory: Path) -> None:
    """One device's whole visit."""
    titles = {f"Item {i * (ITEMS // ratings)}": 5.0 for i in range(ratings)}
    opened = open_companion(
        ClientSettings(way="signal", pace=pace),
        server=address,
        directory=directory,
        profile=PassingProfile(ProfileDocument(titles)),
    )
    async with opened as companion:
        value_of(await companion.ask())


def area(few: NDArray[np.float64], many: NDArray[np.float64]) -> float:
    """P(a gap of many > a gap of few), ties counting half."""
    larger = (many[:, None] > few).mean() + (many[:, None] == few).mean() / 2
    return float(larger)


def main(visits: int) -> None:
    pipe, other = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=served, args=(other,), daemon=True)
    server.start()
    address, order = pipe.recv(), np.random.default_rng(0)
    for pace in PACES:
        gaps: dict[int, list[float]] = {FEW: [], MANY: []}
        for _ in range(visits):
            for ratings in order.permutation([FEW, MANY]).tolist():
                with tempfile.TemporaryDirectory() as directory:
                    asyncio.run(asked(address, ratings, pace, Path(directory)))
                gaps[ratings].append(pipe.recv())
        few, many = (np.array(gaps[n]) for n in (FEW, MANY))
        print(
            f"pace {1000 * pace:g} ms: catalog to question, medians "
            f"{1000 * np.median(few):.1f} and {1000 * np.median(many):.1f} ms with {FEW} and "
            f"{MANY:,} ratings; AUC {area(few, many):.3f} of {visits} visits each"
        )
    pipe.send(None)
    server.join()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
