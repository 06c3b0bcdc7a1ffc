"""The second account: noisy positions cost epsilon per kilometer, and are of no server's space."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import BudgetExceeded, LedgerRefused, ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.map import MapNoise
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

SPACE, OTHER_SPACE = "0123456789abcdef" * 2, "f" * 32
NOISE = MapNoise(HexagonalLattice.for_epsilon(Fraction(277, 1000)), 40_000)
TOWN = SignalCharge.of_place(Fraction(277, 1000))
HOME, WORK = "a" * 32, "b" * 32
PLAIN = SignalCharge(Fraction(16))


def position(latitude: int = 52_000_000) -> Signal:
    return Signal(ANY_SPACE, NOISE, (latitude, 13_000_000))


def point(value: int = 3, space: str = SPACE) -> Signal:
    return Signal(space, LatticeLaplace(11, 1024), (value,))


def never() -> Signal:
    pytest.fail("a signal was drawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signals.sqlite"


@pytest.fixture
def store(path: Path) -> SignalStore:
    return SignalStore(path, Caps(Fraction(192), Fraction(32)))


def remember(
    store: SignalStore,
    handle: str = HOME,
    month: str = "2026-11",
    draw: Callable[[], Signal] = position,
    charge: SignalCharge = TOWN,
) -> Signal:
    return store.remember(ANY_SPACE, month, charge, draw, handle=handle)[0]


@pytest.mark.parametrize("month", ["2026-11", "2027-10", "2026-01"])
def test_a_places_signal_is_the_same_in_every_month(store: SignalStore, month: str) -> None:
    """Planted bug: a place's signal found by its month as a taste's is."""
    drawn = remember(store)
    assert remember(store, month=month, draw=never) == drawn
    assert store.find(ANY_SPACE, month, HOME) == drawn
    assert store.account().spent_per_km == TOWN.epsilon_per_km


def test_a_full_account_of_tastes_stops_no_place_and_the_other_way_round(path: Path) -> None:
    caps = Caps(Fraction(16), places_monthly=Fraction(3, 10))
    store = SignalStore(path, caps)
    store.remember(SPACE, "2026-11", PLAIN, point)
    remember(store)
    with pytest.raises(BudgetExceeded, match="epsilon of one rating; 16 of the lifetime"):
        store.remember(SPACE, "2026-12", PLAIN, never)
    with pytest.raises(BudgetExceeded, match="epsilon per kilometer"):
        remember(store, WORK, draw=never)


def test_values_on_axes_have_caps_of_their_own_beside_the_ratings(path: Path) -> None:
    """Planted bugs: a value paid from the account of ratings, or not counted with others."""
    caps = Caps(Fraction(2), Fraction(2), axes_lifetime=Fraction(12), axes_monthly=Fraction(6))
    store = SignalStore(path, caps)
    value, taste = SignalCharge(Fraction(5)), SignalCharge(Fraction(2))
    store.remember(SPACE, "2026-11", value, point, handle=HOME)
    with pytest.raises(BudgetExceeded, match=r"value on axes; 5 of the monthly cap of axes 6"):
        store.remember(SPACE, "2026-11", value, never, handle=WORK)
    store.remember(SPACE, "2026-11", taste, point)
    with pytest.raises(BudgetExceeded, match=r"one rating; 2 of the lifetime cap 2"):
        store.remember(SPACE, "2026-12", taste, never)
    store.remember(SPACE, "2026-12", value, point, handle=HOME)
    with pytest.raises(BudgetExceeded, match=r"value on axes; 10 of the lifetime cap of axes 12"):
        store.remember(SPACE, "2027-01", value, never, handle=HOME)
    account = store.account()
    assert [account.spent, account.spent_on_axes, account.spent_per_km] == [2, 10, 0]


def test_what_costs_more_than_a_whole_cap_is_not_told_to_wait_for_a_month(path: Path) -> None:
    """Planted bug: "the next month refills this cap" of what no month pays for."""
    store = SignalStore(path, Caps(Fraction(9), axes_monthly=Fraction(6)))
    with pytest.raises(BudgetExceeded, match="with these settings no month pays for it") as no:
        store.remember(SPACE, "2026-11", SignalCharge(Fraction(7)), never, handle=HOME)
    assert "refills" not in str(no.value)
    assert not no.value.renewed


def test_one_position_a_month_and_a_lifetime_have_a_cap_each(store: SignalStore) -> None:
    """Five positions of a town in a month, fifteen in a life, whatever they are called."""
    with pytest.raises(BudgetExceeded, match=r"cap of one position 1\.4"):
        remember(store, draw=never, charge=SignalCharge.of_place(Fraction(141, 100)))
    handles = [f"{number:032x}" for number in range(16)]
    for month, start in (("2026-11", 0), ("2026-12", 5), ("2027-01", 10)):
        for handle in handles[start : start + 5]:
            remember(store, handle, month)
        with pytest.raises(BudgetExceeded, match="cap of places") as refusal:
            remember(store, handles[15], month, never)
        assert refusal.value.cap in {Fraction(7, 5), Fraction(21, 5)}
    with pytest.raises(BudgetExceeded, match=r"lifetime cap of places 4\.2") as refusal:
        remember(store, handles[15], "2027-02", never)
    assert refusal.value.spent == 15 * TOWN.epsilon_per_km
    assert remember(store, handles[0], "2027-02", never) == position()


def test_a_place_is_no_second_signal_of_a_taste(store: SignalStore) -> None:
    remember(store)
    assert not store.cost(SPACE, "2026-11", SignalCharge(Fraction(1))).is_second
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), point)
    assert store.cost(OTHER_SPACE, "2026-11", SignalCharge(Fraction(1))).is_second
    assert not store.cost(SPACE, "2026-11", SignalCharge(Fraction(1)), handle=HOME).is_second


def test_two_values_of_one_space_are_two_signals_and_no_second_space(store: SignalStore) -> None:
    """Nor are two months, or two spaces, one signal. Planted bugs: a key without the handle, by
    which one value is sent for another; without the month; without the space.
    """
    charge = SignalCharge(Fraction(1))
    kept = {
        (SPACE, "2026-11", HOME): point(1),
        (SPACE, "2026-11", WORK): point(2),
        (SPACE, "2026-12", HOME): point(3),
        (OTHER_SPACE, "2026-11", HOME): point(4, OTHER_SPACE),
    }
    for (space, month, handle), drawn in kept.items():
        store.remember(space, month, charge, lambda drawn=drawn: drawn, handle=handle)  # type: ignore[misc]
    assert {key: store.find(*key) for key in kept} == kept
    assert store.find(SPACE, "2026-12", WORK) is None
    assert len(store.entries()) == 4


@pytest.mark.parametrize(
    ("space", "charge"),
    [
        (SPACE, TOWN),
        (ANY_SPACE, SignalCharge(Fraction(1))),
        (ANY_SPACE, SignalCharge.of_place(Fraction(-1))),
        (SPACE, SignalCharge(Fraction(1), Fraction(-1))),
        (SPACE, SignalCharge(Fraction(-1, 10**9))),
    ],
)
def test_a_charge_is_positive_in_the_account_that_it_is_of(
    store: SignalStore, space: str, charge: SignalCharge
) -> None:
    with pytest.raises(ParameterError, match="charge"):
        store.remember(space, "2026-11", charge, never, handle=HOME)


def test_an_older_ledger_books_what_it_lost_in_all_accounts(
    path: Path, store: SignalStore, tmp_path: Path
) -> None:
    """The larger loss of ratings and values counts in both. Planted bug: places forgotten."""
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), point)
    shutil.copy(path, tmp_path / "old")
    store.remember(SPACE, "2026-12", SignalCharge(Fraction(2)), point)
    store.remember(SPACE, "2026-12", SignalCharge(Fraction(5)), point, handle=WORK)
    remember(store, month="2026-12")
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copy(tmp_path / "old", path)
    with pytest.raises(LedgerRefused):
        remember(store, WORK, "2026-12", never)
    store.accept("2026-12")
    account = store.account()
    assert [account.spent, account.spent_on_axes] == [1 + 5, 5]
    assert account.spent_per_km == TOWN.epsilon_per_km


@pytest.mark.parametrize(("drawn", "right"), [("2027-09", "2026-11"), ("2026-11", "2026-10")])
def test_one_date_from_the_future_locks_nobody_out_and_gives_no_month_for_nothing(
    store: SignalStore, drawn: str, right: str
) -> None:
    """Five were drawn by a clock that was ahead. Planted bugs: what was drawn by a wrong clock
    counts in no month, or in the accepted month alone.
    """
    handles = [f"{number:032x}" for number in range(7)]
    for handle in handles[:5]:
        remember(store, handle, drawn)
    with pytest.raises(BudgetExceeded, match="monthly cap"):
        remember(store, handles[5], right, never)  # the ledger's clock does not run back
    store.accept(right)
    for month in (right, drawn):  # nor is the later month for nothing
        with pytest.raises(BudgetExceeded, match="monthly cap"):
            remember(store, handles[5], month, never)
    if drawn == "2027-09":
        assert store.cost(ANY_SPACE, "2026-12", TOWN, handle=handles[5]).spent_this_month == 0
        remember(store, handles[5], "2026-12")
