"""A mechanism is a module and a row: what a release knows of it stands in one place."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from server.release.small_log import COUNTS

import askew.mechanisms
from askew.dp.privacy import ADD_OR_REMOVE_ONE, BoundedRange, PureDP
from askew.errors import ParameterError
from askew.mechanisms import Canonical, Peeling, PermuteAndFlip
from askew.mechanisms.shortfall import Shortfall, Worst, error_bound
from askew.mechanisms.tally import Counts
from askew.noise.randomness import RandomBits, SystemBits
from askew_server.release.plan import ReleasePlan
from askew_server.release.selectors import MechanismRequest, MechanismSpec, specs

ROOT = Path(__file__).parents[3]
Run = Callable[..., int]
Captured = pytest.CaptureFixture[str]
MakePlan = Callable[..., ReleasePlan]
MILLIONTH = Fraction(1, 10**6)
EPSILON, K = Fraction(2), 4

# (epsilon of a round, rounds) of epsilon 2 for four items; the others are charged by addition.
ROUNDS = {
    "canonical": (EPSILON, 1),
    "joint": (EPSILON, 1),
    "peeling": (EPSILON / K, K),
    "concentrated-peeling": (EPSILON / K, K),
    "limited-domain": (EPSILON / K, K),
}


@pytest.mark.parametrize("mechanism", specs())
def test_a_loss_is_rounds_only_where_the_mechanism_is_bounded_range(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bugs: a row without its rounds, and the rounds of peeling for permute-and-flip."""
    delta = MILLIONTH if specs()[mechanism].needs_delta else Fraction(0)
    plan = plan_of(mechanism=mechanism, k=K, epsilon=EPSILON, delta=delta)
    loss = plan.charge_request(ranged=True).loss
    rounds = (loss.epsilon, loss.rounds) if isinstance(loss, BoundedRange) else None
    assert rounds == ROUNDS.get(mechanism)


@pytest.mark.parametrize("mechanism", [name for name, row in specs().items() if row.needs_bound])
def test_what_needs_a_bound_never_says_that_it_needs_none(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: a row that needs a bound and leaves the sentence out."""
    delta = MILLIONTH if specs()[mechanism].needs_delta else Fraction(0)
    plan = plan_of(mechanism=mechanism, delta=delta)
    said = plan.spec.noise(plan.selector, plan.asked.max_items_per_unit)
    assert "the bound of 10" in said
    assert "needs no bound" not in said


@pytest.mark.parametrize("make", [Canonical, Peeling])
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_noise_that_is_not_bounded_range_has_no_rounds(
    make: type[Canonical | Peeling], noise: str
) -> None:
    mechanism = make(k=2, epsilon=1, neighbors=ADD_OR_REMOVE_ONE, noise=noise)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="not bounded-range"):
        mechanism.ranged_loss()


# -- one more mechanism ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Permute-and-flip by another name, with a bound on its accuracy that is its own."""

    k: int
    epsilon: Fraction

    @property
    def shortfall(self) -> Shortfall:
        return Shortfall(seven, self.epsilon)

    def privacy_loss(self) -> PureDP:
        return PureDP(self.epsilon, ADD_OR_REMOVE_ONE)

    def rounds(self) -> BoundedRange:
        return BoundedRange(self.epsilon / 3, 2, Fraction(0), ADD_OR_REMOVE_ONE)

    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]:
        flip = PermuteAndFlip(k=self.k, epsilon=self.epsilon, neighbors=ADD_OR_REMOVE_ONE)
        return flip.select(counts, bits=bits)


def seven(_: Worst, gap: int) -> float:
    return float(gap < 8)


def said_of(toy: Toy, bound: int | None) -> str:
    return f"a toy of epsilon {toy.epsilon} and bound {bound}"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a row that the table has for this test."""

    def build(asked: MechanismRequest) -> Toy:
        return Toy(k=asked.k, epsilon=asked.epsilon)

    table = specs() | {"toy": MechanismSpec(build, rounds=Toy.rounds, noise=said_of)}
    for module in ("selectors", "forecast"):
        monkeypatch.setattr(f"askew_server.release.{module}.specs", lambda: table)
    return "toy"


def test_a_row_is_all_that_a_plan_asks_of_a_mechanism(plan_of: MakePlan, toy: str) -> None:
    """Planted bug: accuracy, or rounds, by a list of known classes."""
    plan = plan_of(mechanism=toy, epsilon=Fraction(6), max_items_per_unit=None)
    assert error_bound(plan.selector, 500) == 7
    assert plan.charge_request().loss == PureDP(Fraction(6), ADD_OR_REMOVE_ONE)
    assert plan.charge_request(ranged=True).loss == Toy(k=3, epsilon=Fraction(6)).rounds()
    release = plan.select(COUNTS, charge=1, bits=SystemBits())
    assert (release.mechanism, release.parameters) == (toy, {"k": "3", "epsilon": "6"})


def test_a_row_is_all_that_an_operator_is_told_from(
    opened: Path, run: Run, capsys: Captured, toy: str
) -> None:
    """Planted bug: the sentence about noise by a list of known classes."""
    assert run("explain", "--catalog-size", 50, "--epsilon", 3, "--mechanism", toy) == 0
    words = capsys.readouterr().out
    assert "a toy of epsilon 3 and bound None" in words
    assert "more than 7 people below" in words
    numbers = ("--epsilon", 3, "-k", 2, "--mechanism", toy, "--format", "json")
    assert run("release", "--events", "log.csv", "--catalog", "films.csv", *numbers) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["mechanism"] == toy
    assert "a toy of epsilon 3 and bound None" in shown.err


# -- nothing else ----------------------------------------------------------------------------------

# The table itself, and the answers to analysts, which are always of one mechanism.
KNOWING = {f"server/askew_server/release/{name}.py" for name in ("selectors", "analysts")}
JUDGES = [
    *(ROOT / "server").rglob("*.py"),
    *(ROOT / "shared/askew/wire").glob("*.py"),
    ROOT / "shared/askew/dp/release.py",
    ROOT / "shared/askew/mechanisms/shortfall.py",
    ROOT / "shared/askew/mechanisms/shortfall.py",
]


def mechanisms_named(source: str) -> Iterator[str]:
    """Every class of a mechanism, and every name of one in a string of its own."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.alias(name=name) if name in askew.mechanisms.__all__:
                yield name
            case ast.Constant(value=str(name)) if name in specs():
                yield name


@pytest.mark.parametrize(
    "planted",
    ["from askew.mechanisms.joint import Joint", "slow = plan.mechanism == 'joint'"],
)
def test_a_mechanism_that_is_named_is_seen(planted: str) -> None:
    assert list(mechanisms_named(planted)) != []


def test_nothing_but_the_table_names_a_mechanism() -> None:
    """So that one more is a module and a row."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in JUDGES
        if list(mechanisms_named(path.read_text(encoding="utf-8")))
    }
    assert found == KNOWING
