"""A server with everything on, whose answers fail in every way that an answer can.

Run as a program with a folder, and `leaky` for one that tells what it must not: each leak is
planted in an object that serves. Its first line of output is its port.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from askew.protocol.ranking import Slate

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # as the command does

from end_to_end.eavesdropping import made_world

from askew.catalog.item import Item
from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Query
from askew.wire import status
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import Ledger
from askew_server.published.reader import ReleaseReader
from askew_server.release.job import AnalystDesk, ReleaseJob
from askew_server.retrieval.snapshot import Retriever, SnapshotHolder
from askew_server.serving import grpc_door
from askew_server.serving.analyst import AnalystService
from askew_server.serving.call import Service
from askew_server.serving.log import log_event, start_log
from askew_server.serving.metrics import Observer
from askew_server.serving.popularity import PopularityService
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import serve
from askew_server.serving.settings import ServerConfig
from askew_server.serving.tokens import Tokens, add_token

DATASET, PRINCIPAL = "dataset-brontosaurus", "ada-lovelace-canary"
TITLE, EXPLODED, WORDS = "Zanzibar Nightingale", "kaleidoscope broke", "quicksilver words"
ANSWERS, EXPLODES, DAWDLES, STRAYS = 1, 2, 3, 4  # by the k of a question
DAWDLING = 1.0  # seconds


class Moody(Retriever):
    """Answers as its k says; every failure has the question in its text."""

    loop: asyncio.AbstractEventLoop

    def slots(self, _: Query) -> int:
        """What dawdles must not hold up other calls."""
        return 1

    def answer(self, query: Query) -> Slate:
        text = f"{WORDS} {query.signal.values} {self.catalog.items[0].title}"
        if query.k == EXPLODES:
            raise LookupError(f"{EXPLODED} {query.signal.values}")
        if query.k == DAWDLES:
            threading.Event().wait(DAWDLING)
        if query.k == STRAYS:
            stray(text, self.loop)
        return super().answer(query)


def stray(text: str, loop: asyncio.AbstractEventLoop) -> None:
    """Failures beside the call, each of which Python tells somebody about by itself."""

    async def nobody_waits() -> None:
        raise OSError(text)

    def in_a_thread() -> None:
        raise RuntimeError(text)

    class Unraisable:
        def __del__(self) -> None:
            raise KeyError(text)

    loop.call_soon_threadsafe(loop.create_task, nobody_waits())
    loop.call_soon_threadsafe(in_a_thread)
    thread = threading.Thread(target=in_a_thread, name=text)
    thread.start()
    thread.join()
    Unraisable()
    warnings.warn(text, stacklevel=1)
    logging.getLogger("asyncio").error("about %s", text)
    logging.getLogger("asyncio").error("%d", text)  # cannot be written, and would be quoted
    logging.getLogger(text).warning(text)
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("grpc").exception(text)


def retriever() -> Moody:
    made = made_world(titles=lambda i: Item(f"{TITLE} {i}", 1950 + i), n_items=40)
    return Moody(made.card, made.catalog)


def analysts(folder: Path, ledger: Ledger) -> AnalystService:
    counts = TopCounts(("d", "b", "e", "a", "c"), (5000, 4000, 3000, 20, 10))
    job = ReleaseJob(ledger, lambda _: counts, SystemBits())
    offered = CountingTask(events="log.csv", max_items_per_unit=10, limit=1001)
    terms = PayWhatYouGet(
        k_star=9,
        l_star=5,
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 10**9),
        slack=Fraction(1, 10**8),
    )
    ledger.grant(DATASET, PRINCIPAL, terms)
    (folder / "token").write_text(add_token(folder / "tokens", PRINCIPAL, SystemBits()))
    tokens = Tokens(folder / "tokens", partial(log_event, "token_refused"))
    return AnalystService(AnalystDesk(ledger, {DATASET: offered}, job), tokens)


def leak(observer: Observer, say: Callable[[object], object]) -> None:
    """Plants a leak of each kind in an object that serves."""
    retrieve, authorization = RetrievalService._retrieve, grpc_door.authorization_of
    find, status_of = Tokens.find, status.status_of

    def retrieve_by_k(self: RetrievalService, request: bytes, who: Any) -> Any:
        say(request.hex())
        job = retrieve(self, request, who)
        observer.method(self.name, f"k{pb.RetrieveRequest.FromString(request).k}")("OK", 0.0)
        return job

    def with_address(context: Any) -> Any:
        say(context.peer())
        return authorization(context)

    def find_aloud(self: Tokens, authorization: str) -> str:
        say(authorization)
        principal = find(self, authorization)
        say(principal)
        return principal

    def with_its_text(error: BaseException) -> Any:
        say(error)
        return status_of(error)[0], str(error)

    status.status_of = with_its_text
    RetrievalService._retrieve = retrieve_by_k  # type: ignore[method-assign, assignment]
    grpc_door.authorization_of = with_address
    Tokens.find = find_aloud  # type: ignore[method-assign]
    logging.getLogger().addHandler(logging.StreamHandler())


async def main(folder: Path, *, leaky: bool) -> None:
    config = ServerConfig(metrics_port=0, threads=1, waiting=1)
    start_log(sys.stderr)
    observer = Observer()
    if leaky:
        leak(observer, lambda words: sys.stderr.write(f"{words}\n"))
    answers = retriever()
    answers.loop = asyncio.get_running_loop()
    holder = SnapshotHolder(answers.snapshot)
    observer.serves(lambda: holder.current.since, dict)
    with Ledger(folder / "ledger.sqlite", folder / "mark") as ledger:
        cap = PrivacyFilter(epsilon=Fraction(100), delta=Fraction(1, 1000))
        ledger.open_dataset(DATASET, "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        services: list[Service] = [
            RetrievalService(holder),
            PopularityService(ReleaseReader(folder / "ledger.sqlite")),
            analysts(folder, ledger),
        ]

        def say(port: int) -> None:
            sys.stdout.write(f"{port}\n")
            sys.stdout.flush()

        def announce(port: int, _: int | None) -> None:
            answers.loop.call_soon(say, port)  # once it has logged that it is ready
            observer.swap_refused("model/manifest.json is altered", "ArtifactError")
            observer.swapped(answers.snapshot.since)

        await serve(services, config, announce, observer=observer)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), leaky="leaky" in sys.argv), debug=False)
