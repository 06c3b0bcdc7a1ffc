"""Privacy: what was spent, and what a signal of other settings would tell and give."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from client.tui.person import DeviceWorld, Person
from small_world import made_card, made_catalog, made_encoder, made_space
from textual.widgets import Select

from askew_client.tui.pictures import HeatMap
from askew_client.tui.screens.privacy import PrivacyScreen


def looked_at(person: Person) -> tuple[Fraction, int, Fraction]:
    """The settings that are chosen, and what one signal of them would take of the budget."""
    screen = person.app.screen
    assert isinstance(screen, PrivacyScreen)
    epsilon, k = screen._chosen()
    return epsilon, k, screen._one_signal


async def choose(person: Person, name: str, value: int | str) -> None:
    person.app.screen.query_one(f"#{name}", Select).value = Fraction(value)
    await person.settled()


async def test_another_choice_shows_what_it_would_tell_and_sends_nothing(
    rated: DeviceWorld,
) -> None:
    """Planted bug: a preview that draws through the ledger, or asks the server."""
    async with rated.opened() as person:
        await person.press("f5")
        assert looked_at(person) == (Fraction(2), 4, Fraction(2))
        person.reads("spent 0", "of 12", "No signal has ever left this device.")
        person.reads("at most ε 2 a rating, 4 where a title is replaced", "8 between any two")
        await person.press("enter", "up", "up", "enter", "tab", "enter", "down", "enter")
        assert looked_at(person) == (Fraction(1), 6, Fraction(1))
        person.reads("at most ε 1 a rating, 2 where a title is replaced", "fresh 1")
    assert rated.network.asked == []
    assert rated.signals.entries() == ()


async def test_chosen_settings_count_from_now_on_and_are_kept(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f5")
        await choose(person, "epsilon", "3/2")
        await choose(person, "size", 3)
        await person.press("w")
        settings = person.device.settings
        assert (settings.epsilon_per_rating, settings.k) == (Fraction(3, 2), 3)
        assert rated.file.path.read_text() == 'epsilon_per_rating = "3/2"\nk = 3\n'
        await choose(person, "size", 4)
        await person.press("b")
        assert looked_at(person)[1] == 3
        await person.press("f4", "a")
    (charge,) = rated.signals.entries()
    assert charge.epsilon_per_rating <= Fraction(3, 2)
    assert rated.network.asked[0].k == 3


async def test_settings_between_those_offered_are_shown_and_used_as_they_are(
    rated: DeviceWorld,
) -> None:
    """Planted bug: choices at the nearest value, so that using what is in force raises epsilon."""
    rated.settings = replace(rated.settings, epsilon_per_rating=Fraction(1, 7), k=5)
    async with rated.opened() as person:
        await person.press("f5")
        assert looked_at(person)[:2] == (Fraction(1, 7), 5)
        await person.press("w")
        assert person.device.settings == rated.settings
        await choose(person, "epsilon", "1/5")
        await person.press("b")
        assert looked_at(person)[0] == Fraction(1, 7)


async def test_settings_that_no_signal_may_have_say_why(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f5")
        await choose(person, "size", 32)
        person.reads("No signal: k must be at most what this server answers")


@pytest.mark.slow
async def test_a_frozen_ledger_says_why_and_goes_on_when_the_person_accepts_it(
    rated: DeviceWorld,
) -> None:
    async with rated.opened() as person:
        await person.press("f4", "a")
    (rated.directory / "mark" / "signals.json").unlink()  # as when only the ledger was restored
    rated.today = datetime.date(2026, 12, 1)
    async with rated.opened() as person:
        await person.press("f4", "a")
        person.reads("waits for you.", "mark is missing", "no answer this time")
        await person.press("f5")
        person.reads("Nothing is spent.")
        await person.press("f6")
        person.reads("Who continues here books what the mark knows")
        await person.click("#accept")
        person.reads("You continue here.")
        assert not person.app.screen.query_one("#accept").display
        await person.press("f4", "a")
        person.reads("◀ your pick")
    assert len(rated.network.asked) == 2


@pytest.mark.slow
async def test_a_map_says_which_two_of_more_directions_it_shows(tmp_path: Path) -> None:
    """Films differ along directions 1 and 3. Planted bugs: the first two whatever there is; the
    two in which this person stands out, here 2 and 4.
    """
    spread = (1.75, 0.25, 1.0, 0.5)
    films = [tuple(s * (-1.0) ** (i // (j + 1)) for j, s in enumerate(spread)) for i in range(12)]
    catalog = made_catalog(films, (4, 9, 2, 7, 0, 10))
    space = made_space(made_encoder(d=4, ranking=4))
    device = DeviceWorld(made_card(space, catalog, 6), catalog, tmp_path)
    await device.rated(film_3=5)
    async with device.opened(size=(120, 40)) as person:
        await person.press("f5")
        shown = "directions 1 and 3 of 4, where this catalog differs most"
        person.reads(f"noise, and ◆ where the server looks; {shown}")
        assert {len(at) for at in person.app.screen.query_one(HeatMap).sent} == {2}
        await person.press("f4", "a")
        person.reads(f"the brighter the map around ◆, the likelier you ● are there; {shown}")
        heat_map = person.app.screen.query_one(HeatMap)
        assert heat_map.you is not None
        sent = device.network.asked[0].signal.point().tolist()
        for away, at in zip(heat_map.you, (sent[0], sent[2]), strict=True):
            person.reads(f"● {at + away:.2f} → ◆ {at:.2f}")


async def test_a_lost_ledger_does_not_say_that_no_signal_has_left(rated: DeviceWorld) -> None:
    """Planted bug: an empty ledger is an unspent one, whatever its mark says."""
    async with rated.opened() as person:
        await person.press("f4", "a")
    (rated.directory / "signals.sqlite").unlink()
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f5")
        person.reads("Nothing is spent.", "More may have left this device")
        assert not person.shows("No signal has ever left this device.")
