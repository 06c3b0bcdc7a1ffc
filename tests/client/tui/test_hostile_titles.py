"""A server's titles are text: whatever they say, they are shown, do nothing and break nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client.tui.person import TODAY, DeviceWorld
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.widgets import OptionList

from askew.catalog.item import Item
from askew.errors import OutOfRange
from askew.limits import MAX_MARKS, MAX_TEXT
from askew_client.profile.document import ProfileDocument
from askew_client.tui.widgets.plain_text import fitted
from askew_client.tui.widgets.title_list import TitleList
from askew_client.views.answers import PastAnswer

if TYPE_CHECKING:
    from client.conftest import Pair

HOSTILE = (
    "[@click=app.quit]click me[/]",
    "[/]",
    "[bold red]not bold[/bold red]",
    "[link=https://evil.example]see[/link]",
    "\\[escaped] \\\\[",
    "[" * 60,
    "$primary $(reboot) {x} %s",
    "x" * MAX_TEXT,
    "映画" * 40,
    "🎬🎬🎬 movie 🎬",
    "Z\u0351a\u0334l\u0360g\u0315o\u0337 " + "\u0301" * MAX_MARKS,
    "שלום مرحبا mixed",
)


@pytest.fixture
async def hostile(pair: Pair, tmp_path: Path) -> DeviceWorld:
    """Every title of the catalog is hostile; three are rated."""
    items = tuple(Item(title, None, (title[:40],)) for title in HOSTILE)
    catalog = replace(pair.catalog, items=items)
    card = replace(pair.card, catalog_version=catalog.version, source="[@click=app.quit]x[/]")
    device = DeviceWorld(card, catalog, tmp_path)
    companion = device.companion()
    await companion.titles.connect()
    for title, rating in zip(HOSTILE, (5, 4, 5, 1), strict=False):
        companion.profile.rate(title, rating)
    return device


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_every_screen_shows_hostile_titles_as_they_are(
    hostile: DeviceWorld, size: tuple[int, int]
) -> None:
    """Planted bug: one Static or OptionList that parses markup; "[/]" alone would end the app."""
    async with hostile.opened(size=size) as person:
        person.reads("[@click=app.quit]click me[/]", "[/]", "[bold red]not bold[/bold")
        await person.press("f3")
        await person.press("a")
        person.reads("[@click=app.quit]x[/]")
        answer = hostile.companion().profile.history()[0]
        person.reads(*(fitted(label, 20)[:8].rstrip() for label in answer.labels))
        await person.press("f4")
        await person.press("f5")
        assert person.app.screen.query_one(OptionList).option_count == 1
        person.reads(answer.picked[:12].rstrip())
        await person.press("f6")
        await person.press("f2")
    assert person.app.return_code is None


async def test_past_answers_with_hostile_titles_are_listed_and_looked_at(
    hostile: DeviceWorld,
) -> None:
    def answered(document: ProfileDocument) -> ProfileDocument:
        for title in HOSTILE:
            document = document.answered(PastAnswer(TODAY, "2026-11", HOSTILE, title))
        return document

    hostile.profile.change(answered)
    async with hostile.opened(size=(120, 40)) as person:
        await person.press("f5")
        person.reads("[/]", "[@click=app.quit]click me[/]", "[link=https://evil.example]see[/link]")
        for _ in HOSTILE[1:]:
            await person.press("down")
        person.reads("1 [@click=app.quit]click me[/] ◀ your pick")


async def test_a_click_on_a_title_only_chooses_it(hostile: DeviceWorld) -> None:
    async with hostile.opened() as person:
        titles = person.app.screen.query_one(TitleList)
        for row in range(len(HOSTILE)):
            await person.click(TitleList, (4, row))
            assert titles.cursor == row
        assert person.app.is_running


async def test_every_line_keeps_its_stars_in_their_column(hostile: DeviceWorld) -> None:
    """A wide or an endless title moves no stars, so that a click rates what it seems to rate."""
    async with hostile.opened() as person:
        titles = person.app.screen.query_one(TitleList)
        width = titles.scrollable_content_region.width
        for row in range(len(HOSTILE)):
            line = titles.render_line(row)
            assert line.cell_length == width
            assert line.crop(width - 7, width - 2).text in {"·····", "★★★★★", "★★★★·", "★····"}


async def test_hostile_titles_can_be_searched_rated_and_undone(hostile: DeviceWorld) -> None:
    async with hostile.opened() as person:
        await person.press("down", "5", "down", "l", "down", "x", "u", "u", "u")
        await person.press("slash", "left_square_bracket", "slash")
        person.reads("4 found", "[/]")


@given(st.text(max_size=80), st.integers(0, 60))
def test_any_text_takes_exactly_its_cells(text: str, width: int) -> None:
    printable = "".join(letter for letter in text if letter.isprintable())
    assert cell_len(fitted(printable, width)) == width


@pytest.mark.parametrize("text", ["\u202eevil", "a\nb", "\x1b[2J", "a\u200db", "\u2066x"])
def test_control_and_bidi_characters_never_become_a_title(text: str) -> None:
    """The wire refuses them, so that no screen has to."""
    with pytest.raises(OutOfRange):
        Item(text)
