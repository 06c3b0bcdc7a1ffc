"""The screens as pictures of text: what a person sees, compared with what was drawn and looked at.

`DRAW_PICTURES=1 pytest tests/client/tui/test_pictures.py` draws them again; look at the
difference before it is committed.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from client.tui.person import DeviceWorld

from askew.noise.randomness import RandomBits

PICTURES = Path(__file__).parent / "pictures"


class SteadyBits(RandomBits):
    """The same bytes for the same length, in whatever order threads ask. Protects nobody."""

    def read(self, count: int) -> bytes:
        """Bytes that are the same today and tomorrow."""
        return hashlib.shake_256(b"a steady hand").digest(count)


def compare(name: str, seen: str) -> None:
    path = PICTURES / f"{name}.txt"
    if os.environ.get("DRAW_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen + "\n", encoding="utf-8")
    assert seen.splitlines() == path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("profile", ("down", "down")),
        ("before-asking", ("f3",)),
        ("answer", ("f3", "a")),
        ("privacy", ("f3", "a", "f4")),
        ("history", ("f3", "a", "f5")),
        ("settings", ("f6",)),
        ("help", ("f3", "f1")),
    ],
)
async def test_a_screen_looks_as_it_did(
    rated: DeviceWorld, name: str, keys: tuple[str, ...]
) -> None:
    rated.bits = SteadyBits()
    async with rated.opened() as person:
        for key in keys:
            await person.press(key)
        compare(name, person.sees())
