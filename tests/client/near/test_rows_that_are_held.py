"""Rows that a device holds: ranked here at epsilon 0, or joined with live values."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import near, near_all, near_cost
from client.near.conftest import BERLIN, MUNICH, NOON
from hypothesis import given
from hypothesis import strategies as st
from made_device import made_device
from raised import raised
from served_rows import ServedModel, proposing, rows_model
from small_collections import DAY, GERMANY, cafes, posts

from askew.catalog.attributes import Words
from askew.errors import NotShown, ParameterError
from askew.protocol.cards import ALL_NUMBER, ServingMode
from askew.spaces.map import MapSpace, Position
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.near.pick import NO_PREFERENCES, Preferences, judged, preferences_of
from askew_client.near.rows import best_rows
from askew_client.near.sources import MapSource, source_at
from askew_client.opening import Device
from askew_client.profile.document import AxisValues, NamedPlace
from askew_client.settings.settings import ClientSettings
from askew_client.views.cost import Leaves
from askew_server.collections.model import model_of

SETTINGS = ClientSettings(region="DE")
ASKING = replace(SETTINGS, mode="ask")
FETCH = ["GetModelCard", "file", "file"]  # the card, the head of the file, its body
CAKE = Preferences(only={"kind": frozenset({"cake"})}, likes={"kind": {"tea": 3.0}})


@pytest.fixture
def server() -> ServedModel:
    return ServedModel(rows_model())


def device_at(server: ServedModel, root: Path, settings: ClientSettings = SETTINGS) -> Device:
    return made_device(server, root, settings)


def source_of(at: Position, space: MapSpace, k: int = 5) -> MapSource:
    return MapSource(at, "", SETTINGS.map_noise, None, space.area, "cafes", k)


def by_distance(server: ServedModel, at: Position, name: str) -> list[str]:
    source, rows = source_of(at, GERMANY), server.model.collections[name]
    found = sorted(rows.listings(range(len(rows))), key=lambda e: source.distance(e.coordinates))
    return [each.title for each in found]


async def test_static_rows_are_ranked_here_and_nothing_is_sent_or_charged(
    server: ServedModel, tmp_path: Path
) -> None:
    """The best of all items, and it says so. Planted bug: a question all the same."""
    device = device_at(server, tmp_path, replace(SETTINGS, near_k=5))
    cost = await near_cost(device, "posts", BERLIN)
    found = await near(device, "posts", BERLIN, shown=cost)
    assert server.methods == FETCH
    assert (cost.leaves, found.cost, found.sent) == (Leaves.NOTHING, cost, ())
    assert device.budget().lines == ()
    assert cost.reason.startswith("all ")
    assert "epsilon 0" in cost.reason
    assert [each.title for each in found.results] == by_distance(server, BERLIN, "posts")[:5]


@pytest.mark.parametrize("at", [BERLIN, MUNICH])
@pytest.mark.parametrize("preferences", [NO_PREFERENCES, CAKE])
async def test_what_is_fetched_is_whole_and_the_same_for_everybody(
    server: ServedModel, tmp_path: Path, at: Position, preferences: Preferences
) -> None:
    """Planted bugs: the part of a file that lies around the place; rows that are fetched when a
    preference names them.
    """
    device = device_at(server, tmp_path)
    await near(device, "posts", at, preferences=preferences)
    await near(device, "posts", at)
    expected = ServedModel(server.model)
    await near(device_at(expected, tmp_path / "other"), "posts", Position(54.0, 9.0))
    assert server.methods == FETCH
    assert [each for _, each in server.calls] == [each for _, each in expected.calls]


async def test_mode_ask_fetches_no_rows(server: ServedModel, tmp_path: Path) -> None:
    """Planted bug: rows of a megabyte for a question of whole items."""
    found = await near(device_at(server, tmp_path, ASKING), "posts", BERLIN)
    assert server.methods == ["GetModelCard", "Retrieve"]
    assert found.cost.fresh


async def test_no_rows_are_fetched_between_showing_and_asking(
    server: ServedModel, tmp_path: Path
) -> None:
    """Shown that nothing leaves, and Monday passes. Planted bug: rows that are fetched then; or a
    signal, that was kept, in their place.
    """
    device = device_at(server, tmp_path)
    cost = await near_cost(device, "posts", BERLIN)
    heard, held = list(server.methods), device.nearby._held
    assert held is not None
    device.nearby._held = replace(held, catalog_date=held.catalog_date - 70)
    outcome = (await raised(near(device, "posts", BERLIN, shown=cost))).error
    assert isinstance(outcome, NotShown)
    assert server.methods == heard == FETCH


async def test_what_is_held_is_ranked_beside_what_comes(
    server: ServedModel, tmp_path: Path
) -> None:
    """An index and its values: more results in the bytes of fewer, and rows that are nearer than
    they. Planted bugs: a title comes; the list of the answer alone.
    """
    whole = device_at(server, tmp_path / "asks", ASKING)
    first = await near(whole, "cafes", BERLIN)
    reply_whole = await server.call(*server.calls[-1])
    await near(device_at(server, tmp_path / "holds"), "posts", BERLIN)
    heard = len(server.methods)
    device = device_at(server, tmp_path / "holds", ASKING)  # another start
    found = await near(device, "cafes", BERLIN)
    assert server.methods[heard:] == ["Retrieve"]
    sent = pb.RetrieveRequest.FromString(server.calls[-1][1])
    reply = await server.call(*server.calls[-1])
    assert (sent.catalog_date > 0, sent.k, found.cost.fresh) == (True, 160, True)
    assert found.k == len(found.results) == 160 > 2 * first.k
    assert len(reply) / found.k < 0.35 * len(reply_whole) / first.k
    assert "Café".encode() not in reply
    assert [each.title for each in found.results] == by_distance(server, BERLIN, "cafes")[:160]
    rows = server.model.collections["cafes"]
    known = {each.title: each for each in rows.listings(range(len(rows)))}
    came = [each for each in found.results if each.values["open"] is not None]
    assert len(came) > 80
    for each in came:
        assert tuple(each.values.values()) == known[each.title].values


async def test_rows_beyond_the_byte_budget_are_not_fetched(
    server: ServedModel, tmp_path: Path
) -> None:
    """By itself the device asks; who wants to hold them is told."""
    small = replace(SETTINGS, byte_budget=1000)
    found = await near(device_at(server, tmp_path / "auto", small), "posts", BERLIN)
    assert found.cost.fresh
    assert server.methods == [*FETCH, "Retrieve"]
    holds = device_at(server, tmp_path / "held", replace(small, mode="held"))
    error = (await raised(near(holds, "posts", BERLIN))).error
    assert isinstance(error, ParameterError)
    assert "byte_budget" in str(error)


async def test_other_preferences_rank_all_rows_that_are_held(
    server: ServedModel, tmp_path: Path
) -> None:
    """As a question by them would, and without one. Planted bug: they rank the k that are shown."""
    device = device_at(server, tmp_path, replace(SETTINGS, mode="held", near_k=5))
    found = await near(device, "cafes", BERLIN)
    heard = list(server.methods)
    again = device.nearby.by_other_preferences(found, CAKE, device.profile.ratings())
    assert server.methods == heard
    assert again == await near(device, "cafes", BERLIN, preferences=CAKE)
    assert {each.title for each in again.results} != {each.title for each in found.results}


async def test_who_was_shown_that_nothing_leaves_is_not_charged_unseen(
    server: ServedModel, tmp_path: Path
) -> None:
    device = device_at(server, tmp_path)
    await near(device, "posts", BERLIN)
    assert isinstance((await raised(near(device, "cafes", BERLIN))).error, NotShown)
    shown = await near_cost(device, "cafes", BERLIN)
    assert (await near(device, "cafes", BERLIN, shown=shown)).cost.fresh


async def test_all_are_asked_where_one_has_live_values(server: ServedModel, tmp_path: Path) -> None:
    found = await near_all(device_at(server, tmp_path), BERLIN)
    assert server.methods == ["GetModelCard", "Retrieve"]
    assert pb.RetrieveRequest.FromString(server.calls[-1][1]).collection == ALL_NUMBER
    assert [each.collection for each in found] == ["posts", "cafes"]


PREFERENCES = (
    *("", "kind = cake", "kind: tea +40", "price <= 60", "1 EUR = 7 km", "view = sea"),
    *("kind: cake -30, 1 EUR = -2 km, exponent 2", "exponent 0.5, kind: tea +9"),
    "open, price <= 100",
)


@given(st.sampled_from(PREFERENCES), st.floats(47.2, 54.8), st.floats(6, 15))
def test_rows_are_judged_as_the_items_of_an_answer_are(
    text: str, latitude: float, longitude: float
) -> None:
    """By columns and one by one: the same best. Planted bugs: a trade left out, h of a sum."""
    rows, preferences = cafes(n=80), preferences_of(text)
    source = source_of(Position(latitude, longitude), GERMANY)
    everything = rows.listings(range(len(rows)))
    distances = [source.distance(each.coordinates) for each in everything]
    order = judged(everything, rows.card.attributes, distances, preferences, {}, NOON)
    few = best_rows(source, rows, preferences, NOON, count=9)
    cost = {everything[each.index].id: (not each.passes, each.cost) for each in order}
    assert [worth for _, worth in sorted(cost[row.id] for row in few)] == [
        each.cost for each in order[:9]
    ]


def test_a_flag_of_a_row_beats_its_hours() -> None:
    """Of these cafés two flags are unknown, four say open and four closed; all have hours of day
    and night. Planted bug: open by the hours or by the flag.
    """
    rows = cafes(n=10)
    always = Words(np.zeros(10, np.int32), ("24/7",))
    rows = replace(rows, columns=(*rows.columns[:2], always, *rows.columns[3:]))
    found = best_rows(source_of(BERLIN, GERMANY), rows, preferences_of("open"), NOON, count=6)
    assert [each.id for each in found] == [0, 1, 3, 5, 7, 9]


async def test_a_part_of_the_rows_is_not_called_all_of_them(
    server: ServedModel, tmp_path: Path
) -> None:
    """Planted bug: one that is held whole is enough, and no signal is sent."""
    device = device_at(server, tmp_path, replace(SETTINGS, mode="held"))
    await near(device, "posts", BERLIN)
    held = device.nearby._held
    assert held is not None
    total = server.model.card.collection("posts").n_items
    device.nearby._held = replace(held, rows={**held.rows, "posts": posts(n=10)})
    found = await near(device, "posts", BERLIN)
    assert found.cost.reason.startswith(f"the first 10 of {total} items")
    device.configure(SETTINGS)
    assert (await near_cost(device, "posts", BERLIN)).sends


def test_rows_on_axes_are_judged_by_the_axes() -> None:
    rows = posts(DAY, n=24)
    place = NamedPlace("0" * 32, AxisValues({"hour": 9.0}))
    source = source_at(model_of(DAY, [rows]).card, "posts", place, SETTINGS)
    found = best_rows(source, rows, NO_PREFERENCES, datetime.datetime(2026, 1, 1), count=3)
    away = np.abs(rows.coordinates[:, 0] - 9)
    assert [each.id for each in found] == sorted(np.argsort(away, kind="stable")[:3].tolist())


async def test_other_rows_than_those_of_the_card_are_not_used(tmp_path: Path) -> None:
    """The device takes the card of the rows, and answers fit those. Planted bug: values of one
    version joined with rows of another.
    """
    old = rows_model()
    server = ServedModel(old)
    device = device_at(server, tmp_path)
    await near(device, "posts", BERLIN)
    other = proposing(cafes(n=300, seed=8), ServingMode.ASK)
    new = model_of(old.card.space, [old.collections["posts"], other])
    replaced = ServedModel(replace(new, files=old.files))
    server.call = replaced.call  # type: ignore[method-assign]
    shown = await near_cost(device, "cafes", BERLIN)
    error = (await raised(near(device, "cafes", BERLIN, shown=shown))).error
    assert "catalog" in str(error) or "space" in str(error)
