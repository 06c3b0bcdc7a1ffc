"""The demo's events: which simulated person saw which film, as the csv files of an operator."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from askew_server.demo.simulation import films, simulate

N_PEOPLE = 2000


@dataclass(frozen=True)
class DemoEvents:
    """A log of events, the catalog of its items, and how many people saw each item, most first.

    The counts are known here because nobody is behind them: every event is simulated.
    """

    events: Path
    catalog: Path
    counts: tuple[tuple[str, int], ...]


def write_events(folder: Path) -> DemoEvents:
    """Write events.csv (unit, item) and catalog.csv (item) into a folder."""
    catalog = films()
    labels = [f"{film.title} ({film.year})" for film in catalog]
    ratings = simulate(catalog, n_people=N_PEOPLE)
    seen = [labels[item] for item in ratings.item.tolist()]
    people = [f"person {number}" for number in ratings.person.tolist()]
    _write(folder / "events.csv", ("unit", "item"), zip(people, seen, strict=True))
    _write(folder / "catalog.csv", ("item",), ([label] for label in labels))
    counts = tuple(Counter(seen).most_common())
    return DemoEvents(folder / "events.csv", folder / "catalog.csv", counts)


def _write(path: Path, header: tuple[str, ...], rows: Iterable[Iterable[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
