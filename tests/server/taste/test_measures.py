"""Measures of rankings by likes that were held out, and the recommenders that ours stand beside."""

from __future__ import annotations

import math

import numpy as np
from benchmarks.baselines.recommenders import ease, item_knn, popularity
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from askew_server.taste.ease import gram_of
from askew_server.taste.measures import (
    NOTHING,
    HeldOutPeople,
    evaluate_rankings,
    mean_with_error,
    rank_items,
)


def matrix(*rows: list[int], n_items: int = 6) -> csr_array:
    """People who like these items."""
    dense = np.zeros((len(rows), n_items))
    for person, items in enumerate(rows):
        dense[person, items] = 1
    return csr_array(dense)


def test_ndcg_counts_a_like_by_its_rank_and_against_the_best_order() -> None:
    ranked = np.array([[5, 0, 1, 2]])
    # Liked at ranks 2 and 4 of two: (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)).
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert_allclose(evaluate_rankings(ranked, matrix([0, 2])).ndcg, [expected])


def test_ndcg_ends_at_ten_and_recall_at_twenty_and_what_a_ranking_lacks_is_missed() -> None:
    measures = evaluate_rankings(np.arange(30)[None], matrix([10, 19, 20, 29], n_items=30))
    assert_allclose((measures.ndcg, measures.recall), [[0.0], [2 / 4]])
    ranked = np.array([[3, NOTHING, NOTHING]])
    assert_allclose(evaluate_rankings(ranked, matrix([0, 3])).recall, [1 / 2])


def test_of_somebody_without_anything_held_out_nothing_is_known() -> None:
    measures = evaluate_rankings(np.array([[0, 1], [0, 1]]), matrix([0, 1], []))
    assert_allclose(measures.ndcg, [1.0, math.nan])
    assert mean_with_error(measures.ndcg).mean == 1.0


def test_the_best_come_first_and_ties_go_to_the_lower_item() -> None:
    scores = np.array([[1.0, 2.0, 2.0, -np.inf, 0.5]])
    ranked = rank_items(scores, np.array([4, 3, 1, 0, 2]), depth=4)
    assert_array_equal(ranked, [[1, 3, 4, 2]])
    assert_array_equal(rank_items(scores, np.array([4, 3, 1, 0, 2]))[0, 4:], [NOTHING])


def test_the_best_of_many_are_those_of_a_full_sort() -> None:
    scores = np.random.default_rng(3).integers(30, size=(40, 300)).astype(np.float64)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :7]
    assert_array_equal(rank_items(scores, np.arange(300), depth=7), expected)


def test_ease_has_the_weights_of_its_formula_and_no_item_recommends_itself() -> None:
    likes = matrix([0, 1, 2], [0, 1], [2, 3], [3, 4, 5], [0, 5])
    inverse = np.linalg.inv(likes.toarray().T @ likes.toarray() + 2.5 * np.eye(6))
    weights = np.eye(6) - inverse / np.diag(inverse)
    assert_allclose(ease(gram_of(likes), 2.5)(matrix([0, 4])), weights[[0]] + weights[[4]])
    assert_allclose(np.diag(ease(gram_of(likes), 2.5)(csr_array(np.eye(6)))), 0, atol=1e-12)


def test_nearest_items_are_by_the_cosine_of_those_who_like_them() -> None:
    likes = matrix([0, 1], [0, 1], [0, 2], [0], n_items=4)
    # n = 4, 2, 1, 0: cosines of item 0 are 2 / sqrt(8) and 1 / sqrt(4), and the latter is dropped.
    scores = item_knn(gram_of(likes), 1)(matrix([0], [1], n_items=4))
    expected = [[0, 2 / math.sqrt(8), 1 / 2, 0], [1 / math.sqrt(2), 0, 0, 0]]
    assert_allclose(scores, expected)


def test_items_that_a_person_has_seen_are_not_ranked_nor_others_than_are_held() -> None:
    people = HeldOutPeople(matrix([0], []), matrix([0, 1, 2], []), matrix([3], [0]))
    ranked = people.rank(popularity(matrix([0, 1, 2, 3])))
    assert set(ranked[0].tolist()) == {3, 4, 5, NOTHING}
    assert ranked[1, 0] == 0
    people = HeldOutPeople(matrix([0]), matrix([0]), matrix([1, 4]))
    ranked = people.rank(popularity(matrix([1], [1, 2], [2, 3, 4])), np.array([2, 4]))
    assert_array_equal(ranked, [[2, 4]])
