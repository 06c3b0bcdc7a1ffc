"""Power lost, a kill or a full disk at any system call: no coin that is unpaid, and no second one.

What the production ledger does to the disk is recorded below it. Each history is a disk that the
record allows: what was synced is there, of all else any part. No false alarm is possible.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from server.ledger.scenes import CAP, UNIT, epsilon_spent, open_ledger, request
from traced import Act, Say, check_every_call, check_histories, traceable, watch

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.errors import ChargePending, LedgerError
from askew_server.ledger import Charge, StoredRelease

pytestmark = traceable
KEYS = ("monday", "tuesday")


def released(folder: Path, keys: tuple[str, ...] = KEYS) -> Act:
    """Releases that are paid, drawn, stored and published. It says when it may draw, and what it
    publishes.
    """

    def act(say: Say) -> None:
        with suppress(LedgerError), open_ledger(folder) as ledger:
            ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
            for key in keys:
                with suppress(LedgerError):
                    charge = ledger.charge(request(key))
                    assert isinstance(charge, Charge)
                    say(f"paid {key}")
                    ledger.fulfill(charge.id, key.encode())
                    say(f"published {key}")

    return act


def check(folder: Path, words: list[str]) -> None:
    """Every coin that may have been tossed is paid, and is the only one; what was published is
    found again.
    """
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        ledger.verify()
        charges = ledger.charges()
        ledger.open_dataset("plays", "1", CAP, UNIT, ADD_OR_REMOVE_ONE)
        assert epsilon_spent(ledger) == len(charges)
        for key in KEYS:
            try:
                found = ledger.charge(request(key))
            except ChargePending:
                assert f"published {key}" not in words
            else:
                if isinstance(found, StoredRelease):
                    assert found.payload == key.encode()
                else:
                    assert f"paid {key}" not in words, "a second coin"


def histories(tmp_path: Path, count: int) -> int:
    folder = tmp_path / "recorded"
    folder.mkdir()
    record = watch(released(folder), folder)
    assert len(record.said) == 4
    return check_histories(record, folder, tmp_path / "after", check, count)


def test_no_power_loss_brings_a_second_or_an_unpaid_release(tmp_path: Path) -> None:
    """Planted bugs: a commit that is not synced; an anchor whose lines are not."""
    assert histories(tmp_path, 200) > 50


@pytest.mark.audit
def test_no_power_loss_of_ten_thousand_brings_an_unpaid_release(tmp_path: Path) -> None:
    assert histories(tmp_path, 10_000) > 700  # 792; the seed is fixed


def one_release(folder: Path) -> Act:
    return released(folder, KEYS[:1])


def test_a_kill_or_a_full_disk_at_a_call_of_a_release_brings_no_unpaid_one(
    tmp_path: Path,
) -> None:
    """Planted bug: an act that is committed before it is announced."""
    assert check_every_call(one_release, tmp_path, check, every=9) > 50


@pytest.mark.audit
def test_a_kill_or_a_full_disk_at_any_call_of_a_release_brings_no_unpaid_one(
    tmp_path: Path,
) -> None:
    assert check_every_call(one_release, tmp_path, check) > 50
