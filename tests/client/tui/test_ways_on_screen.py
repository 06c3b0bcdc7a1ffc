"""The mode that is taken, on the screens: before a question, after it, and when it is changed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client.tui.person import SETTINGS, DeviceWorld
from textual.widgets import Input

from askew.catalog.catalog_file import Part
from askew.protocol.utility_table import ModeUtility, ServingMode, UtilityTable
from askew.wire.catalog_file import catalog_files
from askew_client.device.quoting import IN_PROCESS
from askew_client.settings.config import read_file
from askew_client.settings.consent import consents_of
from askew_client.tui.screens.ask import AskScreen

if TYPE_CHECKING:
    from client.conftest import Pair

DEAR = ModeUtility(ServingMode.QUERY, 4, 900, 0.9, 0.2, 0.01, "bucket_rr", Fraction(16), 2)


@pytest.fixture
def whole(device: DeviceWorld) -> DeviceWorld:
    """It goes by itself, and holds everything."""
    device.settings = replace(SETTINGS, mode="auto")
    return device


@pytest.fixture
def thin(pair: Pair, tmp_path: Path) -> DeviceWorld:
    """It goes by itself, holds four of twelve films, and its server proposes payloads."""
    catalog = replace(pair.catalog, shared_slate=tuple(range(6)))
    table = UtilityTable((DEAR,), 0)
    card = replace(pair.card, catalog_version=catalog.version, n_default=4, utility_table=table)
    device = DeviceWorld(card, catalog, tmp_path)
    room = len(catalog_files(card, catalog)[Part.DEFAULT])
    device.settings = replace(SETTINGS, mode="auto", byte_budget=room)
    return device


async def test_a_device_that_holds_everything_says_that_nothing_leaves(whole: DeviceWorld) -> None:
    """Planted bug: a price, or words of a signal, where none is sent."""
    async with whole.opened() as person:
        await person.press("f3")
        person.reads("Nothing leaves this device when you ask.", "made here, nothing sent")
        person.reads("local: all 12 items", "it fits your byte budget.")
        assert not person.shows("costs")
        await person.press("a")
        person.reads("Nothing has left. local: all 12 items", "◀ your pick")
        await person.press("f4")
        person.reads("local: all 12 items")
    assert whole.network.asked == []
    assert whole.signals.entries() == ()


async def test_the_way_is_chosen_in_the_settings_and_kept(whole: DeviceWorld) -> None:
    async with whole.opened() as person:
        await person.press("f6")
        field = person.app.screen.query_one("#mode", Input)
        assert field.value == "auto"
        for each in person.app.screen.query(".field"):  # a style of another screen moved one away
            assert each.region.contains_region(each.query_one(Input).region)
        field.focus()
        field.clear()
        await person.write("query")
        await person.press("enter", "f3", "a")
        person.reads("Spent 8 of 48")
    assert read_file(whole.file.path)["mode"] == "query"
    assert len(whole.network.asked) == 1


async def test_a_dear_proposal_is_told_and_waits_for_a_second_yes(thin: DeviceWorld) -> None:
    """Planted bug: one key that accepts what a server thinks of."""
    async with thin.opened(size=(120, 40)) as person:
        await person.press("f3")
        person.reads("cached: the 4 items", "--consent bucket_rr:16:2@2027-10@")
        screen = person.app.screen
        assert isinstance(screen, AskScreen)
        screen.action_consent()
        await person.settled()
        person.reads("It would cost 16 between any two people", "Consent to it?")
        await person.press("n")
        assert not thin.file.path.exists()
        screen.action_consent()
        await person.settled()
        await person.press("y")
        person.reads("query: one signal, bucket_rr at epsilon 16, k 2")
    (consent,) = consents_of(read_file(thin.file.path)["consent"])
    assert (str(consent.epsilon), consent.server) == ("16", IN_PROCESS)
    assert thin.signals.entries() == ()


async def test_the_settings_show_the_server_and_consents_which_are_withdrawn_there(
    thin: DeviceWorld,
) -> None:
    """Planted bugs: a consent that nobody can see, or that stays in the file; one that another
    server's withdrawal takes along.
    """
    elsewhere = f"bucket_rr:8:8@2027-10@{16 * 'ab'}@elsewhere.example:443"
    async with thin.opened(size=(120, 40)) as person:
        await person.press("f6")
        person.reads(f"How the device asks {IN_PROCESS}")
        assert not person.shows("You consented")
        await person.press("f3")
        screen = person.app.screen
        assert isinstance(screen, AskScreen)
        screen.action_consent()
        await person.settled()
        await person.press("y")
        given = read_file(thin.file.path)["consent"]
        device = person.app.device
        assert device is not None
        device.configure(replace(device.settings, consent=f"{given} {elsewhere}"))
        await person.press("f6")
        person.reads(f"You consented to {IN_PROCESS}", "until 2027-10", "at most 16 between any")
        person.reads("elsewhere.example:443")
        await person.click("#withdraw")
        person.reads(f"Withdraw your consent to {IN_PROCESS}")
        await person.press("y")
        assert device.settings.consent == elsewhere
        assert read_file(thin.file.path)["consent"] == elsewhere
        await person.press("f3")
        person.reads("cached: the 4 items")
    assert thin.signals.entries() == ()
