"""Values far below the best and classes that weigh nothing are left out, no more than is said."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from mechanisms.test_float_views import DENSE, TIED, VIEWS, canonical

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import PermuteAndFlip
from askew.mechanisms import tally as tally_module
from askew.mechanisms.tally import Integers, Tally, ValueGroups
from askew.mechanisms.value_classes import ValueClasses
from askew.mechanisms.weights import WeightBlock, WeightTable

RANDOM = np.random.default_rng(11)
COUNTS = {
    "spread": RANDOM.integers(-(2**59), 2**59, 80),
    "tied": RANDOM.integers(0, 7, 80),
    "one value": np.full(9, 4),
    "far below": np.array([10**6, 10**6 - 1, 10**6 - 1, *range(40)]),
}


def logs_of(table: WeightTable) -> dict[int, float]:
    blocks: list[WeightBlock] = [part() for part in table.parts]
    return {int(k): float(w) for c in blocks for k, w in zip(c.keys, c.logs, strict=True)}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("depth", [1.0, 10.0, 48.0])
def test_classes_that_are_left_out_weigh_no_more_than_the_listing_says(
    name: str, depth: float
) -> None:
    classes = VIEWS[name]
    whole = logs_of(classes.table(5000.0))
    table = classes.table(depth)
    listed = logs_of(table)
    left_out = [weight for key, weight in whole.items() if key not in listed and weight > -inf]
    if left_out:
        assert np.logaddexp.reduce(left_out) <= table.log_rest + 1e-6
    assert max(left_out, default=-inf) <= max(listed.values())


def test_something_is_left_out_of_most_listings() -> None:
    """Or the test above would compare nothing."""
    shorter = [
        name
        for name, classes in VIEWS.items()
        if len(logs_of(classes.table(10.0))) < len(logs_of(classes.table(5000.0)))
    ]
    assert len(shorter) >= 7


@pytest.mark.parametrize("k", [1, 40, 200, 400])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 5), Fraction(2), Fraction(4)])
def test_a_quick_bound_keeps_every_block_of_subsets_that_its_size_would_keep(
    k: int, rate: Fraction
) -> None:
    for view in (DENSE, TIED):
        classes = canonical(view, k, Fraction(1, 2), rate)
        keep, best_scores, least = classes._near(10.0)
        log_sizes = classes._log_blocks(*(axis.ravel() for axis in np.indices(keep.shape)))
        weights = log_sizes.reshape(keep.shape) + best_scores
        assert (keep == (weights > least - 10 - np.log(keep.size))).all()


@pytest.mark.parametrize("kind", COUNTS)
def test_the_groups_down_to_a_value_begin_as_all_groups_do(kind: str) -> None:
    counts = COUNTS[kind]
    every = Tally(counts)
    whole = every.down_to(every.lowest)
    for low in {*counts.tolist(), every.lowest - 5, every.highest}:
        view = Tally(counts)
        some = view.down_to(low)
        n = len(some.values)
        assert n >= np.count_nonzero(whole.values >= low)
        for part, all_of_it in zip(
            (some.values, some.sizes, some.ends),
            (whole.values, whole.sizes, whole.ends),
            strict=True,
        ):
            assert part.tolist() == all_of_it[:n].tolist()
        order = np.argsort(-counts, kind="stable")
        for rank in (0, int(some.ends[-1]) - 1, len(counts) - 1):
            assert view.items_at([rank]) == (int(order[rank]),)
        assert view.values.tolist() == whole.values.tolist()


def test_groups_are_made_twice_at_most_however_low_a_value_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each round of a peeling asks, at a small epsilon for values far below the lowest of all."""
    made, distinct = list[int](), tally_module._distinct

    def counted(counts: Integers, high: int, low: int) -> ValueGroups:
        made.append(low)
        return distinct(counts, high, low)

    monkeypatch.setattr(tally_module, "_distinct", counted)
    flips = PermuteAndFlip(k=30, epsilon=Fraction(1, 1000), neighbors=ADD_OR_REMOVE_ONE)
    assert len(set(flips.select(COUNTS["tied"], bits=ShakeBits("low")))) == 30
    assert len(made) <= 2


@pytest.mark.parametrize("kind", COUNTS)
def test_items_that_are_taken_out_stay_out_when_lower_values_are_seen(kind: str) -> None:
    """Every item in turn, the best first but for each third: weights are sizes times exp(-gap)."""
    counts = COUNTS[kind]
    rate = Fraction(1, 2) if counts.max() < 10**7 else Fraction(1, 2**55)
    classes = ValueClasses(Tally(counts), rate)
    values = sorted(set(counts.tolist()), reverse=True)
    left = {value: int(np.count_nonzero(counts == value)) for value in values}
    for turn in range(len(counts)):
        best = max(value for value, size in left.items() if size)
        table = classes.table(8.0)
        for key, weight in logs_of(table).items():
            size, gap = left[values[key]], (best - values[key]) * float(rate)
            assert exp(weight) == pytest.approx(size * exp(-gap), rel=1e-9)
        unseen = [v for key, v in enumerate(values) if left[v] and key not in logs_of(table)]
        rest = sum(left[v] * exp(-float(best - v) * float(rate)) for v in unseen)
        assert rest <= exp(table.log_rest) * (1 + 1e-9)
        present = [v for v in values if left[v] and v not in unseen]
        taken = best if turn % 3 else present[-1]
        classes.remove(values.index(taken))
        left[taken] -= 1
