"""The study of dear items on a small simulated world, and slates on worlds that can be seen."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from askew.errors import ParameterError
from askew.randomized_response import RandomizedResponse
from askew.retrieval.likelihood import response_log_odds
from askew_server.cli.main import cli
from askew_server.demo.simulation import films, simulate
from askew_server.evaluation.dear_study import DearProtocol, DearRow, as_csv, dear_rows
from askew_server.ratings import RatingTable
from askew_server.training.meanings import design_slates

SMALL = DearProtocol(truths=("next",), epsilons=(4.0,), seeds=(0,), sizes=(8,), refills=(0, 1, 8))
RNG = np.random.default_rng(12)
SIDES = RNG.integers(0, 2, 300)
TASTES = np.column_stack([np.where(SIDES, 1, -1) + 0.1 * RNG.normal(size=300), np.ones(300)])
SCORES = np.stack([SIDES == 0, SIDES == 1, np.full(300, 0.4)]).astype(np.float32)


@cache
def small_table() -> RatingTable:
    ratings = simulate(films(), n_people=2000)
    keys = tuple(film.title for film in films())
    return RatingTable(ratings.person, ratings.item, ratings.rating, 2000, keys)


@cache
def small_rows() -> tuple[DearRow, ...]:
    return tuple(dear_rows(small_table(), SMALL, lambda *_: None))


def test_two_slates_part_two_tastes() -> None:
    response = RandomizedResponse.for_epsilon(2, Fraction(3))
    design = design_slates(TASTES, SCORES, response, 1, seed=0)
    assert sorted(design.slates[:, 0].tolist()) == [0, 1]
    own = float(np.exp(response_log_odds(response)[0]))
    assert design.value == pytest.approx(own, rel=1e-6)  # 1 with the truth, 0 with the lie


def test_at_a_tiny_epsilon_every_slate_is_the_safe_one() -> None:
    response = RandomizedResponse.for_epsilon(2, Fraction(1, 100))
    design = design_slates(TASTES, SCORES, response, 2, seed=0)
    assert [sorted(slate) for slate in design.slates.tolist()] == [[0, 1], [0, 1]]
    assert design.value == pytest.approx(1.0)


def test_a_design_is_reproducible_and_takes_any_seed() -> None:
    response = RandomizedResponse.for_epsilon(2, Fraction(2))
    first, again = (
        design_slates(TASTES, SCORES, response, 2, seed=2**32 - 1).slates.tolist() for _ in "ab"
    )
    assert first == again


def test_more_slates_than_people_are_refused() -> None:
    response = RandomizedResponse.for_epsilon(24, Fraction(2))
    with pytest.raises(ParameterError):
        design_slates(TASTES[:10], SCORES[:, :10], response, 1, seed=0)


def test_slates_by_their_vectors_beat_the_linear_encoder_and_no_signal() -> None:
    """Planted bug: slates named by a taste that does not know what is seen."""
    whole = small_rows()[0]
    assert whole.over_other.mean > 2 * whole.over_other.error
    assert whole.over_none.mean > 5 * whole.over_none.error
    assert (whole.slates, whole.size) == (8, 8 * 5 * (16 + 1))  # codes, and a byte of a boost


def test_a_stored_signal_outlives_a_catalog() -> None:
    """Planted bug: slates filled anew for anybody, whoever names them: no better than no signal."""
    first, second, last = small_rows()[1:]
    assert [row.refills for row in (first, second, last)] == [0, 1, 8]
    assert 1.0 == first.left > second.left > last.left < 0.5
    assert first.over_other.mean == 0.0
    assert second.over_other.mean > -0.1
    for row in (first, second, last):
        assert row.over_none.mean > 2 * row.over_none.error


def test_rows_are_reproducible_and_written_with_their_errors() -> None:
    least = replace(SMALL, k=2, sizes=(2,), refills=(), min_ratings=5)
    ratings = simulate(films()[:60], n_people=200)
    keys = tuple(film.title for film in films()[:60])
    table = RatingTable(ratings.person, ratings.item, ratings.rating, 200, keys)
    once, again = (tuple(dear_rows(table, least, lambda *_: None)) for _ in "ab")
    assert once == again
    (read,) = csv.DictReader(as_csv(once).splitlines())
    assert float(read["named"]) == pytest.approx(once[0].named.mean, rel=1e-5)
    assert float(read["over_none_error"]) > 0


@pytest.mark.parametrize(
    "change", [{"truths": ("rating",)}, {"seeds": ()}, {"epsilons": (1.0, 1.0)}, {"k": 0}]
)
def test_a_protocol_that_cannot_be_played_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        replace(SMALL, **change)


def test_the_command_shows_and_writes_the_rows(tmp_path: Path) -> None:
    out = tmp_path / "dear"
    given = ["evaluate", "--dear", "--truths", "next", "-k", "3", "--out", str(out)]
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 0, result.output
    assert "epsilon: between any two people" in result.output
    assert len((out / "dear.csv").read_text().splitlines()) == 1 + 1 + 4


@pytest.mark.parametrize("option", ["--principal", "--rules none", "--places", "-k 1,2"])
def test_options_of_the_other_studies_are_refused(option: str, tmp_path: Path) -> None:
    given = ["evaluate", "--dear", *option.split(), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()
