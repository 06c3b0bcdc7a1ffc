"""How far off a list can be: said before anything is spent, in words and numbers, without data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from askew.errors import ParameterError
from askew.mechanisms.accuracy import people_below
from askew_server.counting import ContributionBound
from askew_server.release.plan import ReleasePlan
from askew_server.release.selectors import default_bound, kinds

FAILED, USAGE = 1, 2
Run = Callable[..., int]
Captured = pytest.CaptureFixture[str]
MakePlan = Callable[..., ReleasePlan]
KNOWN = ("release", "--events", "log.csv", "--catalog", "films.csv", "--epsilon", 20, "--k", 3)
UNKNOWN = ("release", "--events", "log.csv", "--epsilon", 20, "--delta", "1e-9", "--k", 5)
MILLIONTH = Fraction(1, 10**6)
BOUNDED = {"laplace-counts", "limited-domain", "laplace-domain"}


def delta_for(mechanism: str) -> Fraction:
    return MILLIONTH if kinds()[mechanism].needs_delta else Fraction(0)


def explained(run: Run, capsys: Captured, *arguments: object) -> list[dict[str, object]]:
    capsys.readouterr()
    assert run("explain", *arguments, "--format", "json") == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


# -- without data ---------------------------------------------------------------------------------


def test_every_mechanism_is_explained_without_a_ledger_or_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, capsys: Captured
) -> None:
    """Planted bug: a mechanism of the table that has no bound on its accuracy."""
    monkeypatch.chdir(tmp_path)
    pure = explained(run, capsys, "--items", 500)
    with_delta = explained(run, capsys, "--items", 500, "--delta", "1e-6")
    assert {each["mechanism"] for each in pure + with_delta} == set(kinds())
    assert all(isinstance(each["people_below"], int) for each in pure + with_delta)
    assert {each["chance"] for each in pure} == {"19/20"}
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_domain_has_the_mechanisms_that_it_allows(run: Run, capsys: Captured) -> None:
    found = explained(run, capsys, "--delta", "1e-6")
    assert [each["mechanism"] for each in found] == ["limited-domain", "laplace-domain"]
    assert {each["n_items"] for each in found} == {None}


def test_what_explain_says_is_what_the_core_proves(
    run: Run, capsys: Captured, plan_of: MakePlan
) -> None:
    [found] = explained(
        run, capsys, "--k", 3, "--epsilon", 2, "--items", 70, "--mechanism", "joint"
    )
    assert found["people_below"] == people_below(plan_of(mechanism="joint").selector, 70)
    assert found["max_items_per_unit"] is None


def test_words_and_csv_say_the_same(run: Run, capsys: Captured) -> None:
    one = ("explain", "--items", 417, "--k", 5, "--mechanism", "canonical")
    assert run(*one) == 0
    assert "no item listed is more than 53 people below place 5\n" in capsys.readouterr().out
    assert run(*one, "--format", "csv") == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["people_below"], row["n_items"], row["max_items_per_unit"]) == ("53", "417", "none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "'--delta': it must be above 0"),
        (("--items", 90, "--mechanism", "guess"), "'--mechanism': it must be one of canonical"),
        (("--mechanism", "canonical"), "where no --catalog makes the items public"),
        (("--items", 90, "--k", 0), "'--k': it must be from 1 to 10000, got 0"),
        (("--items", 90, "--epsilon", 0), "'--epsilon': it must be above 0, got 0"),
        (("--items", 90, "--max-items-per-unit", 0), "'--max-items-per-unit': it must be"),
        (("--delta", "1e-6", "--neighbors", "replace"), "'--neighbors': it must be ADD_OR_REMOVE"),
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


def test_too_few_items_are_refused_in_one_line(run: Run, capsys: Captured) -> None:
    assert run("explain", "--items", 9) == FAILED
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert "at least k, 20" in shown.err


# -- in the plan ----------------------------------------------------------------------------------


def test_the_plan_says_how_far_off_the_list_can_be(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """Of nine films three, at epsilon 20: 83 other lists, each of odds exp(-20 g)."""
    assert run(*KNOWN, "--dry-run") == 0
    said = (
        "accuracy    at least 95 % sure, whatever the counts: no item listed is more than 0 people"
    )
    assert f"{said} below place 3\n" in capsys.readouterr().out


@pytest.mark.parametrize("asked", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_a_dry_run_for_programs_says_what_explain_says(
    opened: Path, run: Run, capsys: Captured, asked: tuple[object, ...]
) -> None:
    """Planted bug: an empty standard output, as it was."""
    assert run(*asked, "--dry-run", "--format", "json") == 0
    dry = json.loads(capsys.readouterr().out)
    numbers = [word for word in asked if word in ("--epsilon", "--delta", "--k", 20, "1e-9", 3, 5)]
    items = () if asked is UNKNOWN else ("--items", 9)
    assert dry in explained(run, capsys, *numbers, *items)
    assert run(*asked, "--dry-run", "--format", "csv") == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["people_below"] == str(dry["people_below"])


# -- the contribution bound -----------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", kinds())
def test_there_is_a_bound_by_default_only_where_the_loss_depends_on_it(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: a bound of 100 for everybody. And a mechanism that needs one never lacks it."""
    assert (default_bound(mechanism) is not None) is (mechanism in BOUNDED)
    if mechanism in BOUNDED:
        with pytest.raises(ParameterError, match=f"stated for {mechanism}"):
            plan_of(mechanism=mechanism, delta=delta_for(mechanism), bound=None)
    else:
        unbounded = plan_of(mechanism=mechanism, delta=delta_for(mechanism), bound=None)
        assert unbounded.selector == plan_of(mechanism=mechanism, delta=unbounded.delta).selector
        assert unbounded.task.bound is None


def test_without_a_bound_is_another_request(plan_of: MakePlan) -> None:
    assert plan_of(bound=None).charge_request().digest != plan_of().charge_request().digest


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
    plan = plan_of(
        mechanism=mechanism,
        delta=delta_for(mechanism),
        bound=None if bound is None else ContributionBound(bound),
    )
    assert plan.kind.noise(plan.selector, bound).endswith(said)


def write_heavy_log(folder: Path) -> set[str]:
    """250 items that 60 people have, all of them; 50 others, each of 30 people with no more."""
    heavy = {f"item {n}" for n in range(250)}
    pairs = [(f"heavy {unit}", item) for unit in range(60) for item in heavy]
    pairs += [(f"light {n} {unit}", f"light {n}") for n in range(50) for unit in range(30)]
    with (folder / "heavy.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("unit", "item"), *pairs])
    with (folder / "all.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("item",), *sorted({(item,) for _, item in pairs})])
    return heavy


def test_by_default_people_of_many_items_do_not_ruin_the_list(
    opened: Path, run: Run, capsys: Captured
) -> None:
    """A bound of 100 leaves about 24 of each 60, below the 30. At epsilon 20 a gap of 30 is lost
    with a chance below C(300,250) e^-600."""
    heavy = write_heavy_log(opened)
    log = ("release", "--events", "heavy.csv", "--catalog", "all.csv", "--k", 250)
    found: list[tuple[int, int | None]] = []
    for number, bound in enumerate(((), ("--max-items-per-unit", 100))):
        asked = ("--epsilon", 20, "--key", number, "--format", "json", *bound)
        assert run(*log, *asked) == 0
        release = json.loads(capsys.readouterr().out)
        found.append((len(heavy & set(release["items"])), release["max_items_per_unit"]))
    (unbounded, no_bound), (bounded, hundred) = found
    assert (unbounded, no_bound) == (250, None)
    assert (bounded < 250, hundred) == (True, 100)
