"""Settings: how it asks, how it looks, how the profile is kept, and forgetting."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client.tui.person import DeviceWorld, Person
from textual.widgets import Input

from askew_client.settings.config import ConfigFile
from askew_client.tui.app import AskewApp

if TYPE_CHECKING:
    from client.conftest import Askew


async def fill(person: Person, name: str, text: str) -> None:
    field = person.app.screen.query_one(f"#{name}", Input)
    field.focus()
    field.clear()
    await person.write(text)


async def test_typed_settings_count_from_now_on(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "epsilon", "0.5")
        await fill(person, "k", "3")
        await fill(person, "cap", "7")
        await person.press("enter")
        person.reads("From now on: ε 0.5, k 3.")
        assert person.app.device is not None
        settings = person.app.device.settings
        assert (settings.epsilon, settings.k, settings.lifetime_cap) == (
            Fraction(1, 2),
            3,
            Fraction(7),
        )
        await person.press("f4")
        person.reads("of 7")


async def test_what_was_used_is_kept_and_nothing_else_is(rated: DeviceWorld) -> None:
    """Planted bug: a flag of this run, here the cap of 48, gets into the file by itself."""
    rated.file.path.write_text('# mine\nserver = "a:1"\n')
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "epsilon", "1/2")
        await fill(person, "k", "3")
        await person.press("enter")
        person.reads("From now on: ε 0.5, k 3.")
    assert rated.file.path.read_text() == '# mine\nserver = "a:1"\nepsilon = "1/2"\nk = 3\n'


async def test_using_what_is_in_force_writes_nothing(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await person.click("#use")
        person.reads("From now on: ε 2, k 4.")
    assert not rated.file.path.exists()


async def test_a_lower_cap_is_kept_without_a_question(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "cap", "7")
        await person.press("enter")
        person.reads("From now on: ε 2, k 4.")
    assert rated.file.lifetime_cap() == 7


@pytest.mark.parametrize("no", ["escape", "n", "enter"])
async def test_a_higher_cap_needs_a_second_yes(rated: DeviceWorld, no: str) -> None:
    """Planted bugs: raised by the Enter of another field; a dialog whose first button raises."""
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "cap", "100")
        await person.press("enter")
        person.reads("Raise the lifetime cap from 48 to 100, for good?")
        await person.press(no)
        assert person.app.device is not None
        assert person.app.device.settings == rated.settings
        assert person.app.screen.query_one("#cap", Input).value == "48"
    assert not rated.file.path.exists()


async def test_a_cap_is_raised_and_kept_by_who_says_so(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "cap", "100")
        await person.press("enter", "y")
        person.reads("From now on: ε 2, k 4.")
        assert person.app.device is not None
        assert person.app.device.settings.lifetime_cap == 100
        await person.press("f4")
        person.reads("of 100")
    assert rated.file.lifetime_cap() == 100


async def test_a_cap_above_that_of_the_file_needs_a_second_yes_too(rated: DeviceWorld) -> None:
    """Planted bug: under a flag of 48, 40 looks lower, and raises the file's 10."""
    rated.file.path.write_text("lifetime_cap = 10\n")
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "cap", "40")
        await person.press("enter")
        person.reads("Raise the lifetime cap from 10 to 40, for good?")
        await person.press("n")
    assert rated.file.lifetime_cap() == 10


@pytest.mark.parametrize(
    ("text", "says"), [("k = = 3\n", "was left alone"), (None, "cannot be written")]
)
async def test_where_nothing_can_be_kept_it_says_so_and_the_settings_count(
    rated: DeviceWorld, text: str | None, says: str
) -> None:
    """Planted bugs: a file that is damaged is written anew; a crash of the worker."""
    path = rated.file.path
    async with rated.opened(size=(120, 40)) as person:
        if text is None:
            path.mkdir()
        else:
            path.write_text(text)
        await person.press("f6")
        await fill(person, "k", "3")
        await person.press("enter")
        person.reads("a file cannot be used", says, "it is not kept")
        assert person.app.device is not None
        assert person.app.device.settings == replace(rated.settings, k=3)
    assert path.is_dir() if text is None else path.read_text() == text


async def test_the_demo_keeps_no_setting(
    askew: Askew, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[object] = []
    monkeypatch.setattr(AskewApp, "run", lambda app: files.append(app.file))
    askew("tui", "--demo")
    askew("tui")
    demo, real = files
    assert demo is None
    assert isinstance(real, ConfigFile)
    assert real.path == home / "config" / "askew" / "config.toml"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("epsilon", "much"),
        ("epsilon", "1025"),
        ("k", "0"),
        ("cap", "0"),
        ("k", "2.5"),
        ("cap", "1/0"),
    ],
)
async def test_a_setting_that_cannot_be_is_refused_in_words_and_changes_nothing(
    rated: DeviceWorld, name: str, text: str
) -> None:
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f6")
        await fill(person, name, text)
        await person.press("enter")
        person.reads("a setting does not allow it")
        assert person.app.device is not None
        assert person.app.device.settings == rated.settings


async def test_the_theme_changes_by_button_and_by_key_and_is_kept(
    device: DeviceWorld, askew: Askew, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with device.opened() as person:
        await person.press("f6")
        await person.click("#light")
        assert person.app.theme == "askew-light"
        await person.click("#dark")
        assert person.app.theme == "askew-dark"
        assert device.file.path.read_text() == 'theme = "dark"\n'
        await person.press("ctrl+t")
        assert person.app.theme == "askew-light"
    themes: list[str] = []
    monkeypatch.setattr(AskewApp, "run", lambda app: themes.append(app.theme))
    askew("--config", device.file.path, "tui")
    assert themes == ["askew-light"]


async def test_the_app_can_begin_with_the_light_theme(device: DeviceWorld) -> None:
    async with device.opened(light=True) as person:
        assert person.app.theme == "askew-light"


async def test_the_profile_is_encrypted_and_its_passphrase_is_asked_for(rated: DeviceWorld) -> None:
    passphrase = "open it gently"
    async with rated.opened() as person:
        await person.press("f6")
        person.reads("Kept in the clear")
        await fill(person, "passphrase", passphrase)
        await fill(person, "again", passphrase)
        assert passphrase not in person.sees()
        await person.click("#encrypt")
        person.reads("Your profile is encrypted.", "Encrypted with your passphrase.")
    rated.profile = type(rated.profile)(rated.directory / "profile.sqlite", rated.bits)
    async with rated.opened() as person:
        person.reads("Your profile is locked")
        await person.write("wrong one")
        await person.press("enter")
        person.reads("Type the passphrase again; nothing was changed.")
        await person.write(passphrase)
        await person.press("enter")
        person.reads("3 titles rated")
        await person.press("f6")
        await person.click("#decrypt")
        person.reads("Kept in the clear")


async def test_two_passphrases_that_differ_encrypt_nothing(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "passphrase", "open it gently")
        await fill(person, "again", "open it firmly")
        await person.press("enter")
        person.reads("Type the same passphrase twice.")
    assert rated.profile.lock == "none"


async def test_without_the_passphrase_the_rest_still_works(rated: DeviceWorld) -> None:
    rated.profile.encrypt("open it gently")
    rated.profile = type(rated.profile)(rated.directory / "profile.sqlite", rated.bits)
    async with rated.opened() as person:
        await person.press("escape")
        person.reads("its passphrase was not typed", "Locked.")
        await person.press("f3", "a")
        person.reads("The profile is locked.")
    assert rated.network.asked == []


async def test_forgetting_the_profile_keeps_the_ledger(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f3", "a")
        await person.press("f6")
        await person.click("#wipe")
        person.reads("for good?")
        await person.press("y")
        person.reads("Your profile is forgotten.")
        await person.press("f2")
        person.reads("Nothing is rated yet.")
        await person.press("f4")
        person.reads("spent 8")
    assert rated.companion().profile.ratings() == ()
    assert len(rated.signals.entries()) == 1
