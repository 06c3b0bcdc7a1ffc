"""Settings: how it asks, how it looks, and forgetting."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from client.conftest import Askew
from client.tui.person import DeviceWorld, Person
from textual.widgets import Select

from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.desk import raised_cap, use_settings


def settings_of(person: Person) -> ClientSettings:
    return person.device.settings


KEPT = '# mine\nk = 3\nrating_lifetime_cap = "7"\n'


@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        ("", {"epsilon_per_rating": "2", "k": "4"}, ""),  # what is in force
        ("# mine\n", {"rating_lifetime_cap": "7", "k": "3"}, KEPT),
    ],
)
def test_what_changed_counts_and_is_kept_and_nothing_else_is(
    device: DeviceWorld, before: str, typed: dict[str, str], after: str
) -> None:
    """Planted bug: a flag of this run, here the cap of 12, gets into the file by itself."""
    device.file.path.write_text(before)
    companion = device.companion()
    used = {name: Fraction(value) for name, value in typed.items()}
    assert use_settings(device.file, companion, typed=typed).startswith("From now on: ")
    assert {name: getattr(companion.settings, name) for name in typed} == used
    assert device.file.path.read_text() == after


def test_a_cap_above_the_one_in_the_file_is_a_raised_one(device: DeviceWorld) -> None:
    """Planted bug: under a flag of 12, 11 looks lower, and raises the file's 10."""
    device.file.path.write_text("rating_lifetime_cap = 10\n")
    typed = {"rating_lifetime_cap": "11"}
    assert raised_cap(device.file, device.companion(), typed=typed) == (Fraction(10), Fraction(11))


async def test_a_higher_cap_needs_a_second_yes(rated: DeviceWorld) -> None:
    """Planted bugs: raised by the Enter of another field; a dialog whose first button raises."""
    async with rated.opened() as person:
        await person.press("f6")
        cap = person.app.screen.query_one("#cap", Select)
        for answer in ("escape", "n", "enter"):
            cap.value = Fraction(24)
            await person.click("#use")
            person.reads("Raise the lifetime cap from 12 to 24, for good?")
            await person.press(answer)
            assert settings_of(person) == rated.settings
            assert cap.value == 12
            assert not rated.file.path.exists()
        cap.value = Fraction(24)
        await person.click("#use")
        await person.press("y")
        person.reads("From now on: ε 2 a rating, k 4.")
        assert settings_of(person).rating_lifetime_cap == 24
        await person.press("f5")
        person.reads("of 24")
    assert rated.file.lifetime_cap() == 24


@pytest.mark.slow
async def test_where_nothing_can_be_kept_it_says_so_and_the_settings_count(
    rated: DeviceWorld,
) -> None:
    """Planted bugs: a file that is damaged is written anew; a crash of the worker."""
    async with rated.opened(size=(120, 40)) as person:
        rated.file.path.write_text("k = = 3\n")
        await person.press("f6")
        person.app.screen.query_one("#k", Select).value = Fraction(3)
        await person.click("#use")
        person.reads("a file cannot be used", "was left alone", "it is not kept")
        assert settings_of(person) == replace(rated.settings, k=3)
    assert rated.file.path.read_text() == "k = = 3\n"


async def test_the_theme_changes_by_button_and_by_key_and_is_kept(
    device: DeviceWorld, askew: Askew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But in the demo, which keeps no setting."""
    async with device.opened() as person:
        await person.press("f6")
        await person.click("#light")
        assert person.app.theme == "askew-light"
        await person.click("#dark")
        assert person.app.theme == "askew-dark"
        assert device.file.path.read_text() == 'theme = "dark"\n'
        await person.press("ctrl+t")
        assert person.app.theme == "askew-light"
    opened: list[AskewApp] = []

    def run(app: AskewApp) -> None:
        opened.append(app)

    monkeypatch.setattr(AskewApp, "run", run)
    askew("--config", device.file.path, "tui")
    askew("--config", device.file.path, "tui", "--demo")
    real, demo = opened
    assert [app.theme for app in opened] == ["askew-light"] * 2
    assert (real.file and real.file.path, demo.file) == (device.file.path, None)


async def test_forgetting_the_profile_keeps_the_ledger(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f4", "a")
        await person.press("f6")
        await person.click("#wipe")
        person.reads("for good?")
        await person.press("y")
        person.reads("Your profile is forgotten.")
        await person.press("f3")
        person.reads("Nothing is rated yet.")
        await person.press("f5")
        person.reads("spent 2")
    assert rated.companion().profile.ratings() == ()
    assert len(rated.signals.entries()) == 1
