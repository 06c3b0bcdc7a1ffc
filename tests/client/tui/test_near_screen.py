"""Near: a place, one question, an order of one's own, and nothing sent that is not said."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from client.tui.person import HOME, HOSTILE, DeviceWorld, NearWorld, Person
from textual.widgets import Button, Input, Select

from askew.errors import Overloaded, Unreachable
from askew.protocol.cards import MetricCard
from askew.spaces.map import Position
from askew_client.signals.store import SignalStore
from askew_client.transport.in_process import LocalPlaces
from askew_client.tui.app import AskewApp
from askew_client.tui.lists import NearList
from askew_client.tui.pictures import PlaceMap
from askew_client.tui.screens.frame import chosen_name
from askew_client.tui.screens.near import Ranked, outlook_of
from askew_client.tui.screens.place import PlaceDraft
from askew_client.views.answers import NearAnswer
from askew_client.views.cost import Cost, Leaves


def answer_of(person: Person) -> NearAnswer:
    answer = person.app.screen.query_one(NearList).answer
    assert answer is not None
    return answer


async def test_a_server_of_titles_alone_is_asked_from_the_profile(device: DeviceWorld) -> None:
    """And who comes to Near then is told why nothing is there."""
    async with device.opened(program=AskewApp) as person:
        assert person.app.current_mode == "profile"
        await person.press("f2")
        assert person.app.current_mode == "near"
        person.reads("no collections of places")


async def test_who_has_chosen_a_screen_is_taken_to_no_other(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says only then that it has no places. Planted bug: the app goes on all the same,
    from Near where the person has come back to it.
    """
    network, says = device.network, asyncio.Event()
    metric_card = network.metric_card

    async def late() -> MetricCard:
        await says.wait()
        return await metric_card()

    monkeypatch.setattr(network, "metric_card", late)
    network.silent = True
    async with device.opened(program=AskewApp) as person:
        assert person.app.current_mode == "near"
        await person.press("f3", "f2")
        network.silent = False
        says.set()
        await person.settled()
        assert person.app.current_mode == "near"
        person.reads("no collections of places")


async def test_without_a_server_it_says_what_is_not_loaded_and_shows_no_price(
    at_home: NearWorld,
) -> None:
    """Planted bug: a map of the places alone, with a price and a question that cannot be asked."""
    at_home.network.unreachable = Unreachable("nobody answers at 127.0.0.1:7571")
    async with at_home.opened() as person:
        person.reads("The server cannot be reached", "not loaded yet")
        assert not any(person.shows(part) for part in ("home", "∘", "Nothing is charged"))


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_after_the_preferences_the_next_key_is_of_the_screen(
    at_home: NearWorld, key: str
) -> None:
    """Planted bug: "a" lands in the preferences, and nothing is asked."""
    async with at_home.opened() as person:
        await person.press("slash")
        await person.write("price <= 12")
        await person.press(key, "a")
        assert person.app.screen.query_one("#preferences", Input).value == "price <= 12"
        person.reads("SIMULATED places to eat")
    assert len(at_home.network.asked) == 1


async def test_one_key_asks_and_the_results_stand_in_the_persons_own_order(
    at_home: NearWorld,
) -> None:
    before = at_home.spent()
    async with at_home.opened() as person:
        person.reads(
            "home", "food", "10 km apart: odds change at most 16 times", "Nothing is charged"
        )
        person.reads("a server's guess: Köln", "● you", "◆ the noisy position", "◇ query points")
        assert at_home.network.asked == []
        await person.press("a")
        answer = answer_of(person)
        person.reads("Your pick, never sent", "SIMULATED places to eat", "★ your pick", "km")
        distances = [result.distance for result in answer.results]
        assert distances == sorted(distances)
        marked = person.app.screen.query_one(PlaceMap).scene.results
        assert [(at.latitude, at.longitude) for at in marked] == [
            result.coordinates for result in answer.results
        ]
        person.app.screen.query_one("#level", Select).focus()
        await person.press("enter", "down", "enter")
        assert person.app.screen.query_one(NearList).answer is None  # the map is another one
    (query,) = at_home.network.asked
    (place,) = at_home.companion().places.list()
    sent = query.signal.position()
    assert (query.k, (sent.latitude, sent.longitude)) == (5, place.sent)
    assert at_home.spent() == before
    assert at_home.network.received == 1


async def test_other_preferences_rank_anew_and_nothing_is_sent_for_them(at_home: NearWorld) -> None:
    """Planted bugs: a second question; an order that the preferences do not touch."""
    async with at_home.opened() as person:

        async def prefer(text: str) -> None:
            await person.press("slash")
            person.fill(preferences=text)
            await person.press("enter")

        await person.press("a")
        last = answer_of(person).results[-1]
        kind = last.values["kind"]
        await prefer(f"kind = {str(kind).title()}")
        first = answer_of(person).results[0]
        assert (first.passes, first.values["kind"]) == (True, kind)
        assert last.title in {result.title for result in answer_of(person).results}
        person.reads("nothing was sent for this")
        await prefer("kind = nowhere")
        person.reads("No result passes your preferences. Nothing is asked again")
        assert answer_of(person).pick is None
        await prefer("fly me to the moon")
        person.reads("the preferences cannot be read", "this is no preference", "nothing was sent")
        assert not person.shows("askew profile list")
    assert len(at_home.network.asked) == 1


async def test_who_stops_a_question_while_its_signal_is_looked_up_can_ask_again(
    at_home: NearWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a thread that goes on beside the next question, which is then not sent."""
    begun, release, remember = threading.Event(), threading.Event(), SignalStore.remember

    def slow_at_first(*given: Any, **named: Any) -> Any:
        if not begun.is_set():
            begun.set()
            assert release.wait(300)
        return remember(*given, **named)

    monkeypatch.setattr(SignalStore, "remember", slow_at_first)
    async with at_home.opened() as person:
        await person.pilot.press("a")
        while not begun.is_set():
            await person.pilot.pause()
        await person.pilot.press("escape", "a")
        person.reads("asking ...")
        for _ in range(30):
            await person.pilot.pause(0.005)
        release.set()
        await person.settled()
        person.reads("Your pick, never sent")
    assert len(at_home.network.asked) == 1


@pytest.mark.slow
async def test_a_level_and_a_k_are_played_here_before_anything_is_sent(at_home: NearWorld) -> None:
    """Planted bug: a choice that changes the settings, or draws a signal."""
    before = at_home.spent()
    async with at_home.opened() as person:
        await person.press("tab", "tab", "tab", "enter", "down", "enter")
        scene = person.app.screen.query_one(PlaceMap).scene
        assert not scene.drawn
        person.reads("at level county lands", "20.0 km apart, odds change at most 4 times")
        await person.press("tab", "enter", "end", "enter")
        person.reads("With k = 64 the nearest query point")
        assert at_home.network.asked == []
        assert at_home.spent() == before
        assert person.device.settings == at_home.settings
        await person.press("w")
        person.reads("From now on: level county", "k = 64.")
        settings = person.device.settings
        assert (settings.level, settings.near_k) == ("county", 64)
    assert at_home.spent() == before
    assert 'level = "county"' in at_home.file.path.read_text()


@pytest.mark.slow
async def test_a_town_is_a_position_and_what_an_unclear_one_may_mean_is_listed(
    near: NearWorld,
) -> None:
    """The map is there while one types. Planted bugs: the first town of the name is taken; a region
    that is typed halfway ends the app.
    """
    async with near.opened() as person:
        await person.press("n")
        screen = person.app.screen
        person.fill(name="home", region="Germ", position="Kiel")
        await person.press("tab")
        person.fill(region="DE")
        for typed, said in {
            "Frankfurt": ("There are 2 towns", "Frankfurt (Oder), Brandenburg: 52.35, 14.55"),
            "London": ("lies in the region Germany (DE)", "London, England: 51.51, -0.13"),
        }.items():
            person.fill(position=typed)
            await person.settled()
            screen.query_one("#keep", Button).press()  # it moves with what is said above it
            await person.settled()
            person.reads(*said)
        assert near.spent() == 0
        person.fill(position="köln")
        await person.press("tab")
        assert screen.query_one(PlaceMap).scene.you == Position(50.93, 6.95)
        screen.query_one("#keep", Button).press()
        await person.settled()
    (place,) = near.companion().places.list()
    assert place.true == (50.93, 6.95)


@pytest.mark.parametrize(("button", "charges"), [("#take", 1), ("#keep", 2)])
async def test_a_second_name_at_a_charged_position_is_said_before_it_is_charged(
    at_home: NearWorld, button: str, charges: int
) -> None:
    """The button that draws comes second, and another position takes back what was said. Planted
    bug: the first press draws.
    """
    once = at_home.spent()
    async with at_home.opened() as person:
        await person.press("n")
        screen = person.app.screen
        person.fill(name="flat")
        for typed in ("50.9375, 6.9603", "50.94, 6.97", "50.9375, 6.9603"):
            person.fill(position=typed)
            await person.settled()
            assert not screen.query_one("#take").display
            if typed == "50.9375, 6.9603":
                await person.click("#keep")
                person.reads("At this very position is home", "Take that place, for nothing")
        assert at_home.spent() == once
        await person.click(button)
        assert chosen_name(person.app.screen, "place") == "flat"
    home, flat = at_home.companion().places.list()
    assert (home.sent == flat.sent) or button == "#keep"
    assert at_home.spent() == charges * once


async def test_a_place_moves_with_a_new_charge_and_is_forgotten_without_a_refund(
    at_home: NearWorld,
) -> None:
    once = at_home.spent()
    async with at_home.opened() as person:
        await person.press("m")
        person.reads("Move home")
        person.fill(position="52.52, 13.40")
        await person.click("#keep")
        assert at_home.spent() == 2 * once
        await person.press("f", "n")
        assert len(at_home.companion().places.list()) == 1
        await person.press("f", "y")
        person.reads("Add a place with n")
    assert at_home.companion().places.list() == ()
    assert at_home.spent() == 2 * once


async def test_a_server_of_places_alone_is_called_that_and_not_hostile(at_home: NearWorld) -> None:
    """Planted bug: "the server's answer was refused", of a server that Near can ask."""
    at_home.network.read = at_home.network.places.read  # type: ignore[method-assign]
    async with at_home.opened() as person:
        assert not person.shows("refused")
        await person.press("a")
        person.reads("Your pick, never sent")
        await person.press("f3")
        person.reads("It has places, and no catalog", "Near (F2) asks it", "r tries again")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (20, 6)], ids=str)
async def test_hostile_titles_and_small_terminals_break_nothing(
    at_home: NearWorld, size: tuple[int, int]
) -> None:
    """Planted bug: a title read as markup, of which "[/]" alone would end the app."""
    items = tuple(
        replace(listing, title=HOSTILE[listing.id % len(HOSTILE)])
        for listing in at_home.network.places._items["food"]
    )
    pharmacies = at_home.network.places._items["pharmacies"]
    at_home.network.places = LocalPlaces(
        at_home.network.places.card, {"food": items, "pharmacies": pharmacies}
    )
    async with at_home.opened(size=size) as person:
        await person.press("a")
        assert {result.title for result in answer_of(person).results} <= set(HOSTILE)
        await person.press("n", "escape")
        if size[0] > 50:
            person.reads("Your pick, never sent", answer_of(person).results[0].title[:5])
    assert person.app.return_code is None


def test_what_is_private_does_not_show_when_it_is_printed(at_home: NearWorld) -> None:
    """It may stand in a report of a crash or in a log of the library."""
    scene, words = outlook_of(at_home.companion(), "home", "town", 5, what_if=False)
    answer = NearAnswer(
        "food", "s", True, 1, (), True, (51.0, 7.0), (50.9375, 6.9603), Cost(Leaves.KEPT)
    )
    draft = PlaceDraft("home", HOME, "DE", at_home.companion().places.price())
    for value in (scene, Ranked(answer, scene, words), draft, answer):
        assert not [each for each in ("50.9", "6.96", "home", "guess") if each in repr(value)]


def test_an_outlook_is_of_the_place_that_was_chosen(at_home: NearWorld) -> None:
    """Planted bug: of the first one."""
    device, work = at_home.companion(), Position(52.5, 13.4)
    place = device.places.add("work", work)
    scene, _ = outlook_of(device, "work", "town", 5, what_if=False)
    assert scene.heat_map is not None
    assert (scene.you, scene.heat_map.signal) == (work, Position(*place.sent))


async def test_a_place_is_added_at_the_price_that_stands_beside_it_and_at_no_other(
    near: NearWorld,
) -> None:
    """Planted bugs: without a region, no price and a charge all the same; the price of the region
    that was set before another one was typed; Enter in a field that draws and charges.
    """
    near.settings = replace(near.settings, region="")
    async with near.opened() as person:
        await person.press("a")
        person.reads("add a place first")
        await person.press("n", "escape", "n")
        screen = person.app.screen
        keep = screen.query_one("#keep", Button)
        person.reads("Name the region first")
        assert keep.disabled
        name, region, position = (
            screen.query_one(f"#{field}", Input) for field in ("name", "region", "position")
        )
        name.value, position.value = "first", "50.94, 6.96"
        await person.press("enter")  # nothing to confirm yet
        assert (near.spent(), person.app.screen) == (Fraction(0), screen)
        region.value = "DE"
        await person.settled()
        person.reads("Epsilon 0.277 per km", "15 positions for life and 5 a month")
        assert not keep.disabled
        position.focus()
        await person.press("enter")
        assert (near.spent(), keep.has_focus) == (Fraction(0), True)
        region.value = "D"
        await person.settled()
        assert keep.disabled
        region.value = "DE"
        await person.settled()
        await person.click("#keep")
        once = near.spent()
        assert 0.2769 < once < 0.277
        await person.press("n")
        screen = person.app.screen
        person.fill(name="second", position="48.1, 11.6")
        device = person.device
        device.configure(replace(device.settings, level="district"))  # it tells more now
        await person.settled()
        await person.click("#keep")
        person.reads("more than what was shown")
        assert near.spent() == once


async def test_before_a_place_is_drawn_its_price_says_that_a_cap_refuses_it(
    near: NearWorld,
) -> None:
    """Planted bug: a price without the caps, so that the refusal comes after the person's yes."""
    async with near.opened() as person:
        settings = replace(near.settings, place_monthly_cap=Fraction(1, 5))
        person.device.configure(settings)
        await person.press("n")
        person.reads("It will be refused: this would cost 0.27")


@pytest.mark.slow
async def test_what_went_wrong_on_a_screen_is_not_its_headline_for_ever(at_home: NearWorld) -> None:
    """Planted bug: the trouble of a question long ago over all that works."""
    at_home.network.failure = Overloaded("the server is busy")
    async with at_home.opened() as person:
        await person.press("a")
        person.reads("The server is busy.")
        at_home.network.failure = None
        await person.press("f6", "f2")
        assert not person.shows("The server is busy.")
