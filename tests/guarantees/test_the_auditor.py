"""The auditor itself: how often it accuses the innocent, and how often it misses the guilty.

Simulations have seeds that are stated here, so that these tests pass or fail for good.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from guarantees.audit.black_box import (
    FALSE_ALARM,
    LEAK,
    Draw,
    Wager,
    audit_pure,
    auditors,
    delta_at_least,
    delta_power,
    most_right,
    power,
    stops_after,
    wager_power,
)
from mechanisms.streams import ShakeBits
from scipy.stats import binom

from askew.noise.lattice import LatticeLaplace

EPSILON, DRAWS = 2.0, 40_000
Record = Callable[[str, object], None]
SEED = 20_261_124


def told(epsilon: float, chance: np.random.Generator) -> tuple[Draw, Draw]:
    """Randomized response of two values, which loses all of epsilon at every draw."""

    def draw(truth: int) -> Draw:
        lies = 1 - most_right(epsilon)
        return lambda n: (truth ^ (chance.random(n) < lies)).tolist()

    return draw(0), draw(1)


@pytest.mark.parametrize("guesses", [500, 5_000, 26_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_the_rate_of_false_alarms_is_the_stated_one(guesses: int, epsilon: float) -> None:
    """Exactly, at the least favorable law. Planted bug: a tail that leaves out its first term."""
    bound = most_right(epsilon)
    needed = int(binom.isf(FALSE_ALARM, guesses, bound)) + 1
    rate = binom.sf(needed - 1, guesses, bound)
    assert FALSE_ALARM / 3 < rate <= FALSE_ALARM


def test_p_values_of_an_innocent_mechanism_are_no_smaller_than_chance(
    record_property: Record,
) -> None:
    """400 whole audits of a mechanism that loses all of its claim. Planted bug: a rule that is
    learned from the draws that it is tested on.
    """
    record_property("seed", SEED)
    first, second = told(EPSILON, np.random.default_rng(SEED))
    p = np.array([audit_pure(first, second, EPSILON, 1_000).p_value for _ in range(400)])
    for level in (0.3, 0.1, 0.03, 0.01):
        assert (p <= level).sum() <= binom.isf(1e-3, 400, level)


def test_forty_thousand_draws_see_a_loss_of_a_fifth_more(record_property: Record) -> None:
    """The power of the size that production objects are audited at, by the binomial law."""
    found = power(EPSILON, 0.5, most_right(LEAK * EPSILON), DRAWS)
    record_property("power", found)
    record_property("seed", SEED)
    assert found > 0.999
    first, second = told(LEAK * EPSILON, np.random.default_rng(SEED))
    verdict = audit_pure(first, second, EPSILON, DRAWS)
    assert verdict.guilty
    assert EPSILON < verdict.at_least < LEAK * EPSILON


def of_the_lattice(claimed: Fraction, leak: Fraction, name: str) -> tuple[Draw, Draw]:
    """The production object at leak times its claim, on bits that are the same in every run."""
    lattice, bits = LatticeLaplace.for_epsilon(claimed * leak), ShakeBits(name)
    steps = 1 << lattice.step_exponent

    def draw(point: int) -> Draw:
        return lambda n: [
            min(max(8 * z // steps, -1), 8) for z in lattice.perturb([float(point)] * n, bits)
        ]

    return draw(0), draw(1)


@pytest.mark.parametrize("run", ["a", "b"])
def test_a_wager_needs_a_fifth_of_the_draws_for_a_loss_of_a_fifth_more(
    run: str, record_property: Record
) -> None:
    """A fifth of a fixed size that sees a loss of a tenth more, as the wager does, too."""
    sizes = range(40_000, 100_000, 1_000)
    fixed = next(n for n in sizes if power(EPSILON, 0.567, most_right(1.1 * EPSILON), n) > 0.999)
    stopped = stops_after(*of_the_lattice(Fraction(2), Fraction("1.2"), run), EPSILON, fixed)
    record_property("power", f"after {stopped} draws of {fixed}")
    record_property("seed", run)
    assert stopped is not None
    assert stopped <= fixed / 5


def test_a_wager_on_an_innocent_mechanism_is_lost() -> None:
    first, second = of_the_lattice(Fraction(2), Fraction(1), "innocent")
    assert stops_after(first, second, EPSILON, DRAWS // 2) is None


def test_the_mean_gain_of_a_bet_is_nothing_at_most() -> None:
    """Ville's condition, exactly: at the bound, and at any rate of guesses. Planted bug: odds of
    the claim over those of the leak.
    """
    for epsilon in (0.1, 2.0):
        gains = []
        for right in (0, 1):
            wager = Wager(epsilon)
            wager.see(1, right)
            gains.append(exp(wager.log_e_value))
        bound = most_right(epsilon)
        assert bound * gains[1] + (1 - bound) * gains[0] == pytest.approx(1, abs=1e-12)
        assert gains[1] > 1 > gains[0]


def test_every_auditor_says_how_often_it_is_wrong_and_seldom_misses_the_guilty() -> None:
    """At the sizes that are used; what the report shows."""
    found = {each.name: each for each in auditors()}
    assert len(found) == 4
    assert all(each.power > 0.999 for each in found.values())
    assert all(f"{FALSE_ALARM:g}" in each.false_alarm for each in [*found.values()][1:])


def test_the_power_that_a_wager_states_is_less_than_it_has(record_property: Record) -> None:
    """By 200 wagers on a loss of a fifth more, at a size at which about half of them are won."""
    record_property("seed", SEED)
    stated = {n: wager_power(EPSILON, 1.0, most_right(LEAK * EPSILON), n) for n in (3_000, 4_000)}
    assert stated[3_000] < 0.5 < stated[4_000] < 1
    chance, won = np.random.default_rng(SEED), 0
    for _ in range(200):
        wager = Wager(EPSILON)
        wager.see(4_000, int(chance.binomial(4_000, most_right(LEAK * EPSILON))))
        won += wager.log_e_value > -log(FALSE_ALARM)
    assert won / 200 >= stated[4_000] - 3 * (0.25 / 200) ** 0.5


def test_the_power_that_a_bound_on_delta_states_is_less_than_it_has() -> None:
    """A hundredth of what is claimed more is not seen, and twice as much is."""
    assert delta_power(1.0, 0.05, 0.0505, 0.0, DRAWS) == 0
    assert delta_power(1.0, 0.05, 0.1, 0.0, DRAWS) > 0.999


@pytest.mark.parametrize(("delta", "guilty"), [(0.05, False), (0.075, True)])
def test_a_delta_of_half_as_much_again_is_seen(delta: float, guilty: bool) -> None:
    """A mechanism that shows its input with delta, else is epsilon-DP."""
    chance = np.random.default_rng(SEED)

    def draw(truth: int) -> Draw:
        def outputs(n: int) -> list[int]:
            noisy = truth ^ (chance.random(n) < 1 - most_right(1.0))
            return [int(each) for each in np.where(chance.random(n) < delta, 2 + truth, noisy)]

        return outputs

    found = delta_at_least(draw(0), draw(1), 1.0, DRAWS)
    assert found <= delta
    assert (found > 0.05) == guilty
