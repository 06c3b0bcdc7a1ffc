"""From 80x24 to wide, in both themes and in none: nothing essential is cut off."""

from __future__ import annotations

import pytest
from client.tui.person import DeviceWorld
from textual.color import Color

from askew_client.tui.themes import DARK, LIGHT

SIZES = [(80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_matters_can_be_read_at_every_size(
    rated: DeviceWorld, size: tuple[int, int]
) -> None:
    async with rated.opened(size=size) as person:
        lines = person.sees().splitlines()
        assert len(lines) == size[1]
        person.reads("search 12 titles", "12 found", "Your profile", "◂ Film", "▸")
        person.reads("3 titles rated", "★★★★★", "F6 Settings", "F1 Help")
        await person.press("f3")
        person.reads("Ask", "or press a", "your pick made here, never sent")
        await person.press("a")
        person.reads("● you, here", "◆ the signal, sent", "of 48.", "◀ your pick")
        person.reads("Your pick, never sent", "SIMULATED", "between any two people.")
        await person.press("f4")
        person.reads("spent 8", "next 8", "of 48", "2026-11 one signal")
        person.reads("for these settings", "at most ε 8 between any two people")
        person.reads("◆ where the server")
        await person.press("f5")
        person.reads("21 Nov", "21 November 2026", "◀ your pick")
        await person.press("f6")
        person.reads("How the device asks", "How it looks", "Your profile at rest", "Use these")
        person.reads("Dark", "Light", "Encrypt", "Forget my profile")
        await person.press("f1")
        person.reads("Settings", "On this screen", "Everywhere")


async def test_a_tiny_terminal_is_no_error(rated: DeviceWorld) -> None:
    async with rated.opened(size=(20, 6)) as person:
        for key in ("f3", "a", "f4", "f5", "f6", "f1", "escape", "f2"):
            await person.press(key)
        await person.pilot.resize_terminal(200, 60)
        await person.settled()
        person.reads("12 found")


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2, from 1 to 21."""
    high, low = sorted((luminance(Color.parse(each)) for each in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: Color) -> float:
    parts = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in color.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_ink_can_be_read_on_every_paper(theme: object) -> None:
    """4.5 is what WCAG asks of text; planted bug: amber of the dark theme on the light paper."""
    assert isinstance(theme, type(DARK))
    inks = [theme.foreground, theme.primary, theme.secondary, theme.accent, theme.warning]
    inks += [theme.error, theme.success, theme.variables["soft"]]
    papers = [theme.background, theme.surface, theme.panel]
    for ink in inks:
        for paper in papers:
            assert ink is not None
            assert paper is not None
            assert contrast(ink, paper) >= 4.5, (ink, paper)


async def test_without_color_the_truth_and_the_signal_differ_by_shape(
    rated: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with rated.opened() as person:
        assert person.app.no_color
        await person.press("f3")
        await person.press("a")
        person.reads("● you, here", "◆ the signal, sent")


@pytest.mark.parametrize("theme", ["dracula", "textual-light", "ansi-dark"])
async def test_themes_of_others_work_too(rated: DeviceWorld, theme: str) -> None:
    async with rated.opened() as person:
        person.app.theme = theme
        for key in ("f3", "a", "f4", "f5", "f6"):
            await person.press(key)
        person.reads("How it looks")
