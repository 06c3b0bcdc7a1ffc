"""What an analyst's clock tells of one person: answers over two logs that differ in one.

One log has a person more, who was in very many events. Measured with a real engine and a real
ledger; seconds of `until_public_moment` are half as long here, so that a measurement takes less
than a night.

What is not measured here: a count that ends just before a public moment ends after it with one
person more, if this person alone makes the count so much longer.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event

import pytest
from scipy.stats import mannwhitneyu
from server.release.conftest import OFFERED, TERMS
from server.release.test_analyst_desk import ask

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.dp.release import PRIVACY_UNIT
from askew.noise.randomness import SystemBits
from askew_server.counting import count_events
from askew_server.counting.engines import open_engine
from askew_server.ledger import Ledger
from askew_server.release.job import AnalystDesk, ReleaseJob, until_public_moment

FASTER = 2
MOST_TOLD = 0.53
ANSWERS = 7_000  # of each log: an area of .50 +- .005
MANY = 10_000  # events of the one person


def log(path: Path, events: int) -> str:
    """Of 300 people, who saw film n if n + 1 divides their number, and of one person more."""
    rows = [f"person {u},film {n}" for u in range(300) for n in range(9) if u % (n + 1) == 0]
    rows += [f"person 300,film {n % 3000}" for n in range(events)]
    path.write_text("\n".join(["unit,item", *rows, ""]), encoding="utf-8")
    return str(path)


def neighbors(
    root: Path, answers: int, events: int, *, beaten: bool
) -> tuple[list[float], list[float]]:
    """Seconds until an answer, without the one person and with them, in turns, from two desks."""
    stop, engine = Event(), open_engine("duckdb:")
    beat = partial(
        until_public_moment,
        lambda: FASTER * time.monotonic(),
        lambda seconds: stop.wait(seconds / FASTER),
    )
    cap = PrivacyFilter(epsilon=Fraction(10**6), delta=Fraction(1, 100))
    terms = replace(TERMS, k_star=5 * ANSWERS, l_star=ANSWERS, delta=Fraction(1, 10**12))
    desks: list[AnalystDesk] = []
    took: list[list[float]] = [[], []]
    with ExitStack() as stack:
        for n in range(2):
            book = stack.enter_context(Ledger(root / f"{n}.sqlite", root / f"{n} mark"))
            book.open_dataset("films", "1", cap, PRIVACY_UNIT, ADD_OR_REMOVE_ONE)
            book.grant("films", "ada", terms)
            beats = beat if beaten else nullcontext
            count = partial(count_events, engine, SystemBits())
            job = ReleaseJob(book, count, SystemBits(), beat=beats)
            path = log(root / f"{n}.csv", n * events)
            desks.append(AnalystDesk(book, {"films": replace(OFFERED, events=path)}, job))
        for question in range(answers):
            for desk, seconds in zip(desks, took, strict=True):
                began = time.perf_counter()
                desk.top_k("ada", ask(5, str(question)))
                seconds.append(time.perf_counter() - began)
    engine.close()
    without, with_them = took
    return without, with_them


def area(without: list[float], with_them: list[float]) -> float:
    """How often an answer with the one person takes longer, or the other way round; shown."""
    found = float(mannwhitneyu(with_them, without).statistic) / (len(without) * len(with_them))
    error = (1 / 6 / len(without)) ** 0.5
    medians = [f"{1000 * median(each):.1f} ms" for each in (without, with_them)]
    sys.stdout.write(f"area {found:.3f} +- {error:.3f}, {len(without)} each; medians {medians}\n")
    return max(found, 1 - found)


@pytest.mark.nightly
def test_answers_over_neighboring_logs_take_as_long(tmp_path: Path) -> None:
    """It takes two hours. An area of .53 is passed by chance once in 10**9."""
    assert area(*neighbors(tmp_path, ANSWERS, MANY, beaten=True)) <= MOST_TOLD


@pytest.mark.audit
def test_without_public_moments_one_person_is_heard(tmp_path: Path) -> None:
    """So the measurement has power. Planted: an answer that leaves as soon as it is there."""
    assert area(*neighbors(tmp_path, 20, 20 * MANY, beaten=False)) > 0.8
