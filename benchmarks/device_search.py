"""A key press in the search of a device that holds 10^5 or 4 * 10^5 titles.

    .venv/bin/python -m benchmarks.device_search [TITLES ...]

The items are SIMULATED: titles of made-up words, and 32 factors. The person has rated 300. A key
press is `search`, with the profile read from its file, and the forty lines that a terminal shows of
what was found; what Textual takes to draw them comes on top. The floor is one look through all
titles in lower case without accents, `bytes.find` of what is not there. The first row is a device
with the app loaded from its start to its first answer: all the CPU, and the peak of memory.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from benchmarks.serving.models import made_tastes

if TYPE_CHECKING:
    from askew_client.opening import Device

SIZES, BUDGET = (100_000, 400_000), 64_000_000
RATED, SHOWN, LIMIT = 300, 40, 500
MOST = {100_000: 15.0, 400_000: 60.0}  # milliseconds a key press
WORDS = 30_000
MEMORY = 300.0  # megabytes
NOWHERE = b"zzzz"  # in no title
TYPED = {
    "the first letter": "e",
    "two letters": "th",
    "parts of three words": "er th on",
    "a year and a letter": "(1979) a",
    "an accent, half a word": "\u00c9LA",
    "what is nowhere": NOWHERE.decode(),
    "all letters deleted": "",
}


def made_titles(count: int, rng: np.random.Generator) -> list[str]:
    """Make titles of some words, a few of which stand in many, and of about 25 letters."""
    letters = np.array(list("eeeeaaaooiinnnrrsssttlldhcmupgbfywvk"))
    words = ["".join(rng.choice(letters, size)).capitalize() for size in rng.integers(2, 10, WORDS)]
    odds = 1 / np.arange(1, WORDS + 1) ** 0.8
    lengths = rng.choice([1, 2, 3, 4, 5, 6, 7], count, p=[0.1, 0.22, 0.25, 0.2, 0.12, 0.07, 0.04])
    chosen = iter(rng.choice(WORDS, int(lengths.sum()), p=odds / odds.sum()))
    return [" ".join(words[next(chosen)] for _ in range(n)) for n in lengths]


def make(count: int, folder: Path) -> None:
    from askew.catalog.item import plain_text
    from askew.wire.catalog_file import catalog_to_bytes

    model = made_tastes(count, 2, made_titles(count, np.random.default_rng(0)))
    card, catalog = replace(model.card, n_default=count), model.catalog
    (folder / "held").write_bytes(catalog_to_bytes(card, catalog))
    folded = [plain_text(item.label) for item in catalog.items]
    (folder / "folded").write_text("\n".join(folded), "utf-8")


class OneFile:
    """A server that lets devices hold one file, and answers nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, catalog_date: int, part: object, start: int, size: int) -> bytes:  # noqa: ARG002
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(size)

    async def __aenter__(self) -> OneFile:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    def mark(self) -> None:
        """Nobody listens."""


def opened(folder: Path) -> Any:
    from askew_client.opening import open_device
    from askew_client.settings.settings import ClientSettings

    settings = ClientSettings(mode="held", byte_budget=BUDGET, k=20)
    transport = cast("Any", OneFile(folder / "held"))
    return open_device(settings, directory=folder / "device", transport=transport)


async def connected(folder: Path) -> Device:
    async with opened(folder) as device:
        found = await device.titles.connect()
        assert device.titles.connection is not None, found
        return cast("Device", device)


def rated(device: Device) -> None:
    every = device.titles.connection.n_items // RATED if device.titles.connection else 1
    items = device.titles._connected().catalog.items
    device.profile.edit({items[at * every].label: (5.0,) for at in range(RATED)})


def press(device: Device, text: str) -> int:
    found = device.titles.search(text, LIMIT)
    return len([*islice(found, SHOWN)]) and len(found)


async def device(folder: Path) -> None:
    import askew_client.tui.app  # noqa: F401

    async with opened(folder) as device:
        await device.titles.connect()
        rated(device)
        for text in TYPED.values():
            press(device, text)
        device.titles.bars()
        answer = await device.asker.ask(device.titles)
        assert len(answer.results) == 20, answer


def started(folder: Path) -> Mapping[str, Work]:
    command = [sys.executable, "-m", "benchmarks.device_search", "device", str(folder)]
    return {OURS: partial(subprocess.run, command, check=True)}


def pressed(folder: Path, device: Device, text: str) -> Mapping[str, Work]:
    folded = (folder / "folded").read_bytes()
    return {"floor": lambda: folded.find(NOWHERE), OURS: lambda: press(device, text)}


def rows_of(count: int, folder: Path) -> list[Row]:
    device = asyncio.run(connected(folder))
    press(device, "")  # the first one makes what is searched
    goal = Goal(milliseconds=MOST.get(count))
    return [
        Row(f"{count:,}: {kind}", partial(pressed, folder, device, text), goal)
        for kind, text in TYPED.items()
    ]


def main(sizes: list[int]) -> None:
    kept = []
    with tempfile.TemporaryDirectory(prefix="askew-search-") as directory:
        folders = {count: Path(directory, str(count)) for count in sizes}
        for count, folder in folders.items():
            folder.mkdir()
            maker = get_context("fork").Process(target=make, args=(count, folder))
            maker.start()  # of its own: what a process has at its peak its children have, too
            maker.join()
            assert not maker.exitcode
            started(folder)[OURS]()  # the first start keeps the file that later ones read
            again = Row(
                f"{count:,}: start to answer",
                partial(started, folder),
                Goal(megabytes=MEMORY),
                seconds=150,
            )
            kept.append(run("A device's start, SIMULATED titles", [again]))
        for count, folder in folders.items():
            kept.append(run("A key press, SIMULATED titles", rows_of(count, folder)))
    finish(kept)


if __name__ == "__main__":
    if sys.argv[1:2] == ["device"]:
        asyncio.run(device(Path(sys.argv[2])))
    else:
        main([int(float(size)) for size in sys.argv[1:]] or list(SIZES))
