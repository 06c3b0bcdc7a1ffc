"""What a stored release costs over gRPC, beside an echo: a handler that has the reply in hand.

    .venv/bin/python benchmarks/stored_releases.py

One server, one connection, calls in turn, medians. The echo's reply has the release's size. The
list holds 60 releases of about 1 MB; the first page after a start reads them all, once.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import grpc.aio
import numpy as np

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, ApproximateDP, PureDP
from askew.dp.release import PRIVACY_UNIT, Release
from askew.wire.releases import charge_to_bytes, document_to_bytes, page_request_to_bytes
from askew_server.ledger import Charge, ChargeRequest, Ledger
from askew_server.published.reader import ReleaseReader
from askew_server.serving.call import Answer
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.popularity import PopularityService
from askew_server.serving.settings import ServerConfig

ROUNDS, LISTED = 400, 60
SIZES = {"5 kB": (20, 200), "1 MB": (5000, 200)}  # items, and characters of a name
CAP = PrivacyFilter(epsilon=Fraction(1000))


class EchoService:
    """Answers with bytes that it was given at the start, by the size that is asked for."""

    name = "Echo"

    def __init__(self, replies: dict[bytes, bytes]) -> None:
        self._replies = replies

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {"Echo": lambda request, _: self._replies[request]}


def published(book: Ledger, key: str, items: int, length: int) -> tuple[int, bytes]:
    """A stored release of so many items; its charge and its reply."""
    loss = PureDP(Fraction(1), ADD_OR_REMOVE_ONE)
    request = ChargeRequest(dataset="films", version="1", key=key, digest=bytes(32), loss=loss)
    charge = book.charge(request)
    assert isinstance(charge, Charge)
    names = tuple(f"{number:0{length}}" for number in range(items))
    release = Release(
        charge=charge.id,
        dataset="films",
        mechanism="joint",
        k=items,
        items=names,
        ranked=True,
        stopped=False,
        loss=ApproximateDP(Fraction(1), Fraction(0), ADD_OR_REMOVE_ONE),
        max_items_per_unit=None,
    )
    stored = book.fulfill(charge.id, release.to_bytes())
    return charge.id, document_to_bytes(stored.payload)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        with Ledger(path, Path(folder) / "anchor") as book:
            book.open_dataset("films", "1", CAP, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
            stored = {size: published(book, size, *shape) for size, shape in SIZES.items()}
            for number in range(LISTED):
                published(book, f"listed {number}", *SIZES["1 MB"])
            echo = EchoService({size.encode(): reply for size, (_, reply) in stored.items()})
            server = RunningServer([PopularityService(ReleaseReader(path)), echo], ServerConfig())
            await server.start()
            options = [("grpc.max_receive_message_length", -1)]
            async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options) as channel:
                await compare(channel, stored)
                await lists(channel)
            await server.stop(grace=0)


async def compare(channel: grpc.aio.Channel, stored: dict[str, tuple[int, bytes]]) -> None:
    for size, (charge, reply) in stored.items():
        questions = {
            "/askew.wire.v1.Popularity/GetRelease": charge_to_bytes(charge),
            "/Echo/Echo": size.encode(),
        }
        spent: dict[str, list[float]] = {method: [] for method in questions}
        for round_ in range(ROUNDS):
            for method, request in questions.items():
                took, got = await timed(channel, method, request)
                assert got == reply
                if round_:
                    spent[method].append(took)
        release, echo = (1e6 * float(np.median(each)) for each in spent.values())
        print(f"{size}  GetRelease {release:7.0f} us   echo {echo:7.0f} us   {release / echo:.2f}")


async def lists(channel: grpc.aio.Channel) -> None:
    question = page_request_to_bytes("films")
    method = "/askew.wire.v1.Popularity/ListReleases"
    first, *later = [(await timed(channel, method, question))[0] for _ in range(51)]
    print(f"ListReleases of {LISTED + len(SIZES)}: first {1e3 * first:.1f} ms, "
          f"then {1e3 * float(np.median(later)):.2f} ms")  # fmt: skip


async def timed(channel: grpc.aio.Channel, method: str, request: bytes) -> tuple[float, bytes]:
    stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
    start = time.perf_counter()
    reply = await stub(request)
    return time.perf_counter() - start, reply


if __name__ == "__main__":
    asyncio.run(main())
