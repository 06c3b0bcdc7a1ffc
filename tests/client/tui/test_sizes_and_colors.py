"""Every screen in every size and theme, whatever titles say: nothing is cut or taken for markup."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from client.conftest import Pair
from client.tui.person import HOSTILE, DeviceWorld, Person
from client.tui.test_pictures import SteadyBits, demonstrated
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme
from textual.widgets import DataTable

from askew.catalog.item import Item
from askew.errors import Unreachable
from askew_client.tui.app import SCREENS
from askew_client.tui.ink import CHARACTERS, DARK, LIGHT, STEPS, colors, contrast, fitted
from askew_client.tui.lists import ResultList, TitleList
from askew_client.tui.pictures import HeatMap
from askew_client.tui.screens.frame import ScrollPart


def luminance(color: str | None) -> float:
    """Of WCAG 2."""
    assert color is not None
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in Color.parse(color).normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_ink_can_be_read_on_every_paper(theme: Theme) -> None:
    """4.5 is what WCAG asks of text; planted bug: amber of the dark theme on the light paper."""
    inks = [theme.foreground, theme.primary, theme.secondary, theme.accent, theme.warning]
    inks += [theme.error, theme.success, theme.variables["soft"]]
    papers = [theme.background, theme.surface, theme.panel]
    for ink, paper in product(inks, papers):
        low, high = sorted((luminance(ink), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


@pytest.mark.parametrize("system", ["truecolor", "256"])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_the_likelier_a_place_is_the_further_its_color_is_from_the_ground(
    theme: Theme, system: str
) -> None:
    """As Rich writes it to such a terminal. Planted bug: the nearest of 256 colors to each shade,
    which fall and rise.
    """
    ground, peak = Color.parse(theme.background or ""), Color.parse(theme.secondary or "")
    shades = colors(ground, peak, 0.6, system)
    kind = ColorSystem.TRUECOLOR if system == "truecolor" else ColorSystem.EIGHT_BIT
    written = [shade.downgrade(kind) for shade in shades]
    away = [contrast(each, written[0]) for each in written]
    assert away == sorted(away)
    assert len(set(away)) >= (STEPS if system == "truecolor" else 4)


async def test_without_color_shades_are_characters_of_more_and_more_ink(
    rated: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the edge of the map to the signal in its middle."""
    monkeypatch.setenv("NO_COLOR", "1")
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f5")
        heat_map = person.app.screen.query_one(HeatMap)
        rows = str(heat_map.render()).split("\n")
        middle = rows[len(rows) // 2 - 1][: len(rows[0]) // 2]
        steps = [CHARACTERS.index(sign) for sign in middle if sign in CHARACTERS]
        assert steps == sorted(steps)
        assert steps[0] == 0
        assert steps[-1] >= 4


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


@pytest.mark.slow
async def test_every_screen_shows_hostile_titles_as_they_are(hostile: DeviceWorld) -> None:
    """Planted bug: one Static or OptionList that parses markup; "[/]" alone would end the app."""
    async with hostile.opened() as person:
        person.reads("[@click=app.quit]click me[/]", "[/]", "[bold red]not bold[/bold")
        await person.press("f4")
        await person.press("a")
        person.reads("[@click=app.quit]x[/]")
        answer = hostile.companion().profile.history()[0]
        person.reads(*(fitted(label, 20)[:8].rstrip() for label in answer.labels))
        await person.press("f5")
        assert person.app.screen.query_one(DataTable).row_count == 3
        person.app.screen.query_one(DataTable).focus()
        await person.press("down")
        person.reads(answer.picked[:12].rstrip(), "◀ your pick")
        await person.press("f6")
        await person.press("f3")
    assert person.app.return_code is None


async def test_every_line_keeps_its_stars_in_their_column(hostile: DeviceWorld) -> None:
    """A wide or an endless title moves no stars, so that a click rates what it seems to rate."""
    async with hostile.opened() as person:
        titles = person.app.screen.query_one(TitleList)
        width = titles.scrollable_content_region.width
        for row in range(len(HOSTILE)):
            line = titles.render_line(row)
            assert line.cell_length == width
            assert line.crop(width - 7, width - 2).text in {"·····", "★★★★★", "★★★★·", "★····"}


@pytest.mark.slow
@given(st.text(max_size=80), st.integers(0, 60))
def test_any_text_takes_exactly_its_cells(text: str, width: int) -> None:
    printable = "".join(letter for letter in text if letter.isprintable())
    assert cell_len(fitted(printable, width)) == width


PHONE = (54, 50)  # cells in a browser of 390 x 844 pixels, with its letters of 12 pixels


@pytest.fixture
async def demo(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Person]:
    """The demo's person, with ten ratings, two directions and twenty results."""
    monkeypatch.setattr("askew_client.opening.SystemBits", SteadyBits)
    size, mode = request.param
    async with demonstrated(size, mode) as person:
        await person.press("f3")
        yield person


@pytest.mark.slow
@pytest.mark.parametrize("demo", [((80, 24), "ask"), ((80, 24), "auto")], indirect=True, ids=str)
async def test_the_screens_of_the_demo_show_all_that_they_say(demo: Person) -> None:
    """Planted bug: a row more than fits, such as a price below the fold."""
    for key in ("f3", "f4", "a", "f5", "f6"):
        await demo.press(key)
        hidden = {part.id for part in demo.app.screen.query(ScrollPart) if part.max_scroll_y}
        hidden -= {"results-window", "ledger-window"}  # twenty results, and a ledger
        assert hidden == set(), demo.sees()
        assert "…" not in demo.sees().replace("F2 … F7", ""), demo.sees()
        if key == "f4":
            assert demo.shows("between any two.") == demo.shows("this month")
            assert demo.shows("this month") != demo.shows("Nothing leaves this device")


async def test_what_a_notice_pushes_out_is_reached_by_keys(rated: DeviceWorld) -> None:
    """Planted bug: a column that scrolls for the mouse alone."""
    rated.network.unreachable = Unreachable("nobody answers at 127.0.0.1:7571, " * 19)
    async with rated.opened() as person:
        await person.press("f4")
        assert not person.shows("the same size for everybody.")
        for _ in range(9):
            await person.press("tab")
            if getattr(person.app.focused, "id", "") == "leaving":
                break
        await person.press("end")
        person.reads("the same size for everybody.")


async def test_a_long_title_and_its_note_are_both_whole(rated: DeviceWorld) -> None:
    """Planted bug: a pick that is cut to make room for the words that it is the pick."""
    items = tuple(Item(f"The One Film With a Longer Name, {n}") for n in range(12))
    catalog = replace(rated.network._catalog, items=items)
    card = replace(rated.network._card, catalog_version=catalog.version)
    rated.network.become(card, catalog)
    async with rated.opened() as person:
        await person.press("f4", "a")
        results = person.app.screen.query_one(ResultList).results
        picked = next(each for each in results if each.picked)
        person.reads(f"{picked.place} {picked.title} ◀ your pick")
        await person.press("f5")
        person.app.screen.query_one(DataTable).focus()
        await person.press("down")
        person.reads(picked.title)
        assert "…" not in person.sees()


@pytest.mark.slow
@pytest.mark.parametrize("demo", [(PHONE, "ask")], indirect=True, ids=str)
async def test_titles_are_whole_in_a_browser_390_pixels_wide(demo: Person) -> None:
    """Planted bug: two columns side by side, of which the titles get 12 cells."""
    titles = demo.app.screen.query_one(TitleList)
    shown = demo.sees()
    listed = titles.matches[: titles.scrollable_content_region.height]
    assert len(listed) > 10
    assert [each.title for each in listed if each.title not in shown] == []
    demo.reads("Your profile", "◂", "▸")
    for tab in SCREENS:
        await demo.press(tab.KEY.lower())
        names, line = demo.sees().splitlines()[:2]
        left, right = line.index("╱"), line.index("╲")
        assert names[left : right + 1].split() == [tab.KEY, tab.TITLE]
        assert all(each.KEY in names for each in SCREENS)
    await demo.press("f4", "a")
    demo.reads("◀ your pick", "Your pick, never sent")
    assert "…" not in demo.sees()
