"""Symmetric EASE against its formulas, its sparse form, residual neighbors, and what is tuned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.protocol.ranking import rank_all
from askew.spaces.vectors import fold_in
from askew_server.demo.simulation import films, simulate
from askew_server.taste import ease, item_vectors
from askew_server.taste.evaluation import Evaluation
from askew_server.taste.model import train
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Histories, split_ratings

N_PEOPLE, N_ITEMS, PENALTY = 1200, 300, 40.0


def likes_of(n_people: int, n_items: int, twins: int = 0) -> csr_array:
    """Likes by six tastes; and of so many pairs of twin items, who likes one likes the other."""
    rng = np.random.default_rng(3)
    chances = rng.gamma(0.3, size=(n_people, 6)) @ rng.gamma(0.3, size=(6, n_items))
    liked = rng.random((n_people, n_items)) < chances / (1 + chances)
    for item in range(0, 2 * twins, 2):
        liked[:, item] = rng.random(n_people) < 0.1
        liked[:, item + 1] = liked[:, item] & (rng.random(n_people) < 0.9)
    return csr_array(liked.astype(np.float64))


LIKES = likes_of(N_PEOPLE, N_ITEMS)
GRAM = ease.gram_of(LIKES)


def scores_of(factors: ease.Factors) -> NDArray[np.float64]:
    """What a like of each item (row) gives each item."""
    return factors.vectors @ (factors.vectors * factors.boosts[:, None]).T


@pytest.mark.slow
def test_of_all_that_is_positive_nothing_is_lost() -> None:
    """S is the sum over its eigenvectors; those of negative eigenvalues are no square. Planted
    bugs: d for its root; boosts of 1; eigenvalues for their roots.
    """
    inverse = np.linalg.inv(GRAM + PENALTY * np.eye(N_ITEMS))
    roots = np.sqrt(np.diag(inverse))
    similar = np.eye(N_ITEMS) - inverse / np.outer(roots, roots)
    values, axes = np.linalg.eigh(similar)
    rank = int((values > 0).sum())
    positive = (axes * np.maximum(values, 0)) @ axes.T
    exact = positive * np.outer(roots, 1 / roots)
    ours = scores_of(ease.fit(GRAM, PENALTY, rank))
    ratio = ours[exact != 0] / exact[exact != 0]
    assert ratio == pytest.approx(np.full(len(ratio), ratio[0]), rel=1e-6)


def test_what_is_large_is_found_without_a_matrix_of_items_by_items() -> None:
    """Planted bug: d of counts alone."""
    dense, sparse = ease.fit(GRAM, PENALTY, 32), ease.fit_sparse(LIKES, PENALTY, 32)
    by_counts = np.log(dense.boosts * np.mean(np.diag(GRAM) + PENALTY) / (np.diag(GRAM) + PENALTY))
    off = np.std(np.log(sparse.boosts / dense.boosts))
    assert off < 0.5 * np.std(by_counts)
    ours = np.corrcoef(scores_of(sparse).ravel(), scores_of(dense).ravel())[0, 1]
    assert ours > 0.9


def test_by_many_iterations_it_is_what_it_is_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = ease.fit(GRAM, PENALTY, 24)
    monkeypatch.setattr(ease, "_FEW", 0)
    step_by_step = ease.fit(GRAM, PENALTY, 24)
    assert step_by_step.vectors == pytest.approx(at_once.vectors, abs=1e-4)


def test_no_sum_over_likes_is_longer_than_the_root_of_their_number() -> None:
    """Planted bug: vectors of any length."""
    vectors = ease.fit(GRAM, PENALTY, 32).vectors
    assert np.linalg.svd(vectors, compute_uv=False)[0] == pytest.approx(1)


def test_likes_without_structure_are_refused() -> None:
    with pytest.raises(DataError, match="no structure"):
        ease.fit(np.zeros((5, 5)), 10.0, 2)


@pytest.fixture
def of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbors of however few people."""
    monkeypatch.setattr(ease, "_STEPS", 1e-9)


def test_pairs_that_one_person_moves_are_not_told() -> None:
    """Of 1,200 people; of a hundred times as many with the same likes they are."""
    for times, is_listed in ((1, False), (100, True)):
        factors = ease.fit(GRAM * times, PENALTY * times, 8)
        assert factors.inverse is not None
        pairs = ease.neighbor_pairs(factors.inverse, factors.scale, factors.vectors, 3)
        assert bool(pairs.nnz) == is_listed


@pytest.mark.usefixtures("of_few")
def test_neighbors_are_the_largest_that_vectors_leave() -> None:
    """With room for all, they are all that is positive. Planted bug: of B, which is no square."""
    factors = ease.fit(GRAM, PENALTY, 8)
    assert factors.inverse is not None
    left = -factors.scale * factors.inverse - factors.vectors @ factors.vectors.T
    np.fill_diagonal(left, 0)
    every = ease.neighbor_pairs(factors.inverse, factors.scale, factors.vectors, N_ITEMS)
    assert (every + every.T).toarray() == pytest.approx(np.maximum(left, 0))
    few = ease.neighbor_pairs(factors.inverse, factors.scale, factors.vectors, 3)
    assert (np.bincount(few.row).max(), few.data.max()) == (3, left.max())
    pairs = {frozenset(pair) for pair in zip(few.row.tolist(), few.col.tolist(), strict=True)}
    assert len(pairs) == few.nnz
    assert few.data.sum() > 0.9 * np.sort(left[np.triu_indices(N_ITEMS)])[-len(pairs) :].sum()


@pytest.mark.usefixtures("of_few")
def test_neighbors_are_taken_where_people_held_out_gain_and_what_is_given_is_not_tuned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred pairs of twins, more than eight dimensions can say; and none."""
    options = TrainingOptions(ranking_dimension=8, penalty=PENALTY)
    twins, plain = (likes_of(N_PEOPLE, N_ITEMS, twins=count) for count in (100, 0))
    assert item_vectors.tune_options(Histories(twins, twins), options).neighbors == 13
    monkeypatch.setattr(item_vectors, "_folds", None)
    options = replace(options, neighbors=5)
    assert item_vectors.tune_options(Histories(plain, plain), options) == options


def test_an_item_has_as_many_neighbors_as_its_bytes_leave_room_for() -> None:
    counts = [item_vectors.neighbors_beside(rank) for rank in (64, 100, 128)]
    assert counts == [13, 6, 0]


@pytest.mark.usefixtures("of_few")
def test_the_figures_of_local_are_of_what_devices_rank() -> None:
    """Planted bugs: neighbors without boosts, without the root of likes, or one way alone."""
    ratings = simulate(films()[:150], n_people=500)
    options = TrainingOptions(dimension=2, ranking_dimension=3, min_ratings=5, neighbors=10)
    model = train(ratings, {}, options, source="simulated")
    catalog, space = model.catalog, model.card.space
    assert catalog.neighbors is not None
    rng = np.random.default_rng(1)
    seen = (rng.random((60, len(catalog))) < 0.3).astype(np.float64)
    liked = seen * (rng.random(seen.shape) < 0.5)
    people = split_ratings(Histories(csr_array(liked), csr_array(seen)), 0)
    group = Evaluation.of(*people, space.encoder, catalog)
    ranked, changed = group.people.rank(group.whole_scorer), 0
    for row in range(len(group.people)):
        shown, own = group.people.seen[[row]].indices, group.people.likes[[row]].indices
        ratings_of = dict.fromkeys(shown.tolist(), space.scale.lowest)
        ratings_of |= dict.fromkeys(own.tolist(), space.scale.highest)
        profile = fold_in(ratings_of, catalog.vectors, space)
        device = rank_all(catalog, profile, 20, seen=ratings_of.keys()).order
        assert ranked[row].tolist() == list(device)
        plain = rank_all(replace(catalog, neighbors=None), profile, 20, seen=ratings_of.keys())
        changed += plain.order != device
    assert changed > len(group.people) / 2
