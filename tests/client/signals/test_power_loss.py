"""Power lost, a kill or a full disk at any system call: never a second signal, never one unpaid.

What the production store does to the disk is recorded below it. Each history is a disk that the
record allows: what was synced is there, of all else any part. No false alarm is possible.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from traced import Act, Say, check_every_call, check_histories, traceable, watch

from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.records import decode_signal
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2
ONE = SignalCharge(Fraction(2))
MONTHS = ("2026-10", "2026-11")

pytestmark = traceable


def store_in(folder: Path) -> SignalStore:
    return SignalStore(folder / "data" / "signals.sqlite", Caps(Fraction(100)))


def asked(folder: Path, months: tuple[str, ...] = MONTHS) -> Act:
    """One question a month, and each again. It says what it would send."""

    def act(say: Say) -> None:
        store, draws = store_in(folder), count(1)
        for month in months:
            for _ in range(2):
                with suppress(LedgerError):
                    signal, _ = store.remember(SPACE, month, ONE, lambda: drawn(next(draws)))
                    say(f"{month} {signal.values[0]}")

    return act


def drawn(number: int) -> Signal:
    return Signal(SPACE, LatticeLaplace(11, 1024), (number, 0))


def check(folder: Path, words: list[str]) -> None:
    """Every signal that was sent is there, paid, the only one of its month, and sent again."""
    sent = {tuple(word.split()) for word in words}
    assert len({month for month, _ in sent}) == len(sent), "two signals of one month"
    store = store_in(folder)
    account = store.account()
    assert account.frozen is None
    assert account.spent == 2 * len(account.entries)
    stored = {(each.month, value_of(each.signal)) for each in account.entries}
    assert sent <= stored
    assert len({month for month, _ in stored}) == len(account.entries)
    month = max((month for month, _ in stored), default=MONTHS[0])
    again, price = store.remember(SPACE, month, ONE, lambda: drawn(99))
    assert price.fresh == (not stored)
    assert not stored or (month, str(again.values[0])) in stored


def value_of(signal: bytes | None) -> str:
    assert signal is not None
    return str(decode_signal(SPACE, signal).values[0])


def histories(tmp_path: Path, count: int) -> int:
    folder = tmp_path / "recorded"
    folder.mkdir()
    record = watch(asked(folder), folder)
    assert len(record.said) == 4
    return check_histories(record, folder, tmp_path / "after", check, count)


def test_no_power_loss_brings_a_second_signal_or_an_unpaid_one(tmp_path: Path) -> None:
    """Planted bugs: an anchor that is not synced; a commit that is not; a new directory whose name
    is not.
    """
    assert histories(tmp_path, 400) > 100


@pytest.mark.audit
def test_no_power_loss_of_ten_thousand_brings_a_second_signal(tmp_path: Path) -> None:
    assert histories(tmp_path, 10_000) > 400  # 431; the seed is fixed


def one_question(folder: Path) -> Act:
    return asked(folder, MONTHS[:1])


def test_a_kill_or_a_full_disk_at_a_call_of_a_charge_brings_no_second_signal(
    tmp_path: Path,
) -> None:
    """Planted bug: an entry that is committed before it is announced."""
    assert check_every_call(one_question, tmp_path, check, every=9) > 50


@pytest.mark.audit
def test_a_kill_or_a_full_disk_at_any_call_of_a_charge_brings_no_second_signal(
    tmp_path: Path,
) -> None:
    assert check_every_call(one_question, tmp_path, check) > 50
