"""Keys: those of a person's own, every part and command without a mouse, and the help."""

from __future__ import annotations

from pathlib import Path

import pytest
from client.conftest import Askew
from client.tui.person import BegunOnTitles, DeviceWorld, NearWorld
from textual.widgets import Button, DataTable, Footer, Input, OptionList, Select

from askew.errors import Unreachable
from askew_client.tui.app import SCREENS
from askew_client.tui.lists import TitleList
from askew_client.tui.screens.frame import BentHeader, FrameScreen


async def test_the_footer_names_only_keys_that_do_what_it_says(device: DeviceWorld) -> None:
    """Planted bug: "? Help" below a search, in which a question mark is text."""
    async with device.opened() as person:
        footer = person.app.screen.query_one(Footer)
        row = person.sees().splitlines()[footer.region.y]
        assert "F1 Help" in row
        assert "? Help" not in row
        assert "/ Search" not in row
        await person.press("escape")
        row = person.sees().splitlines()[footer.region.y]
        assert all(part in row for part in (" 1-5 Rate", " x Unrate", "? Help"))


async def test_r_connects_again_after_a_failure_and_only_then(device: DeviceWorld) -> None:
    device.network.unreachable = Unreachable("nobody answers at 127.0.0.1:7571")
    async with device.opened() as person:
        person.reads("The server cannot be reached.", "r tries again")
        device.network.unreachable = None
        await person.press("escape", "r")
        person.reads("12 found")
        assert not person.shows("cannot be reached")
        first = person.app.connection
        await person.press("r")
        assert person.app.connection is first
    assert device.network.asked == []


MODES = [each.MODE for each in SCREENS]


@pytest.mark.slow
async def test_every_screen_has_a_key_a_help_and_a_place_in_the_header_under_which_a_line_is_bent(
    device: DeviceWorld,
) -> None:
    async with device.opened() as person:
        for tab in SCREENS:
            await person.press(tab.KEY.lower())
            screen = person.app.screen
            assert isinstance(screen, FrameScreen)
            assert person.app.current_mode == tab.MODE
            names, line = person.sees().splitlines()[:2]
            left, right = line.index("╱"), line.index("╲")
            assert names[left : right + 1].split() == [tab.KEY, tab.TITLE]
            assert len(line) == 80
            await person.press("f1")
            person.reads(tab.TITLE, "On this screen", *(key.tooltip for key in screen.explained()))
            await person.press("end")
            person.reads("Ctrl+Q leave", "warm stays on this device")
            await person.press("escape")
            assert person.app.screen is screen
        for tab in SCREENS[::-1]:
            await person.click(BentHeader, (names.index(tab.TITLE), 0))
            assert person.app.current_mode == tab.MODE


async def test_brackets_step_through_the_screens_and_around(device: DeviceWorld) -> None:
    async with device.opened() as person:
        await person.press("escape")
        start = MODES.index(str(person.app.current_mode))
        seen = []
        for _ in MODES:
            await person.press("right_square_bracket")
            seen.append(person.app.current_mode)
            person.app.set_focus(None)
        assert seen == [*MODES[start + 1 :], *MODES[: start + 1]]
        await person.press("left_square_bracket")
        assert person.app.current_mode == MODES[start - 1]


@pytest.mark.slow
async def test_keys_of_ones_own_do_what_the_others_did_and_are_shown(device: DeviceWorld) -> None:
    """Planted bugs: a header and a help that name the old keys."""
    device.keys = {"ask.ask": "g", "settings": "f9", "again": "t"}
    async with device.opened(size=(120, 40)) as person:
        await person.press("f9")
        person.reads("f9 Settings")
        await person.press("f6")
        assert person.app.current_mode == "settings"
        await person.press("f4")
        footer = person.app.screen.query_one(Footer)
        assert " g Ask" in person.sees().splitlines()[footer.region.y]
        await person.press("f1")
        person.reads("g ask", "t connect again")


def test_a_key_of_a_name_that_does_not_exist_is_refused_before_the_screen(
    askew: Askew, tmp_path: Path
) -> None:
    """Planted bug: Textual's own keymap, which ignores it."""
    config = tmp_path / "config.toml"
    config.write_text('[keys]\nask.sak = "g"\n', encoding="utf-8")
    done = askew("--config", config, "tui", "--demo")
    assert done.code == 1
    assert "[keys] has no 'ask.sak'; it has help, near, profile, ask," in done.err


@pytest.mark.slow
async def test_tab_alone_reaches_every_part_of_every_screen(near: NearWorld) -> None:
    """Planted bug: a part that takes the mouse but no focus."""
    parts = (Button, Input, DataTable, OptionList, Select, TitleList)
    async with near.opened(size=(120, 40), program=BegunOnTitles) as person:
        for mode in MODES:
            person.app.action_go(mode)
            await person.settled()
            wanted = {
                each
                for each in person.app.screen.query("*")
                if isinstance(each, parts) and each.display and not each.disabled
            }
            assert wanted <= set(person.app.screen.focus_chain), mode


@pytest.mark.slow
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
        "profile": {"Search", "Like", "Unrate", "Undo", "Rated", "Forget for good"},
        "ask": {"Ask", "Stop asking"},
        "privacy": {"Use these settings", "Back to yours", "Forget all"},
        "settings": set(),
        "near": {"Ask", "Stop", "New place", "Move", "Forget", "Prefer", "Use these"},
    }
