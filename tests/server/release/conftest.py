"""A ledger with a budget, a log of a few people, and plans on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from server.release.typed import Captured, Run

from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.mechanisms.kinds import KINDS
from askew_server.cli import release_run
from askew_server.counting import CountingTask, EventSource, TopCounts
from askew_server.ledger import Ledger
from askew_server.release import forecast as foreseeing
from askew_server.release.plan import MechanismRequest, ReleasePlan

# By falling count, as an engine gives them; the order of the names is another one.
COUNTS = TopCounts(("d", "b", "e", "a", "c"), (5000, 4000, 3000, 20, 10))
FORECAST = cache(foreseeing.forecast)
CAP = PrivacyFilter(epsilon=Fraction(100), delta=Fraction(1, 1000))
MILLIONTH = Fraction(1, 10**6)
OFFERED = CountingTask(events="log.csv", max_items_per_unit=10, limit=1001)
# At epsilon 1/2 an output, the items at 3,000 and more are far above the threshold, which is at
# 1 + ln(10 / delta) / epsilon = 48, and the items at 20 and 10 are below it.
TERMS = PayWhatYouGet(
    k_star=12,
    l_star=4,
    epsilon=Fraction(1, 2),
    delta=Fraction(1, 10**9),
    slack=Fraction(1, 10**8),
)


ASKED = MechanismRequest(
    k=3,
    epsilon=Fraction(2),
    delta=Fraction(0),
    neighbors=ADD_OR_REMOVE_ONE,
    max_items_per_unit=10,
    share=Fraction(0),
)
MakePlan = Callable[..., ReleasePlan]
Count = Callable[[CountingTask], TopCounts]


def delta_for(mechanism: str) -> Fraction:
    return MILLIONTH if KINDS[mechanism].needs_delta else Fraction(0)


@pytest.fixture(autouse=True)
def foreseen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is foreseen is the same whenever it is asked."""
    for module in (foreseeing, release_run):
        monkeypatch.setattr(module, "forecast", FORECAST)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "ledger.sqlite", tmp_path / "mark"


@pytest.fixture
def ledger(paths: tuple[Path, Path]) -> Iterator[Ledger]:
    """A ledger with a budget of 100 for the data set "films"."""
    with Ledger(*paths) as book:
        book.open_dataset("films", "1", CAP, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        yield book


@pytest.fixture
def plan_of() -> MakePlan:
    """Makes a plan, of whatever differs from three items by canonical with a public catalog."""

    def make(**changes: Any) -> ReleasePlan:
        source = EventSource(events="log.csv", catalog=changes.pop("catalog", "films.csv"))
        asked = {name: changes.pop(name) for name in vars(ASKED) if name in changes}
        values = {"source": source, "mechanism": "canonical", "asked": replace(ASKED, **asked)}
        return ReleasePlan(**{"dataset": "films", "version": "1", **values, **changes})

    return make


@pytest.fixture
def count() -> Count:
    """Counts as an engine would, without an engine."""
    return lambda _: COUNTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an operator works: a log of 300 people, a catalog of nine films, nothing else."""
    monkeypatch.chdir(tmp_path)
    for name in ("ASKEW_LEDGER", "ASKEW_MARK", "ASKEW_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    # Film n is seen by one person in n + 1, so by 300, 150, 100 ... people.
    seen = [(unit, film) for unit in range(300) for film in range(9) if unit % (film + 1) == 0]
    rows = "".join(f"person {unit},film {film}\n" for unit, film in seen)
    (tmp_path / "log.csv").write_text("unit,item\n" + rows)
    (tmp_path / "films.csv").write_text("item\n" + "".join(f"film {n}\n" for n in range(9)))
    return tmp_path


@pytest.fixture
def opened(folder: Path, run: Run, capsys: Captured) -> Path:
    """The same folder, with a budget of epsilon 40 and delta 1e-6, of which nothing is slack."""
    cap = ("--epsilon", 40, "--delta", "1e-6", "--slack", 0)
    assert run("ledger", "open", "--dataset", "films", *cap) == 0
    capsys.readouterr()
    return folder
