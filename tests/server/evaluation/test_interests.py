"""Interest bits by enumeration: the law, the epsilon that is published, and who is told apart."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from server.evaluation.test_study import scene

from askew_server.evaluation.interests import INTERESTS, LEVELS, PUBLISHED, BitLaw, Interests

TWO = BitLaw(0.8, 0.3, interests=2)
SIGNALS = np.array(list(product((False, True), repeat=2 * LEVELS))).reshape(-1, 2, LEVELS)
PEOPLE = np.array(list(product(range(LEVELS), repeat=2)))


def table(law: BitLaw) -> NDArray[np.float64]:
    """P(signal | levels) of two interests, (signals, people)."""
    found: NDArray[np.float64] = np.exp([law.log_likelihood(bits, PEOPLE) for bits in SIGNALS])
    return found


def test_the_law_is_a_coin_a_bit() -> None:
    found = table(TWO)
    assert found.sum(axis=0) == pytest.approx(1)
    for signal, levels in product(range(len(SIGNALS)), range(len(PEOPLE))):
        chance = 1.0
        for interest, level in product(range(2), range(LEVELS)):
            one = TWO.p if PEOPLE[levels, interest] == level else TWO.q
            chance *= one if SIGNALS[signal, interest, level] else 1 - one
        assert found[signal, levels] == pytest.approx(chance)


@pytest.mark.parametrize("law", [TWO, BitLaw(0.806, 0.030, 2), BitLaw.for_epsilon(1.5, 2)])
def test_epsilon_is_the_largest_ratio_of_two_people(law: BitLaw) -> None:
    """Planted bug: one bit counted instead of the two that differ, ln(p / q)."""
    found = table(law)
    worst = (found.max(axis=1) / found.min(axis=1)).max()
    assert law.epsilon == pytest.approx(math.log(worst))


def test_the_published_parameters_cost_29_4_a_draw() -> None:
    assert (PUBLISHED.p, PUBLISHED.q, PUBLISHED.interests) == (0.806, 0.030, INTERESTS)
    assert PUBLISHED.epsilon == pytest.approx(29.4, abs=0.05)
    both = BitLaw(PUBLISHED.p, PUBLISHED.q, 2)
    assert PUBLISHED.epsilon == pytest.approx(3 * both.epsilon)  # by enumeration, above


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0, 29.4])
def test_bits_cost_what_was_asked_for(epsilon: float) -> None:
    assert BitLaw.for_epsilon(epsilon).epsilon == pytest.approx(epsilon)


def test_draws_have_the_law() -> None:
    drawn = TWO.draw(np.tile([[2, 0]], (100_000, 1)), np.random.default_rng(5))
    often = drawn.mean(axis=0)
    own = np.array([[False, False, True], [True, False, False]])
    assert often == pytest.approx(np.where(own, TWO.p, TWO.q), abs=0.01)  # 6 standard errors


def test_levels_are_thirds_of_the_servers_people() -> None:
    """Planted bug: limits at other shares, which tell less."""
    dealt = scene().dealt
    levels = Interests.of(dealt).levels(dealt.server)
    for interest in range(INTERESTS):
        sizes = np.bincount(levels[:, interest], minlength=LEVELS)
        assert sizes == pytest.approx(len(levels) / LEVELS, abs=1.5)
