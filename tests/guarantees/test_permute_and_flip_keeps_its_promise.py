"""Permute-and-flip in closed form, without tolerance: epsilon = 2 ln 2 makes its law rational.

With x_i = exp(-rate * gap_i), flipping coins x_i in random order until heads selects i with

    P(i) = x_i * sum over subsets S of the others of (-1)^|S| / (|S| + 1) * product of x over S.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import factorial, prod

import pytest
from guarantees.enumeration import (
    Counts,
    HasLaw,
    Law,
    vectors,
    with_one_more,
    with_one_replaced,
)
from mechanisms.streams import ShakeBits, p_value

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms import PermuteAndFlip

E_TO_EPSILON = 4


def closed_form(ratio: Fraction) -> HasLaw:
    """ratio = exp(-rate): what one count of gap costs."""

    def law(counts: Counts) -> Law:
        odds = [ratio ** (max(counts) - count) for count in counts]
        found: Law = {}
        for i, mine in enumerate(odds):
            others = odds[:i] + odds[i + 1 :]
            terms = (
                Fraction((-1) ** size, size + 1) * prod(chosen)
                for size in range(len(odds))
                for chosen in combinations(others, size)
            )
            found[i,] = mine * sum(terms)
        return found

    return law


def by_flipping(counts: Counts, ratio: Fraction) -> Law:
    """The definition: over all orders, the first heads."""
    odds = [ratio ** (max(counts) - count) for count in counts]
    found: Law = {(i,): Fraction(0) for i in range(len(odds))}
    for order in permutations(range(len(odds))):
        alive = Fraction(1, factorial(len(odds)))
        for i in order:
            found[i,] += alive * odds[i]
            alive *= 1 - odds[i]
    return found


def worst_ratio(law: HasLaw, d: int, neighbors: object) -> Fraction:
    assert callable(neighbors)
    worst = Fraction(1)
    for counts in vectors(d, 2):
        here = law(counts)
        for other in neighbors(counts):
            there = law(other)
            worst = max(worst, *(max(here[o] / there[o], there[o] / here[o]) for o in here))
    return worst


@pytest.mark.parametrize("counts", [(0, 0, 0), (3, 1, 1), (2, 0, 1, 2)])
def test_the_closed_form_is_the_definition(counts: Counts) -> None:
    assert by_flipping(counts, Fraction(1, 4)) == closed_form(Fraction(1, 4))(counts)


@pytest.mark.parametrize("d", [2, 3])
def test_adding_one_reaches_e_to_the_epsilon_and_no_more(d: int) -> None:
    law = closed_form(Fraction(1, E_TO_EPSILON))
    assert worst_ratio(law, d, with_one_more) <= E_TO_EPSILON
    ahead, further = law((8, 0)), law((9, 0))
    assert Fraction(99, 100) * E_TO_EPSILON < ahead[1,] / further[1,] <= E_TO_EPSILON


def test_replacing_one_is_kept_at_half_the_rate_only() -> None:
    """The negative control is the monotone rate, which leaks twice epsilon."""
    assert worst_ratio(closed_form(Fraction(1, 2)), 3, with_one_replaced) <= E_TO_EPSILON
    assert worst_ratio(closed_form(Fraction(1, 4)), 3, with_one_replaced) > 3 * E_TO_EPSILON


@pytest.mark.parametrize(
    ("neighbors", "half"), [(ADD_OR_REMOVE_ONE, Fraction(1)), (REPLACE_ONE, Fraction(1, 2))]
)
def test_the_mechanism_has_the_closed_forms_law(neighbors: object, half: Fraction) -> None:
    """epsilon = 2 ln 2 to 15 digits; fixed bits, 1,500 draws."""
    epsilon = Fraction("1.386294361119891")
    mechanism = PermuteAndFlip(epsilon=epsilon, neighbors=neighbors)  # type: ignore[arg-type]
    ratio = Fraction(1, 4) if half == 1 else Fraction(1, 2)
    law = closed_form(ratio)((2, 1, 1, 0))
    expected = {str(o[0]): float(p) for o, p in law.items()}
    bits = ShakeBits(str(half))
    draw = [2, 1, 1, 0]
    assert p_value(lambda: str(mechanism.select(draw, bits=bits)[0]), expected, 1500) > 1e-4


def test_the_core_of_selection_needs_numpy_only() -> None:
    import subprocess
    import sys

    code = "import sys, askew.mechanisms; print('scipy' in sys.modules, 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
