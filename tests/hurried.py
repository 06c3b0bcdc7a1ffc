"""A device whose clock stands still but while it waits: what it does between two connections takes
no time, and the wait for a public moment none of the test's. Virtual time stays as it is.
"""

from __future__ import annotations

import asyncio

import pytest
from virtual_time import VirtualLoop

from askew_client.transport.shaped import ShapedTransport


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    now, wait = ShapedTransport._now, ShapedTransport._wait
    waited = {"seconds": 0.0}

    def stands_still(network: ShapedTransport) -> float:
        virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
        return now(network) if virtual else waited["seconds"]

    async def passes_at_once(network: ShapedTransport, seconds: float) -> None:
        virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
        waited["seconds"] += 0 if virtual else max(0.0, seconds)
        await wait(network, seconds if virtual else min(0.0, seconds))

    monkeypatch.setattr(ShapedTransport, "_now", stands_still)
    monkeypatch.setattr(ShapedTransport, "_wait", passes_at_once)
