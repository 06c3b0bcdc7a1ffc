"""The shipped deployment over its first updates: three servers of one folder behind the proxy.

Devices that hold the old file and devices that hold nothing ask all along. Servers and devices
share a clock that a test sets, so that Mondays come when they are wanted.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deploy.proxy import SHIPPED, Proxy, proxying, require_nginx
from end_to_end.server_process import BESIDE

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew_client import AskewClient, ClientSettings
from askew_client.transport.shaped import KeptLibrary
from askew_server.demo.simulation import demo_model, films, simulate
from askew_server.folders import text_of_date, today
from askew_server.taste import artifact
from askew_server.taste.model import update

pytestmark = pytest.mark.slow


require_nginx()

PATIENCE = 60.0  # seconds; only ever waited for by what does not do what it should
DAY = 86_400
# A week that has not begun: gRPC makes deadlines of this time, and one in the past is over at once.
THIS = catalog_date_of(today()) + PERIOD
MONDAYS = [text_of_date(THIS + each * PERIOD) for each in range(3)]
# `askew-server`, with a clock that is as many seconds ahead as a file says.
CLOCKED = """
import pathlib, sys, time
really, ahead = time.time, pathlib.Path(sys.argv.pop(1))
time.time = lambda: really() + float(ahead.read_text())
from askew_server.cli.start import main
main()
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one space: `v1`, and `v2` without the first forty items."""
    folder, model, catalog = tmp_path_factory.mktemp("store"), demo_model(), films()
    rows = {film.title: film for film in catalog[40:]}
    ratings = simulate(catalog[40:], n_people=500)
    artifact.save(model, folder / "v1")
    artifact.save(update(model, ratings, rows, source=model.card.source), folder / "v2")
    return folder


class Clock:
    """The time of servers and devices."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self._really, self._ahead = path, time.time, 0.0
        monkeypatch.setattr(time, "time", self.now)
        # What a library takes where it is told no other clock.
        monkeypatch.setattr(KeptLibrary.__init__, "__defaults__", (None, self.now))

    def now(self) -> float:
        return self._really() + self._ahead

    def set(self, catalog_date: int, days: float) -> None:
        """So many days after a catalog date began."""
        self._ahead = (catalog_date + days) * DAY - self._really()
        new = self.path.with_suffix(".new")
        new.write_text(str(self._ahead))
        new.replace(self.path)


@dataclass
class Server:
    """One of the three, which may be started again at its place."""

    host: str
    models: Path
    clock: Path
    port: int = 0
    process: Process | None = field(default=None, repr=False)

    async def start(self) -> None:
        shipped = ("--config", str(SHIPPED.with_name("server.toml")), "--models", str(self.models))
        place = ("--host", self.host, "--port", str(self.port), "--metrics-port", "0")
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CLOCKED, str(self.clock), "serve", *shipped, *place),
            env=BESIDE,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)).decode()
        self.port = int(line.removeprefix(f"listening on {self.host}:").partition(",")[0])

    async def says(self, wanted: str) -> None:
        """Wait for a line of its log with these words."""
        assert self.process is not None
        assert self.process.stderr is not None
        line = ""
        while wanted not in line:
            line = (await asyncio.wait_for(self.process.stderr.readline(), PATIENCE)).decode()
            assert line, f"it ended and never said {wanted}"

    async def stop(self) -> None:
        if self.process is not None:
            if self.process.returncode is None:
                self.process.terminate()
            await asyncio.wait_for(self.process.communicate(), PATIENCE)


@dataclass
class Shop:
    """The folder, the servers and the proxy."""

    folder: Path
    store: Path
    clock: Clock
    servers: list[Server]
    proxy: Proxy
    devices: Path
    _names: Iterator[int] = field(default_factory=itertools.count)

    def link(self, monday: str, model: str) -> None:
        """A Monday names a model from now on, in one step."""
        new = self.folder / ".new"
        new.symlink_to(self.store / model)
        new.replace(self.folder / monday)

    async def all_say(self, words: str) -> None:
        await asyncio.gather(*(server.says(words) for server in self.servers))

    async def restart(self, *which: int) -> None:
        for number in which:
            await self.servers[number].stop()
            await self.servers[number].start()

    def device(self) -> Device:
        return Device(self.proxy, self.devices / str(next(self._names)))

    async def serves(self, *devices: Device) -> None:
        """Each of them, and one that holds nothing, is answered, by whichever server."""
        for device in (*devices, self.device()):
            await device.asks()
            await device.asks()

    @asynccontextmanager
    async def asked_all_along(self, *devices: Device) -> AsyncIterator[None]:
        """Devices ask meanwhile, one question after the other, and none fails."""
        done = asyncio.Event()

        async def ask(device: Device) -> None:
            asked = 0
            while not done.is_set() or asked < 5:
                await device.asks()
                asked += 1

        asking = [asyncio.create_task(ask(device)) for device in (*devices, self.device())]
        yield
        done.set()
        await asyncio.gather(*asking)


@dataclass(frozen=True)
class Device:
    """A device, whose program starts anew for each question, on a connection of its own."""

    proxy: Proxy
    folder: Path

    def _client(self) -> AskewClient:
        settings = ClientSettings(
            mode="ask",
            k=4,
            interval=3.0,  # in which a busy machine reads the file that it has fetched
            timeout=PATIENCE,
            authority=str(self.proxy.authority),
            held_from=f"https://{self.proxy.address}/catalog",
        )
        return AskewClient(settings, server=self.proxy.address, directory=self.folder)

    async def asks(self) -> None:
        async with self._client() as client:
            assert len((await client.ask()).results) == 4

    async def refreshes(self) -> str:
        async with self._client() as client:
            return (await client.refresh()).catalog_date.isoformat()


@pytest.fixture
async def shop(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    """Three servers of `v1`, in the middle of a week."""
    folder, devices = tmp_path / "models", tmp_path / "devices"
    folder.mkdir()
    (folder / MONDAYS[0]).symlink_to(store / "v1")
    clock = Clock(tmp_path / "ahead", monkeypatch)
    clock.set(THIS, 2.5)
    servers = [Server(f"127.0.0.{number}", folder, clock.path) for number in (2, 3, 4)]
    async with AsyncExitStack() as left:
        for server in servers:
            left.push_async_callback(server.stop)
        await asyncio.gather(*(server.start() for server in servers))
        nginx = tmp_path / "nginx"
        nginx.mkdir()
        with ExitStack() as stack:
            addresses = [f"{server.host}:{server.port}" for server in servers]
            proxy = stack.enter_context(proxying(addresses, nginx))
            yield Shop(folder, store, clock, servers, proxy, devices)


async def test_no_question_fails_from_one_model_to_the_next_and_back(shop: Shop) -> None:
    """As docs/operations.md tells it: an update, restarts, and a rollback."""
    clock, old = shop.clock, shop.device()
    await shop.serves(old)
    for week, model in ((1, "v2"), (2, "v1")):
        shop.link(MONDAYS[week], model)
        await shop.all_say(f'"swapped", "monday": "{MONDAYS[week]}"')
        await shop.serves(old)
        assert await shop.device().refreshes() == MONDAYS[week - 1]
        clock.set(THIS + week * PERIOD, 0.1)  # old devices have not looked yet
        async with shop.asked_all_along(old):  # a new program on each server, one after the other
            await shop.restart(0, 1, 2)
        clock.set(THIS + week * PERIOD, 2.5)
        assert await old.refreshes() == MONDAYS[week]
        await shop.serves(old)


async def test_a_file_comes_whole_also_where_two_servers_differ(shop: Shop) -> None:
    """Planted bug: a proxy that gives each call to another server, so that a head and a body of two
    models never fit, and no new device can begin.
    """
    shop.link(MONDAYS[0], "v2")
    await shop.restart(0)
    for _ in range(8):
        assert await shop.device().refreshes() == MONDAYS[0]
