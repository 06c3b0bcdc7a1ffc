"""The device's memory of signals and charges: what it keeps, and what it refuses."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.errors import BudgetExceeded, LedgerError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import VERSION, SignalStore
from askew_client.views.cost import Cost

SPACE = "0123456789abcdef" * 2
OTHER_SPACE = "f" * 32
LATTICE = LatticeLaplace(11, 1024)

ONE = SignalCharge(Fraction(1))


def signal(*coordinates: int, space: str = SPACE) -> Signal:
    return Signal(space, LATTICE, coordinates)


def never() -> Signal:
    pytest.fail("a signal was drawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signals.sqlite"


@pytest.fixture
def store(path: Path) -> SignalStore:
    return SignalStore(path, Caps(Fraction(10)))


@pytest.mark.parametrize(
    "coordinates", [(-5, 7), (2**31 - 1, -(2**31 - 1)), tuple(range(64))], ids=len
)
def test_a_stored_signal_comes_back_as_it_was_drawn(
    path: Path, coordinates: tuple[int, ...]
) -> None:
    drawn, caps = Signal(SPACE, LatticeLaplace(20, 4096), coordinates), Caps(Fraction(10))
    first = SignalStore(path, caps).remember(SPACE, "2026-11", ONE, lambda: drawn)
    again = SignalStore(path, caps).remember(SPACE, "2026-11", ONE, never)
    assert (first[0], again[0]) == (drawn, drawn)
    assert (first[1].fresh, again[1].fresh) == (True, False)
    assert first[1].spent_after == again[1].spent_after == 1


def test_the_lifetime_cap_is_reached_exactly_and_not_passed(path: Path) -> None:
    """Thirds have no float: three of them are the cap of 1, and the fourth is refused undrawn.

    Planted bugs: floats in the sum, `>=` in place of `>`, refusing after the draw.
    """
    store = SignalStore(path, Caps(Fraction(1)))
    for month in ("2026-08", "2026-09", "2026-10"):
        store.remember(SPACE, month, SignalCharge(Fraction(1, 3)), lambda: signal(1))
    with pytest.raises(BudgetExceeded) as refusal:
        store.remember(SPACE, "2026-11", SignalCharge(Fraction(1, 10**6)), never)
    assert (refusal.value.spent, refusal.value.cap) == (Fraction(1), Fraction(1))
    assert refusal.value.next_month == "2026-12-01"
    assert "1 of the lifetime cap 1 is spent, 0 is left" in str(refusal.value)
    assert len(store.entries()) == 3


MONTHLY = Caps(Fraction(10), monthly=Fraction(3))


def test_the_monthly_cap_is_reached_exactly_and_not_passed(path: Path) -> None:
    """Planted bugs: `>=` in place of `>`, refusing after the draw, the lifetime cap's words."""
    store = SignalStore(path, MONTHLY)
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), lambda: signal(1))
    with pytest.raises(BudgetExceeded, match="2 of the monthly cap 3 is spent, 1 is left") as no:
        store.remember(OTHER_SPACE, "2026-11", SignalCharge(Fraction(5, 4)), never)
    assert (no.value.spent, no.value.cap, no.value.renewed) == (Fraction(2), Fraction(3), True)
    assert "2026-12-01, and refills this cap alone" in str(no.value)
    draw = partial(signal, 2, space=OTHER_SPACE)
    store.remember(OTHER_SPACE, "2026-11", ONE, draw)
    assert store.cost(SPACE, "2026-11", ONE).spent_this_month == 3


def test_what_an_acceptance_booked_counts_for_life_and_not_for_the_month(path: Path) -> None:
    """Planted bug: a month whose cap is used up by what was lost in earlier ones."""
    store = SignalStore(path, MONTHLY)
    store.remember(SPACE, "2026-10", SignalCharge(Fraction(3)), lambda: signal(1))
    path.unlink()
    assert store.accept("2026-11") == 3
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(3)), lambda: signal(2))
    assert store.account().spent == 6
    assert store.cost(SPACE, "2026-11", ONE).spent_this_month == 3


@pytest.mark.parametrize(("lifetime", "named"), [(6, "lifetime cap 6"), (7, "monthly cap 3")])
def test_a_charge_beyond_both_caps_names_the_one_that_no_month_refills(
    path: Path, lifetime: int, named: str
) -> None:
    """Planted bug: "wait for next month" to a person for whom waiting helps nothing."""
    store = SignalStore(path, Caps(Fraction(lifetime), monthly=Fraction(3)))
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(3)), lambda: signal(1))
    with pytest.raises(BudgetExceeded, match=named):
        store.remember(SPACE, "2026-12", SignalCharge(Fraction(4)), never)


def is_second(store: SignalStore, month: str = "2026-11") -> bool:
    return store.cost(OTHER_SPACE, month, ONE).is_second


def test_a_second_fresh_signal_in_one_month_is_said(path: Path) -> None:
    """Whoever is shown it may say no. Planted bugs: the calendar's month where the ledger's own
    counts; the last entry alone, which may be an acceptance; what an acceptance booked.
    """
    store = SignalStore(path, Caps(Fraction(10)))
    assert not is_second(store)
    store.remember(SPACE, "2026-11", ONE, lambda: signal(1))
    assert not store.cost(SPACE, "2026-11", ONE).is_second  # it is kept
    assert is_second(store)
    assert is_second(store, "2026-10")  # the clock does not run back
    assert not is_second(store, "2026-12")
    store.accept("2026-11")
    assert is_second(store)
    path.unlink()
    store.accept("2026-11")
    assert not is_second(store)


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_draw_that_fails_leaves_nothing(store: SignalStore, failure: type[BaseException]) -> None:
    """Planted bug: committing the charge before the draw and keeping it when there is no signal."""

    def fails() -> Signal:
        raise failure

    with pytest.raises(failure):
        store.remember(SPACE, "2026-11", ONE, fails)
    assert store.entries() == ()


def test_a_price_that_was_not_shown_is_not_charged_and_not_sent(store: SignalStore) -> None:
    """Within the transaction, for a fresh signal and for a stored one. Planted bug: the price is
    compared before, and something comes between.
    """

    class NotShown(Exception):
        pass

    def refuse(_: Cost) -> None:
        raise NotShown

    with pytest.raises(NotShown):
        store.remember(SPACE, "2026-11", ONE, never, check=refuse)
    assert store.entries() == ()
    store.remember(SPACE, "2026-11", ONE, lambda: signal(1))
    with pytest.raises(NotShown):
        store.remember(SPACE, "2026-11", ONE, never, check=refuse)


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def kept(path: Path) -> Path:
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-11", ONE, lambda: signal(-1480, 82))
    return path


Spoil = Callable[[Path], object]


def rewritten(change: Callable[[bytes], bytes]) -> Spoil:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def of_photos(path: Path) -> None:
    path.unlink()
    run(path, "CREATE TABLE photos (name TEXT)", f"PRAGMA user_version = {VERSION}")


def in_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILED: dict[str, Spoil] = {
    "overwritten": rewritten(lambda data: b"\xff" * len(data)),
    "one page": rewritten(lambda data: data[:4096]),
    "a directory": in_a_directory,
    "another database of this version": of_photos,
    "a newer one": lambda path: run(path, f"PRAGMA user_version = {VERSION + 1}"),
    "no table of signals": lambda path: run(path, "DROP TABLE signals"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_store_is_refused_and_nothing_is_drawn(kept: Path, case: str) -> None:
    """Planted bug: starting over with an empty store, which forgets what was spent. The mark
    would refuse that one, too, so the file itself has to stay as it is.
    """
    SPOILED[case](kept)
    before = kept.read_bytes() if kept.is_file() else None
    store = SignalStore(kept, Caps(Fraction(10)))
    with pytest.raises(LedgerError) as refusal:
        store.remember(SPACE, "2026-11", ONE, never)
    assert refusal.type is LedgerError
    assert (kept.read_bytes() if kept.is_file() else None) == before


def lattice(step_exponent: int = 11, inverse_rate: int = 1024, values: bytes = bytes(8)) -> bytes:
    return struct.pack("<BII", 1, step_exponent, inverse_rate) + values


ROWS = {
    "nothing": b"",
    "an unknown kind": b"\x03" + lattice()[1:],
    "no coordinates": lattice(values=b""),
    "a coordinate and a half": lattice(values=bytes(6)),
    "a coordinate beyond the limit": lattice(values=struct.pack("<i", -(2**31))),
    "a step beyond the limit": lattice(step_exponent=21),
    "no noise": lattice(inverse_rate=0),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_damaged_signal_is_neither_sent_nor_drawn_again(kept: Path, row: str) -> None:
    with closing(sqlite3.connect(kept, isolation_level=None)) as database:
        of = "SELECT sql FROM sqlite_schema WHERE name = 'signals_no_update'"
        [trigger] = database.execute(of).fetchone()
    update = f"UPDATE signals SET record = x'{ROWS[row].hex()}'"
    run(kept, "DROP TRIGGER signals_no_update", update, trigger)
    before = kept.read_bytes()
    with pytest.raises(LedgerError):
        SignalStore(kept, Caps(Fraction(10))).remember(SPACE, "2026-11", ONE, never)
    assert kept.read_bytes() == before


@pytest.mark.parametrize("epsilon", ["0", "-1"])
def test_the_file_itself_refuses_a_charge_that_is_not_above_zero(kept: Path, epsilon: str) -> None:
    row = f"(9, '{'0' * 32}', 'signal', 'x', '', '2026-12', '{epsilon}', '0')"
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        run(kept, f"INSERT INTO charges VALUES {row}")
