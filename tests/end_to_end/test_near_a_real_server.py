"""The device's question near a place, answered by the server's own rules over real gRPC."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from small_collections import DAY, posts, small_map

from askew.protocol.metric_card import MetricRuleKind
from askew_client import AskewClient, AxisValues, ClientSettings, Position, Preferences
from askew_server.collections.model import MetricModel, model_of
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig

SETTINGS = ClientSettings(
    region="DE",
    near_k=6,
    timeout=20,
    epsilon_per_axis_unit=Fraction(1),
    rating_monthly_cap=Fraction(24),  # a day of hours
)
BERLIN = Position(52.52, 13.405)
CAKE = Preferences(only={"kind": frozenset({"cake"})}, open_now=True)


@asynccontextmanager
async def served(model: MetricModel) -> AsyncIterator[str]:
    """The address of a server of this model."""
    holder = SnapshotHolder(Serving(model).snapshot)
    async with running([RetrievalService(holder)], ServerConfig(), grace=0) as server:
        yield f"127.0.0.1:{server.port}"


@asynccontextmanager
async def device_of(model: MetricModel, directory: Path) -> AsyncIterator[AskewClient]:
    """A device that asks a server of this model."""
    async with (
        served(model) as address,
        AskewClient(SETTINGS, server=address, directory=directory) as client,
    ):
        yield client


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None  # any import of numpy now fails
from askew_client.cli.start import main
main()
"""


@pytest.mark.slow
async def test_a_place_is_added_and_asked_from_without_numpy(tmp_path: Path) -> None:
    """The first question fetches the card. Planted bug: numpy at the top of the typed calls."""
    async with served(small_map()) as address:
        for words, typed in (
            (("place", "add", "home", "--region", "DE"), b"52.5, 13.4"),
            (("near", "posts", "-k", "4", "--server", address), b""),
            (("near", "posts", "-k", "4", "--server", address), b""),
        ):
            device = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", WITHOUT_NUMPY, *words, "--data", str(tmp_path)),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            out, errors = await device.communicate(typed)
            assert device.returncode == 0, errors.decode()
    assert b"Post " in out


async def test_a_place_asks_every_collection_of_a_map(tmp_path: Path) -> None:
    model = small_map()
    async with device_of(model, tmp_path) as client:
        client.places.add("home", BERLIN)
        cafes = await client.near("cafes", preferences=CAKE)
        others = await client.near("posts")
    assert cafes.sent == others.sent
    assert {each.title[:4] for each in cafes.results} == {"Café"}
    assert {each.title[:4] for each in others.results} == {"Post"}
    assert [each.distance for each in others.results] == sorted(
        each.distance for each in others.results
    )
    for each in cafes.results:
        values = each.values
        assert each.passes == (values["kind"] == "cake" and values["open"] is True)


@pytest.mark.parametrize("hour", [0.5, 8.0, 23.5])
async def test_a_named_value_asks_a_line(tmp_path: Path, hour: float) -> None:
    model = model_of(DAY, [posts(DAY, 24)], rule=MetricRuleKind.NEAREST)
    async with device_of(model, tmp_path) as client:
        client.places.add("morning", AxisValues({"hour": hour}))
        shown = await client.near_cost("posts", "morning")
        first = await client.near("posts", "morning")
        again = await client.near("posts", "morning")
    assert (shown.fresh, first.cost.fresh, again.cost.fresh) == (True, True, False)
    assert first.results == again.results
    assert all(each.distance <= 24 for each in first.results)
