"""The device's memory of signals and charges: what it keeps, and what it refuses."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from askew.errors import AskewError, BudgetExceeded
from askew.lattice import Lattice
from askew.privacy import SignalCharge
from askew.randomized_response import RandomizedResponse
from askew.signal import Signal
from askew_client.signal_store import Charge, SignalStore

SPACE = "0123456789abcdef" * 2
OTHER_SPACE = "f" * 32
LATTICE = Lattice(11, 1024)
Draw = Callable[[], Signal]


def signal(*coordinates: int, space: str = SPACE) -> Signal:
    return Signal(space, LATTICE, coordinates)


def never() -> Signal:
    pytest.fail("a signal was drawn")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "signals.sqlite"


@pytest.fixture
def store(path: Path) -> SignalStore:
    return SignalStore(path, lifetime_cap=Fraction(10))


@pytest.mark.parametrize(
    "coordinates",
    [(-5, 7), (0,), (2**31 - 1, -(2**31 - 1)), tuple(range(64))],
)
def test_a_stored_signal_comes_back_as_it_was_drawn(
    path: Path, coordinates: tuple[int, ...]
) -> None:
    drawn = Signal(SPACE, Lattice(20, 4096), coordinates)
    first = SignalStore(path, Fraction(10)).remember(
        SPACE, "2026-11", SignalCharge(Fraction(1)), lambda: drawn
    )
    again = SignalStore(path, Fraction(10)).remember(
        SPACE, "2026-11", SignalCharge(Fraction(1)), never
    )
    assert (first, again) == (drawn, drawn)


@pytest.mark.parametrize("bucket", [0, 1, 4095])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1024), Fraction(4), Fraction(20)])
def test_a_stored_bucket_comes_back_as_it_was_drawn(
    path: Path, bucket: int, epsilon: Fraction
) -> None:
    drawn = Signal(SPACE, RandomizedResponse.for_epsilon(4096, epsilon), (bucket,))
    charge = SignalCharge(epsilon)
    first = SignalStore(path, Fraction(20)).remember(SPACE, "2026-11", charge, lambda: drawn)
    again = SignalStore(path, Fraction(20)).remember(SPACE, "2026-11", charge, never)
    assert (first, again) == (drawn, drawn)


def test_there_is_one_signal_for_each_space_and_slot(store: SignalStore) -> None:
    """Planted bug: a key without the slot, or without the space."""
    kept = {
        (SPACE, "2026-11"): signal(1),
        (SPACE, "2026-12"): signal(2),
        (OTHER_SPACE, "2026-11"): signal(3, space=OTHER_SPACE),
    }
    for (space, slot), drawn in kept.items():
        store.remember(
            space, slot, SignalCharge(Fraction(1)), partial(signal, *drawn.values, space=space)
        )
    found = {key: store.remember(*key, SignalCharge(Fraction(1)), never) for key in kept}
    assert found == kept
    assert len(store.charges()) == 3


def test_charges_are_exact_and_listed_oldest_first(store: SignalStore) -> None:
    """Epsilon per distance stands beside epsilon, and may be missing."""
    metric = SignalCharge(Fraction(32768, 669 * 64), Fraction(1, 7))
    store.remember(SPACE, "2026-12", metric, lambda: signal(1))
    other = SignalCharge(Fraction(1, 3))
    store.remember(OTHER_SPACE, "2026-11", other, lambda: signal(2, space=OTHER_SPACE))
    assert store.charges() == (
        Charge(SPACE, "2026-12", Fraction(32768, 669 * 64), Fraction(1, 7)),
        Charge(OTHER_SPACE, "2026-11", Fraction(1, 3), None),
    )


def test_a_new_store_has_no_charges(store: SignalStore) -> None:
    assert store.charges() == ()


def test_the_lifetime_cap_is_reached_exactly_and_not_passed(path: Path) -> None:
    """Thirds have no float: three of them are the cap of 1, and the fourth is refused undrawn.

    Planted bugs: floats in the sum, `>=` in place of `>`, refusing after the draw.
    """
    store = SignalStore(path, lifetime_cap=Fraction(1))
    for slot in ("a", "b", "c"):
        store.remember(SPACE, slot, SignalCharge(Fraction(1, 3)), lambda: signal(1))
    with pytest.raises(BudgetExceeded) as refusal:
        store.remember(SPACE, "d", SignalCharge(Fraction(1, 10**6)), never)
    assert (refusal.value.spent, refusal.value.cap) == (Fraction(1), Fraction(1))
    assert len(store.charges()) == 3


def test_a_spent_budget_still_finds_what_was_stored(path: Path) -> None:
    store = SignalStore(path, lifetime_cap=Fraction(1))
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), lambda: signal(8))
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), never) == signal(8)


def test_the_cap_holds_over_all_spaces_together(path: Path) -> None:
    """Planted bug: a cap for each space, which a server would pass by renaming its space."""
    store = SignalStore(path, lifetime_cap=Fraction(1))
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(2, 3)), lambda: signal(1))
    with pytest.raises(BudgetExceeded):
        store.remember(OTHER_SPACE, "2026-11", SignalCharge(Fraction(2, 3)), never)


def test_a_smaller_cap_counts_what_was_spent_under_a_larger_one(path: Path) -> None:
    SignalStore(path, Fraction(10)).remember(
        SPACE, "2026-11", SignalCharge(Fraction(5)), lambda: signal(1)
    )
    with pytest.raises(BudgetExceeded):
        SignalStore(path, Fraction(4)).remember(SPACE, "2026-12", SignalCharge(Fraction(1)), never)


@pytest.mark.parametrize("failure", [RuntimeError, EOFError, KeyboardInterrupt])
def test_a_draw_that_fails_leaves_nothing(store: SignalStore, failure: type[BaseException]) -> None:
    """Planted bug: committing the charge before the draw and keeping it when there is no signal."""

    def fails() -> Signal:
        raise failure

    with pytest.raises(failure):
        store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), fails)
    assert store.charges() == ()
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), lambda: signal(4)) == signal(
        4
    )
    assert len(store.charges()) == 1


@pytest.mark.parametrize("charge", [Fraction(0), Fraction(-1), Fraction(-1, 10**9)])
def test_a_charge_is_above_zero(store: SignalStore, charge: Fraction) -> None:
    """Planted bug: a negative charge, which would give budget back."""
    with pytest.raises(AskewError):
        store.remember(SPACE, "2026-11", SignalCharge(charge), lambda: signal(1))
    assert store.charges() == ()
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), lambda: signal(2)) == signal(
        2
    )


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _modes(directory: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()}


@pytest.mark.usefixtures("umask")
def test_nobody_else_may_read_the_store_or_its_directory(store: SignalStore, path: Path) -> None:
    """Planted bug: modes that the umask decides, for the file or for what SQLite puts beside it."""
    during: dict[str, int] = {}

    def draw() -> Signal:
        during.update(_modes(path.parent))
        return signal(1)

    store.remember(SPACE, "2026-11", SignalCharge(Fraction(1)), draw)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert set(during.values()) == {0o600}
    assert _modes(path.parent) == {path.name: 0o600}


def test_a_store_that_others_could_read_is_closed_to_them(store: SignalStore, path: Path) -> None:
    store.charges()
    path.chmod(0o644)
    store.charges()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
