"""A noisy matrix of likes is paid for before it is drawn, kept whole, and never paid twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ArtifactError, BudgetExceeded, ChargePending, DataError
from askew.mechanisms.covariance import Matrix, NoisyCovariance, covariance
from askew.noise.randomness import SystemBits
from askew_server.counting.contract import LikesTask
from askew_server.ledger import Ledger
from askew_server.published.reader import ReleaseReader
from askew_server.taste.paid_matrix import MatrixPlan, budget_left, make_matrix, read_matrix
from askew_server.taste.private import WORTH_HAVING, epsilon_for, expected_share, people_for

NOISE = NoisyCovariance(Fraction(1), Fraction(1, 10**6))
TASK = LikesTask(events="r.csv", keys=("a", "b", "c"), rating_column="rating", least=4, most=5)
PLAN = MatrixPlan("films", "1", TASK, NOISE)
EXACT = covariance([[0, 1], [1], [0, 1, 2]], 3)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", tmp_path / "mark") as opened:
        cap = PrivacyFilter(epsilon=Fraction(2), delta=Fraction(1, 10**5))
        opened.open_dataset("films", "1", cap, "one person's whole history", ADD_OR_REMOVE_ONE)
        yield opened


def make(
    ledger: Ledger,
    file: Path,
    count: Callable[[LikesTask], Matrix] = lambda _: EXACT,
    as_of: str | None = None,
) -> Matrix:
    request = PLAN.charge_request(as_of)
    return make_matrix(PLAN, request, file, ledger=ledger, count=count, bits=SystemBits())


def nobody_counts(_: LikesTask) -> Matrix:
    pytest.fail("counted")


def test_the_charge_is_durable_before_a_rating_is_counted(ledger: Ledger, tmp_path: Path) -> None:
    """Planted bug: counted first. A run that dies has lost its budget, and the same request draws
    no second matrix for it.
    """

    def count(_: LikesTask) -> Matrix:
        assert ledger.dataset("films").spent.epsilon == 1
        raise DataError("the engine died")

    with pytest.raises(DataError, match="died"):
        make(ledger, tmp_path / "m", count)
    assert ledger.dataset("films").spent.epsilon == 1
    assert not (tmp_path / "m").exists()
    with pytest.raises(ChargePending):
        make(ledger, tmp_path / "m")


def test_the_same_request_gives_the_same_matrix_and_is_paid_once(
    ledger: Ledger, tmp_path: Path
) -> None:
    first = make(ledger, tmp_path / "m")
    again = make(ledger, tmp_path / "m", nobody_counts)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, EXACT)
    assert ledger.dataset("films").spent.epsilon == 1
    fields, stored, _ = read_matrix(tmp_path / "m")
    assert np.array_equal(stored, first)
    assert (fields.items, fields.epsilon, fields.dataset) == (3, "1", "films")


def test_other_ratings_are_paid_again_and_beyond_the_budget_nothing_is_counted(
    ledger: Ledger, tmp_path: Path
) -> None:
    """An update is a charge like the first."""
    assert budget_left(ledger, "films", NOISE)[1] == 2
    for day in ("1", "2"):
        make(ledger, tmp_path / day, as_of=day)
    assert budget_left(ledger, "films", NOISE)[1] == 0
    with pytest.raises(BudgetExceeded):
        make(ledger, tmp_path / "3", nobody_counts, "3")


def test_a_matrix_that_is_not_the_one_that_was_paid_is_refused(
    ledger: Ledger, tmp_path: Path
) -> None:
    file = tmp_path / "m"
    make(ledger, file)
    data = file.read_bytes()
    for damaged in (data[:-1], data + b"0", b"{}\n"):
        file.write_bytes(damaged)
        with pytest.raises(ArtifactError):
            read_matrix(file)
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DataError, match="is not the noisy matrix that charge"):
        make(ledger, file)
    file.unlink()
    with pytest.raises(DataError, match="not paid twice"):
        make(ledger, file)


def test_a_matrix_that_was_paid_is_not_written_over(ledger: Ledger, tmp_path: Path) -> None:
    """Planted bug: another request in the same place, which takes what the first one paid for."""
    file = tmp_path / "m"
    first = make(ledger, file)
    with pytest.raises(DataError, match="is of another request"):
        make(ledger, file, nobody_counts, "2")
    assert ledger.dataset("films").spent.epsilon == 1
    assert np.array_equal(make(ledger, file), first)


def test_what_decides_the_matrix_decides_the_request() -> None:
    changes: list[dict[str, Any]] = [{"least": 3.5}, {"keys": ("a",)}, {"max_items_per_unit": 9}]
    plans = [replace(PLAN, task=replace(TASK, **change)) for change in changes]
    plans.append(replace(PLAN, noise=NoisyCovariance(Fraction(2), NOISE.delta)))
    assert len({plan.charge_request().digest for plan in [PLAN, *plans]}) == 5


def test_no_reader_of_releases_is_shown_a_matrix(ledger: Ledger, tmp_path: Path) -> None:
    """Planted bug: its payload taken for a list, which stops the page of all releases."""
    make(ledger, tmp_path / "m")
    [stored] = ledger.charges("films")
    assert json.loads(stored.payload)["kind"] == "noisy matrix of likes"  # type: ignore[union-attr]
    assert not ReleaseReader(tmp_path / "ledger.sqlite").page("", 0, 10)[0]


def test_what_a_model_will_be_worth_is_known_from_public_numbers() -> None:
    """At the number of people that would do, and at the epsilon, it is just worth having."""
    least = people_for(NOISE, 1500, WORTH_HAVING)
    assert expected_share(NOISE, 1500, least) == pytest.approx(0.47, abs=0.01)
    assert expected_share(NOISE, 1500, least - 10) is None
    assert epsilon_for(NOISE.delta, 1500, least, WORTH_HAVING) == pytest.approx(1, abs=0.01)
    assert expected_share(NOISE, 1500, 24_190) == pytest.approx(0.81, abs=0.02)  # measured
    assert expected_share(NOISE, 3000, 48_380) == pytest.approx(0.87, abs=0.02)
