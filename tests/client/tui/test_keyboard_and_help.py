"""Everything can be reached, by keyboard alone and with the mouse, and explains itself."""

from __future__ import annotations

import pytest
from client.tui.person import DeviceWorld
from textual.widgets import Button, Input, OptionList

from askew_client.tui.screens.frame import TABS, FrameScreen
from askew_client.tui.widgets.controls import Slider
from askew_client.tui.widgets.header import BentHeader
from askew_client.tui.widgets.title_list import TitleList

MODES = [tab.mode for tab in TABS]


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.mode)
async def test_every_screen_has_a_key_a_help_and_a_place_in_the_header(
    device: DeviceWorld, tab: object
) -> None:
    assert isinstance(tab, type(TABS[0]))
    async with device.opened() as person:
        await person.press(tab.key.lower())
        assert person.app.current_mode == tab.mode
        screen = person.app.screen
        assert isinstance(screen, FrameScreen)
        await person.press("f1")
        person.reads(tab.title, "On this screen", *(key for key, _ in screen.KEYS))
        await person.press("end")
        person.reads("warm", "stays on this device")
        await person.press("escape")
        assert person.app.screen is screen


async def test_the_header_is_clicked(device: DeviceWorld) -> None:
    async with device.opened() as person:
        row = person.sees().splitlines()[0]
        for tab in TABS[::-1]:
            await person.click(BentHeader, (row.index(tab.title), 0))
            assert person.app.current_mode == tab.mode


async def test_the_line_of_the_header_is_bent_under_the_screen_that_shows(
    device: DeviceWorld,
) -> None:
    async with device.opened() as person:
        for tab in TABS:
            person.app.action_go(tab.mode)
            await person.settled()
            names, line = person.sees().splitlines()[:2]
            left, right = line.index("╱"), line.index("╲")
            assert names[left : right + 1].split() == [tab.key, tab.title]
            assert len(line) == 80


async def test_brackets_step_through_the_screens_and_around(device: DeviceWorld) -> None:
    async with device.opened() as person:
        await person.press("escape")
        seen = []
        for _ in MODES:
            await person.press("right_square_bracket")
            seen.append(person.app.current_mode)
            person.app.set_focus(None)
        assert seen == [*MODES[1:], MODES[0]]
        await person.press("left_square_bracket")
        assert person.app.current_mode == MODES[-1]


async def test_tab_alone_reaches_every_part_of_every_screen(rated: DeviceWorld) -> None:
    """Planted bug: a part that takes the mouse but no focus."""
    parts = (Button, Input, OptionList, Slider, TitleList)
    async with rated.opened(size=(120, 40)) as person:
        for mode in MODES:
            person.app.action_go(mode)
            await person.settled()
            wanted = {
                each
                for each in person.app.screen.query("*")
                if isinstance(each, parts) and each.display and not each.disabled
            }
            reached = set()
            for _ in range(len(wanted) + 4):
                await person.pilot.press("tab")
                reached.add(person.app.focused)
            assert wanted <= reached, mode


async def test_an_answer_and_its_cost_without_a_mouse(device: DeviceWorld) -> None:
    async with device.opened() as person:
        await person.write("film 4")
        await person.press("enter", "5")
        await person.press("f3")
        await person.press("enter")
        person.reads("◀ your pick")
        await person.press("f4")
        person.reads("spent 8")
        await person.press("ctrl+q")
    assert person.app.return_code == 0


@pytest.mark.parametrize(
    ("words", "mode"),
    [("go to privacy", "privacy"), ("go to history", "history"), ("go to settings", "settings")],
)
async def test_the_command_palette_goes_to_a_screen(
    device: DeviceWorld, words: str, mode: str
) -> None:
    async with device.opened() as person:
        await person.press("ctrl+p")
        await person.write(words)
        while not person.app.screen.query_one(OptionList).option_count:
            await person.pilot.pause()
        await person.press("enter")
        while person.app.current_mode != mode:
            await person.pilot.pause()


async def test_every_screen_adds_its_own_commands_to_the_palette(device: DeviceWorld) -> None:
    async with device.opened() as person:
        offered = {}
        for mode in MODES:
            person.app.action_go(mode)
            await person.settled()
            commands = person.app.get_system_commands(person.app.screen)
            offered[mode] = {command.title for command in commands}
    everywhere = set.intersection(*offered.values())
    assert {"Help", "Light or dark", "Quit", "Connect again", "Go to Ask"} <= everywhere
    assert {mode: titles - everywhere for mode, titles in offered.items()} == {
        "profile": {"Search the catalog", "Undo", "Only rated", "Forget for good"},
        "ask": {"Ask", "Stop asking", "Consent to the proposal"},
        "privacy": {"Use these settings", "Back to your settings"},
        "history": {"Forget all answers"},
        "settings": {"Forget my profile"},
        "near": {"Ask nearby", "Add a place", "Move the place", "Forget the place"},
    }
