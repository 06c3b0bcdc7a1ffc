"""Profile and History: what is rated, forgotten and answered; no screen contradicts another."""

from __future__ import annotations

import datetime
import threading
from dataclasses import replace

import pytest
from client.tui.person import DeviceWorld
from textual.widgets import DataTable, Input

from askew.catalog.item import Item
from askew.errors import Unreachable
from askew_client.profile.document import PastAnswer
from askew_client.profile.store import ProfileService
from askew_client.tui.lists import Stars, TitleList
from askew_client.tui.pictures import ProfileBars


def stars(device: DeviceWorld) -> dict[str, float | None]:
    return {rated.label: rated.rating for rated in device.companion().profile.ratings()}


async def test_somebody_rates_three_films_and_sees_the_bars_move(device: DeviceWorld) -> None:
    async with device.opened() as person:
        person.reads("Nothing is rated yet.", "12 found")
        seen = []
        await person.press("enter")
        for key in ("5", "4", "5"):
            seen.append([bar.value for bar in person.app.screen.query_one(ProfileBars).bars])
            await person.press(key, "down")
        person.reads("3 titles rated", "◂ Film", "▸")
        await person.press("escape", "o")
        person.reads("3 rated")
        assert len(person.app.screen.query_one(TitleList).matches) == 3
        await person.press("o")
        person.reads("12 found")
    assert seen[0] == []
    assert seen[1] != seen[2]
    assert sorted(str(rating) for rating in stars(device).values()) == ["4.0", "5.0", "5.0"]


async def test_digits_in_the_search_are_text_and_every_way_leads_to_the_titles(
    device: DeviceWorld,
) -> None:
    """Planted bug: rating keys that are caught before the search gets them."""
    async with device.opened() as person:
        await person.write("1964")
        assert person.app.screen.query_one(Input).value == "1964"
        for key in ("tab", "escape", "enter", "down"):
            await person.press(key)
            assert isinstance(person.app.focused, TitleList)
            await person.press(*(["5"] if key == "down" else ["slash"]))
    assert stars(device) == {"Film 4 (1964)": 5}


def test_a_rating_beyond_the_scale_is_as_many_stars_as_there_are() -> None:
    """Planted bug: nine of five, which were shown as seven."""
    shown = [Stars(0.5, 5.0).text(rating) for rating in (9.0, -3.0, None)]
    assert shown == ["★★★★★", "½····", "·····"]


async def test_a_click_on_the_third_star_is_three_stars(device: DeviceWorld) -> None:
    async with device.opened() as person:
        titles = person.app.screen.query_one(TitleList)
        first_star = titles.scrollable_content_region.width - 2 - 5
        await person.click(TitleList, (first_star + 2, 1))
        assert titles.cursor == 1
        await person.click(TitleList, (3, 2))
        assert titles.cursor == 2
    assert list(stars(device).values()) == [3]


async def test_keys_rate_by_half_stars_like_take_back_and_undo(device: DeviceWorld) -> None:
    async with device.opened() as person:
        await person.press("enter", "5", "left")
        assert list(stars(device).values()) == [4.5]
        person.reads("★★★★½")
        await person.press("right", "right")
        assert list(stars(device).values()) == [5]
        await person.press("l")
        assert list(stars(device).values()) == [None]
        person.reads("♥")
        await person.press("x")
        assert stars(device) == {}
        for left in ([None], [5], [4.5], [5], []):
            await person.press("u")
            assert list(stars(device).values()) == left
        await person.press("u")
        person.reads("There is nothing to undo.")


async def test_fast_keys_are_edits_in_the_order_of_the_keys(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: an edit a thread without a queue; the slower one, not the later one, stays."""
    begun, release = threading.Event(), threading.Event()
    rate, order = ProfileService.rate, list[float]()

    def slow_at_first(self: ProfileService, label: str, rating: float) -> None:
        if not begun.is_set():
            begun.set()
            assert release.wait(300)
        order.append(rating)
        rate(self, label, rating)

    monkeypatch.setattr(ProfileService, "rate", slow_at_first)
    async with device.opened() as person:
        await person.press("enter")
        await person.pilot.press("1")
        while not begun.is_set():
            await person.pilot.pause()
        await person.pilot.press("2", "3")
        assert order == []
        release.set()
        await person.settled()
    assert order == [1, 2, 3]
    assert list(stars(device).values()) == [3]


async def test_a_long_list_scrolls_with_the_cursor(device: DeviceWorld) -> None:
    async with device.opened(size=(80, 12)) as person:
        await person.press("enter", "end")
        titles = person.app.screen.query_one(TitleList)
        assert titles.cursor == 11
        person.reads(titles.matches[-1].title)
        await person.press("pageup", "home", "up")
        assert titles.cursor == 0
        person.reads(titles.matches[0].title)


@pytest.fixture
async def asked_twice(rated: DeviceWorld) -> DeviceWorld:
    """An answer in November and another in December."""
    for month in (11, 12):
        rated.today = datetime.date(2026, month, 3)
        companion = rated.companion()
        await companion.titles.connect()
        await companion.asker.ask(companion.titles)
    return rated


async def test_past_answers_are_listed_newest_first_and_can_be_looked_at(
    asked_twice: DeviceWorld,
) -> None:
    newest, oldest = asked_twice.companion().profile.history()
    async with asked_twice.opened(size=(120, 40)) as person:
        await person.press("f5")
        answers = person.app.screen.query_one(DataTable)
        answers.focus()
        assert answers.row_count == 5  # all that has left, two answers, two signals
        await person.press("down")
        person.reads("2026-12-03", "3 December 2026, with the signal of 2026-12", *newest.labels)
        await person.press("down", "down")
        person.reads("3 November 2026, with the signal of 2026-11", *oldest.labels)
        person.reads(f"{oldest.picked} ◀ your pick")


async def test_a_new_answer_is_there_when_one_comes_back(rated: DeviceWorld) -> None:
    """The first and the second. Planted bug: the answers are read until there are some."""
    async with rated.opened() as person:
        await person.press("f5")
        assert person.app.screen.query_one(DataTable).row_count == 1
        await person.press("f4", "a")
        await person.press("f5")
        person.app.screen.query_one(DataTable).focus()
        await person.press("down")
        person.reads("21 November 2026", "◀ your pick")
        later = PastAnswer(datetime.date(2026, 12, 24), "2026-12", ("Film 3",), "Film 3")
        await person.press("f3")
        rated.profile.change(lambda document: document.answered(later))
        await person.press("f5")
        person.app.screen.query_one(DataTable).focus()
        await person.press("down")
        person.reads("24 December 2026", "Film 3 ◀ your pick")


async def test_forgetting_needs_a_second_look(asked_twice: DeviceWorld) -> None:
    """Planted bug: one stray key, and the past is gone."""
    async with asked_twice.opened() as person:
        await person.press("f5", "f")
        person.reads("Forget every past answer?")
        await person.press("enter")
        assert len(asked_twice.companion().profile.history()) == 2
        await person.press("f", "escape")
        assert len(asked_twice.companion().profile.history()) == 2
        await person.press("f", "y")
        person.reads("Past answers are forgotten.")
        assert person.app.screen.query_one(DataTable).row_count == 3
    assert asked_twice.companion().profile.history() == ()
    assert len(asked_twice.companion().profile.ratings()) == 3


async def test_an_answer_that_sent_nothing_has_no_signal_in_the_history(rated: DeviceWorld) -> None:
    """Planted bug: every answer is called one with the signal of its month."""
    rated.settings = replace(rated.settings, mode="held")
    companion = rated.companion()
    await companion.titles.connect()
    await companion.asker.ask(companion.titles)
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f5")
        person.app.screen.query_one(DataTable).focus()
        await person.press("down")
        person.reads("21 November 2026, nothing was sent")
        assert not person.shows("with the signal of")


async def test_an_offline_profile_does_not_say_that_nothing_is_rated(rated: DeviceWorld) -> None:
    rated.network.unreachable = Unreachable("nobody answers at 127.0.0.1:7571")
    async with rated.opened() as person:
        person.reads("3 titles rated", "these are your ratings", "Bars need the catalog")
        person.reads("search your ratings")
        assert not person.shows("Nothing is rated")
        await person.write("nonsense")
        person.reads("No rating of yours has all these words.")
        assert not person.shows("these are your ratings")


async def test_ratings_that_this_catalog_lacks_are_ratings_all_the_same(rated: DeviceWorld) -> None:
    items = tuple(Item(f"Other {n}") for n in range(12))
    catalog = replace(rated.network._catalog, items=items)
    card = replace(rated.network._card, catalog_version=catalog.version)
    rated.network.become(card, catalog)
    async with rated.opened() as person:
        person.reads("3 titles rated", "Nothing that you rated is in this catalog.")
        assert not person.shows("Nothing is rated")


async def test_a_removed_rating_is_kept_by_undo_and_forgotten_for_good_on_a_second_key(
    rated: DeviceWorld,
) -> None:
    async with rated.opened() as person:
        await person.press("f4", "a")
        await person.press("f3", "escape", "o")
        await person.press("x")
        person.reads("undo keeps it. X forgets it for good.")
        gone = ({"Film 2 (1962)", "Film 6 (1966)", "Film 11 (1971)"} - stars(rated).keys()).pop()
        await person.press("X")
        person.reads(f"Forget {gone} for good?")
        await person.press("n", "u")
        assert gone in stars(rated)
        await person.press("x", "X", "y")
        person.reads("Forgotten for good")
        assert gone.encode() not in rated.profile.path.read_bytes()
        for _ in range(4):
            await person.press("u")
            assert gone not in stars(rated)
    assert len(rated.network.asked) == 1
