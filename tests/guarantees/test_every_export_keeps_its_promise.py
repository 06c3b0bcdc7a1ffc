"""Every mechanism that `askew.mechanisms` exports costs no more than its `privacy_loss` says.

The exact law of the public `select`, on all of {0,1,2}^3 and all neighbors: of every set of outputs
no more is needed than the (epsilon, delta) that the mechanism itself states. The tests are made of
what is exported, so one that is exported and has no row fails. That a law is its definition's, and
tight, is shown mechanism by mechanism in the other files; here nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from guarantees.audit.contests import law_of_selecting
from guarantees.audit.enumeration import Counts, HasLaw, Law, excess, lost, neighbors_of, vectors

from askew import mechanisms
from askew.dp.composition import delta_of
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation, PrivacyLoss
from askew.errors import ParameterError
from askew.mechanisms import Selection

EPSILON = Fraction(2)
BOTH = [ADD_OR_REMOVE_ONE, REPLACE_ONE]
ROUNDING = 1e-12  # of sums of floats; exactly the same laws are compared in the other files


Row = dict[str, Any]
DELTA: Row = {"delta": Fraction(1, 20)}
# By name, for every export: the arguments beside k, epsilon and neighbors, once for each law.
ROWS: dict[str, list[Row]] = {
    "Canonical": [{}, {"gamma": 1, "noise": "exponential"}],
    "ConcentratedPeeling": [DELTA],
    "Joint": [{}],
    "LaplaceCounts": [{"max_items_per_unit": 1}, {"max_items_per_unit": 3}],
    "LaplaceLimitedDomain": [{"kbar": 2, "max_items_per_unit": 1, **DELTA}],
    "LimitedDomain": [{"kbar": 2, **DELTA}, {"kbar": 2, "max_items_per_unit": 1, **DELTA}],
    "Lipschitz": [{}, {"kappa": Fraction(1, 2), "noise": "exponential"}],
    "OneShot": [{}, {"noise": "laplace"}],
    "PNFJoint": [{}],
    "Peeling": [{}, {"noise": "laplace"}],
    "PermuteAndFlip": [{}],
}
EXPORTED = [
    name
    for name in mechanisms.__all__
    if not issubclass(getattr(mechanisms, name), Selection)  # what is selected, no mechanism
]


def law_of_select(mechanism: Any) -> HasLaw:
    """Of all that `select` releases: the items, and whether they were ended before k."""

    def law(counts: Counts) -> Law:
        def run(tape: Any) -> tuple[int, ...]:
            chosen = mechanism.select(list(counts), bits=tape)
            return (*chosen, -1) if getattr(chosen, "stopped", False) else tuple(chosen)

        return law_of_selecting(run)

    return cache(law)


def most_of(mechanism: Any) -> int:
    return getattr(mechanism, "max_items_per_unit", None) or 3


def keeps(mechanism: Any, loss: PrivacyLoss) -> bool:
    """Laws are made as far as it takes: at ten times epsilon some cannot be enumerated."""
    epsilon, most = float(loss.epsilon), float(delta_of(loss)) + ROUNDING
    law = law_of_select(mechanism)
    return all(
        max(excess(law(a), law(b), epsilon), excess(law(b), law(a), epsilon)) <= most
        for a in vectors(3, 2)
        for b in neighbors_of(a, loss.neighbors, most_of(mechanism))
    )


@pytest.mark.thin
@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", EXPORTED)
def test_what_is_exported_costs_no_more_than_it_says(
    name: str, k: int, relation: NeighboringRelation, record_property: Callable[[str, object], None]
) -> None:
    """Planted bug: a mechanism that is exported and spends 100 times its epsilon."""
    assert name in ROWS, f"{name} is exported: give it a row here, so that its promise is tested"
    build = getattr(mechanisms, name)
    record_property("mechanism", name)
    for row in ROWS[name]:
        made = {"k": k, "epsilon": EPSILON, "neighbors": relation, **row}
        if relation is REPLACE_ONE and "kbar" in row:  # it is two of their steps
            with pytest.raises(ParameterError, match="ADD_OR_REMOVE_ONE"):
                build(**made)
            continue
        loss = build(**made).privacy_loss()
        assert loss.neighbors is relation
        mechanism = build(**made)
        claimed, found = lost(law_of_select(mechanism), loss, most_of(mechanism))
        record_property("claimed", claimed)
        record_property("exact", found)
        assert found <= claimed + ROUNDING


@pytest.mark.parametrize("name", EXPORTED)
def test_one_that_spends_ten_times_what_it_says_is_seen(name: str) -> None:
    """So that no row above passes whatever a mechanism does."""
    build = getattr(mechanisms, name)
    for row in ROWS[name]:
        made = {"k": 2, "neighbors": ADD_OR_REMOVE_ONE, **row}
        loss = build(epsilon=EPSILON, **made).privacy_loss()
        assert not keeps(build(epsilon=10 * EPSILON, **made), loss), row
