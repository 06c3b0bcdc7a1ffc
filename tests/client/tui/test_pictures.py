"""The screens as pictures: what a person sees, compared with what was drawn and looked at.

They are text, in two sizes, but for the one that README shows. `DRAW_PICTURES=1 pytest
tests/client/tui/test_pictures.py` draws them again; look at the difference before it is committed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from client.tui.person import DeviceWorld, Network, Person

from askew.noise.randomness import RandomBits
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.simulation import simulated_device

PICTURES = Path(__file__).parent / "pictures"
README = Path(__file__).parents[3] / "docs" / "app.svg"
SMALL, LARGE = (80, 24), (120, 40)


class SteadyBits(RandomBits):
    """The same bytes for the same length, in whatever order threads ask. Protects nobody."""

    def read(self, count: int) -> bytes:
        """Bytes that are the same today and tomorrow."""
        return hashlib.shake_256(b"a steady hand").digest(count)


def compare(path: Path, seen: str) -> None:
    if os.environ.get("DRAW_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen + "\n", encoding="utf-8")
    assert seen.splitlines() == path.read_text(encoding="utf-8").splitlines()


def text_of(name: str, size: tuple[int, int]) -> Path:
    return PICTURES / f"{name}-{size[0]}.txt"


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("profile", ("down", "down")),
        ("before-asking", ("f4",)),
        ("answer", ("f4", "a")),
        ("privacy", ("f4", "a", "f5")),
        ("history", ("f4", "a", "f6")),
        ("settings", ("f7",)),
        ("help", ("f4", "f1")),
    ],
)
async def test_a_screen_looks_as_it_did(
    rated: DeviceWorld, name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    rated.bits = SteadyBits()
    async with rated.opened(size=size) as person:
        for key in keys:
            await person.press(key)
        compare(text_of(name, size), person.sees())


@asynccontextmanager
async def demonstrated(size: tuple[int, int], mode: str = "auto") -> AsyncIterator[Person]:
    """The demo, as it opens, with a steady hand: patch `askew_client.opening.SystemBits`."""
    settings = ClientSettings(mode=mode)  # type: ignore[arg-type]  # one of its names
    app = AskewApp(lambda: simulated_device(settings), note="demo")
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=False) as pilot:
        person = Person(app, pilot, Network.__new__(Network))
        person.network.silent = False
        async with asyncio.timeout(60):  # what cannot connect fails
            while app.connection is None:
                await pilot.pause()
        await person.settled()
        yield person


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=str)
async def test_near_looks_as_it_did_before_and_after_an_answer(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the app opens on an empty map."""
    monkeypatch.setattr("askew_client.opening.SystemBits", SteadyBits)
    async with demonstrated(size) as person:
        compare(text_of("near", size), person.sees())
        await person.press("a")
        compare(text_of("near-answer", size), person.sees())
        if size == LARGE:
            compare(README, picture_of(person))


def picture_of(person: Person) -> str:
    """The screen as SVG, with the reader's own letters in place of a stranger's."""
    svg = person.app.export_screenshot(title="askew tui --demo", simplify=True)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    assert re.search(r"(?:src|href|url\()[^\n]*//", svg) is None
    return "\n".join(line.rstrip() for line in svg.splitlines())
