"""Simulated noise has the law of the mechanisms, and the test would see one that has not."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.places.theory import log_likelihood
from numpy.typing import NDArray
from scipy.stats import chi2

from askew.noise.lattice import LatticeLaplace
from askew_server.taste.model.held_out import simulate_signals

DRAWS = 200_000
FALSE_ALARM = 1e-12  # of each comparison; seeds are fixed, so none is ever seen
COARSE = LatticeLaplace(step_exponent=1, inverse_rate=4)


def fits(found: NDArray[np.int64], expected: NDArray[np.float64]) -> bool:
    """A chi-square test of counts against probabilities, the rest pooled into one cell."""
    counts = np.append(found, DRAWS - found.sum())
    wanted = DRAWS * np.append(expected, 1 - expected.sum())
    statistic = float(((counts - wanted) ** 2 / wanted).sum())
    return bool(chi2.sf(statistic, len(found)) > FALSE_ALARM)


@pytest.mark.parametrize("u", [0.0, 0.375, 1.9])
def test_points_get_the_noise_of_the_lattice(u: float) -> None:
    drawn = simulate_signals(COARSE, np.full((DRAWS, 1), u), np.random.default_rng(1))
    values = np.arange(-8, 12)
    found = np.array([(drawn == z).sum() for z in values])
    law = {
        rate: np.exp(
            [
                log_likelihood(LatticeLaplace(1, rate), [z], np.array([[u]]))[0]
                for z in values.tolist()
            ]
        )
        for rate in (3, 4, 5)
    }
    assert fits(found, law[4])
    assert not fits(found, law[3])
    assert not fits(found, law[5])
