"""A key press in the search of a device that holds 100,000 or 400,000 titles.

    .venv/bin/python -m benchmarks.device_search [TITLES ...]

The items are SIMULATED: titles of made-up words, some with accents or in Greek, a quarter as
many as titles, and 32 factors. The person has rated 300. A key press is `search`, with
the profile read from its file, and the forty lines that a terminal shows of what was found; what
Textual takes to draw them comes on top. The floor is one look through all titles in lower case
without accents, `bytes.find` of what is not there, and the peers are SQLite's. The first rows are a
device with the app loaded from its start to its first answer: all the CPU, and the peak of memory.
The last row takes in a hundred items that answers brought.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.rows import OURS, Goal, Row, Work, finish, run

if TYPE_CHECKING:
    from askew_client.device.device import Companion

SIZES, BUDGET = (100_000, 400_000), 64_000_000
RATED, SHOWN, LIMIT, MET = 300, 40, 500, 100
MOST = {100_000: 15.0, 400_000: 60.0}  # milliseconds a key press
MEMORY = 300.0  # megabytes
LETTERS = "eeeeeaaaaaooooiiinnnnrrrrsssttttlllddhcmupgbfywvkéüñ"
GREEK = "αεηιοςντρλμάέ"
NOWHERE = b"zzzz"  # in no title
TYPED = {
    "the first letter": "e",
    "two letters": "th",
    "parts of three words": "er th on",
    "a year and a letter": "(1979) a",
    "an accent, half a word": "ÉLA",
    "what is nowhere": NOWHERE.decode(),
    "all letters deleted": "",
}


# -- what is held ----------------------------------------------------------------------------------


def made_titles(count: int) -> list[str]:
    """Some words each, a few of them in many titles, and about 25 letters in all."""
    import numpy as np

    rng = np.random.default_rng(1)
    n_words = max(1000, count // 4)
    sizes = rng.integers(2, 11, n_words)
    pools = [np.array(list(LETTERS)), np.array(list(GREEK))]
    texts = ["".join(rng.choice(pool, int(sizes.sum()))) for pool in pools]
    ends = np.cumsum(sizes).tolist()
    greek = rng.random(n_words) < 0.03
    words = [
        texts[foreign][end - size : end].capitalize()
        for foreign, size, end in zip(greek.astype(int), sizes, ends, strict=True)
    ]
    odds = 1 / np.arange(1, n_words + 1) ** 0.8
    lengths = rng.choice([1, 2, 3, 4, 5, 6, 7], count, p=[0.1, 0.22, 0.25, 0.2, 0.12, 0.07, 0.04])
    found = iter(rng.choice(n_words, int(lengths.sum()), p=odds / odds.sum()).tolist())
    return [" ".join([words[next(found)] for _ in range(n)]) for n in lengths]


def make(count: int, folder: Path) -> None:
    """The file that a device holds, and a database of what is searched."""
    from benchmarks.thin_device import made_model

    from askew.catalog.item import Item
    from askew.catalog.title_key import plain_text
    from askew.wire.held import held_to_bytes

    card, catalog = made_model(count)
    rows = zip(made_titles(count), catalog.items, strict=True)
    items = tuple([Item(title, item.year, item.genres) for title, item in rows])
    catalog = replace(catalog, items=items)
    card = replace(card, catalog_version=catalog.version, n_starter=count)
    (folder / "held").write_bytes(held_to_bytes(card, catalog))
    folded = [plain_text(item.label) for item in items]
    (folder / "folded").write_text("\n".join(folded), "utf-8")
    with sqlite3.connect(folder / "peer") as database:
        database.execute("CREATE TABLE titles (label TEXT)")
        database.executemany("INSERT INTO titles VALUES (?)", zip(folded))
        database.execute("CREATE VIRTUAL TABLE parts USING fts5 (label, tokenize = 'trigram')")
        database.execute("INSERT INTO parts (rowid, label) SELECT rowid, label FROM titles")


class OneFile:
    """A server that lets devices hold one file, and answers nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def held(self, edition: int, part: object, start: int) -> bytes:  # noqa: ARG002
        from askew.catalog.held_file import HEAD_BYTES

        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(1 << 20 if start else HEAD_BYTES)

    def mark(self) -> None:
        """Nobody listens."""


def opened(folder: Path) -> Any:
    """A device that holds all of it, and asks nobody."""
    from askew_client.opening import open_companion
    from askew_client.settings.settings import ClientSettings

    settings = ClientSettings(mode="local", byte_budget=BUDGET, k=20)
    transport = cast("Any", OneFile(folder / "held"))
    return open_companion(settings, directory=folder / "device", transport=transport)


async def connected(folder: Path) -> Companion:
    async with opened(folder) as companion:
        found = await companion.connect()
        assert companion.connection is not None, found
        return cast("Companion", companion)


# -- the rows --------------------------------------------------------------------------------------


def rated(companion: Companion) -> None:
    every = companion.connection.n_items // RATED if companion.connection else 1
    items = companion._items
    companion.edit({items[at * every].label: (5.0,) for at in range(RATED)})


def press(companion: Companion, text: str) -> int:
    """How many were found; those that are shown were made."""
    found = companion.search(text, LIMIT)
    return len([*islice(found, SHOWN)]) and len(found)


async def device(folder: Path) -> None:
    """From the start to an answer, with the app loaded: the process whose memory counts."""
    import askew_client.tui.app  # noqa: F401

    async with opened(folder) as companion:
        await companion.connect()
        rated(companion)
        for text in TYPED.values():
            press(companion, text)
        companion.bars()
        answer = await companion.ask()
        assert len(answer.results) == 20, answer


def started(folder: Path) -> Mapping[str, Work]:
    command = [sys.executable, "-m", "benchmarks.device_search", "device", str(folder)]
    return {OURS: partial(subprocess.run, command, check=True)}


def peers(database: sqlite3.Connection, text: str) -> Mapping[str, Work]:
    """SQLite's look at every row, and its index of three letters where the words have as many."""
    words = text.split()
    like = " AND ".join(["label LIKE ?"] * len(words)) or "1"
    plain = f"SELECT rowid, label FROM titles WHERE {like} LIMIT {LIMIT}"

    def asked(query: str, *values: str) -> Callable[[], object]:
        return lambda: database.execute(query, values).fetchall()

    found = {"SQLite LIKE": asked(plain, *(f"%{word}%" for word in words))}
    if words and all(len(word) > 2 for word in words):
        indexed = f"SELECT rowid, label FROM parts WHERE parts MATCH ? LIMIT {LIMIT}"
        found["SQLite FTS5, trigrams"] = asked(indexed, " ".join(f'"{word}"' for word in words))
    return found


def pressed(folder: Path, companion: Companion, text: str) -> Mapping[str, Work]:
    from askew.catalog.title_key import plain_text

    folded = (folder / "folded").read_bytes()
    database = sqlite3.connect(folder / "peer")
    return {
        "floor": lambda: folded.find(NOWHERE),
        **peers(database, plain_text(text)),
        OURS: lambda: press(companion, text),
    }


def met(companion: Companion) -> Mapping[str, Work]:
    """What a device makes of items that answers brought, which it does not hold."""
    from askew.catalog.item import Item
    from askew_client.profile.met import Met, MetItem

    model = companion._model
    assert model is not None
    codes = bytes((model.card.space.ranking_dimension + 1) // 2)
    items = tuple([MetItem(Item(f"Met {at}", 1979), codes, 192) for at in range(MET)])
    kept = Met(model.card.space.version, items)
    return {OURS: lambda: model.with_met(kept).search}


def rows_of(count: int, folder: Path) -> list[Row]:
    companion = asyncio.run(connected(folder))
    press(companion, "")  # the first one makes what is searched
    goal = Goal(milliseconds=MOST.get(count))
    return [
        Row(f"{count:,}: {kind}", partial(pressed, folder, companion, text), goal)
        for kind, text in TYPED.items()
    ] + [Row(f"{count:,}: {MET} items are met", partial(met, companion), goal)]


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
            first = Row(f"{count:,}: first start", partial(started, folder), rounds=1)
            again = Row(
                f"{count:,}: start to answer",
                partial(started, folder),
                Goal(megabytes=MEMORY),
                seconds=150,
            )
            kept.append(run("A device's start, SIMULATED titles", [first, again]))
        for count, folder in folders.items():
            kept.append(run("A key press, SIMULATED titles", rows_of(count, folder)))
    finish(kept)


if __name__ == "__main__":
    if sys.argv[1:2] == ["device"]:
        asyncio.run(device(Path(sys.argv[2])))
    else:
        main([int(float(size)) for size in sys.argv[1:]] or list(SIZES))
