"""A plan is public, complete before any data are read, and allows only what its domain allows; its
job charges, counts, selects and stores, in this order, once. Whatever fails costs budget only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from server.ledger.scenes import releases_of
from server.release.small_log import COUNTS
from server.release.typed import Captured, Run, release_in

from askew.dp.composition import basic, delta_of, epsilon_of, rounds_of, zcdp
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
)
from askew.dp.release import release_from_bytes
from askew.errors import (
    BudgetExceeded,
    ChargePending,
    DataError,
    LedgerError,
    ParameterError,
)
from askew.mechanisms import PermuteAndFlip
from askew.mechanisms.kinds import KINDS, Kind
from askew.mechanisms.limited_domain import LimitedDomain
from askew.mechanisms.shortfall import Shortfall, Worst, error_bound
from askew.mechanisms.tally import Counts
from askew.noise.randomness import KERNEL, RandomBits, SystemBits
from askew_server.counting import CountingTask, EventSource, TopCounts
from askew_server.ledger import Ledger, StoredRelease
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import ReleasePlan

MakePlan = Callable[..., ReleasePlan]
MILLIONTH = Fraction(1, 10**6)
KNOWN_ONLY = [name for name, kind in KINDS.items() if kind.needs_catalog]
ANY_DOMAIN = [name for name, kind in KINDS.items() if not kind.needs_catalog]


def delta_for(mechanism: str) -> Fraction:
    return MILLIONTH if KINDS[mechanism].needs_delta else Fraction(0)


@pytest.mark.parametrize("mechanism", KNOWN_ONLY)
def test_an_unknown_domain_allows_no_mechanism_that_lists_items_because_they_occur(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: the guard removed. The refusal says why, in words."""
    with pytest.raises(ParameterError, match="would show that this person is in the data"):
        plan_of(catalog=None, mechanism=mechanism, delta=delta_for(mechanism))


@pytest.mark.parametrize("catalog", [None, "films.csv"])
@pytest.mark.parametrize("mechanism", ANY_DOMAIN)
def test_a_limited_domain_needs_no_catalog(
    plan_of: MakePlan, mechanism: str, catalog: str | None
) -> None:
    plan = plan_of(catalog=catalog, mechanism=mechanism, delta=MILLIONTH)
    assert plan.task.limit == (None if catalog else 1001)


@pytest.mark.parametrize("mechanism", list(KINDS))
def test_what_is_counted_of_a_person_is_what_the_mechanism_is_told(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: noise for 7 items of a person, and all of them counted."""
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), max_items_per_unit=7)
    assert plan.task.max_items_per_unit == 7
    if plan.kind.needs_bound:
        assert vars(plan.selector)["max_items_per_unit"] == 7


@pytest.mark.parametrize("mechanism", ANY_DOMAIN)
def test_a_limited_domain_without_a_delta_is_refused(plan_of: MakePlan, mechanism: str) -> None:
    with pytest.raises(ParameterError, match="delta must be above 0"):
        plan_of(mechanism=mechanism)


def test_a_delta_that_would_buy_nothing_is_refused(plan_of: MakePlan) -> None:
    with pytest.raises(ParameterError, match="0 for canonical"):
        plan_of(delta=MILLIONTH)


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 0},
        {"k": 10_001},
        {"max_items_per_unit": 0},
        {"epsilon": Fraction(0)},
        {"epsilon": Fraction(-1)},
        {"epsilon": 0.5},
        {"mechanism": "histogram"},
        {"mechanism": "limited-domain", "delta": Fraction(1)},
        {"mechanism": "limited-domain", "delta": MILLIONTH, "neighbors": REPLACE_ONE},
    ],
)
def test_numbers_that_make_no_mechanism_are_refused_before_anything_is_spent(
    plan_of: MakePlan, changes: dict[str, object]
) -> None:
    with pytest.raises(ParameterError):
        plan_of(**changes)


# -- what it spends -------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", KINDS)
def test_every_mechanism_spends_what_was_asked_and_no_more(
    plan_of: MakePlan, mechanism: str
) -> None:
    """The mechanism's own loss, composed over its rounds, is within the loss that is charged."""
    plan = plan_of(mechanism=mechanism, k=20, delta=delta_for(mechanism))
    charged = plan.charge_request().loss
    selector = plan.selector
    own = selector.privacy_loss()
    if isinstance(selector, LimitedDomain) and selector.delta < plan.asked.delta:
        own = zcdp([selector.ranged_loss()], plan.asked.delta - selector.delta)
    assert isinstance(charged, PureDP | ApproximateDP)
    assert own.epsilon <= charged.epsilon == 2
    assert getattr(own, "delta", 0) <= getattr(charged, "delta", 0) == delta_for(mechanism)


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10, 20, 100, 1000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_rounds_cost_the_total_and_never_less_per_round_than_basic_composition(
    epsilon: Fraction, k: int
) -> None:
    """Exact rationals throughout; planted bug: the whole delta spent twice."""
    per_round, threshold = rounds_of(epsilon, MILLIONTH, k)
    assert per_round >= epsilon / k
    slack = MILLIONTH - threshold
    rounds = BoundedRange(per_round, k, threshold, ADD_OR_REMOVE_ONE)
    total = zcdp([rounds], slack) if slack else basic([rounds])
    assert total.epsilon <= epsilon
    assert total.delta <= MILLIONTH
    assert 0 < threshold <= MILLIONTH


def test_many_rounds_gain_by_bounded_range() -> None:
    """20 rounds at epsilon 1, delta 1e-6: rho = 20 e^2 / 8 converts to 1 at a slack of delta / 2.

    Planted bug: the conversion rho + 2 sqrt(rho ln(1/slack)), which gives 1.63.
    """
    per_round, threshold = rounds_of(Fraction(1), MILLIONTH, 20)
    assert threshold == MILLIONTH / 2
    assert float(per_round) * 20 == pytest.approx(1.9157, abs=1e-3)


@pytest.mark.parametrize("mechanism", KINDS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_a_data_set_that_composes_is_never_charged_more_than_was_asked(
    plan_of: MakePlan, mechanism: str, k: int
) -> None:
    """Planted bug: rounds whose sum is above epsilon, charged as rounds."""
    plan = plan_of(mechanism=mechanism, k=k, delta=delta_for(mechanism))
    loss = plan.charge_request(ranged=True).loss
    assert epsilon_of(loss) <= plan.asked.epsilon
    assert delta_of(loss) <= plan.asked.delta


@pytest.mark.parametrize("mechanism", KINDS)
def test_the_contribution_bound_scales_epsilon_only_where_one_person_is_bounded(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bug: epsilon divided by the bound for mechanisms that need none, or not for Laplace.

    At a bound of 1000 a person may change all counts here; Canonical and its like protect that.
    """
    one, many = (
        plan_of(mechanism=mechanism, delta=delta_for(mechanism), max_items_per_unit=bound)
        for bound in (1, 1000)
    )
    scaled = mechanism in {"laplace-counts", "laplace-domain", "limited-domain"}
    assert (repr(one.selector) != repr(many.selector)) is scaled


# -- requests -------------------------------------------------------------------------------------


CHANGES: list[dict[str, object]] = [
    {},
    {"k": 4},
    {"epsilon": Fraction(3)},
    {"mechanism": "joint"},
    {"mechanism": "limited-domain", "delta": MILLIONTH},
    {"mechanism": "limited-domain", "delta": MILLIONTH / 2},
    {"catalog": "other.csv"},
    {"source": EventSource(events="log.csv", catalog="films.csv", engine="duckdb:other")},
    {"source": EventSource(events="log.csv", catalog="films.csv", engine="spark:local")},
    {"max_items_per_unit": 11},
    {"max_items_per_unit": None},
    {"dataset": "books"},
    {"version": "2"},
    {"neighbors": REPLACE_ONE},
]


def test_any_public_difference_makes_another_request(plan_of: MakePlan) -> None:
    """And none of them the same: a request is its own key."""
    digests = [plan_of(**changes).charge_request().digest for changes in [*CHANGES, {}]]
    assert len(set(digests)) == len(CHANGES)
    assert digests[0] == digests[-1]


def test_a_plan_prints_no_count(plan_of: MakePlan) -> None:
    plan = plan_of()
    plan.select(COUNTS, charge=1, bits=SystemBits())
    assert "5000" not in repr(plan) + repr(COUNTS)


# -- selecting: epsilon 2 and gaps of 1,000 leave a chance of error below e^-300 -------------------


def test_a_set_is_listed_by_name_and_not_by_count(plan_of: MakePlan) -> None:
    """Planted bug: places in the engine's order, by falling count. They tell the true ranking."""
    release = plan_of(epsilon=Fraction(2)).select(COUNTS, charge=1, bits=SystemBits())
    assert (release.items, release.ranked) == (("b", "d", "e"), False)


@pytest.mark.parametrize("mechanism", ["joint", "peeling", "permute-and-flip", "laplace-counts"])
def test_a_ranking_is_listed_best_first(plan_of: MakePlan, mechanism: str) -> None:
    plan = plan_of(mechanism=mechanism, epsilon=Fraction(20))
    release = plan.select(COUNTS, charge=1, bits=SystemBits())
    assert (release.items, release.ranked) == (("d", "b", "e"), True)


def test_an_unknown_domain_stops_at_its_threshold(plan_of: MakePlan) -> None:
    """Three items are far above 1 + ln(10 / delta) / epsilon; a and c, at 20 and 10, far below."""
    plan = plan_of(
        catalog=None, mechanism="limited-domain", k=5, epsilon=Fraction(1, 2), delta=MILLIONTH
    )
    release = plan.select(COUNTS, charge=1, bits=SystemBits())
    assert (release.items, release.stopped) == (("d", "b", "e"), True)


@pytest.mark.parametrize("mechanism", ["canonical", "limited-domain"])
def test_an_item_of_any_name_can_win(plan_of: MakePlan, mechanism: str) -> None:
    """Planted bug: a name that no release may hold, refused after the charge, tells that it won."""
    counts = TopCounts(("a\nb\x1b", "", "x" * 600), (5000, 4000, 3000))
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), epsilon=Fraction(20))
    release = plan.select(counts, charge=1, bits=SystemBits())
    assert {*release.items} == {"a\\u{a}b\\u{1b}", "(no name)", "x" * 500}


@pytest.mark.parametrize("mechanism", KINDS)
def test_a_catalog_needs_k_items_unless_the_mechanism_may_stop_before(
    plan_of: MakePlan, mechanism: str
) -> None:
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), k=6)
    assert plan.least_items == (6 if mechanism in KNOWN_ONLY else 1)
    if mechanism in KNOWN_ONLY:
        with pytest.raises(ParameterError):
            plan.select(COUNTS, charge=1, bits=SystemBits())
    else:
        assert len(plan.select(COUNTS, charge=1, bits=SystemBits()).items) <= 5


def test_an_empty_log_of_an_unknown_domain_releases_an_empty_list(plan_of: MakePlan) -> None:
    plan = plan_of(catalog=None, mechanism="limited-domain", delta=MILLIONTH)
    release = plan.select(TopCounts((), ()), charge=1, bits=SystemBits())
    assert (release.items, release.stopped) == ((), True)


EPSILON, K = Fraction(2), 4
# (epsilon of a round, rounds) of epsilon 2 for four items; the others are charged by addition.
ROUNDS = {
    "canonical": (EPSILON, 1),
    "joint": (EPSILON, 1),
    "peeling": (EPSILON / K, K),
    "concentrated-peeling": (EPSILON / K, K),
    "limited-domain": (EPSILON / K, K),
}


@pytest.mark.parametrize("mechanism", KINDS)
def test_a_loss_is_rounds_only_where_the_mechanism_is_bounded_range(
    plan_of: MakePlan, mechanism: str
) -> None:
    """Planted bugs: a row without its rounds, and the rounds of peeling for permute-and-flip."""
    delta = MILLIONTH if KINDS[mechanism].needs_delta else Fraction(0)
    plan = plan_of(mechanism=mechanism, k=K, epsilon=EPSILON, delta=delta)
    loss = plan.charge_request(ranged=True).loss
    rounds = (loss.epsilon, loss.rounds) if isinstance(loss, BoundedRange) else None
    assert rounds == ROUNDS.get(mechanism)


# -- one more mechanism ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Permute-and-flip by another name, with a bound on its accuracy that is its own."""

    k: int
    epsilon: Fraction
    neighbors: NeighboringRelation

    @property
    def shortfall(self) -> Shortfall:
        return Shortfall(seven, self.epsilon)

    def privacy_loss(self) -> PureDP:
        return PureDP(self.epsilon, ADD_OR_REMOVE_ONE)

    def ranged_loss(self) -> BoundedRange:
        return BoundedRange(self.epsilon / 3, 2, Fraction(0), ADD_OR_REMOVE_ONE)

    def select(self, counts: Counts, *, bits: RandomBits = KERNEL) -> tuple[int, ...]:
        flip = PermuteAndFlip(k=self.k, epsilon=self.epsilon, neighbors=ADD_OR_REMOVE_ONE)
        return flip.select(counts, bits=bits)


def seven(_: Worst, gap: int) -> float:
    return float(gap < 8)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a row that the table has for this test."""
    monkeypatch.setitem(KINDS, "toy", Kind(Toy, is_ranged=True))
    return "toy"


def test_a_row_is_all_that_a_plan_asks_of_a_mechanism(plan_of: MakePlan, toy: str) -> None:
    """Planted bug: accuracy, or rounds, by a list of known classes."""
    plan = plan_of(mechanism=toy, epsilon=Fraction(6), max_items_per_unit=None)
    assert error_bound(plan.selector, 500) == 7
    assert plan.charge_request().loss == PureDP(Fraction(6), ADD_OR_REMOVE_ONE)
    assert (
        plan.charge_request(ranged=True).loss
        == Toy(k=3, epsilon=Fraction(6), neighbors=ADD_OR_REMOVE_ONE).ranged_loss()
    )
    release = plan.select(COUNTS, charge=1, bits=SystemBits())
    assert (release.mechanism, release.parameters) == (toy, {"k": "3", "epsilon": "6"})


def test_a_row_is_all_that_an_operator_is_told_from(
    opened: Path, run: Run, capsys: Captured, toy: str
) -> None:
    assert run("explain", "--catalog-size", 50, "--epsilon", 3, "--mechanism", toy) == 0
    words = capsys.readouterr().out
    assert "more than 7 people below" in words
    numbers = ("--epsilon", 3, "-k", 2, "--mechanism", toy, "--json")
    assert run("release", "--events", "log.csv", "--catalog", "films.csv", *numbers) == 0
    assert release_in(capsys.readouterr().out)["mechanism"] == toy


# -- nothing else ----------------------------------------------------------------------------------


# The table itself, and the answers to analysts, which are always of one mechanism.
class Watched:
    """A ledger, an engine and a source of bits that write down in which order they are used."""

    def __init__(self, ledger: Ledger, patches: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self._ledger = ledger
        for name in ("charge", "fulfill"):
            patches.setattr(ledger, name, self._noted(name, getattr(type(ledger), name)))

    def _noted(self, name: str, act: Callable[..., object]) -> Callable[..., object]:
        def noted(*arguments: object) -> object:
            self.order.append(name)
            return act(self._ledger, *arguments)

        return noted

    def count(self, _: CountingTask) -> TopCounts:
        self.order.append("count")
        return COUNTS

    def job(self) -> ReleaseJob:
        watched = self

        class Bits(SystemBits):
            def read(self, count: int) -> bytes:
                if watched.order[-1] != "draw":
                    watched.order.append("draw")
                return super().read(count)

        return ReleaseJob(self._ledger, self.count, Bits())


@pytest.fixture
def watched(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(ledger, monkeypatch)


def spent(ledger: Ledger) -> Fraction:
    return ledger.dataset("films").spent.epsilon


def test_the_charge_comes_before_the_data_and_the_data_before_the_coin(
    watched: Watched, plan_of: MakePlan
) -> None:
    """Planted bugs: charge after select; charge after count; shown before it is stored."""
    watched.job().publish(plan_of(), plan_of().charge_request())
    assert watched.order == ["charge", "count", "draw", "fulfill"]


def test_a_release_names_the_charge_that_paid_for_it(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    stored = watched.job().publish(plan_of(), plan_of().charge_request())
    release = release_from_bytes(stored.payload)
    assert [release.charge] == [charge.id for charge in ledger.charges()]
    assert spent(ledger) == release.loss.epsilon == 2


def test_the_same_request_gets_the_stored_bytes_and_touches_nothing(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    first = watched.job().publish(plan_of(), plan_of().charge_request())
    watched.order.clear()
    assert watched.job().publish(plan_of(), plan_of().charge_request()) == first
    assert watched.order == ["charge"]
    assert spent(ledger) == 2


def test_a_budget_that_does_not_suffice_stops_before_the_data(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    plan = plan_of(epsilon=Fraction(101))
    with pytest.raises(BudgetExceeded):
        watched.job().publish(plan, plan.charge_request())
    assert watched.order == ["charge"]
    assert spent(ledger) == 0


def test_a_job_that_fails_after_its_charge_has_lost_it_and_is_not_drawn_again(
    ledger: Ledger, watched: Watched, plan_of: MakePlan
) -> None:
    """Planted bug: the charge taken back, so that failures that depend on data are free."""

    def broken(_: CountingTask) -> TopCounts:
        raise DataError("the engine went away")

    plan, request = plan_of(), plan_of().charge_request()
    with pytest.raises(DataError):
        ReleaseJob(ledger, broken, SystemBits()).publish(plan, request)
    assert spent(ledger) == 2
    with pytest.raises(ChargePending):
        watched.job().publish(plan, request)
    assert releases_of(ledger) == ()


def test_a_release_that_cannot_be_stored_is_not_shown(
    ledger: Ledger, watched: Watched, plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> StoredRelease:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(ledger, "fulfill", full)
    with pytest.raises(LedgerError):
        watched.job().publish(plan_of(), plan_of().charge_request())
    assert len(releases_of(ledger)) == 0
    assert spent(ledger) == 2
