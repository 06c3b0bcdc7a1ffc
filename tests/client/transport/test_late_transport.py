"""The network is opened by the first call, once, and closed by who opened it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pytest

from askew_client.opening import open_library
from askew_client.settings.settings import ClientSettings

SETTINGS = ClientSettings(pace=0.001)


class Channel:
    """Writes down what is done with it."""

    happened: list[str]

    def __init__(self, *_: object) -> None:
        self.happened.append("made")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.happened.append("closed")

    async def metric_card(self) -> None:
        self.happened.append("asked")


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done with channels."""
    found: list[str] = []
    monkeypatch.setattr(Channel, "happened", found, raising=False)
    monkeypatch.setattr("askew_client.transport.grpc.GrpcTransport", Channel)
    return found


async def test_two_calls_open_one_channel_that_is_closed_in_the_end(
    happened: list[str], tmp_path: Path
) -> None:
    """Planted bugs: each call opens another; nobody closes it; it is opened before a call."""
    async with open_library(SETTINGS, directory=tmp_path) as (network, _):
        assert happened == []
        await network.metric_card()
        await network.metric_card()
        assert happened == ["made", "asked", "asked"]
    assert happened == ["made", "asked", "asked", "closed"]


async def test_without_a_call_there_is_no_channel(happened: list[str], tmp_path: Path) -> None:
    async with open_library(SETTINGS, directory=tmp_path):
        pass
    assert happened == []
