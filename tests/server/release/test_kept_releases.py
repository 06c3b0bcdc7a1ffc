"""A stored release is read and checked once, and what is kept is never another one's."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from askew.dp.release import Release, release_from_bytes
from askew.errors import NotFound
from askew.noise.randomness import SystemBits
from askew_server.counting import CountingTask, TopCounts
from askew_server.ledger import Ledger
from askew_server.published import reader as release_reader
from askew_server.published.reader import ReleaseReader
from askew_server.release.job import ReleaseJob
from askew_server.release.plan import ReleasePlan
from askew_server.serving import popularity as kept_releases
from askew_server.serving.popularity import KeptReleases

Count = Callable[[CountingTask], TopCounts]
MakePlan = Callable[..., ReleasePlan]
Publish = Callable[..., bytes]


@pytest.fixture
def publish(ledger: Ledger, count: Count, plan_of: MakePlan) -> Publish:
    """Stores a release of whatever differs from three items."""
    job = ReleaseJob(ledger, count, SystemBits())

    def made(**changes: object) -> bytes:
        plan = plan_of(**changes)
        return job.publish(plan, plan.charge_request()).payload

    return made


@pytest.fixture
def kept(paths: tuple[Path, Path]) -> KeptReleases:
    return KeptReleases(ReleaseReader(paths[0]), lambda document: b"reply " + document)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every payload that is parsed from now on."""
    seen: list[bytes] = []

    def note(data: bytes) -> Release:
        seen.append(data)
        return release_from_bytes(data)

    monkeypatch.setattr(release_reader, "release_from_bytes", note)
    return seen


def charge_of(payload: bytes) -> int:
    return release_from_bytes(payload).charge


def answer(kept: KeptReleases, charge: int) -> bytes:
    """As the service does."""
    found = kept.at_hand(charge)
    return kept.read(charge) if found is None else found


def test_the_second_reader_gets_the_reply_without_the_file(
    publish: Publish, kept: KeptReleases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: what is kept is never found."""
    stored = publish()
    charge = charge_of(stored)
    assert kept.at_hand(charge) is None
    assert answer(kept, charge) == b"reply " + stored
    monkeypatch.delattr(sqlite3, "connect")
    assert answer(kept, charge) == b"reply " + stored


def test_after_another_release_the_first_is_compared_but_not_parsed_again(
    publish: Publish, kept: KeptReleases, parsed: list[bytes]
) -> None:
    stored = publish()
    answer(kept, charge_of(stored))
    publish(k=2)
    assert kept.at_hand(charge_of(stored)) is None
    assert answer(kept, charge_of(stored)) == b"reply " + stored
    assert kept.at_hand(charge_of(stored)) is not None
    assert parsed == [stored]


def test_a_restored_ledger_is_not_answered_from_memory(
    ledger: Ledger, paths: tuple[Path, Path], publish: Publish, kept: KeptReleases, tmp_path: Path
) -> None:
    """Another release has the number now. Planted bugs: the number as the only name of what is
    kept; the files' dates not looked at.
    """
    backup = tmp_path / "backup"
    with sqlite3.connect(paths[0]) as database, sqlite3.connect(backup) as copy:
        database.backup(copy)
    copy.close()
    database.close()
    publish(k=1)
    stored = publish()
    assert answer(kept, charge_of(stored)) == b"reply " + stored
    ledger.close()
    shutil.copyfile(backup, paths[0])
    assert kept.at_hand(charge_of(stored)) is None
    with pytest.raises(NotFound):
        answer(kept, charge_of(stored))
    other = other_release_of_the_same_number(paths[0], stored)
    assert answer(kept, charge_of(stored)) == b"reply " + other
    assert other != stored


def other_release_of_the_same_number(path: Path, stored: bytes) -> bytes:
    """What a ledger with a new anchor stores after the backup came back."""
    from askew.dp.privacy import ADD_OR_REMOVE_ONE, PureDP
    from askew_server.ledger import Charge, ChargeRequest

    other = stored.replace(b'"mechanism":"canonical"', b'"mechanism":"joint"')
    with Ledger(path, path.with_name("new anchor")) as book:
        book.unfreeze("a backup", nothing_lost=True)
        while True:
            charge = book.charge(
                ChargeRequest(
                    dataset="films",
                    version="1",
                    key=f"after {len(book.charges())}",
                    digest=bytes(32),
                    loss=PureDP(release_from_bytes(stored).loss.epsilon, ADD_OR_REMOVE_ONE),
                )
            )
            assert isinstance(charge, Charge)
            if charge.id >= charge_of(stored):
                book.fulfill(charge.id, other)
                return other


def test_the_longest_unused_replies_are_forgotten(
    publish: Publish, kept: KeptReleases, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads = [publish(k=k) for k in (1, 2, 3)]
    charges = [charge_of(each) for each in payloads]
    monkeypatch.setattr(kept_releases, "MAX_KEPT", 2 * len(payloads[-1]) + 20)
    for charge in (*charges[:2], charges[0], charges[2]):
        answer(kept, charge)
    assert [kept.at_hand(charge) is not None for charge in charges] == [True, False, True]


def test_a_list_parses_each_release_once(
    paths: tuple[Path, Path], publish: Publish, parsed: list[bytes]
) -> None:
    """Planted bug: every payload, every time."""
    payloads = [publish(k=k) for k in (1, 2, 3)]
    reader = ReleaseReader(paths[0])
    assert [each.charge for each in reader.page("", 0, 2).summaries] == [
        charge_of(each) for each in payloads[:2]
    ]
    first = reader.page("films", 0, 10)
    assert reader.page("films", 0, 10) == first
    assert len(first.summaries) == 3
    assert parsed == payloads
