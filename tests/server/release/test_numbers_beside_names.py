"""`release --counts`: noisy counts beside the items, paid for in one charge with the items."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from server.release import typed
from server.release.conftest import COUNTS, MILLIONTH, MakePlan
from server.release.typed import USAGE, Captured, Run, ledger_shown, release_in

from askew.dp.composition import basic, delta_of, epsilon_of
from askew.dp.privacy import ADD_OR_REMOVE_ONE, BoundedRange, NeighboringRelation
from askew.mechanisms.kinds import KINDS
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.noise.randomness import SystemBits
from askew_server.cli.releases import release_in_words
from askew_server.counting import TopCounts
from askew_server.release.plan import parts_of

HALF = Fraction(1, 2)
ONE_WAY = {"limited-domain", "laplace-domain"}  # which know no REPLACE_ONE


@pytest.mark.parametrize(("share", "k"), [(HALF, 60), (Fraction(1, 10), 5)])
@pytest.mark.parametrize("mechanism", KINDS)
@pytest.mark.parametrize("neighbors", NeighboringRelation)
def test_items_and_counts_cost_together_what_was_asked_and_are_charged_so(
    plan_of: MakePlan, mechanism: str, neighbors: NeighboringRelation, share: Fraction, k: int
) -> None:
    """Exactly, by basic composition of the two losses; of 60 counts the noise is Gaussian, and has
    a delta.
    """
    asked = {"k": k, "delta": MILLIONTH, "share": share, "max_items_per_unit": 60}
    if mechanism in ONE_WAY:
        neighbors = ADD_OR_REMOVE_ONE
    plan = plan_of(mechanism=mechanism, neighbors=neighbors, **asked)
    selected, noise = parts_of(plan.asked, plan.kind)
    assert isinstance(noise, NoisyCounts)
    assert [selected.epsilon, noise.epsilon] == [2 * (1 - share), 2 * share]
    assert bool(delta_of(noise.privacy_loss())) == (k == 60)
    parts = selected.delta + delta_of(noise.privacy_loss())
    assert parts <= MILLIONTH
    assert selected.delta > 0 or not plan.kind.needs_delta
    assert [plan.loss.epsilon, plan.loss.delta] == [2, parts]
    for ranged in (False, True):
        charged = plan.charge_request(ranged=ranged).loss
        assert not isinstance(charged, BoundedRange)
        assert [epsilon_of(charged), delta_of(charged)] == [2, parts]
    if mechanism != "limited-domain":  # whose rounds compose to its total
        whole = basic([plan.selector.privacy_loss(), noise.privacy_loss()])
        assert [whole.epsilon, whole.delta] == [2, parts]


@pytest.mark.parametrize("mechanism", ["canonical", "joint", "limited-domain"])
def test_each_count_is_that_of_the_item_beside_it(plan_of: MakePlan, mechanism: str) -> None:
    """At epsilon 10,000 three draws are all within 1 but with a chance below 1e-200."""
    limited = mechanism == "limited-domain"
    how = {"catalog": None, "delta": MILLIONTH} if limited else {}
    plan = plan_of(mechanism=mechanism, epsilon=Fraction(10**4), share=HALF, **how)
    release = plan.select(COUNTS, charge=1, bits=SystemBits())
    exact = dict(zip(COUNTS.items, COUNTS.counts, strict=True))
    assert release.counts is not None
    assert sorted(release.items) == ["b", "d", "e"]
    pairs = zip(release.items, release.counts, strict=True)
    assert all(abs(n - exact[item]) <= 1 for item, n in pairs)


def test_counts_are_noisy_within_the_error_that_is_stated(plan_of: MakePlan) -> None:
    """Of 200 releases some 190 or more have all counts within: below 170 with a chance of 3e-7, by
    Chernoff.
    """
    plan = plan_of(share=HALF, epsilon=Fraction(4), max_items_per_unit=None)
    exact = dict(zip(COUNTS.items, COUNTS.counts, strict=True))
    held, moved = 0, 0
    for _ in range(200):
        release = plan.select(COUNTS, charge=1, bits=SystemBits())
        assert release.counts is not None
        assert release.all_within is not None
        pairs = zip(release.items, release.counts, strict=True)
        errors = [abs(n - exact[item]) for item, n in pairs]
        held += max(errors) <= release.all_within
        moved += any(errors)
    assert held >= 170
    assert moved > 0


def test_an_operator_is_shown_counts_with_their_error_before_and_after(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """In the plan, in words, in JSON, from the ledger and by `explain`; charged once, in whole.
    Planted bug: a delta that geometric noise does not need is said to be spent.
    """
    noise = ("--counts", "1/4", "--delta", "1e-6")
    asked = (*typed.KNOWN, *noise)
    assert run(*asked) == 0
    shown = capsys.readouterr().out
    assert "will spend  epsilon 20, delta 0, once" in shown
    assert "noisy counts beside the items, for epsilon 5 of the total: each within 2" in shown
    assert "counts     noisy: each within 2, all within 2, at least 95 % sure" in shown
    assert "place  item    count" in shown
    assert run(*asked, "--json") == 0
    release = release_in(capsys.readouterr().out)
    assert (release["each_within"], release["all_within"]) == (2, 2)
    assert len(release["counts"]) == 3
    assert release["parameters"]["counts"] == "1/4 of epsilon, geometric noise"
    assert run("releases", "show", release["charge"]) == 0
    assert "at least 95 % sure" in capsys.readouterr().out
    [charge] = ledger_shown(run, capsys)["charges"]
    assert (charge["epsilon"], charge["delta"]) == ("20", "0")
    numbers = ("--catalog-size", 9, "--epsilon", 20, "-k", 3, "--mechanism", "canonical")
    assert run("explain", *numbers, *noise, "--json") == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["each_within"], found["all_within"], found["delta"]) == (2, 2, "0")
    # Half where no share is named: another request, as is one without.
    for more, share in ((), None), (("--counts",), "1/2 of epsilon, geometric noise"):
        assert run(*typed.KNOWN, "--epsilon", 1, "--json", *more) == 0
        parameters = release_in(capsys.readouterr().out)["parameters"]
        assert parameters.get("counts") == share
    assert len(ledger_shown(run, capsys)["charges"]) == 3
    assert run(*typed.KNOWN, "--counts", "1") == USAGE
    assert "'--counts'" in capsys.readouterr().err


def test_an_empty_list_with_counts_says_how_far_off_they_can_be(plan_of: MakePlan) -> None:
    """A threshold may end a list at once. Planted bug: a list without counts and one without items
    are one case.
    """
    plan = plan_of(mechanism="limited-domain", share=HALF, delta=MILLIONTH, catalog=None)
    release = plan.select(TopCounts((), ()), charge=1, bits=SystemBits())
    assert (release.items, release.counts) == ((), ())
    assert "noisy: each within " in release_in_words(release.to_bytes())
