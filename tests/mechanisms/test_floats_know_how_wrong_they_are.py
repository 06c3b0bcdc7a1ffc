"""What floats decide rests on bounds of their errors: here each is looked for at its worst.

A draw is exact because a float that may be wrong is not asked. So a bound that is too small is a
law that is not the one stated, in one draw of 10**9 or fewer, which no test of frequencies sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray

from askew.mechanisms import weights as exact
from askew.mechanisms.contest import FAMILIES, Contest, NoiseFamily, Noisy
from askew.mechanisms.weights import Draws
from askew.noise.randomness import ReplayBits

Floats = NDArray[np.float64]
BITS = 200
TOP = 1 << 64
ANY = ShakeBits("words")
# At every edge of what floats are trusted with, e of 2**-24 and 16, beside it, and anywhere.
EDGES = [0, TOP, *(round(TOP * math.exp(-e)) for e in (2.0**-24, 2.0**-12, 0.7, 3, 15.99, 16.01))]
WORDS = [int.from_bytes(ANY.read(8)) for _ in range(20)]
WORDS += [
    min(max(edge + step, 0), TOP - 1) for edge in EDGES for step in (-(2**41), -1, 0, 1, 2**41)
]


def is_enclosed(noisy: Noisy) -> bool:
    """Whether its exact value, as far as its bits tell it, is within `slack` of its float."""
    if noisy.slack == inf:
        return True
    low, high = noisy.bounds(BITS)
    assert low is not None
    assert high is not None
    middle, slack = Fraction(noisy.approximate), Fraction(noisy.slack)
    return middle - slack <= Fraction(low, 2**BITS) and Fraction(high, 2**BITS) <= middle + slack


def entered(
    family: NoiseFamily, score: Fraction, size: int, log_error: float = 0.0, off: float = 0.0
) -> list[Noisy]:
    """Classes of one score and size, one for each of WORDS, as a contest sees them.

    off: how wrong the caller's own logarithm and score are, as shares of what it may be.
    """
    words = b"".join(word.to_bytes(8) for word in WORDS)
    draws = Draws(ReplayBits(words))
    contest = Contest(family, draws, lambda _: (score, size), winners=len(WORDS))
    scores = np.full(len(WORDS), float(score) * (1 + off * 2.0**-50))
    logs = np.full(len(WORDS), log(size) + off * log_error)
    contest.enter(np.arange(len(WORDS)), scores, logs, log_error)
    return [contest._noisy(place) for place in range(len(WORDS))]


@pytest.mark.thin
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1, 7, 10**6, 10**300])
@pytest.mark.parametrize("score", [Fraction(0), Fraction(-1, 3), Fraction(-(2**41) - 1, 3)])
def test_a_noisy_score_is_as_near_its_float_as_it_says(
    family: NoiseFamily, size: int, score: Fraction
) -> None:
    """Planted bugs: no slack; none for the logarithm of a uniform near 1, for a score's rounding,
    for what the caller says its logarithm is off by; words trusted that say too little.
    """
    for log_error in (0.0, 2.0**-20):
        for off in (-1.0, 0.0, 1.0):
            found = entered(family, score, size, log_error, off)
            assert [noisy.links[0][0].word for noisy in found] == WORDS
            assert [noisy.links[0][0].word for noisy in found if not is_enclosed(noisy)] == []


Exp = Callable[[Floats], Floats]


def relative_error(exp: Exp, arguments: Floats) -> float:
    """The largest, against 40 digits."""
    worst = Decimal(0)
    with localcontext(prec=40):
        for x, y in zip(arguments.tolist(), exp(arguments).tolist(), strict=True):
            true = Decimal(x).exp()
            worst = max(worst, abs(Decimal(y) / true - 1))
    return float(worst)


def hard_arguments() -> Floats:
    """Where exponentials are known to be worst: between the points of the usual tables, at both
    sides of a multiple of ln 2 / 2**j, near 0, and wherever a random search looks; down to where
    floats have all their digits.
    """
    rng = np.random.default_rng(3)
    turns = np.concatenate(
        [np.arange(1, 1000) * log(2) / 2**j for j in range(9)]
        + [(np.arange(1000) + 0.5) * log(2) / 2**j for j in range(9)]
    )
    turns = np.concatenate([turns, np.nextafter(turns, 0), np.nextafter(turns, 9999)])
    anywhere = np.concatenate([rng.uniform(0, 60, 20_000), rng.uniform(0, 708, 5_000)])
    tiny = 2.0 ** -rng.uniform(0, 60, 2_000)
    found = np.concatenate([[0.0], turns, anywhere, tiny])
    return -found[found < 708]


@pytest.mark.slow
def test_exp_is_within_the_error_that_exact_draws_assume() -> None:
    """`askew.mechanisms.weights` says 2**-45; the libraries in use are within 2**-51. Numpy has
    other code for one argument and for arguments that lie apart; Python has its own.
    """
    arguments = hard_arguments()
    allowed = exact._EXP_ERROR
    assert relative_error(np.exp, arguments) < allowed
    few = arguments[:: len(arguments) // 997]
    others: list[Exp] = [
        lambda x: np.array([np.exp(x[i : i + 1])[0] for i in range(len(x))]),
        lambda x: np.exp(np.repeat(x, 3)[::3]),
        lambda x: np.array([math.exp(argument) for argument in x]),
    ]
    assert all(relative_error(exp, few) < allowed for exp in others)


def test_an_exp_that_is_not_is_seen() -> None:
    """Planted bugs: wrong by 2**-44 everywhere; by single precision at one argument of 2**10."""
    arguments = hard_arguments()[::10]

    def wrong(x: Floats) -> Floats:
        return np.exp(x) * (1 + 2.0**-44)

    def single(x: Floats) -> Floats:
        return np.where(np.arange(len(x)) % 1024 == 1, np.exp(x.astype(np.float32)), np.exp(x))

    assert relative_error(wrong, arguments) > exact._EXP_ERROR
    assert relative_error(single, arguments) > exact._EXP_ERROR
