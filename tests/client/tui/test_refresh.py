"""The app looks at the calendar of what is held by itself; nothing that a person does makes it."""

from __future__ import annotations

import asyncio

import pytest
from client.tui.person import Device

from askew.errors import Unreachable
from askew_client.device.device import Companion
from askew_client.tui import app
from askew_client.views.problems import Setback, setback_of


async def test_a_timer_looks_and_a_failure_is_tried_the_next_time(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a timer that ends with the first failure."""
    looked = asyncio.Event()
    times: list[Companion] = []

    async def refresh(companion: Companion) -> Setback:
        times.append(companion)
        if len(times) > 1:
            looked.set()
        return setback_of(Unreachable("no connection"))

    monkeypatch.setattr(Companion, "refresh", refresh)
    monkeypatch.setattr(app, "REFRESH_EVERY", 0.01)
    async with device.opened():
        async with asyncio.timeout(20):
            await looked.wait()


async def test_nothing_that_a_person_does_looks(
    rated: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refresh(_: Companion) -> Setback:
        pytest.fail("a key looked for what is held")

    monkeypatch.setattr(Companion, "refresh", refresh)
    async with rated.opened() as person:
        for key in ("2", "3", "4", "1"):
            await person.press(key)
