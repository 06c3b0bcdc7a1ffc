"""The app looks at the calendar of what is held by itself; nothing that a person does makes it."""

from __future__ import annotations

import asyncio

import pytest
from client.tui.person import DeviceWorld

from askew.errors import Unreachable
from askew_client.device.queries import QueryService
from askew_client.tui import app
from askew_client.views.answers import Refreshed


async def test_a_timer_looks_and_a_failure_is_tried_the_next_time(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a timer that ends with the first failure."""
    looked = asyncio.Event()
    times: list[QueryService] = []

    async def refresh(service: QueryService) -> Refreshed:
        times.append(service)
        if len(times) > 1:
            looked.set()
        raise Unreachable("no connection")

    monkeypatch.setattr(QueryService, "refresh", refresh)
    monkeypatch.setattr(app, "REFRESH_EVERY", 0.01)
    async with device.opened():
        async with asyncio.timeout(20):
            await looked.wait()


async def test_nothing_that_a_person_does_looks(
    rated: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refresh(_: QueryService) -> Refreshed:
        pytest.fail("a key looked for what is held")

    monkeypatch.setattr(QueryService, "refresh", refresh)
    async with rated.opened() as person:
        for key in ("2", "3", "4", "1"):
            await person.press(key)
