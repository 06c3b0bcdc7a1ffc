"""Ask: what leaves, what it costs, what comes back, and each mode of being served."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from client.conftest import Pair
from client.tui.person import SETTINGS, DeviceWorld, Person

from askew.errors import (
    AskewError,
    Malformed,
    Overloaded,
    ServerFailed,
    StaleSpace,
    TooSlow,
    Unreachable,
)
from askew_client.tui.lists import ResultList
from askew_client.tui.pictures import HeatMap
from askew_client.tui.screens.frame import ConfirmScreen, Notice


def waiting(person: Person) -> bool:
    return person.app.get_screen_stack("ask")[0].has_class("-waiting")


async def test_one_key_asks_and_everything_that_happened_can_be_seen(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f4")
        person.reads("Nothing has left yet", "Asking draws the signal of 2026-11")
        person.reads("8 between any two", "Spent before it: 0")
        assert (rated.network.asked, rated.signals.entries()) == ([], ())
        await person.press("a")
        ranking = person.app.screen.query_one(ResultList).results
        picked = next(result for result in ranking if result.picked)
        person.reads("◆ the signal, sent", "Drawn just now for 2026-11", "Spent 2 of 12")
        person.reads("Your pick, never sent", picked.title, "◀ your pick")
        person.reads("SIMULATED")
    (query,) = rated.network.asked
    assert query.k == len(ranking) == 4
    assert [charge.epsilon_per_rating for charge in rated.signals.entries()] == [2]
    async with rated.opened() as person:
        await person.press("f4")
        person.reads("sends the signal of 2026-11 again, for nothing")


async def test_the_signal_stands_beside_the_truth_on_every_coordinate(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f4", "a")
        heat_map = person.app.screen.query_one(HeatMap)
        assert heat_map.you is not None
        [middle] = heat_map.sent
        assert middle == (0.0,) * len(heat_map.you)
        sent = rated.network.asked[0].signal.point().tolist()
        for away, at in zip(heat_map.you, sent, strict=True):
            person.reads(f"● {at + away:.2f} → ◆ {at:.2f}")


async def test_who_rated_nothing_asks_like_anybody_else_and_is_told_so(device: DeviceWorld) -> None:
    """Planted bug: an app that falls silent, by which a server learns that nothing is rated."""
    async with device.opened() as person:
        await person.press("f4", "a")
        person.reads("You have rated nothing", "anybody", "◀ your pick", "Spent 2 of 12")
    assert len(device.network.asked) == 1
    assert [charge.epsilon_per_rating for charge in device.signals.entries()] == [2]


async def asks_first(person: Person) -> None:
    """Press the key of a question, and wait until the app shows what it would cost: before there
    is an answer, after which it would never be shown.
    """
    await person.pilot.press("a")
    while not isinstance(person.app.screen, ConfirmScreen):
        assert waiting(person)
        await person.pilot.pause()


@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
async def test_a_month_that_ends_behind_an_answer_is_charged_on_a_yes_alone(
    rated: DeviceWorld, yes: bool
) -> None:
    """Planted bug: a cost that is taken in silence, behind the answer that hides it."""
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f4", "a")
        before = [charge.month for charge in rated.signals.entries()]
        rated.today = datetime.date(2026, 12, 1)
        await asks_first(person)
        person.reads("Asking draws the signal of 2026-12 and costs", "8 between any two")
        assert not person.shows("not what was shown before")
        assert [charge.month for charge in rated.signals.entries()] == before
        await person.press("y" if yes else "n")
        person.reads("Drawn just now" if yes else "not asked: nothing was drawn, charged or sent")
    charged = [charge.month for charge in rated.signals.entries()]
    assert charged == [*before, *(["2026-12"] if yes else [])]


async def test_an_edition_that_turns_a_free_answer_into_a_signal_is_shown_first(
    rated: DeviceWorld,
) -> None:
    """The app said "Nothing leaves this device", a timer fetched a catalog date, and one key
    charged. Planted bug: a price that is asked for and taken with the same key.
    """
    rated.settings = replace(SETTINGS, mode="auto")
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f4")
        person.reads("Nothing leaves this device when you ask.")
        device = person.device
        device.configure(SETTINGS)  # as if a new card proposed a signal by these very settings
        await asks_first(person)
        person.reads("not what was shown before", "Asking draws the signal of 2026-11")
        assert (rated.network.asked, rated.signals.entries()) == ([], ())
        await person.press("n")
        assert (rated.network.asked, rated.signals.entries()) == ([], ())


async def test_a_second_signal_in_one_month_is_asked_about_first(
    rated: DeviceWorld, pair_in_a_space: Callable[..., Pair]
) -> None:
    """Planted bug: one key that pays for every space that a server thinks of."""
    async with rated.opened() as person:
        await person.press("f4", "a")
    other = pair_in_a_space(width=1.0)
    rated.network.become(other.card, other.catalog)
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f4")
        person.reads("second one")
        await asks_first(person)
        person.reads("a fresh signal already")
        assert len(rated.signals.entries()) == 1
        await person.press("y")
        person.reads("◀ your pick")
    assert len(rated.network.asked) == len(rated.signals.entries()) == 2


# What happened, in words, and what to do.
FAILURES: list[tuple[AskewError, tuple[str, ...]]] = [
    (Unreachable("no connection to the server"), ("cannot be reached", "Is the server running")),
    (TooSlow("the deadline passed"), ("cannot be reached", "The deadline passed.")),
    (Overloaded("the server is busy"), ("The server is busy.",)),
    (ServerFailed("the server failed"), ("The server failed.",)),
    (StaleSpace(), ("another feature space", "Ask again")),
    (Malformed("the server's answer was refused: x"), ("refused", "Nothing of the answer was")),
]


async def test_every_failure_is_calm_says_what_to_do_and_the_next_question_works(
    rated: DeviceWorld,
) -> None:
    async with rated.opened() as person:
        await person.press("f4")
        for failure, words in FAILURES:
            rated.network.failure = failure
            await person.press("a")
            person.reads("no answer this time", *words)
            rated.network.failure = None
            await person.press("a")
            assert not person.app.screen.query_one(Notice).display
            person.reads("◀ your pick", "Sent again")
    assert len(rated.signals.entries()) == 1


async def test_a_refused_budget_says_why_and_names_the_day_of_the_next_month(
    rated: DeviceWorld,
) -> None:
    rated.settings = replace(SETTINGS, rating_lifetime_cap=Fraction(3))
    rated.signals = rated.signals.with_caps(rated.settings.caps)
    async with rated.opened() as person:
        await person.press("f4", "a")
    rated.today = datetime.date(2026, 12, 5)
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f4", "a")
        person.reads("2 of the lifetime cap 3 is spent", "2027-01-01", "raise rating_monthly_cap")
        await person.press("f5")
        person.reads("too little is left")
    assert len(rated.network.asked) == 1


async def test_a_question_that_finds_the_server_back_brings_the_catalog_too(
    rated: DeviceWorld,
) -> None:
    rated.network.unreachable = Unreachable("no connection to the server")
    async with rated.opened() as person:
        rated.network.unreachable = None
        await person.press("f4")
        await asks_first(person)  # no price was on the screen
        person.reads("Asking draws the signal of 2026-11")
        await person.press("y")
        person.reads("◀ your pick")
        await person.press("f3")
        person.reads("12 found", "◂", "▸")


async def test_a_server_that_never_answers_leaves_everything_else_alive(rated: DeviceWorld) -> None:
    """Planted bug: awaiting the network in the handler of the key."""
    rated.network.silent = True
    async with rated.opened() as person:
        await person.press("f4")
        await person.ask_in_vain()
        person.reads("asking ...")
        await person.press("question_mark")
        person.reads("On this screen")
        await person.press("escape")
        assert waiting(person)
        await person.press("escape")
        assert not waiting(person)
        assert rated.network.stopped == 1
        person.reads("stopped; a signal once drawn is sent again")
        await person.ask_in_vain()
        await person.press("f3")  # another screen stops it, too
        assert rated.network.stopped == 2
        await person.press("f4")
        person.reads("stopped")
        rated.network.silent = False
        await person.press("a")
        person.reads("◀ your pick")
    assert rated.network.asked == rated.network.asked[:1] * 3
    assert len(rated.signals.entries()) == 1


async def test_a_device_that_holds_everything_says_that_nothing_leaves(
    device: DeviceWorld,
) -> None:
    """Planted bug: a price, or words of a signal, where none is sent."""
    device.settings = replace(SETTINGS, mode="auto")
    async with device.opened() as person:
        await person.press("f4")
        person.reads("Nothing leaves this device when you ask.")
        person.reads("held: all 12 items")
        assert not person.shows("costs")
        await person.press("a")
        person.reads("Nothing has left. held: all 12 items", "◀ your pick")
        await person.press("f5")
        person.reads("all 12 items")
    assert (device.network.asked, device.signals.entries()) == ([], ())
