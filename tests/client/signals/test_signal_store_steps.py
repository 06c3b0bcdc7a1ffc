"""Every two crashes in a row, and a rival at every step: no lockout, and nothing for nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from itertools import count, product
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.chain import Anchor, Anchored
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2
CHARGE = SignalCharge(Fraction(2))
STEPS = [(when, step) for step in ("announce", "commit", "keep") for when in ("before", "after")]
Step = tuple[str, str]


class Crash(BaseException):
    """The process ends here: the lock is given up, what was not committed is gone."""


@contextmanager
def at(point: Step | None, happen: Callable[[], None]) -> Iterator[None]:
    """Something happens once, before or after a step, the first time that it is taken."""
    write, connect, left, announced = Anchor.write, sqlite3.connect, [point], [False]

    def reached(*here: str) -> None:
        if here == left[0]:
            left[0] = None
            happen()

    def writing(anchor: Anchor, state: Anchored) -> None:
        step = "keep" if state.announced is None else "announce"
        reached("before", step)
        write(anchor, state)
        announced[0] = step == "announce"
        reached("after", step)

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            ours = sql == "COMMIT" and announced[0]
            if ours:
                reached("before", "commit")
            cursor = super().execute(sql, *rest)  # type: ignore[arg-type]
            if ours:
                reached("after", "commit")
            return cursor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Anchor, "write", writing)
        patch.setattr(sqlite3, "connect", partial(connect, factory=Watched))
        yield


def die() -> None:
    raise Crash


class Person:
    """Asks, and remembers what a server got: that must have been charged."""

    def __init__(self, path: Path) -> None:
        self.path, self.sent, self._drawn = path, dict[str, Signal](), count(1)

    def store(self) -> SignalStore:
        return SignalStore(self.path, Caps(Fraction(100)))

    def draw(self) -> Signal:
        return Signal(SPACE, LatticeLaplace(11, 1024), (next(self._drawn), 0))

    def ask(self, month: str) -> None:
        found = self.store().remember(SPACE, month, CHARGE, self.draw)[0]
        assert self.sent.setdefault(month, found) == found

    def check(self) -> None:
        """Whatever was sent is stored and charged, and nothing is frozen."""
        account = self.store().account()
        assert account.frozen is None
        for month, signal in self.sent.items():
            assert self.store().find(SPACE, month) == (month, signal)
            in_month = [each.epsilon for each in account.entries if each.month == month]
            assert sum(in_month) == 2


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """One who has asked in October."""
    person = Person(tmp_path / "data" / "signals.sqlite")
    person.ask("2026-10")
    return person


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [*product(STEPS, [*STEPS, None])])
def test_two_crashes_in_a_row_freeze_nothing_and_send_nothing_that_was_not_charged(
    person: Person, first: Step, second: Step | None
) -> None:
    """Planted bugs: an announcement over one that was committed and not kept yet; a signal that is
    returned before it is kept.
    """
    for point, month in ((first, "2026-11"), (second, "2026-12")):
        with suppress(Crash), at(point, die):
            person.ask(month)
        person.check()
    for month in ("2026-12", "2027-01"):
        person.ask(month)
        person.check()


def put_a_copy_back(path: Path, copy: Path) -> None:
    shutil.copy(copy, path)


def lose_the_anchor(path: Path, copy: Path) -> None:
    (path.parent / "anchor" / "signals.json").unlink()


def damage_the_anchor(path: Path, copy: Path) -> None:
    (path.parent / "anchor" / "signals.json").write_text("{")


def lose_the_ledger(path: Path, copy: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("first", STEPS)
@pytest.mark.parametrize(
    "lose", [put_a_copy_back, lose_the_anchor, damage_the_anchor, lose_the_ledger]
)
def test_what_was_lost_is_booked_once_whatever_crashes_while_it_is_accepted(
    person: Person, tmp_path: Path, lose: Callable[[Path, Path], None], first: Step
) -> None:
    """Planted bug: an announcement that forgets what the anchor knew of the lost entries."""
    shutil.copy(person.path, tmp_path / "copy")
    person.ask("2026-11")
    lose(person.path, tmp_path / "copy")
    for point in (first, *reversed(STEPS)):
        if person.store().account().frozen:
            with suppress(Crash), at(point, die):
                person.store().unfreeze("2026-11")
    assert person.store().account().frozen is None
    assert person.store().account().spent == 4
    person.sent.clear()
    with suppress(Crash), at(first, die):
        person.ask("2026-12")
    person.ask("2026-12")
    person.check()


@pytest.mark.parametrize("crash", STEPS)
def test_a_clock_that_is_accepted_after_a_crash_freezes_nothing(
    person: Person, crash: Step
) -> None:
    """Planted bug: an unfreeze that does not keep first what was committed before it."""
    with suppress(Crash), at(crash, die):
        person.ask("2026-11")
    for point in STEPS:
        with suppress(Crash), at(point, die):
            person.store().unfreeze("2026-11")
        person.check()


@pytest.mark.parametrize("act", ["ask", "accept"])
def test_a_rival_between_commit_and_anchor_changes_nothing(person: Person, act: str) -> None:
    """There the lock is free: the rival keeps our entry, then adds its own. Planted bug: our entry
    must be the last one when we come back.
    """

    def rival() -> None:
        person.ask("2026-12")
        person.store().unfreeze("2026-12")
        person.ask("2027-01")

    settle = SignalStore._settle
    turns = iter([True])

    def after_a_rival(ours: SignalStore) -> None:
        if next(turns, False):
            rival()
        settle(ours)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SignalStore, "_settle", after_a_rival)
        if act == "ask":
            person.ask("2026-11")
        else:
            person.store().unfreeze("2026-11")
    person.check()
    assert len(person.sent) == (4 if act == "ask" else 3)
