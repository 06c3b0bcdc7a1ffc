"""A thin device and a server of a million items: bytes on the wire, and memory.

    .venv/bin/python benchmarks/thin_device.py [ITEMS]

The items are SIMULATED: titles of made-up words, as long as those of films are, and 32 factors. The
server is real, behind a relay that counts every byte. The device is a process of its own, which
rates 100 titles, asks by noise for k = 32, and is refreshed when its turn comes. Limits: a first
fetch of 3 MB, none of the body where nothing changed, a reply of 10 kB, and 100 MB of memory,
interpreter included. Exits with 1 where one is passed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from askew.protocol.modes import DEFAULT_BYTES

USUAL, FACTORS, DIMENSION, K, RATED = 1_000_000, 32, 2, 32, 100
WORDS, GENRES = 30_000, 18
MEASURED = 20_000  # items whose packed size says how many the default items has
LIMITS = {
    "first fetch, bytes": 3_000_000,
    "refresh where nothing changed, bytes": 1_000,
    "an answer of 32 items, bytes": 10_000,
    "memory, bytes": 100_000_000,
}


# -- the device: this file again, with an address --------------------------------------------------


async def device(address: str, directory: str) -> dict[str, int]:
    """What the process says of itself; the relay knows how many bytes passed."""
    from askew.noise.randomness import SystemBits
    from askew_client.device.device import Device
    from askew_client.opening import open_library
    from askew_client.profile.store import ProfileStore
    from askew_client.settings import paths
    from askew_client.settings.settings import ClientSettings
    from askew_client.signals.store import SignalStore

    settings = ClientSettings(epsilon_per_rating=Fraction(1), k=K, mode="ask", timeout=60.0)
    places, bits = paths.places(directory), SystemBits()
    async with open_library(settings, server=address, directory=directory) as (network, library):
        signals = SignalStore(places.ledger, settings.caps, places.mark)
        profile = ProfileStore(places.profile)
        companion = Device(
            network, settings, profile=profile, signals=signals, bits=bits, library=library
        )
        await companion.titles.connect()
        _said("connected")
        for match in companion.titles.search("", RATED):
            companion.profile.rate(match.title, 5.0)
        answer = await companion.asker.ask(companion.titles)
        _said("asked")
        turn = (await library.refresh()).next_look.timestamp()
        refreshed = await library.sync.refresh(int(turn))
        _said("refreshed")
    return {
        "memory": peak_memory(),
        "items": companion.titles.connection.n_items if companion.titles.connection else 0,
        "results": len(answer.results),
        "fetched again": refreshed.fetched,
    }


def peak_memory() -> int:
    """Of this program, in bytes. ru_maxrss would be that of the process it came from."""
    status = Path("/proc/self/status").read_text("ascii")
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * int(peak.split()[1])


def _said(what: str) -> None:
    """Tells the relay where its count is; waits until it has noted it."""
    print(what, flush=True)
    sys.stdin.readline()


# -- the server, and what it serves ----------------------------------------------------------------


def made_titles(count: int, rng: np.random.Generator) -> list[str]:
    """Some words each, a few of them in many titles, and about 25 letters in all."""
    letters = np.array(list("eeeeaaaooiinnnrrsssttlldhcmupgbfywvk"))
    words = ["".join(rng.choice(letters, size)).capitalize() for size in rng.integers(2, 10, WORDS)]
    odds = 1 / np.arange(1, WORDS + 1) ** 0.8
    lengths = rng.choice([1, 2, 3, 4, 5, 6, 7], count, p=[0.1, 0.22, 0.25, 0.2, 0.12, 0.07, 0.04])
    found = iter(rng.choice(WORDS, int(lengths.sum()), p=odds / odds.sum()))
    return [" ".join(words[next(found)] for _ in range(n)) for n in lengths]


def made_model(count: int):  # type: ignore[no-untyped-def]  # its types are heavy to import
    """A card and a catalog of so many items."""
    from askew.catalog.catalog import Catalog
    from askew.catalog.item import Item
    from askew.protocol.model_card import ModelCard
    from askew.spaces.encoder import KNOTS, Encoder
    from askew.spaces.item_codes import rounded, scales_of
    from askew.spaces.vectors import FeatureSpace, RatingScale
    from askew.wire.catalog_file import catalog_to_bytes

    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(count, FACTORS)) / np.sqrt(count)).astype(np.float32)
    directions = np.linalg.qr(rng.normal(size=(FACTORS, DIMENSION)))[0].astype(np.float32)
    knots = np.tile(np.linspace(-0.02, 0.02, KNOTS), (DIMENSION, 1))
    encoder = Encoder(directions, np.zeros(FACTORS, np.float32), knots, 0.005, 20, 1.5)
    scales = scales_of(vectors)
    space = FeatureSpace(RatingScale(1, 5, 4), encoder, scales)
    kinds = [f"Kind {i}" for i in range(GENRES)]
    lists = [tuple(rng.choice(kinds, n, replace=False).tolist()) for n in rng.integers(1, 4, 300)]
    genres, years = rng.integers(0, 300, count), rng.integers(1930, 2026, count)
    items = tuple(
        Item(title, int(year), lists[at])
        for title, year, at in zip(made_titles(count, rng), years, genres, strict=True)
    )
    boosts = np.ones(count, np.float32)
    catalog = Catalog(items, rounded(vectors, scales), boosts, tuple(range(64)))
    card = ModelCard(space, catalog.version, count, 64, "SIMULATED", True, count, 2.0)
    some = min(MEASURED, count)
    each = len(catalog_to_bytes(card, catalog.first(some))) / some
    return replace(card, n_default=min(count, int(DEFAULT_BYTES / each))), catalog


class Relay:
    """Passes bytes between the device and the server, and counts those that come back."""

    def __init__(self, port: int) -> None:
        self._port, self.sent, self.received = port, 0, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._port)
        await asyncio.gather(self._pass(reader, forth, up=True), self._pass(back, writer, up=False))

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, up: bool
    ) -> None:
        while data := await source.read(1 << 16):
            self.sent, self.received = (
                self.sent + up * len(data),
                self.received + (not up) * len(data),
            )
            target.write(data)
            await target.drain()
        target.close()


async def measured(count: int) -> dict[str, int]:
    """Serve, run the device, and count."""

    from askew_server.retrieval.snapshot import Retriever, SnapshotHolder
    from askew_server.serving.retrieval import RetrievalService
    from askew_server.serving.server import running
    from askew_server.serving.settings import ServerConfig

    card, catalog = made_model(count)
    service = RetrievalService(SnapshotHolder(Retriever(card, catalog).snapshot))
    stack = AsyncExitStack()
    server = await stack.enter_async_context(running([service], ServerConfig(), grace=0))
    relay = Relay(server.port)
    listening = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            f"127.0.0.1:{port}",
            directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        counts = []
        for _ in range(3):
            line = await asyncio.wait_for(process.stdout.readline(), 300)
            if not line:
                raise SystemExit("the device ended early")
            await asyncio.sleep(0.2)  # what is still under way
            counts.append(relay.received)
            process.stdin.write(b"\n")
        said = json.loads(await process.stdout.read())
        await process.wait()
    listening.close()
    await stack.aclose()
    print(f"{count:,} SIMULATED items, {card.n_default:,} of them default items, k = {K}")
    assert said["results"] == K
    return {
        "first fetch, bytes": counts[0],
        "an answer of 32 items, bytes": counts[1] - counts[0],
        "refresh where nothing changed, bytes": counts[2] - counts[1],
        "memory, bytes": said["memory"],
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else USUAL
    found = asyncio.run(measured(count))
    for name, value in found.items():
        print(f"{name:<40}{value:>14,}   limit {LIMITS[name]:>12,}")
    sys.exit(any(value > LIMITS[name] for name, value in found.items()))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(asyncio.run(device(*sys.argv[1:]))))
    else:
        main()
