"""A prior under differential privacy: what one person can change, what is paid, what comes out.

The noise has the exact law that tests/guarantees proves for `askew.noise.lattice`; so what
remains to be shown is that the counts move by no more than the sensitivities, and that shares add
up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array
from small_world import made_encoder, made_space

from askew.dp.composition import PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, PureDP
from askew.errors import BudgetExceeded, DataError, ParameterError
from askew.noise.randomness import SystemBits
from askew_server.ledger import Ledger
from askew_server.taste.prior import gaussian as gaussian_prior
from askew_server.taste.prior.gaussian import SHARES, GaussianPrior, PriorPlan
from askew_server.taste.training.factors import Histories, Tastes, snapshot

D, ITEMS = 12, 100
PLAN = PriorPlan(Fraction(2), D, ITEMS)


def tastes_of(vectors: NDArray[np.float64], seen: NDArray[np.float64]) -> Tastes:
    return Tastes(vectors, Histories(csr_array(seen), csr_array(seen)), 4)


def exact(vectors: NDArray[np.float64], seen: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
    return gaussian_prior._sums(PLAN, tastes_of(vectors, seen))


def some_people(count: int = 400) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(2)
    vectors = rng.normal(0.15, 0.1, (count, D))
    seen = (rng.random((count, ITEMS)) < np.linspace(0.9, 0.05, ITEMS)).astype(np.float64)
    return vectors, seen


@given(
    arrays.arrays(np.float64, D, elements=st.floats(-3, 3)),
    arrays.arrays(np.bool_, ITEMS),
)
@settings(deadline=None)
def test_one_person_more_moves_no_part_beyond_its_sensitivity(
    vector: NDArray[np.float64], seen: NDArray[np.bool_]
) -> None:
    """Planted bugs: no clipping to length 1; no bound on seen items. Both break it."""
    vectors, matrix = some_people(20)
    before = exact(vectors, matrix)
    after = exact(np.vstack([vectors, vector]), np.vstack([matrix, seen.astype(np.float64)]))
    for part, bound in PLAN.sensitivities.items():
        assert np.abs(after[part] - before[part]).sum() <= bound


def test_one_person_more_changes_nobody_elses_profile() -> None:
    """Planted bug: profiles cut by one stream of random numbers, which one person more shifts."""
    _, seen = some_people(60)
    newcomer = seen[7] * 0
    newcomer[[3, 50]] = 1
    more = np.vstack([seen[:20], newcomer, seen[20:]])
    before, after = (snapshot(Histories(csr_array(m), csr_array(m)), 5).seen for m in (seen, more))
    others = np.delete(np.arange(61), 20)
    assert after[others].toarray().tolist() == before.toarray().tolist()
    assert 0.75 < before.nnz / seen.sum() < 0.85
    assert before.toarray()[0].tolist() != seen[0].tolist()


def test_the_sensitivities_are_nearly_met_and_never_passed() -> None:
    """By who moves the sums most: an even taste, and more seen items than count. Planted bug: q in
    place of q + 1 for the moments, which random tastes do not reach.
    """
    even = np.zeros((1, D))
    even[0, : PLAN.mixed] = 1 / math.sqrt(PLAN.mixed)
    counts = exact(even, np.ones((1, ITEMS)))
    assert 0.999 < np.abs(counts["moments"]).sum() / PLAN.sensitivities["moments"] <= 1
    assert counts["seen"].sum() == PLAN.sensitivities["seen"]
    flat = exact(np.full((1, D), 1 / math.sqrt(D)), np.ones((1, ITEMS)))
    assert 0.999 < np.abs(flat["mean"]).sum() / PLAN.sensitivities["mean"] <= 1


def test_the_parts_cost_no_more_than_epsilon_together() -> None:
    """Part by part D ln(1 + 1 / rate), and ln(1 + x) < x. Planted bug: floor instead of ceil."""
    spent = sum(
        (Fraction(bound, PLAN.inverse_rate(part)) for part, bound in PLAN.sensitivities.items()),
        Fraction(0),
    )
    assert spent <= PLAN.epsilon
    assert float(spent) > 0.999 * float(PLAN.epsilon)
    assert PLAN.loss == PureDP(Fraction(2), ADD_OR_REMOVE_ONE)
    assert set(SHARES) == set(PLAN.sensitivities)


def test_a_generous_release_gives_the_gaussian_back() -> None:
    vectors, seen = some_people(4000)
    plan = PriorPlan(Fraction(100), D, ITEMS)
    found = GaussianPrior.of_release(plan, plan.release(tastes_of(vectors, seen), SystemBits()))
    assert found.mean == pytest.approx(vectors.mean(axis=0), abs=0.01)
    q = plan.mixed
    covariance = np.cov(vectors.T, bias=True)
    assert found.covariance[:q, :q] == pytest.approx(covariance[:q, :q], abs=0.01)
    assert np.diag(found.covariance) == pytest.approx(np.diag(covariance), abs=0.01)
    people, what = found.people(500, seed=1)
    assert people.mean(axis=0) == pytest.approx(vectors.mean(axis=0), abs=0.03)
    # Each person counts for 64 items at most, so rates of those who saw more are a little low.
    assert np.corrcoef(what.sum(axis=0), seen.sum(axis=0))[0, 1] > 0.95


def test_a_mean_release_still_makes_a_covariance() -> None:
    """At epsilon 1/100 noise outweighs everything: the matrix must be positive all the same."""
    vectors, seen = some_people(50)
    plan = PriorPlan(Fraction(1, 100), D, ITEMS)
    found = GaussianPrior.of_release(plan, plan.release(tastes_of(vectors, seen), SystemBits()))
    assert np.linalg.eigvalsh(found.covariance).min() >= -1e-6
    assert np.isfinite(found.people(10, seed=0)[0]).all()


def test_the_same_release_and_seed_make_the_same_people() -> None:
    vectors, seen = some_people()
    payload = PLAN.release(tastes_of(vectors, seen), SystemBits())
    first, again = (GaussianPrior.of_release(PLAN, payload).people(50, seed=3) for _ in "ab")
    assert first[0].tobytes() == again[0].tobytes()
    assert abs(first[1] - again[1]).max() == 0


@pytest.mark.parametrize("payload", [b"", b"[]", b"{}", b'{"count": [1], "mean": [2]}'])
def test_another_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(DataError):
        GaussianPrior.of_release(PLAN, payload)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(101)])
def test_an_epsilon_out_of_range_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError):
        PriorPlan(epsilon, D, ITEMS)


def test_a_cap_below_epsilon_draws_nothing(tmp_path: Path) -> None:
    from askew_server.taste.prior.source import PaidRelease, Trained

    class Refuses(SystemBits):
        def read(self, count: int) -> bytes:
            raise AssertionError("drawn before it was paid for")

    vectors, seen = some_people(10)
    tastes, scoring = tastes_of(vectors, seen), np.zeros((ITEMS, D), np.float32)
    trained = Trained((), scoring, made_space(made_encoder(ranking=D)), tastes, 0)
    with Ledger(tmp_path / "ledger.sqlite", tmp_path / "mark") as ledger:
        cap = PrivacyFilter(epsilon=Fraction(1))
        ledger.open_dataset("ratings", "1", cap, "one person's whole history", ADD_OR_REMOVE_ONE)
        with pytest.raises(BudgetExceeded):
            PaidRelease(ledger, "ratings", Refuses(), bytes(32), bytes(32))(PLAN, trained)
        assert ledger.dataset("ratings").spent.epsilon == 0
