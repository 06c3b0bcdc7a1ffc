"""What is made of one noisy matrix of likes: items, factors, simulated people."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from scipy.sparse import csr_array
from server.taste.noisy_log import ITEMS, LAW, PARAMETERS, PEOPLE, TIMES, exact, likes, noisy

from askew.errors import DataError
from askew.mechanisms.covariance import UNIT, Matrix, NoisyCovariance, covariance
from askew_server.taste import ease
from askew_server.taste.private import (
    Copula,
    PrivateParameters,
    fit_shrunk_factors,
    items_above_noise,
)

SURE = replace(PARAMETERS, noise=NoisyCovariance(Fraction(100), LAW.delta))  # next to none


def totals() -> NDArray[np.float64]:
    return TIMES * np.asarray(likes().sum(axis=0), dtype=np.float64)


def test_people_and_likes_are_read_off_the_matrix() -> None:
    """But for noise, and for weights that are floored."""
    kept = items_above_noise(exact(), SURE)
    some = int((np.diff(likes().indptr) > 0).sum())
    assert kept.people == pytest.approx(TIMES * some, rel=1e-5)
    assert kept.likes == pytest.approx(totals()[kept.places], rel=1e-4)
    assert kept.total == pytest.approx(totals().sum(), rel=1e-4)


def test_items_are_kept_by_their_noisy_likes_alone() -> None:
    """Twice the noise of a row. Planted bug: an item kept by its true count."""
    kept = items_above_noise(noisy(), PARAMETERS)
    least = 2 * LAW.sigma * ITEMS**0.5
    row_sums = noisy().sum(axis=1) / UNIT
    assert kept.places.tolist() == np.flatnonzero(row_sums > least).tolist()
    assert 0 < len(kept.places) < ITEMS
    assert set(kept.places.tolist()) != set(np.flatnonzero(totals() > least).tolist())


def test_of_many_people_items_are_kept_by_twice_as_many_likes() -> None:
    many = 20 * noisy()
    assert np.trace(many) > 100_000 * UNIT > np.trace(noisy())
    row_sums, least = many.sum(axis=1) / UNIT, 4 * LAW.sigma * ITEMS**0.5
    assert len(items_above_noise(many, PARAMETERS).places) == (row_sums > least).sum()


def test_factors_are_those_of_the_shrunk_matrix() -> None:
    """By the definition, with P by inverting. Planted bugs: eigenvalues as they are; a penalty of
    the noisy trace; noise of all items instead of those kept.
    """
    items = items_above_noise(noisy(), PARAMETERS)
    kept, factors = items.places, fit_shrunk_factors(items, PARAMETERS)
    matrix = noisy()[np.ix_(kept, kept)] / UNIT
    edge = 2 * LAW.sigma * len(kept) ** 0.5
    values, axes = np.linalg.eigh(matrix)
    stay = values > 0.7 * edge
    values, axes = values[stay], axes[:, stay]
    values = (values + np.sqrt(np.maximum(values**2 - edge**2, 0))) / 2
    expected = ease.fit((axes * values) @ axes.T, 6e-4 * values.sum(), factors.vectors.shape[1])
    assert factors.vectors.shape[1] == min(16, stay.sum())
    assert factors.boosts == pytest.approx(expected.boosts, rel=1e-6)
    scores = factors.vectors @ factors.vectors.T
    assert scores == pytest.approx(expected.vectors @ expected.vectors.T, abs=1e-6)


def test_a_large_matrix_makes_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """In single precision, also of people simulated. Planted bug: eigenvalues within the noise's
    own are left out, as whoever asks for the leading few does.
    """
    kept = items_above_noise(noisy(), PARAMETERS)
    factors, law = fit_shrunk_factors(kept, PARAMETERS), Copula.of(kept)
    monkeypatch.setattr(ease, "DENSE_ITEMS", 0)
    narrow, other = fit_shrunk_factors(kept, PARAMETERS), Copula.of(kept)
    assert narrow.boosts == pytest.approx(factors.boosts, rel=1e-4)
    scores = factors.vectors @ factors.vectors.T
    assert narrow.vectors @ narrow.vectors.T == pytest.approx(scores, abs=1e-3)
    ties = law.loadings @ law.loadings.T
    assert other.loadings @ other.loadings.T == pytest.approx(ties, abs=1e-3)


def test_noise_without_people_is_refused() -> None:
    with pytest.raises(DataError, match="0 of 120 items have more likes than the noise"):
        items_above_noise(np.zeros((ITEMS, ITEMS), np.int64), PARAMETERS)
    of_rank_1 = items_above_noise(np.full((ITEMS, ITEMS), 4 * UNIT), PARAMETERS)
    with pytest.raises(DataError, match="is lost in the noise"):
        fit_shrunk_factors(of_rank_1, PARAMETERS)


@pytest.fixture(scope="module")
def people() -> csr_array:
    kept = items_above_noise(exact(), SURE)
    return Copula.of(kept).sample(20_000, np.random.default_rng(1))


def test_simulated_people_like_items_as_often_as_people_do(people: csr_array) -> None:
    """Within five standard errors and a hundredth. Planted bugs: thresholds of the shares alone,
    whatever the moves do to them; people drawn without their moves.
    """
    places = items_above_noise(exact(), SURE).places
    shares = np.asarray(likes().sum(axis=0))[places] / (np.diff(likes().indptr) > 0).sum()
    simulated = np.asarray(people.sum(axis=0)) / people.shape[0]
    errors = np.sqrt(shares / people.shape[0])
    assert (np.abs(simulated - shares) < 5 * errors + 0.01).all()


def test_simulated_people_like_together_what_people_like_together(people: csr_array) -> None:
    """Beyond what popularity says. Planted bug: loadings of zero."""
    places = items_above_noise(exact(), SURE).places
    often = np.argsort(-totals()[places], kind="stable")[:40]  # of rarer ones, people say little
    beside = ~np.eye(len(often), dtype=bool)

    def ties(some: csr_array) -> NDArray[np.float64]:
        """Correlations of likes, less those that long and short histories make of every pair."""
        correlations = np.corrcoef(some.toarray().T)
        level = correlations.mean(axis=0)
        return np.asarray((correlations - level[:, None] - level)[beside])

    assert np.corrcoef(ties(people[:, often]), ties(likes()[:, places[often]]))[0, 1] > 0.7


def test_histories_are_long_and_short_and_no_person_and_no_item_is_without_a_like(
    people: csr_array,
) -> None:
    """Also of few people, and of items that hardly anybody likes. Planted bug: no moves in the
    margins.
    """
    assert np.log(np.asarray(people.sum(axis=1))).std() == pytest.approx(1, abs=0.1)
    few = Copula.of(items_above_noise(exact(), SURE)).sample(10, np.random.default_rng(3))
    for some in (people, few):
        assert np.asarray(some.sum(axis=0)).min() >= 1
        assert np.asarray(some.sum(axis=1)).min() >= 1
        assert set(some.data.tolist()) == {1.0}


def test_of_noise_alone_people_have_hardly_any_tastes() -> None:
    """Planted bug: the variance of each item by itself is not taken off the diagonal."""
    rng = np.random.default_rng(4)
    apart = [np.flatnonzero(rng.random(ITEMS) < 0.2).tolist() for _ in range(PEOPLE)]
    small = covariance(apart, ITEMS)
    law = NoisyCovariance(Fraction(4), LAW.delta)
    weak = PrivateParameters(law, PARAMETERS.scale)

    def shared_variance(matrix: Matrix) -> float:
        """How much of a liking comes from tastes that people share."""
        noisy_one = law.perturb(matrix, bits=ShakeBits("weak"))
        loadings = Copula.of(items_above_noise(noisy_one, weak)).loadings
        return float((loadings**2).sum(axis=1).mean())

    assert shared_variance(TIMES * small) < 0.35
    assert shared_variance(exact()) > 0.55
