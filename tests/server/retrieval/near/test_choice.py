"""k items for weighted people: against every choice that there is, on cases small enough."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from askew_server.retrieval.near import sampled


def made_costs(rows: int, people: int, seed: int) -> sampled.Costs:
    rng = np.random.default_rng(seed)
    items, homes = rng.random((rows, 2)), rng.random((people, 2))
    away = np.linalg.norm(homes[:, None] - items, axis=2)
    return sampled.whole(away.astype(np.float32))


def least(costs: sampled.Costs, k: int) -> float:
    """The cost of the best of all choices."""
    sets = combinations(range(costs.shape[1]), k)
    return min(sampled.cost(costs, np.array(each)) for each in sets)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_choice_is_nearly_always_the_best_of_all(k: int) -> None:
    """Planted bugs: no swaps; the second best item forgotten when one is taken out."""
    worst, best = [], 0
    for seed in range(60):
        costs = made_costs(11, 40, seed)
        rows = sampled.choose(costs, k)
        assert len(set(rows.tolist())) == k
        ratio = sampled.cost(costs, rows) / least(costs, k)
        worst.append(ratio)
        best += ratio == 1
    assert max(worst) < 1.11
    assert best >= 48


@pytest.mark.parametrize("k", [1, 5, 11])
def test_a_choice_has_k_distinct_rows_even_where_rows_are_equal(k: int) -> None:
    costs = np.repeat(made_costs(1, 40, 3), 11, axis=1)
    assert sorted(sampled.choose(costs, k).tolist()) == sorted(
        set(sampled.choose(costs, k).tolist())
    )
    assert len(sampled.choose(np.zeros((40, 11), np.float32), k)) == k


def test_items_that_cost_the_same_in_another_order_are_a_tie() -> None:
    """Sums are exact: the first of items with the same costs, dealt to other people, is chosen.

    Planted bug: costs that are no whole numbers, whose sums depend on their order.
    """
    rng = np.random.default_rng(6)
    costs = rng.random(sampled.MOST_PEOPLE).astype(np.float32)
    dealt = np.column_stack([rng.permutation(costs) for _ in range(200)])
    assert sampled.choose(sampled.whole(dealt), 1).tolist() == [0]


def test_costs_are_whole_numbers_whose_sums_float32_holds() -> None:
    costs = made_costs(50, sampled.MOST_PEOPLE, 7)
    assert (costs == np.rint(costs)).all()
    assert (costs.min(), costs.max()) >= (0, 65535)
    assert sampled.LEVELS * sampled.MOST_PEOPLE < 2**24
    np.testing.assert_array_equal(costs.sum(axis=0), costs.astype(np.float64).sum(axis=0))


def test_items_at_no_distance_cost_nothing() -> None:
    assert not sampled.whole(np.zeros((3, 4), np.float32)).any()
