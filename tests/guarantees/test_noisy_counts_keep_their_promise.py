"""Numbers beside names keep their promise: sensitivity by enumeration, the rest by the law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import exp, fsum, log1p

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from scipy import stats

from askew.dp.composition import concentrated_epsilon
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    NeighboringRelation,
    PureDP,
)
from askew.errors import ParameterError
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.noise.gaussian import DiscreteGaussian
from askew.noise.lattice import TwoSidedGeometric
from askew.noise.randomness import SystemBits

DELTA = Fraction(1, 10**6)
ITEMS = 4
BOTH = [ADD_OR_REMOVE_ONE, REPLACE_ONE]


def noisy(
    k: int,
    epsilon: Fraction | int,
    neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE,
    most: int | None = None,
    delta: Fraction | int = 0,
) -> NoisyCounts:
    return NoisyCounts(
        k=k, epsilon=epsilon, neighbors=neighbors, max_items_per_unit=most, delta=delta
    )


@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("most", [None, 1, 2, 4])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_k_counts_move_as_far_as_the_proof_says_and_no_farther(
    k: int, most: int | None, relation: NeighboringRelation
) -> None:
    """Of every set of k of four items and all neighbors. Planted bug: a unit in another's place
    moves no more counts than one that comes.
    """
    units = [unit for unit in product((0, 1), repeat=ITEMS) if sum(unit) <= (most or ITEMS)]
    gone = units if relation is REPLACE_ONE else [(0,) * ITEMS]
    moves = [np.subtract(comes, goes) for comes, goes in product(units, gone)]
    chosen = [move[[*items]] for move in moves for items in combinations(range(ITEMS), k)]
    stated = noisy(k, 1, relation, most).sensitivity
    assert max(np.abs(move).sum() for move in chosen) == stated
    assert max((move**2).sum() for move in chosen) == stated


EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 4), Fraction(1), Fraction(5)]


@pytest.mark.thin
@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_geometric_noise_spends_its_epsilon_and_hardly_less(
    epsilon: Fraction,
    k: int,
    most: int | None,
    relation: NeighboringRelation,
    record_property: Callable[[str, object], None],
) -> None:
    """P(z) / P(z - d) is r**-|d| at most, met far out: s steps cost s ln((q + 1) / q). Planted
    bugs: epsilon not shared among the counts; q rounded down.
    """
    mechanism = noisy(k, epsilon, relation, most)
    law = mechanism.noise
    assert isinstance(law, TwoSidedGeometric)
    assert mechanism.privacy_loss() == PureDP(epsilon, relation)
    q, steps = Fraction(law.inverse_rate), mechanism.sensitivity
    # exp(epsilon / s) >= (q + 1) / q, by the first terms of its series, which lie below it
    rate, term, series = epsilon / steps, Fraction(1), Fraction(0)
    for n in range(1, 60):
        series, term = series + term, term * rate / n
    spent = steps * log1p(1 / q)
    record_property("mechanism", "NoisyCounts")
    record_property("claimed", float(epsilon))
    record_property("exact", spent)
    assert series >= (q + 1) / q
    finer = Fraction(q * 2**16 - 1, 2**16)
    assert series + 2 * term < (finer + 1) / finer


@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("most", [None, 9])
@pytest.mark.parametrize("k", [20, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_noise_spends_its_epsilon_and_delta_and_hardly_less(
    epsilon: Fraction, k: int, most: int | None, relation: NeighboringRelation
) -> None:
    """s counts that move by 1 cost s / 2v of zCDP. Planted bug: v without s."""
    mechanism = noisy(k, epsilon, relation, most, DELTA)
    law = mechanism.noise
    if not isinstance(law, DiscreteGaussian):
        assert mechanism.privacy_loss() == PureDP(epsilon, relation)
        return
    assert mechanism.privacy_loss() == ApproximateDP(epsilon, DELTA, relation)
    steps = mechanism.sensitivity
    assert concentrated_epsilon(Fraction(steps, 2 * law.variance), DELTA) <= epsilon
    if law.variance > 1:
        less = Fraction(steps, 2 * (law.variance - 1))
        assert concentrated_epsilon(less, DELTA) > epsilon


@pytest.mark.parametrize(("k", "delta"), [(5, 0), (60, DELTA)])
def test_every_count_gets_a_draw_of_its_own(k: int, delta: Fraction | int) -> None:
    """Planted bug: one draw for all counts."""
    mechanism, counts = noisy(k, 1, delta=delta), list(range(1000, 1000 + k))
    drawn = mechanism.noise.draw(k, ShakeBits("counts"))
    assert len(set(map(int, drawn))) > 3
    found = mechanism.perturb(counts, bits=ShakeBits("counts"))
    assert found == tuple(count + int(move) for count, move in zip(counts, drawn, strict=True))
    assert set(map(type, found)) == {int}


def law_of(mechanism: NoisyCounts) -> dict[int, float]:
    """P(n), summed by the formula to far beyond what floats see."""
    law = mechanism.noise
    if isinstance(law, TwoSidedGeometric):
        q = float(law.inverse_rate)
        r, reach = q / (q + 1), int(60 * q) + 60
        return {n: (1 - r) / (1 + r) * r ** abs(n) for n in range(-reach, reach + 1)}
    reach = 10 * int(law.variance**0.5) + 10
    weights = {n: exp(-(n**2) / (2 * law.variance)) for n in range(-reach, reach + 1)}
    total = fsum(weights.values())
    return {n: each / total for n, each in weights.items()}


CASES = [
    *[noisy(k, epsilon) for k in (1, 3, 40) for epsilon in EPSILONS[1:]],
    *[noisy(k, epsilon, most=2, delta=DELTA) for k in (60, 900) for epsilon in EPSILONS[1:]],
    *[noisy(k, epsilon, delta=DELTA) for k in (60, 900) for epsilon in EPSILONS[2:]],
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)])
def test_an_error_bound_holds_and_is_the_least(case: int, chance: Fraction) -> None:
    """Planted bugs: one tail for two; the bound of one count for all."""
    mechanism = CASES[case]
    law = law_of(mechanism)
    for of in (1, mechanism.k):
        bound = mechanism.error_bound(chance, of=of)
        within = fsum(p for n, p in law.items() if abs(n) <= bound) ** of
        closer = fsum(p for n, p in law.items() if abs(n) < bound) ** of
        assert within >= chance - Fraction(1, 10**9)
        assert closer < chance


def test_where_a_gaussian_tail_is_not_summed_its_bound_is_one_count_too_far_at_most() -> None:
    mechanism = noisy(400, Fraction(1, 50), delta=DELTA)
    assert isinstance(mechanism.noise, DiscreteGaussian)
    assert mechanism.noise.variance > 2**20
    sigma = mechanism.noise.variance**0.5
    for of in (1, 400):
        normal = sigma * stats.norm.isf((1 - 0.95 ** (1 / of)) / 2)
        assert normal - 1 < mechanism.error_bound(of=of) < normal + 2


def test_the_law_that_errs_less_is_taken() -> None:
    """Planted bug: the one that errs more."""
    for k, most, kind in (
        (3, None, TwoSidedGeometric),
        (1, 1, TwoSidedGeometric),
        (50, None, DiscreteGaussian),
        (50, 2, TwoSidedGeometric),
    ):
        taken = noisy(k, Fraction(1, 4), most=most, delta=DELTA)
        pure = noisy(k, Fraction(1, 4), most=most)
        assert type(taken.noise) is kind
        if kind is DiscreteGaussian:
            assert taken.error_bound(of=k) < pure.error_bound(of=k)
        else:
            assert taken.error_bound(of=k) == pure.error_bound(of=k)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"epsilon": 0},
        {"epsilon": Fraction(1, 2**40)},
        {"max_items_per_unit": 0},
        {"delta": 1},
        {"delta": -DELTA},
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_refused_before_any_count(wrong: dict[str, object]) -> None:
    right = {"k": 3, "epsilon": Fraction(1, 2), "neighbors": ADD_OR_REMOVE_ONE}
    with pytest.raises(ParameterError) as refusal:
        NoisyCounts(**{**right, **wrong})  # type: ignore[arg-type]
    assert refusal.value.name == next(iter(wrong))


@pytest.mark.parametrize("counts", [[31_337.0], [31_337] * 4, [2**70 + 31_337]])
def test_no_error_repeats_a_count(counts: list[int]) -> None:
    with pytest.raises(ParameterError) as refusal:
        noisy(3, 1).perturb(counts, bits=SystemBits())
    assert "31" not in str(refusal.value)


def test_no_counts_are_given_no_noise_and_the_kernel_is_the_default() -> None:
    assert noisy(3, 1).perturb([]) == ()
    assert len(noisy(3, 1).perturb([5, 6])) == 2
