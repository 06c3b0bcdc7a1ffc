"""Two budgets over one log are told, and an analyst's answer has one law, whatever holes one
person's events have: no error tells.

Power: with the former refusal of missing ids in `count_top`, or csv lines that fail, each test of a
hole is an error for the analyst."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from server.counting.reference import write_parquet
from server.release import typed
from server.release.conftest import CAP, OFFERED
from server.release.typed import Captured, Run

from askew.dp.analyst import BudgetStatus, PayWhatYouGet, TopKQuestion
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT, release_from_bytes
from askew.noise.randomness import ReplayBits
from askew.wire.releases import answer_from_bytes, answer_to_bytes
from askew_server.counting import count_events
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.ledger import Ledger
from askew_server.release.job import AnalystDesk, ReleaseJob


@pytest.mark.thin
@pytest.mark.parametrize("log", ["./log.csv", "link.csv"])
def test_another_data_set_over_the_same_events_is_told_before_it_is_paid(
    opened: Path, run: Run, capsys: Captured, log: str
) -> None:
    """Three over one log spent 1 + 1 + 1 without a word. By whatever name or link. Planted bugs:
    told after the charge; a data set told of itself.
    """
    (opened / "link.csv").symlink_to("log.csv")
    assert run("ledger", "open", "--dataset", "more", "--epsilon", 40) == 0
    for epsilon in (10, 9):
        assert run(*typed.KNOWN, "--dataset", "films", "--epsilon", epsilon) == 0
    assert "warning" not in capsys.readouterr().err
    warned = "warning: films was charged for these events too"
    for more, then in (("--dry-run",), ""), ((), "charging"):
        assert run(*typed.KNOWN, "--dataset", "more", "--events", log, *more) == 0
        assert then in capsys.readouterr().err.partition(warned)[2]


TERMS = PayWhatYouGet(
    k_star=50, l_star=9, epsilon=Fraction(1, 4), delta=Fraction(1, 10**6), slack=Fraction(1, 10**6)
)
# Near the threshold, 1 + 4 ln(10 ** 7) = 65, so that the coins decide much.
EVENTS = [(f"p{unit}", f"film {n}") for n in range(8) for unit in range(40 + 8 * n)]
Row = tuple[str | None, str | None]
HOLES: dict[str, list[Row]] = {
    "no item": [("somebody", None)],
    "no unit": [(None, "film 0")],
    "neither": [(None, None)] * 5,
    "no item of one who is counted": [("p1", None)],
}
NULS = [(f"p{unit}", "a\0b\x1b[2J") for unit in range(300)]
LONG = [(f"p{unit}", "x" * 200_000) for unit in range(300)]


def parquet(folder: Path, rows: list[Row]) -> str:
    units, items = zip(*rows, strict=True) if rows else ((), ())
    write_parquet(folder / "log.parquet", {"unit": units, "item": items})
    return str(folder / "log.parquet")


def answer(folder: Path, events: str, seed: int) -> tuple[bytes, BudgetStatus]:
    """What an analyst gets from a desk of its own, with these coins."""
    folder.mkdir()
    coins = ReplayBits(random.Random(seed).randbytes(1 << 16))
    engine = DuckDBEngine()
    with Ledger(folder / "ledger.sqlite", folder / "mark") as book:
        book.open_dataset("films", "1", CAP, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
        book.grant("films", "ada", TERMS)
        offered = replace(OFFERED, events=events)
        count = partial(count_events, engine, ReplayBits(bytes(32)))
        job = ReleaseJob(book, count, coins)
        desk = AnalystDesk(book, {"films": offered}, job)
        reply = desk.top_k("ada", TopKQuestion("films", 7, "q"))
    engine.close()
    return reply


def test_the_same_coins_give_the_same_answer_with_a_hole_and_without(tmp_path: Path) -> None:
    """And other coins another one, so that equal answers are no accident."""
    log, seeds = parquet(tmp_path, [*EVENTS]), range(5)
    whole = [answer(tmp_path / str(seed), log, seed) for seed in seeds]
    assert len(set(whole)) > 2
    for seed, hole in zip(seeds, HOLES, strict=False):
        holed = parquet(tmp_path, [*EVENTS, *HOLES[hole]])
        assert answer(tmp_path / hole, holed, seed) == whole[seed], hole


@pytest.mark.thin
@pytest.mark.parametrize("rows", [[], [("p", "a")], [(None, None)], NULS, LONG])
def test_no_events_of_few_people_end_in_an_error(tmp_path: Path, rows: list[Row]) -> None:
    """Fewer rows than k, none at all, and names that no reader would take as they are."""
    document, budget = answer(tmp_path / "desk", parquet(tmp_path, rows), 1)
    release, _, _ = answer_from_bytes(answer_to_bytes(document, budget))
    assert release == release_from_bytes(document)
    assert release.stopped
    assert len(release.items) == (len(rows) == 300)
    assert all(len(item) <= 500 and item.isprintable() for item in release.items)
