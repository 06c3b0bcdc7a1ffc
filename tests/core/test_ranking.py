"""Scores, slates and the private choice within one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import made_catalog, made_encoder, made_space

from askew.errors import OutOfRange
from askew.protocol import ranking
from askew.protocol.ranking import Slate, rank_all
from askew.spaces.vectors import Profile

SPACE = made_space(made_encoder(d=1, ranking=1))


def slate(ids: tuple[int, ...], values: list[float]) -> Slate:
    vectors, boosts = np.array(values, np.float32).reshape(-1, 1), np.ones(len(ids), np.float32)
    return Slate("00" * 16, ids, vectors, boosts)


def with_taste(taste: float) -> Profile:
    return Profile(SPACE, np.array([taste]), np.zeros(1))


@given(
    values=st.lists(st.integers(-2, 2), min_size=1, max_size=12),
    seen=st.sets(st.integers(0, 11)),
    taste=st.sampled_from([0.0, 1.0, -2.0]),
    count=st.integers(1, 5),
)
def test_the_best_of_a_catalog_are_the_same_however_many_are_looked_at_at_once(
    values: list[int], seen: set[int], taste: float, count: int
) -> None:
    """Planted bugs: a tie that goes to an item of a later part; the best of the last part alone."""
    vectors = [(float(value),) for value in values]
    catalog, rated = made_catalog(vectors, shared_slate=(0,)), seen & {*range(len(values))}

    def order(item: int) -> tuple[float, int, int]:
        return -taste * values[item], item != 0 if taste == 0 else 0, item

    wanted = sorted(range(len(values)), key=lambda item: (item in rated, *order(item)))[:count]
    for at_once in (2, 3, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking, "_AT_ONCE", at_once)
            found = rank_all(catalog, with_taste(taste), count, seen=rated)
        assert found.order == (*wanted,)
        assert found.scores == {item: taste * values[item] for item in wanted}


def test_a_ranking_shows_nothing_when_printed() -> None:
    """Planted bug: the order or the scores in a repr, and so in a log or a traceback."""
    catalog = made_catalog([(3.0,), (0.5,)])
    assert repr(rank_all(catalog, with_taste(1.0), 2, seen=set())) == "Ranking()"


def test_a_slate_whose_order_or_vectors_could_say_something_is_refused() -> None:
    for ids in ((3, 3), (4, 2)):
        with pytest.raises(OutOfRange, match="distinct and ascending"):
            slate(ids, [0.0, 1.0])
    for values in ([0.0, np.nan], [np.inf, 0.0], [0.0]):
        with pytest.raises(OutOfRange, match="finite, one for each item"):
            slate((1, 2), values)
