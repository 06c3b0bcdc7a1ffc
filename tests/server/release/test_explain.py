"""How far off a list can be: said before anything is spent, in words and numbers, without data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from server.release.conftest import ASKED, MILLIONTH, MakePlan, delta_for
from server.release.typed import BUDGET, FAILED, KNOWN, USAGE, Captured, Run, spent

from askew.errors import DataError, ParameterError
from askew.mechanisms.kinds import KINDS
from askew_server.release.forecast import (
    SimulatedBits,
    best_of,
    expected_counts,
    forecast,
    forecasts,
)
from askew_server.release.plan import (
    MechanismRequest,
    noise_in_words,
    with_default_bound,
)

BOUNDED = {"laplace-counts", "limited-domain", "laplace-domain"}


def explained(run: Run, capsys: Captured, *arguments: object) -> list[dict[str, object]]:
    capsys.readouterr()
    assert run("explain", *arguments, "--json") == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_every_mechanism_is_explained_without_a_ledger_or_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, capsys: Captured
) -> None:
    """Planted bug: a mechanism of the table that has no bound on its accuracy."""
    monkeypatch.chdir(tmp_path)
    pure = explained(run, capsys, "--catalog-size", 500)
    with_delta = explained(run, capsys, "--catalog-size", 500, "--delta", "1e-6")
    assert {each["mechanism"] for each in pure + with_delta} == set(KINDS)
    assert all(isinstance(each["error_bound"], int) for each in pure + with_delta)
    assert {each["chance"] for each in pure} == {"19/20"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "'--delta': it must be above 0"),
        (("--mechanism", "canonical"), "where no --catalog makes the items public"),
        (("--catalog-size", 90, "-k", 0), "'-k': it must be from 1 to 10000, got 0"),
        (("--catalog-size", 90, "--max-items-per-unit", 0), "'--max-items-per-unit': it must be"),
        (("--delta", "1e-6", "--neighbors", "replace"), "'--neighbors': it must be ADD_OR_REMOVE"),
        (("--catalog-size", 50, "--lists", 0), "--lists"),
        (("--catalog-size", 50, "--lists", 1001), "--lists"),
        (("--catalog-size", 90, "--epsilon", "1e-77"), "got '1e-77'"),
        (("--catalog-size", 90, "--expect", 1 << 60), "'--expect': it must be from 1 to"),
    ],
)
def test_an_option_that_makes_no_release_is_named_as_it_is_typed(
    run: Run, capsys: Captured, arguments: tuple[object, ...], message: str
) -> None:
    """Planted bug: the name and the type that Python has for it."""
    assert run("explain", *arguments) == USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err.splitlines()[-1]


# At epsilon 1/10 canonical turns from noise to the truth at about 2,000 users of 5,000 items.
CLIFF = ("explain", "--epsilon", "0.1", "--catalog-size", 5000)


def wish_of(
    epsilon: str, delta: Fraction = Fraction(0), bound: int | None = None
) -> MechanismRequest:
    asked = replace(ASKED, k=20, max_items_per_unit=bound)
    return replace(asked, epsilon=Fraction(epsilon), delta=delta)


def hits_of(wish: MechanismRequest, *expected: int, n_items: int = 5000) -> float:
    hits = forecast("canonical", wish, n_items, expected, needs=False).expected_hits
    assert hits is not None
    return hits


def test_canonical_is_noise_with_fewer_users_than_it_says_and_right_with_as_many() -> None:
    """Its cliff. Planted bugs: a need by the bound on the accuracy; counts of half the size."""
    needed = forecast("canonical", wish_of("0.1"), 5000).users_needed
    assert needed is not None
    assert 1500 < needed < 2500
    assert 18 <= hits_of(wish_of("0.1"), needed) <= 20
    assert hits_of(wish_of("0.1"), needed // 2) <= 4


@pytest.mark.parametrize("mechanism", ["canonical", "one-shot", "peeling", "concentrated-peeling"])
def test_the_expected_hits_are_those_of_the_mechanism(mechanism: str) -> None:
    """By other draws of it, from the counts that are expected; both are the same in every run.

    Planted bugs: twice the epsilon; counts in another order than their ranks.
    """
    counts = tuple(int(1500 * (20 / rank) ** 0.7) for rank in range(1, 501))
    wish = wish_of("0.08", delta_for(mechanism))
    expected = forecast(mechanism, wish, 500, counts).expected_hits
    assert expected is not None
    selector, bits = wish.build(KINDS[mechanism]), SimulatedBits(1)
    lists = [selector.select(counts, bits=bits) for _ in range(50)]
    found = sum(item < 20 for each in lists for item in each) / len(lists)
    assert expected == pytest.approx(found, abs=1.5)


def test_the_first_item_beyond_the_list_is_a_wrong_one() -> None:
    """Of two items that one person each has, noise lists either."""
    wish = replace(wish_of("0.001"), k=1)
    assert 0.2 < hits_of(wish, 1, n_items=2) < 0.8


@pytest.mark.slow
def test_the_best_is_proposed_and_comes_first(run: Run, capsys: Captured) -> None:
    """Below the cliff one-shot noise, above it canonical: by the bound on the accuracy, which
    ordered them before, canonical came last. Planted bug: that order."""
    asked = wish_of("0.1")
    few, many = (forecasts(asked, 5000, (users,), needs=False) for users in (1200, 4000))
    assert [few[0].mechanism, many[0].mechanism] == ["one-shot", "canonical"]
    assert [best_of(found, asked) for found in (few, many)] == [few[0], many[0]]
    for users, said in (
        (1200, f"one-shot: {few[0].expected_hits} of 20"),
        (100, "none: no mechanism is expected to find half"),
    ):
        assert run(*CLIFF, "--expect", users) == 0
        assert f"proposed  {said}" in capsys.readouterr().out


def test_without_an_expectation_the_fewest_users_come_first(run: Run, capsys: Captured) -> None:
    found = explained(run, capsys, *CLIFF[1:])
    assert found[-1]["mechanism"] == "laplace-counts"  # which has a bound, so others come first
    needed = [int(str(each["users_needed"])) for each in found[:-1]]
    assert needed == sorted(needed)
    assert found[0]["mechanism"] == "canonical"
    assert {each["expected_hits"] for each in found} == {None}


def test_a_delta_is_proposed_only_where_one_was_offered() -> None:
    """Planted bug: an epsilon that is pure, traded for the hits of a delta."""
    expected = (1200,)
    pure = forecasts(wish_of("0.1"), 5000, expected, needs=False)
    assert {each.asked.delta for each in pure} == {0}
    offered = wish_of("0.1", MILLIONTH)
    both = forecasts(offered, 5000, expected, needs=False)
    deltas = {each.mechanism: each.asked.delta for each in both}
    assert (deltas["concentrated-peeling"], deltas["canonical"]) == (MILLIONTH, Fraction(0))
    best = best_of(both, offered)
    assert best is not None
    assert best.mechanism == "concentrated-peeling"


def test_what_a_bound_leaves_of_the_counts_is_not_guessed() -> None:
    """And of mechanisms as good, the one that bears fewer users is proposed. Planted bug: the hits
    of Laplace counts on all events, though the bound of 100 that they have by default may lose
    most of these.
    """
    wish, expected = wish_of("1"), (900,)
    bounded = forecast("laplace-counts", wish_of("1", bound=100), 5000, expected)
    bounded = replace(bounded, expected_hits=20.0)
    pure = replace(forecast("canonical", wish, 5000, expected), expected_hits=12.0)
    assert best_of([bounded, pure], wish) == pure
    assert best_of([bounded, pure], wish_of("1", bound=100)) == bounded
    robust = replace(pure, mechanism="one-shot", expected_hits=19.5, hits_if_half=18.0)
    fragile = replace(pure, expected_hits=20.0, hits_if_half=1.0, hits_if_twice=20.0)
    assert best_of([fragile, robust], wish) == robust


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("mechanism", "slack", "share"),
    [("canonical", "1e-6", "2669/10000"), ("one-shot", "0", "961/10000")],
)
def test_a_year_of_lists_costs_what_its_budget_pays_for(
    run: Run, capsys: Captured, mechanism: str, slack: str, share: str
) -> None:
    """In the ledger too, and not one list more. 5 / 52 = .09615; by zCDP with slack 1e-6 at the
    cap's order, .2669 is the last of four decimals.
    """
    asked = ("--epsilon", 5, "--delta", "1e-6", "--catalog-size", 50, "--mechanism", mechanism)
    assert run("explain", *asked, "--lists", 52, "--json") == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["epsilon"] == share
    cap = ("--epsilon", 5, "--delta", "1e-6", "--slack", slack)
    assert run("ledger", "open", "--dataset", "films", *cap) == 0
    one = (*KNOWN[:5], "-k", 3, "--mechanism", mechanism, "--epsilon", share, "--dry-run")
    assert run(*one) == 0
    assert "52 such releases, with this one" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "asked",
    [
        ("--catalog-size", 9, "--delta", "1e-6"),
        ("--catalog-size", 9, "--delta", "1e-6", "--counts", "--mechanism", "canonical"),
        ("--delta", "1e-7", "--max-items-per-unit", 5, "--neighbors", "add-or-remove"),
        ("--catalog-size", 9, "--neighbors", "replace"),
    ],
    ids=["by zCDP", "with counts", "unknown domain", "replace"],
)
def test_the_commands_of_a_plan_make_its_lists_and_not_one_more(
    run: Run, capsys: Captured, asked: tuple[object, ...]
) -> None:
    """Typed as they stand. Planted bugs: a delta that the counts do not use is spent in words; a
    number that is rounded up, so that the last list is refused.
    """
    assert run("explain", "-k", 2, "--epsilon", 5, *asked, "--lists", 3) == 0
    shown = dict(
        re.split("  +", line, maxsplit=1)
        for line in capsys.readouterr().out.splitlines()[:9]
        if line
    )
    left = shown["left"]
    once, each_time = (shown[name].split()[1:] for name in ("once", "each time"))
    assert run(*once) == 0
    for day in ("1", "2", "3"):
        assert run(*each_time[:-2], day) == 0
    capsys.readouterr()
    assert run("ledger", "show") == 0
    assert f"left      {left}\n" in capsys.readouterr().out
    assert run(*each_time[:-2], "4") == BUDGET


def test_an_earlier_list_with_its_counts_says_more_than_one_number(tmp_path: Path) -> None:
    """Rows in any order. Where the top is flat, canonical needs more users at place k."""
    counts = [1600 - n for n in range(40)]
    rows = "".join(f"film {n},{count}\n" for n, count in enumerate(reversed(counts)))
    (tmp_path / "earlier.csv").write_text("item,count\n" + rows)
    falling, origin = expected_counts(str(tmp_path / "earlier.csv"), 20)
    assert falling == tuple(counts)
    assert origin.startswith("1581 users at place 20, of earlier.csv (sha256 ")
    assert hits_of(wish_of("0.13"), *falling) < 5
    assert hits_of(wish_of("0.13"), 1581) > 15


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,people\na,3\n", "no csv with a whole number in a column 'count'"),
        ("item,count\na,3.5\n", "no csv with a whole number"),
        ("item,count\na\n", "no csv with a whole number"),
        ("item,count\na,-1\n", "a count is below 0"),
        ("item,count\na,3\n", "at least 20 counts are needed; it has 1"),
        ("count\n" + 19 * "3\n" + 9 * "0\n", "the count of place 20 is 0"),
    ],
)
def test_a_file_that_has_no_counts_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "earlier.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        expected_counts(str(tmp_path / "earlier.csv"), 20)


# Of nine films three, at an epsilon at which 60 users are far too few.
NOISE = (*KNOWN[:-4], "--epsilon", "0.01", "-k", 3, "--expect", 60)


def test_a_list_that_is_expected_to_be_noise_is_refused_before_the_log_is_looked_at(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """The same words with any log, and with none, and nothing is charged. Planted bugs: its columns
    looked at first; a refusal after the charge; one of the mechanism that is proposed.
    """
    said = []
    log = opened / "log.csv"
    for content in (log.read_text() + "one more,film 8\n", "no,columns\n", None):
        log.unlink(missing_ok=True)
        if content is not None:
            log.write_text(content)
        assert run(*NOISE, "--dry-run") == FAILED
        said.append(capsys.readouterr())
    assert len(set(said)) == 1
    assert run(*NOISE) == FAILED
    last = capsys.readouterr().err.splitlines()[-1]
    assert said[0].err.splitlines()[-1] == last
    assert "of 3 items (60 users at place 3, as stated), which is less than half" in last
    assert last.endswith("without --expect it is released all the same")
    assert spent(run, capsys) == "0"


@pytest.mark.parametrize("mechanism", KINDS)
def test_there_is_a_bound_by_default_only_where_the_loss_depends_on_it(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: a bound of 100 for everybody. And a mechanism that needs one never lacks it."""
    asked = {"mechanism": mechanism, "delta": delta_for(mechanism)}
    if mechanism in BOUNDED:
        with pytest.raises(ParameterError, match=f"stated for {mechanism}"):
            plan_of(**asked, max_items_per_unit=None)
        bounded = with_default_bound(mechanism, wish_of("1", delta_for(mechanism)))
        assert bounded.max_items_per_unit == 100
    else:
        unbounded = plan_of(**asked, max_items_per_unit=None)
        assert with_default_bound(mechanism, unbounded.asked) == unbounded.asked
        assert unbounded.selector == plan_of(**asked).selector
        assert unbounded.task.max_items_per_unit is None


@pytest.mark.parametrize(
    ("mechanism", "bound", "said"),
    [
        ("canonical", None, "so it needs no bound"),
        ("canonical", 10, "so it needs no bound; that of 10 only loses events"),
        ("laplace-counts", 10, "the bound of 10 makes the noise of a count 5 people"),
        ("laplace-domain", 10, "the bound of 10 makes the noise of a count 5 people"),
        # epsilon 2/3 a round: ln(10) / (2/3) = 3.5 of 1 + ln(10 / 1e-6) / (2/3) = 25.2
        ("limited-domain", 10, "the bound of 10 costs 3 people of 25 that the threshold asks for"),
    ],
)
def test_the_plan_says_what_a_bound_costs(
    plan_of: MakePlan, mechanism: str, bound: int | None, said: str
) -> None:
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), max_items_per_unit=bound)
    assert noise_in_words(plan.selector, bound).endswith(said)
