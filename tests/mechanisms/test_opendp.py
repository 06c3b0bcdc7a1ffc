"""Our mechanisms in OpenDP's odometers and filters, where requirements-peers.lock is installed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    NeighboringRelation,
    PureDP,
)
from askew.errors import ParameterError
from askew.mechanisms import Joint, LaplaceCounts, LimitedDomain, Peeling, Selection
from askew.mechanisms.opendp import loss_at, measurement

COUNTS = [900, 7, 870, 850]
DELTA = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def dp() -> Any:
    pytest.importorskip("opendp", reason="a peer: pip install -r requirements-peers.lock")
    import opendp.prelude

    opendp.prelude.enable_features("contrib", "honest-but-curious")
    return opendp.prelude


def joint(epsilon: Fraction, neighbors: NeighboringRelation = ADD_OR_REMOVE_ONE) -> Joint:
    return Joint(k=2, epsilon=epsilon, neighbors=neighbors)


def test_a_filter_of_opendp_lets_through_what_its_budget_holds_and_no_more(dp: Any) -> None:
    """Planted bug: a measurement says half of what its mechanism costs."""
    ours = measurement(joint(Fraction(1, 2)), items=4)
    odometer = dp.c.make_fully_adaptive_composition(
        ours.input_domain, ours.input_metric, ours.output_measure
    )
    opened = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.2)(COUNTS)
    assert [len(set(opened(ours))) for _ in range(2)] == [2, 2]
    with pytest.raises(dp.OpenDPException, match="exhausted"):
        opened(ours)


def test_epsilon_is_never_rounded_down() -> None:
    """Planted bug: the nearest float. 1/10 lies below its float, 3/10 above it."""
    for tenths in range(1, 30, 2):
        for steps in range(4):
            said = loss_at(PureDP(Fraction(tenths, 10), REPLACE_ONE), steps)
            assert isinstance(said, float)
            assert Fraction(said) >= Fraction(tenths, 10) * steps
            assert said == pytest.approx(tenths * steps / 10, rel=1e-15)


@pytest.mark.parametrize("neighbors", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
def test_each_relation_is_another_metric(dp: Any, neighbors: NeighboringRelation) -> None:
    """Planted bug: both are one, and a loss of one-way counts is added to one of the other."""
    ours = measurement(joint(Fraction(1), neighbors))
    one_way = neighbors is ADD_OR_REMOVE_ONE
    assert ours.input_metric == dp.linf_distance(T="i64", monotonic=one_way)
    assert ours.input_metric != dp.linf_distance(T="i64", monotonic=not one_way)


def test_a_delta_is_said_between_neighbors_alone(dp: Any) -> None:
    limited = LimitedDomain(
        k=2, kbar=3, epsilon=Fraction(1, 2), delta=DELTA, neighbors=ADD_OR_REMOVE_ONE
    )
    ours = measurement(limited)
    assert ours.map(0) == (0, 0)
    epsilon, delta = ours.map(1)
    assert epsilon == 1
    assert DELTA <= Fraction(delta) < DELTA * Fraction(1001, 1000)
    assert isinstance(ours(COUNTS), Selection)
    with pytest.raises(dp.OpenDPException, match="d_in must be 0 or 1"):
        ours.map(2)


def test_a_loss_with_delta_is_not_multiplied_by_a_distance() -> None:
    """Planted bug: between groups delta is said to be a multiple, and is exponential in epsilon."""
    loss = ApproximateDP(Fraction(1), DELTA, ADD_OR_REMOVE_ONE)
    with pytest.raises(ParameterError, match="d_in must be 0 or 1"):
        loss_at(loss, 2)
    with pytest.raises(ParameterError, match="d_in must be at least 0"):
        loss_at(PureDP(Fraction(1), ADD_OR_REMOVE_ONE), -1)


def test_what_no_distance_says_is_refused() -> None:
    """Planted bug: a limit on the items of one person is forgotten: OpenDP allows any number."""
    alike: dict[str, Any] = {"k": 1, "epsilon": 1, "neighbors": REPLACE_ONE}
    cases: dict[str, Any] = {
        "max_items_per_unit": LaplaceCounts(**alike, max_items_per_unit=3),
        "linf_sensitivity": Peeling(**alike, linf_sensitivity=2),
        "one of askew.mechanisms": PureDP(Fraction(1), REPLACE_ONE),
    }
    for why, mechanism in cases.items():
        with pytest.raises(ParameterError, match=why):
            measurement(mechanism)


def test_counts_that_are_none_are_refused_without_a_count(dp: Any) -> None:
    ours = measurement(joint(Fraction(1)), items=4)
    with pytest.raises(dp.OpenDPException) as caught:
        ours([9412])
    assert "9412" not in str(caught.value)
