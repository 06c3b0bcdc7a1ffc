"""Live values of everything: one file, the same for everybody, fetched when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import near, near_all, near_cost
from client.near.conftest import BERLIN, MUNICH, NOON
from made_device import made_device
from raised import raised
from served_rows import ServedModel, proposing, rows_model
from small_collections import GERMANY, cafes, posts

from askew.catalog.attributes import Column, Flags, Numbers
from askew.catalog.catalog_file import HEAD_BYTES, LIVE_BYTES, LIVE_FILE_BYTES, Part, file_of
from askew.errors import Malformed, NotFound, NotShown, OtherKind, WireError
from askew.protocol.cards import ALL, ServingMode
from askew.spaces.map import Position
from askew.wire.catalog_file import live_to_bytes, with_live_values
from askew_client.near.pick import NO_PREFERENCES, Preferences, judged, preferences_of
from askew_client.near.sources import MapSource
from askew_client.opening import Device
from askew_client.settings.settings import ClientSettings
from askew_client.views.cost import Leaves
from askew_server.collections.model import MetricModel, model_of
from askew_server.demo.places import places_model

SETTINGS = ClientSettings(region="DE", near_k=5)
LIVE = ("file", f"live {LIVE_FILE_BYTES}".encode())
OPEN = preferences_of("open")
MODEL = rows_model(mode=ServingMode.HELD)


def changed(model: MetricModel, seed: int) -> MetricModel:
    rng, n = np.random.default_rng(seed), len(model.collections["cafes"])
    values: dict[str, Column] = {
        "open": Flags(rng.integers(-1, 2, n).astype(np.int8)),
        "free": Numbers(np.where(rng.random(n) < 0.5, np.nan, rng.integers(0, 9, n)).astype("f4")),
    }
    return model.with_live({"cafes": values})


def device_at(server: ServedModel, root: Path, settings: ClientSettings = SETTINGS) -> Device:
    return made_device(server, root, settings)


def best_of_all(model: MetricModel, at: Position, preferences: Preferences) -> list[str]:
    """The titles of the best five, by looking at every item of the server."""
    source = MapSource(at, "", SETTINGS.map_noise, None, GERMANY.area, "cafes", 5)
    rows = model.collections["cafes"]
    listings = rows.listings(range(len(rows)))
    distances = [source.distance(each.coordinates) for each in listings]
    order = judged(listings, rows.card.attributes, distances, preferences, {}, NOON)
    return [listings[each.index].title for each in order[:5]]


@pytest.mark.parametrize("preferences", [NO_PREFERENCES, OPEN, preferences_of("free <= 4")])
async def test_the_best_of_all_rows_by_the_values_of_now(
    tmp_path: Path, preferences: Preferences
) -> None:
    """As whoever looks at every item finds them, and again when the server has others. Nothing is
    charged. Planted bug: the values of the first question are used for the next.
    """
    first, then = changed(MODEL, 1), changed(MODEL, 2)
    server = ServedModel(first)
    device = device_at(server, tmp_path)
    for model in (first, then):
        server.read = ServedModel(model).read  # type: ignore[method-assign]
        found = await near(device, "cafes", BERLIN, preferences=preferences)
        assert [best.title for best in found.results] == best_of_all(model, BERLIN, preferences)
        assert (found.cost.leaves, found.sent) == (Leaves.REQUEST, ())
        again = device.nearby.by_other_preferences(found, OPEN, ())
        assert [each.title for each in again.results] == best_of_all(model, BERLIN, OPEN)
    assert best_of_all(first, BERLIN, OPEN) != best_of_all(then, BERLIN, OPEN)
    assert device.budget().lines == ()


async def test_it_is_fetched_when_somebody_asks_and_not_before(tmp_path: Path) -> None:
    """Once a question, by a connection that the guard knows, whatever is said before it and done
    after it. Planted bugs: a file that is fetched to show a cost; one for each collection.
    """
    server = ServedModel(MODEL)
    device = device_at(server, tmp_path)
    read, guarded = server.read, list[bool]()

    async def watched(catalog_date: int, part: Part, start: int, size: int) -> bytes:
        guarded.append(device.nearby.network.guard.connected)
        return await read(catalog_date, part, start, size)

    server.read = watched  # type: ignore[method-assign]
    await device.nearby.connect()
    shown = await near_cost(device, "cafes", BERLIN)
    assert LIVE not in server.calls
    assert "fetches open and free of all, the same for everybody; sends nothing" in shown.reason
    before = len(server.calls)
    found = await near(device, "cafes", BERLIN, shown=shown)
    assert server.calls[before:] == [LIVE]
    device.nearby.by_other_preferences(found, OPEN, ())
    await near(device, "posts", BERLIN)
    assert server.calls[before:] == [LIVE]
    await near_all(device, BERLIN)
    assert server.calls[before:] == [LIVE] * 2
    assert all(guarded)
    assert len(guarded) == 4  # the head and the body of the rows, and these


async def test_who_was_shown_that_nothing_leaves_fetches_no_live_values(tmp_path: Path) -> None:
    """A collection may get live values while a person reads its cost. Planted bug: a request that
    is the same for everybody counts as nothing, though it says that somebody asks.
    """
    server = ServedModel(MODEL)
    device = device_at(server, tmp_path)
    shown = replace(await near_cost(device, "cafes", BERLIN), leaves=Leaves.NOTHING)
    with pytest.raises(NotShown, match="more would leave this device"):
        await near(device, "cafes", BERLIN, shown=shown)
    assert LIVE not in server.calls


async def test_it_is_the_same_for_everybody(tmp_path: Path) -> None:
    """Two people of other places, wishes and collections make the same calls, of the same bytes;
    what they get has the same length whatever the values are.
    """
    heard = []
    for name, at, wants in (("one", BERLIN, NO_PREFERENCES), ("other", MUNICH, OPEN)):
        server = ServedModel(changed(MODEL, len(name)))
        device = device_at(server, tmp_path / name)
        device.profile.rate("Café 7 ☕", 5.0 if name == "one" else 1.0)
        question = device.nearby.question("cafes" if name == "one" else ALL, at, wants)
        await device.asker.ask(question)
        heard.append((server.calls, len(await server.read(4, Part.LIVE, 0, LIVE_FILE_BYTES))))
    assert heard[0] == heard[1]
    assert heard[0][1] == HEAD_BYTES + 32 + 60 + 4 * 300


def live_of(model: MetricModel) -> bytes:
    file = live_to_bytes(model.card, model.collections)
    assert file is not None
    return file


OTHER = model_of(
    GERMANY, [MODEL.collections["posts"], proposing(cafes(n=300, seed=8), ServingMode.HELD)]
)
HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "half of it": lambda file: file[: len(file) // 2],
    "another byte": lambda file: file[:-1] + b"!",
    "values of other rows": lambda file: live_of(OTHER),
    "one value more": lambda file: file_of(file[HEAD_BYTES:] + b"\0" * 4),
    "one value less": lambda file: file_of(file[HEAD_BYTES:-4]),
    "no five flags": lambda file: file_of(file[HEAD_BYTES:80] + 4 * b"\xf3" + file[84:]),
    "an infinite number": lambda file: file_of(file[HEAD_BYTES:-4] + np.float32("inf").tobytes()),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_file_that_does_not_fit_is_an_error_and_is_not_applied(
    tmp_path: Path, name: str
) -> None:
    """Planted bug: values of an older version are taken for those of the rows."""
    server = ServedModel(MODEL)
    device = device_at(server, tmp_path)
    shown = await near_cost(device, "cafes", BERLIN)
    hostile = HOSTILE[name](live_of(MODEL))

    async def read(*_: object) -> bytes:
        return hostile

    server.read = read  # type: ignore[method-assign, assignment]
    error = (await raised(near(device, "cafes", BERLIN, shown=shown))).error
    assert isinstance(error, Malformed)
    assert device.nearby.live_rows == {}


async def test_a_server_without_the_file_is_said_to_have_none(tmp_path: Path) -> None:
    server = ServedModel(MODEL)
    device = device_at(server, tmp_path)
    shown = await near_cost(device, "cafes", BERLIN)

    async def none(*_: object) -> bytes:
        raise OtherKind("this server has no items for devices to hold", places=True)

    server.read = none  # type: ignore[method-assign, assignment]
    outcome = await raised(near(device, "cafes", BERLIN, shown=shown))
    assert isinstance(outcome.error, NotFound)
    assert "file of live values" in outcome.text


def test_what_is_packed_is_what_is_unpacked() -> None:
    """Of every number of flags about a byte's five; unknown values too."""
    for n in range(1, 12):
        made = model_of(GERMANY, [posts(), proposing(cafes(n=n), ServingMode.HELD)])
        model = changed(made, n)
        found = with_live_values(made.card, made.collections, live_of(model))
        for mine, theirs in zip(
            found["cafes"].columns, model.collections["cafes"].columns, strict=True
        ):
            assert mine.take(np.arange(n)) == theirs.take(np.arange(n))


async def test_devices_ask_where_the_file_is_too_long_or_their_host_has_none(
    tmp_path: Path,
) -> None:
    """By the card alone: 300 cafes fit, and 953 are the most that do. The demo's do not fit."""
    card = MODEL.card.collection("cafes")
    sizes = [replace(card, n_items=n).live_bytes or 0 for n in (952, 953)]
    assert sizes[0] <= LIVE_BYTES < sizes[1]
    demo = places_model().card
    held = tuple(replace(each, mode=ServingMode.HELD) for each in demo.collections)
    assert replace(demo, collections=held).in_live_file == ()
    static = replace(SETTINGS, held_from="https://files.example")
    for name, n, own in (("long", 953, SETTINGS), ("static", 300, static)):
        server = ServedModel(rows_model(n=n, mode=ServingMode.HELD))
        cost = await near_cost(device_at(server, tmp_path / name, own), "cafes", BERLIN)
        assert cost.sends
    long = ServedModel(rows_model(n=953, mode=ServingMode.HELD))
    with pytest.raises(WireError):
        await long.read(4, Part.LIVE, 0, LIVE_FILE_BYTES)
