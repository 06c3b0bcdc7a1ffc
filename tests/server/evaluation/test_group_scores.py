"""Scores that are made some people at a time are those of all at once, and never more at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askew_server.evaluation import experiment
from askew_server.evaluation.experiment import GroupScores
from askew_server.taste.training.buckets import favorites

PEOPLE, ITEMS, MOST = 37, 23, 100
SCORES = np.random.default_rng(0).normal(size=(PEOPLE, ITEMS)).astype(np.float32)
SLATES = np.random.default_rng(1).integers(ITEMS, size=(PEOPLE, 3))


@pytest.fixture(params=[MOST, 10**6])
def group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GroupScores:
    """The same scores, at most so many at a time, or all at once."""
    most: int = request.param
    monkeypatch.setattr(experiment, "AT_ONCE", most)

    def made(rows: slice, items: NDArray[np.int64]) -> NDArray[np.float32]:
        found = SCORES[rows][:, items]
        assert found.size <= most
        return found

    return GroupScores(PEOPLE, ITEMS, made)


def test_in_parts_or_whole_they_are_the_same(group: GroupScores) -> None:
    """Planted bugs: the last people left out; everybody's items in place of one's own; all people
    at once.
    """
    every = np.arange(ITEMS)
    some = np.array([[4, 2], [0, 22]])
    assert np.array_equal(SCORES, group.of_items(every))
    assert np.array_equal(SCORES[:, some], group.of_items(some))
    assert np.array_equal(np.take_along_axis(SCORES, SLATES, axis=1), group.at(SLATES))
    assert np.array_equal(np.maximum(SCORES.max(axis=1), 0), group.best())
    assert np.array_equal(np.argsort(-SCORES, axis=1, kind="stable")[:, :4], group.best_slates(4))
    assert np.array_equal(favorites(SCORES), group.favorites())
