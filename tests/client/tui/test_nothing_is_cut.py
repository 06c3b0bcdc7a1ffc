"""At 80x24 all of a screen shows without scrolling, and in a phone's browser titles are whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from client.tui.person import DeviceWorld, Network, Person
from client.tui.test_pictures import SteadyBits

from askew.catalog.item import Item
from askew.errors import Unreachable
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.screens.frame import TABS
from askew_client.tui.simulation import simulated_device
from askew_client.tui.widgets.header import ScrollPart
from askew_client.tui.widgets.results import ResultList
from askew_client.tui.widgets.title_list import TitleList

PHONE = (54, 50)  # cells in a browser of 390 x 844 pixels, with its letters of 12 pixels


@pytest.fixture
async def demo(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Person]:
    """The demo's person, with ten ratings, two directions and eight results."""
    monkeypatch.setattr("askew_client.opening.SystemBits", SteadyBits)
    size, mode = request.param
    app = AskewApp(lambda: simulated_device(ClientSettings(mode=mode)), note="demo")
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=False) as pilot:
        person = Person(app, pilot, Network.__new__(Network))
        person.network.silent = False
        async with asyncio.timeout(60):  # what cannot connect fails
            while app.connection is None:
                await pilot.pause()
        await person.settled()
        yield person


@pytest.mark.parametrize("demo", [((80, 24), "query"), ((80, 24), "auto")], indirect=True, ids=str)
async def test_the_screens_of_the_demo_show_all_that_they_say(demo: Person) -> None:
    """Planted bug: a row more than fits, such as a price below the fold."""
    for key in ("f2", "f3", "a", "f5", "f6"):
        await demo.press(key)
        hidden = [each.id for each in demo.app.screen.query(ScrollPart) if each.max_scroll_y]
        assert hidden == [], demo.sees()
        assert "…" not in demo.sees().replace("F2 … F7", ""), demo.sees()
        if key == "f3":
            assert demo.shows("between any two people.") == demo.shows("this month")
            assert demo.shows("this month") != demo.shows("Nothing leaves this device")


async def test_what_a_notice_pushes_out_is_reached_by_keys(rated: DeviceWorld) -> None:
    """Planted bug: a column that scrolls for the mouse alone."""
    rated.network.unreachable = Unreachable("nobody answers at 127.0.0.1:7571, " * 19)
    async with rated.opened() as person:
        await person.press("f3")
        assert not person.shows("the same size for everybody.")
        for _ in range(9):
            await person.press("tab")
            if getattr(person.app.focused, "id", "") == "leaving":
                break
        await person.press("end")
        person.reads("the same size for everybody.")


async def test_a_long_title_and_its_note_are_both_whole(rated: DeviceWorld) -> None:
    """Planted bug: a pick that is cut to make room for the words that it is the pick."""
    items = tuple(Item(f"The One Film With a Longer Name, {n}") for n in range(12))
    catalog = replace(rated.network._catalog, items=items)
    card = replace(rated.network._card, catalog_version=catalog.version)
    rated.network.become(card, catalog)
    async with rated.opened() as person:
        await person.press("f3", "a")
        results = person.app.screen.query_one(ResultList).results
        picked = next(each for each in results if each.picked)
        person.reads(f"{picked.place} {picked.title} ◀ your pick")
        await person.press("f5")
        person.reads(picked.title)
        assert "…" not in person.sees()


@pytest.mark.parametrize("demo", [(PHONE, "query"), (PHONE, "auto")], indirect=True, ids=str)
async def test_titles_are_whole_in_a_browser_390_pixels_wide(demo: Person) -> None:
    """Planted bug: two columns side by side, of which the titles get 12 cells."""
    titles = demo.app.screen.query_one(TitleList)
    shown = demo.sees()
    listed = titles.matches[: titles.scrollable_content_region.height]
    assert len(listed) > 10
    assert [each.title for each in listed if each.title not in shown] == []
    demo.reads("Your profile", "◂", "▸")
    for tab in TABS:
        await demo.press(tab.key.lower())
        names, line = demo.sees().splitlines()[:2]
        left, right = line.index("╱"), line.index("╲")
        assert names[left : right + 1].split() == [tab.key, tab.title]
        assert all(each.key in names for each in TABS)
    await demo.press("f3", "a")
    demo.reads("◀ your pick", "Your pick, never sent")
    assert "…" not in demo.sees()
