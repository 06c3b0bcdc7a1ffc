"""The app against a real server in a process of its own, over real gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from client.tui.person import Network, Person

from askew_client.device.device import Device
from askew_client.opening import open_device
from askew_client.settings.settings import ClientSettings
from askew_client.transport import grpc as grpc_transport
from askew_client.tui.app import AskewApp
from askew_client.tui.widgets.results import ResultList


@pytest.mark.parametrize("reachable", [True, False])
async def test_somebody_rates_and_asks_a_real_server_or_is_told_that_there_is_none(
    demo_address: str, tmp_path: Path, reachable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = demo_address if reachable else "127.0.0.1:1"
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.3)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Device]:
        settings = ClientSettings(mode="query")
        async with open_device(settings, server=address, directory=tmp_path) as companion:
            yield companion

    app = AskewApp(opened)
    app.animation_level = "none"
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        person = Person(app, pilot, Network.__new__(Network))
        person.network.silent = False
        while app.connection is None:
            await pilot.pause()
        await person.settled()
        if not reachable:
            person.reads("The server cannot be reached.")
            return
        person.reads("417 found")
        await person.write("chinatown")
        await person.press("enter", "5")
        await person.press("f3")
        await person.press("a")
        assert len(app.screen.query_one(ResultList).results) == 8
        person.reads("◀ your pick", "well-known films with SIMULATED ratings", "Drawn just now")
        await person.press("a")
        person.reads("Sent again, free")
