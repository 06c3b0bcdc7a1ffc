"""The cover of people: greedy choice, and what is held already."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.retrieval.cover import cover, gains

Scores = NDArray[np.floating]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 rows at a time, so that few rows are enough for several blocks."""
    monkeypatch.setattr("askew.retrieval.cover._AT_ONCE", 1)


def plain_greedy(scores: Scores, weights: Scores, k: int, held: Scores) -> list[int]:
    """Every gain computed every time, in double precision, on the best of held and chosen."""
    chosen: list[int] = []
    best, weights = held.astype(float), weights.astype(float)
    while len(chosen) < k:
        added = np.maximum(scores, best) @ weights - best @ weights
        added[chosen] = -1
        chosen.append(int(added.argmax()))
        best = np.maximum(best, scores[chosen[-1]])
    return chosen


def made(seed: int, rows: int, people: int) -> tuple[Scores, Scores]:
    """Multiples of 1/16, weights of 1/64: every sum is exact, so that ties are ties."""
    rng = np.random.default_rng(seed)
    scores = (rng.integers(0, 9, (rows, people)) / 16).astype(np.float32)
    weights = (rng.integers(1, 5, people) / 64).astype(np.float32)
    return scores, weights


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 12), st.data())
@settings(deadline=None)
def test_lazy_choice_is_greedy_choice_ties_included(
    seed: int, rows: int, people: int, data: st.DataObject
) -> None:
    """Planted bugs: only the first block looked at; a tie to the higher row."""
    scores, weights = made(seed, rows, people)
    k = data.draw(st.integers(1, rows))
    assert cover(scores, weights, k) == plain_greedy(scores, weights, k, np.zeros(people))


def test_equal_rows_tie_to_the_lower_wherever_they_stand() -> None:
    """Row sums of awkward lengths round alike for equal rows: the block does not matter."""
    rng = np.random.default_rng(3)
    row = rng.random(1237, dtype=np.float32)
    scores = np.tile(row, (53, 1))
    weights = rng.random(1237, dtype=np.float32)
    assert cover(scores, weights, 4) == [0, 1, 2, 3]


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 12))
@settings(deadline=None)
def test_what_is_held_already_is_no_gain(seed: int, rows: int, people: int) -> None:
    """Planted bug: the scores themselves, as if nothing were held."""
    scores, weights = made(seed, rows, people)
    held = (np.random.default_rng(seed).integers(0, 9, people) / 16).astype(np.float32)
    expected = plain_greedy(scores, weights, rows, held)
    assert cover(gains(scores, held), weights, rows) == expected


def test_more_items_than_there_are_is_refused() -> None:
    scores, weights = made(1, 3, 3)
    for k in (0, 4):
        with pytest.raises(ParameterError):
            cover(scores, weights, k)
