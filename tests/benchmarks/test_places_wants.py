"""What the study of wants measures, beside the plainest way to compute it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.places.grounds import Country
from benchmarks.places.wants import (
    INSIDE,
    ONE,
    OUTSIDE,
    PAID,
    PLAIN,
    TWENTY,
    Fair,
    Line,
    lines_of,
    missed,
)

from askew_server.demo.places import german_towns
from askew_server.taste.measures import Estimate


@pytest.fixture(scope="module")
def fair() -> Fair:
    return Fair(Country.of(german_towns().towns, 6, 0), 2000)


def test_extra_is_beyond_the_best_of_all_items(fair: Fair) -> None:
    """Planted bug: the best item of another wish."""
    frame, items = fair.index.frame, np.arange(2000)
    people = frame.tree(frame.grid(fair.country.crowds["all"]))
    answers = [np.random.default_rng(n).choice(2000, 30, replace=False) for n in range(6)]
    judged = fair.judged("all", answers)
    away = np.linalg.norm(people[:, None] - fair.index.points, axis=2)
    costs = {
        PLAIN: away,
        PAID: away + 0.5 * fair.price[items],
        INSIDE: np.where(fair.flags[0], away, np.inf),
        OUTSIDE: np.where(fair.outside, away, np.inf),
    }
    for wish, cost in costs.items():
        best = [row[found].min() for row, found in zip(cost, answers, strict=True)]
        expected = best - cost.min(axis=1)
        expected[np.isinf(expected)] = np.nan
        np.testing.assert_allclose(judged[wish], expected, atol=1e-4)


def test_a_line_for_each_rule_and_wish(fair: Fair) -> None:
    lines = [*lines_of(fair, [5])]
    assert len(lines) == 2 * 5 * 4
    served = {line.wish: line for line in lines if (line.crowd, line.rule) == ("all", ONE)}
    assert served[INSIDE].none == 0


def test_a_goal_that_is_not_reached_is_said() -> None:
    """Planted bugs: answers without a result that do not count; the goal of k = 20 at 64."""
    line = Line("all", 20, TWENTY, INSIDE, Estimate(3.9, 0.1), 0.0)
    assert [*missed([line])] == []
    for wrong in ({"k": 64}, {"none": 0.02}, {"extra": Estimate(4.3, 0.1)}):
        assert len([*missed([replace(line, **wrong)])]) == 1
