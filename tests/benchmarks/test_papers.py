"""The figures of the papers' pages: each law against one that was derived in another way.

No test here is statistical: laws are compared with enumerated ones, and the small version of each
paper is compared with closed forms.
"""

from __future__ import annotations

from itertools import permutations, product
from math import exp, log

import numpy as np
import pytest
from benchmarks.papers import canonical, joint, multiple_selections, one_shot_law, pay_what_you_get
from numpy.typing import NDArray

COUNTS, K = np.array([9, 7, 4, 4, 2]), 3
# Sets of ranks by one shot at epsilon 3, so rate 1: a brute force to 60 digits, by another program.
SETS = ["012", "013", "014", "023", "024", "034", "123", "124", "134", "234"]
BRUTE_FORCE = {
    "exponential": (
        *(0.476977286525, 0.476977286525, 0.0450025857919, 0.000822952201393, 0.000108965075441),
        *(0.000108965075441, 1.53521266887e-06, 2.0704176031e-07, 2.0704176031e-07),
        9.50942483133e-09,
    ),
    "Laplace": (
        *(0.460585995609, 0.460585995609, 0.0530038829071, 0.0188360870439, 0.00199128906793),
        *(0.00199128906793, 0.00247619257323, 0.000260187998141, 0.000260187998141),
        8.89212542061e-06,
    ),
}


def gumbel_law(falling: NDArray[np.int64], k: int, rate: float) -> dict[str, float]:
    """Peeling's sequences, one exponential mechanism after the other, gathered into sets."""
    law: dict[str, float] = {}
    for sequence in permutations(range(len(falling)), k):
        left, p = np.exp(rate * falling), 1.0
        for item in sequence:
            p *= left[item] / left.sum()
            left[item] = 0
        name = "".join(map(str, sorted(sequence)))
        law[name] = law.get(name, 0.0) + p
    return law


@pytest.mark.parametrize("noise", [*BRUTE_FORCE, "Gumbel"])
def test_the_integral_of_one_shot_is_the_enumerated_law(noise: str) -> None:
    """Every (must, within) that a set of three can have. Planted bugs: the term of W in B left out;
    a threshold at the lowest that is selected.
    """
    law = gumbel_law(COUNTS, K, 1.0)
    if noise in BRUTE_FORCE:
        law = dict(zip(SETS, BRUTE_FORCE[noise], strict=True))
    assert sum(law.values()) == pytest.approx(1)
    shot = one_shot_law.OneShotLaw(COUNTS, K, one_shot_law.NOISES[noise], points=4000)
    for must, within in product(range(K + 1), range(K, len(COUNTS) + 1)):
        best, worst = set(range(must)), within - 1
        sets = {name: [*map(int, name)] for name in law}
        good = [p for name, p in law.items() if best <= {*sets[name]} and sets[name][-1] <= worst]
        assert shot.probability(1.0, must, within) == pytest.approx(sum(good), abs=2e-5)


@pytest.mark.parametrize("noise", one_shot_law.NOISES)
def test_a_noise_is_as_often_above_as_it_is_not_below(noise: str) -> None:
    """And ln P(Z > z) falls by at most 1 a unit, which is what the mechanism needs of a noise."""
    made, z = one_shot_law.NOISES[noise], np.linspace(-30.0, 30.0, 2001)
    above = made.log_above(z)
    assert np.exp(above) + np.exp(made.log_below(z)) == pytest.approx(1)
    assert (np.diff(above) >= -(z[1] - z[0]) * (1 + 1e-9)).all()


def test_the_epsilon_that_is_needed_gives_the_probability() -> None:
    """Of a set of one in two: canonical has the weights 1 and e^{-epsilon gap / 2} alone."""
    falling = np.array([17, 5])
    needed = canonical.epsilon_for(canonical.laws_of(falling, 1)["ours: unclipped"], 0.9)
    # P = 1 / (1 + e^{-epsilon gap}): the losses of the two sets are -gap / 2 and gap / 2.
    assert needed == pytest.approx(log(9) / 12, rel=1e-3)


def test_the_weights_of_joint_give_the_enumerated_k_relative_error() -> None:
    """Planted bugs: N(l) of all items where some are left out; a rate of all of epsilon."""
    falling, k, rate = COUNTS, K, 0.3
    weights = {
        each: exp(-rate * max(falling[r] - falling[item] for r, item in enumerate(each)))
        for each in permutations(range(len(falling)), k)
    }
    whole = joint.log_weight(falling, k, rate, len(falling))
    assert exp(whole) == pytest.approx(sum(weights.values()))
    for items in range(k, len(falling) + 1):
        inside = sum(weight for ranks, weight in weights.items() if max(ranks) < items)
        assert exp(joint.log_weight(falling, k, rate, items)) == pytest.approx(inside)
    levels = (0.05, 0.2, 0.5, 0.8)
    errors = sorted((max(int(falling[k - 1] - falling[max(r)]), 0), w) for r, w in weights.items())
    reached = np.cumsum([weight for _, weight in errors]) / sum(weights.values())
    expected = [errors[int(np.searchsorted(reached, level))][0] for level in levels]
    assert joint.joint_k_relative(falling, k, rate, levels) == expected
    assert len({*expected}) > 1


def test_appendix_d_has_the_values_that_a_brute_force_found() -> None:
    """Another program summed all sequences of (10, 5, 1, 1), and of (30, 15, 1, ..) by classes."""
    first, second = joint.APPENDIX_D
    assert joint.joint_top(first, 2, 0.5) == pytest.approx(0.631480752148, abs=1e-11)
    assert joint.joint_top(second, 2, 0.5) == pytest.approx(0.337219778275, abs=1e-11)
    assert joint.pnf_joint_top(first, 2, 0.5) == pytest.approx(0.751016305486, abs=1e-8)
    assert joint.pnf_joint_top(second, 2, 0.5) == pytest.approx(0.437468386779, abs=1e-8)


def test_a_round_of_cdp_peel_has_the_papers_rate() -> None:
    """Planted bug: noise of scale k / rate, as Algorithm 3 of Durfee and Rogers prints it."""
    assert joint.paper_rate(10, 1.0, 1e-6) == pytest.approx(0.11821642785712427, rel=1e-12)
    assert joint.paper_rate(200, 1.0, 1e-6) == pytest.approx(0.02643399687466, rel=1e-12)


def test_optimal_composition_is_that_of_k_randomized_responses_and_the_papers_its_formula() -> None:
    """Each answer is right with probability e^eps / (1 + e^eps): delta sums 2^k outcomes.

    By hand, k = 100, epsilon .1: 100 / 2 * .01 + .1 sqrt(50 * 13.8155) = 3.1283.
    """
    assert pay_what_you_get.paper_bound(100, 0.1, 1e-6) == pytest.approx(3.1283, abs=5e-5)
    assert pay_what_you_get.paper_bound(1, 1.0, 1e-6) == 1.0
    k, epsilon, delta = 3, 1.0, 0.05
    found = pay_what_you_get.optimal_pure(k, epsilon, delta)
    right = exp(epsilon) / (1 + exp(epsilon))
    lost = 0.0
    for answers in product((True, False), repeat=k):
        p = np.prod([right if each else 1 - right for each in answers])
        q = np.prod([1 - right if each else right for each in answers])
        lost += max(0.0, float(p - exp(found) * q))
    assert lost == pytest.approx(delta, rel=1e-6)


def test_a_list_that_stops_early_leaves_room_for_more_questions() -> None:
    """Three items stand out; the stop is charged too. Planted bug: k charged for each answer."""
    counts = np.array([3000, 2000, 1000, *[0] * 200])
    asked = pay_what_you_get.ledger_of([counts] * 40, pay_what_you_get.BUDGET, seed=1)
    assert asked == [[3, 4]] * 23  # 4 * 23 = 92, and 10 more might not fit


# Of placement.json's kind: the closed form by another program, and the program on a fine lattice.
RING = {3 / 8: (0.70873, 0.74291), 1.0: (0.56645, 0.56774)}


def test_the_ring_has_the_converged_values_and_coarse_cells_the_printed_ones() -> None:
    """Planted bug: a grid of ten cells taken for the ring."""
    rows = {row[0]: row[1:] for row in multiple_selections.ring_table((16,))}
    for epsilon, name in ((3 / 8, "closed form"), (1.0, "closed form at ε = 1")):
        assert [float(each) for each in rows[name]] == pytest.approx(RING[epsilon], abs=1e-5)
    best, plain = multiple_selections.cell_centers(10, 3 / 8)
    assert (round(best, 2), round(plain, 2)) == (0.72, 0.75)
    assert float(rows["closed form"][0]) < 0.715  # so the printed .72 is not the optimum


def test_offsets_are_quantiles_of_laplace_noise_of_half_the_rate() -> None:
    """y_i = 2 ln(b / (b - i)) for k = 2 b - 1 solves P(Y > y_i) = (1 - i / b) / 2 at rate 1 / 2."""
    rows = {int(row[0]): row for row in multiple_selections.offsets()[1:]}
    for k, b in ((3, 2), (5, 3), (9, 5)):
        found = [float(each) for each in rows[k][1].split(", ")]
        assert [exp(-y / 2) for y in found] == pytest.approx(
            [1 - i / b for i in range(1, b)], abs=1e-4
        )
        assert float(rows[k][2]) == pytest.approx(1 / b, abs=1e-6)


def test_top_k_of_canonical_is_the_sum_over_classes() -> None:
    """All C(5, 2) sets of (9, 7, 4, 4, 0), clipped as the paper has it."""
    counts, epsilon = np.array([9, 7, 4, 4, 0]), 0.25
    weights = []
    for inside in (set(each) for each in permutations(range(5), 2) if each[0] < each[1]):
        lowest = min(counts[i] for i in inside)
        highest = max(counts[i] for i in range(5) if i not in inside)
        weights.append(exp(-epsilon * (max(lowest, highest) - lowest) / 2))
    found = canonical.laws_of(counts, 2)["CANONICAL"](epsilon, canonical.TOP)
    assert found == pytest.approx(1 / sum(weights), rel=1e-9)
