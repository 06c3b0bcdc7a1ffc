"""What a client gives a program goes to another process as it is: answers, prices, budgets."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import askew_client
from askew_client import AskewClient, ClientSettings, Position
from askew_client.demo.server import demo_server


def returned(value: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]


@pytest.mark.slow
async def test_all_that_a_client_returns_travels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askew_client.demo.server._PATIENCE", 300)  # of a busy machine
    async with (
        demo_server("places") as server,
        AskewClient(ClientSettings(region="DE"), server=server, directory=tmp_path / "a") as near,
        demo_server("films") as films,
        AskewClient(ClientSettings(mode="ask"), server=films, directory=tmp_path / "b") as client,
    ):
        place = near.places.add("home", Position(52.52, 13.405))
        around = await near.near("pharmacies", place="home")
        client.rate("Alien (1979)", 5)
        rated = client.ratings()[0]
        cost = await client.cost()
        answer = await client.ask(shown=cost)
        values = [place, around, around.results[0], rated, cost, answer]
        values += [answer.results[0], client.budget(), await client.refresh()]
    for value in values:
        for other in returned(value):
            assert type(other) is type(value)
            assert repr(other) == repr(value)
    names = {"Answer", "Budget", "Cost", "NearAnswer", "NearResult", "PlaceView", "Rated"}
    assert {type(value) for value in values} == {
        getattr(askew_client, name) for name in names | {"Refreshed", "Result"}
    }
