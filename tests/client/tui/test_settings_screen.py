"""Settings: how it asks, how it looks, how the profile is kept, and forgetting."""

from __future__ import annotations

from fractions import Fraction

import pytest
from client.tui.person import Device, Person
from textual.widgets import Input


async def fill(person: Person, name: str, text: str) -> None:
    field = person.app.screen.query_one(f"#{name}", Input)
    field.focus()
    field.clear()
    await person.write(text)


async def test_typed_settings_count_from_now_on(rated: Device) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "epsilon", "0.5")
        await fill(person, "k", "3")
        await fill(person, "cap", "7")
        await person.press("enter")
        person.reads("From now on: ε 0.5, k 3.")
        assert person.app.companion is not None
        settings = person.app.companion.settings
        assert (settings.epsilon, settings.k, settings.lifetime_cap) == (
            Fraction(1, 2),
            3,
            Fraction(7),
        )
        await person.press("f4")
        person.reads("of 7")


@pytest.mark.parametrize(
    ("name", "text"),
    [("epsilon", "much"), ("k", "2.5"), ("cap", "1/0")],
)
async def test_a_setting_that_cannot_be_is_refused_in_words_and_changes_nothing(
    rated: Device, name: str, text: str
) -> None:
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f6")
        await fill(person, name, text)
        await person.press("enter")
        person.reads("a setting does not allow it")
        assert person.app.companion is not None
        assert person.app.companion.settings == rated.settings


async def test_the_theme_changes_by_button_and_by_key(device: Device) -> None:
    async with device.opened() as person:
        await person.press("f6")
        await person.click("#light")
        assert person.app.theme == "askew-light"
        await person.click("#dark")
        assert person.app.theme == "askew-dark"
        await person.press("ctrl+t")
        assert person.app.theme == "askew-light"


async def test_the_app_can_begin_with_the_light_theme(device: Device) -> None:
    async with device.opened(light=True) as person:
        assert person.app.theme == "askew-light"


async def test_the_profile_is_encrypted_and_its_passphrase_is_asked_for(rated: Device) -> None:
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


async def test_two_passphrases_that_differ_encrypt_nothing(rated: Device) -> None:
    async with rated.opened() as person:
        await person.press("f6")
        await fill(person, "passphrase", "open it gently")
        await fill(person, "again", "open it firmly")
        await person.press("enter")
        person.reads("Type the same passphrase twice.")
    assert rated.profile.lock == "none"


async def test_without_the_passphrase_the_rest_still_works(rated: Device) -> None:
    rated.profile.encrypt("open it gently")
    rated.profile = type(rated.profile)(rated.directory / "profile.sqlite", rated.bits)
    async with rated.opened() as person:
        await person.press("escape")
        person.reads("its passphrase was not typed", "Locked.")
        await person.press("f3", "a")
        person.reads("The profile is locked.")
    assert rated.network.asked == []


async def test_forgetting_the_profile_keeps_the_ledger(rated: Device) -> None:
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
    assert rated.companion().ratings() == ()
    assert len(rated.signals.charges()) == 1
