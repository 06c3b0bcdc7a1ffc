"""Freed memory is given back while a server runs, and no longer."""

from __future__ import annotations

import asyncio
import ctypes
from functools import partial
from types import SimpleNamespace

import pytest

from askew_server.serving import grpc_server
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.settings import ServerConfig

PATIENCE = 20  # seconds; only ever waited for by a server that does not do what it should


async def test_a_running_server_gives_memory_back_and_a_stopped_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: nobody asks the allocator."""
    asked = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def trim(kept: int) -> None:
        assert kept == 0
        loop.call_soon_threadsafe(asked.release)

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=trim))
    monkeypatch.setattr(grpc_server, "give_back", partial(grpc_server.give_back, 0))
    server = RunningServer([], ServerConfig())
    await server.start()
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            await asked.acquire()
    await server.stop(0)
    assert not [task for task in asyncio.all_tasks() if "give_back" in str(task)]


async def test_an_allocator_without_the_call_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    await asyncio.wait_for(grpc_server.give_back(), PATIENCE)


def test_what_reading_a_model_freed_is_given_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=asked.append))
    grpc_server.give_back_now()
    assert asked == [0]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    grpc_server.give_back_now()
