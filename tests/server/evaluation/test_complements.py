"""The study of slates that complement what is held: every row by its definition, on few people."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from askew.errors import ParameterError
from askew_server.demo.simulation import films, simulate
from askew_server.evaluation.complements import (
    Question,
    Row,
    compare,
)
from askew_server.evaluation.holding import holding, starter_items
from askew_server.evaluation.scene import Dealt, Scene
from askew_server.evaluation.split import deal
from askew_server.ratings import RatingTable

SMALL = Question(
    truths=("next",),
    seeds=(0,),
    held=6,
    k=3,
    epsilons=(1.0, 6.0),
    sizes=(8,),
    min_ratings=5,
    learned=False,
)


@cache
def table() -> RatingTable:
    ratings = simulate(films(), n_people=400)
    keys = tuple(film.title for film in films())
    return RatingTable(ratings.person, ratings.item, ratings.rating, 400, keys)


@cache
def scene() -> Scene:
    return Scene.of(Dealt.of(deal(table(), 0, 5), 0), "next")


@cache
def rows() -> dict[tuple[str, str, float], Row]:
    return {(row.starter, row.way, row.epsilon): row for row in compare(table(), SMALL)}


def test_every_way_is_a_row_with_its_promise() -> None:
    without = {(way, 0.0) for way in ("anybody", "starter", "shared", "whole")}
    signals = {(way, epsilon) for way in ("posterior", "buckets") for epsilon in SMALL.epsilons}
    for starter in SMALL.starters:
        found = {(way, epsilon) for name, way, epsilon in rows() if name == starter}
        assert found == without | signals
    assert {row.per_rating for row in rows().values() if not row.epsilon} == {0.0}
    buckets = [row for row in rows().values() if row.way == "buckets"]
    assert all(row.per_rating == row.epsilon for row in buckets)
    points = [row for row in rows().values() if row.way == "posterior"]
    assert all(0 < row.per_rating < row.epsilon for row in points)


def test_what_is_held_alone_gives_the_best_of_it() -> None:
    """By the definition. Planted bug: seen items count."""
    held = starter_items(scene(), 6, "for anybody")
    got = np.maximum(scene().wanted.of_items(held).max(axis=1), 0).sum() / scene().possible.sum()
    assert rows()["for anybody", "starter", 0.0].ratio.mean == pytest.approx(got)


def test_more_is_never_worse_and_everything_is_all_there_is() -> None:
    for starter in SMALL.starters:
        ratios = [rows()[starter, way, 0.0].ratio.mean for way in ("starter", "shared", "whole")]
        assert ratios == sorted(ratios)
        assert ratios[-1] == pytest.approx(1.0)


def test_items_for_anybody_in_two_parts_are_as_good_as_together() -> None:
    """Greedy for what the first add goes on as greedy did."""
    together = starter_items(scene(), 9, "for anybody").tolist()
    where = holding(scene(), starter_items(scene(), 6, "for anybody"))
    assert where.others.shared[:3].tolist() == together[6:]
    assert rows()["for anybody", "shared", 0.0].gain.mean == pytest.approx(0.0, abs=1e-6)


def test_rules_see_what_items_add_and_no_item_that_is_held() -> None:
    """Person by person. Planted bugs: what is held is forgotten; held items are in the pool."""
    held = starter_items(scene(), 6, "most rated")
    where = holding(scene(), held)
    assert not set(where.others.pool.tolist()) & set(held.tolist())
    known = scene().truth.scores(scene().dealt.server).of_items(np.arange(scene().wanted.n_items))
    best = np.maximum(known[:, held].max(axis=1), 0)
    added = np.maximum(known[:, where.others.pool] - best[:, None], 0)
    assert where.others.served == pytest.approx(added.T, abs=1e-6)
    assert (where.others.validated.of_items(held) == -1).all()


def test_a_signal_adds_to_what_is_held() -> None:
    """At a generous epsilon by more than two errors; and at 1 a rule that was made for 4 is no
    worse than no signal: no answer is, by what its people say.
    """
    for starter in SMALL.starters:
        signal, shared = rows()[starter, "buckets", 6.0], rows()[starter, "shared", 0.0]
        assert signal.ratio.mean > shared.ratio.mean + 2 * signal.gain.error
        little = rows()[starter, "buckets", 1.0]
        assert little.ratio.mean > shared.ratio.mean - 2 * little.gain.error
        assert signal.coverage > shared.coverage


def test_nothing_need_be_held() -> None:
    found = compare(table(), replace(SMALL, held=0, starters=("most rated",), epsilons=(4.0,)))
    assert [row.way for row in found] == ["anybody", "shared", "posterior", "buckets", "whole"]
    assert found[0].ratio == found[1].ratio


def test_the_most_rated_are_the_most_rated() -> None:
    """Planted bug: the first of the zero-information order."""
    trained_on = (scene().dealt.trained_on.toarray() > 0).sum(axis=0)
    held = starter_items(scene(), 5, "most rated")
    assert sorted(trained_on[held].tolist()) == np.sort(trained_on)[-5:].tolist()
    everything = starter_items(scene(), len(trained_on), "for anybody")
    assert sorted(everything.tolist()) == list(range(len(trained_on)))
    with pytest.raises(ParameterError, match="held"):
        starter_items(scene(), len(trained_on) + 1, "for anybody")
