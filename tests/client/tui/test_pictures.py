"""The picture of the app in the documents, compared with what was drawn and looked at.

`DRAW_PICTURES=1 pytest tests/client/tui/test_pictures.py` draws it again; look at it then.
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
from client.tui.person import Network, Person

from askew.noise.randomness import RandomBits
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.simulation import simulated_device

PICTURE = Path(__file__).parents[3] / "docs" / "app.svg"


class SteadyBits(RandomBits):
    """The same bytes for the same length, in whatever order threads ask. Protects nobody."""

    def read(self, count: int) -> bytes:
        return hashlib.shake_256(b"a steady hand").digest(count)


@asynccontextmanager
async def demonstrated(size: tuple[int, int], mode: str = "auto") -> AsyncIterator[Person]:
    """The demo, as it opens, with a steady hand: patch `askew_client.opening.SystemBits`."""
    settings = ClientSettings(mode=mode)  # type: ignore[arg-type]  # one of its names
    app = AskewApp(lambda: simulated_device(settings), note="demo")
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=False) as pilot:
        person = Person(app, pilot, Network.__new__(Network))
        person.network.silent = False
        async with asyncio.timeout(300):  # what cannot connect fails
            while app.connection is None:
                await pilot.pause()
        await person.settled()
        yield person


@pytest.mark.slow
async def test_the_picture_in_the_documents_is_what_the_app_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer near a place, as the app opens on it. Planted bug: it opens on an empty map."""
    monkeypatch.setattr("askew_client.opening.SystemBits", SteadyBits)
    async with demonstrated((120, 40)) as person:
        await person.press("a")
        seen = picture_of(person)
    if os.environ.get("DRAW_PICTURES"):
        PICTURE.write_text(seen + "\n", encoding="utf-8")
    assert seen.splitlines() == PICTURE.read_text(encoding="utf-8").splitlines()


def picture_of(person: Person) -> str:
    """The screen as SVG, with the reader's own letters in place of a stranger's."""
    svg = person.app.export_screenshot(title="askew tui --demo", simplify=True)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    assert re.search(r"(?:src|href|url\()[^\n]*//", svg) is None
    return "\n".join(line.rstrip() for line in svg.splitlines())
