"""Each service has a state of its own, which is looked at and kept, and told to everybody alike."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc.aio
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from askew.errors import LedgerError
from askew_server.published.reader import ReleaseReader
from askew_server.serving.call import Answer
from askew_server.serving.event_log import EventLog
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.observer import Observer
from askew_server.serving.popularity import PopularityService
from askew_server.serving.settings import ServerConfig

PATIENCE = 20  # seconds


@dataclass
class Steady:
    """A service that nothing can happen to."""

    name: str = "Steady"
    methods: Mapping[str, Answer] = field(default_factory=dict)


@dataclass
class Frail(Steady):
    """A service that needs something."""

    name: str = "Frail"
    good: bool = True

    def check(self) -> None:
        if not self.good:
            raise LedgerError("the ledger /secret/path is gone")


@dataclass
class Checked:
    """A running server, what it tells, and how health checks see it."""

    server: RunningServer
    frail: Frail
    observer: Observer
    lines: io.StringIO
    stub: health_pb2_grpc.HealthStub

    async def states(self) -> dict[str, str]:
        found = {}
        for name in ("Steady", "Frail", ""):
            request = health_pb2.HealthCheckRequest(service=name)
            reply = await self.stub.Check(request, timeout=PATIENCE)
            found[name] = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
        assert {name: found[name] == "SERVING" for name in ("Steady", "Frail")} == dict(
            self.observer.healths()
        )
        return found


@pytest_asyncio.fixture
async def checked() -> AsyncIterator[Checked]:
    frail, lines = Frail(), io.StringIO()
    observer = Observer(EventLog(lines))
    server = RunningServer([Steady(), frail], ServerConfig(), observer)
    assert set(observer.healths().values()) == {False}  # not yet
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield Checked(server, frail, observer, lines, health_pb2_grpc.HealthStub(channel))
    await server.stop(grace=0)


async def test_a_service_that_cannot_answer_says_so_and_the_others_do_not(
    checked: Checked,
) -> None:
    """Planted bugs: one state for all; a state that never comes back."""
    good = {"Steady": "SERVING", "Frail": "SERVING", "": "SERVING"}
    assert await checked.states() == good
    checked.frail.good = False
    await checked.server.health.look()
    assert await checked.states() == {**good, "Frail": "NOT_SERVING", "": "NOT_SERVING"}
    checked.frail.good = True
    await checked.server.health.look()
    assert await checked.states() == good
    told = [line.split(" ", 1)[1] for line in checked.lines.getvalue().splitlines()]
    assert told == [
        "WARNING health_changed service=Frail serving=false",
        "WARNING health_changed service=Frail serving=true",
    ]


async def test_a_check_asks_for_what_is_kept_and_never_looks_itself(checked: Checked) -> None:
    checked.frail.good = False
    assert (await checked.states())["Frail"] == "SERVING"


async def test_nothing_is_serving_from_the_moment_when_it_stops(checked: Checked) -> None:
    """Planted bug: a look that comes late says serving again."""
    checked.server.health.stop()
    await checked.server.health.look()
    assert set((await checked.states()).values()) == {"NOT_SERVING"}


def test_releases_can_be_served_while_their_ledger_can_be_read(tmp_path: Path) -> None:
    service = PopularityService(ReleaseReader(tmp_path / "ledger.sqlite"))
    with pytest.raises(LedgerError):
        service.check()
    (tmp_path / "ledger.sqlite").write_bytes(b"no ledger")
    with pytest.raises(LedgerError):
        service.check()
