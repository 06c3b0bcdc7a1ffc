"""Disks that are full, files that are damaged or that others may write, backups that come back: no
spend is lost or gained."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from mounts import mounted
from server.ledger.forging import rewrite
from server.ledger.scenes import (
    ENVIRONMENT,
    TERMS,
    answer,
    charged,
    epsilon_spent,
    files,
    new_ledger,
    open_ledger,
    pure,
    releases_of,
    request,
)

from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with two releases and a pending charge, closed."""
    with new_ledger(tmp_path) as ledger:
        for key in ("monday", "tuesday"):
            ledger.fulfill(charged(ledger, request(key)).id, f"the list of {key}".encode())
        charged(ledger, request("wednesday"))
    return tmp_path


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def child(program: str, *arguments: object) -> list[object]:
    """What a program of its own process says, as JSON."""
    made = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    found: list[object] = json.loads(made.stdout)
    return found


def check_full_disk(folder: Path, granted: int, stored: int, text: str, late: int = 0) -> None:
    """With room again, every charge that was granted is there, and no other. late: of them, those
    that nothing was stored for.
    """
    assert "full" in text or "disk" in text or "File too large" in text or "No space" in text
    assert stored in {granted, granted - 1}
    with open_ledger(folder) as ledger:
        ledger.verify()
        more = [c for c in ledger.charges() if c.request.key.startswith("more")]
        assert len(more) == granted
        kept = [r for r in releases_of(ledger) if r.request.key.startswith("more")]
        assert len(kept) == stored
        assert len([c for c in ledger.charges() if c.request.key.startswith("late")]) == late
        assert epsilon_spent(ledger) == 3 + (granted + late) * Fraction(1, 10**6)
        charged(ledger, request("there is room again"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    with mounted(place, "-t", "tmpfs", "-o", "size=512k", "tmpfs"):
        yield place


def spend_until_full(ledger: Ledger, size: int) -> tuple[int, int, str]:
    granted = stored = 0
    try:
        for number in range(10**4):
            charge = ledger.charge(request(f"more {number}", pure(Fraction(1, 10**6))))
            granted += 1
            ledger.fulfill(charge.id, bytes(size))
            stored += 1
    except LedgerError as error:
        return granted, stored, str(error)
    pytest.fail("the disk was never full")


def charge_until_full(ledger: Ledger) -> int:
    for number in range(100):
        try:
            ledger.charge(request(f"late {number}", pure(Fraction(1, 10**6))))
        except LedgerError:
            return number
    pytest.fail("the disk was never full")


@pytest.mark.parametrize("size", [3000, 20_000])
def test_a_full_file_system_stops_spending_and_loses_nothing(small_disk: Path, size: int) -> None:
    with new_ledger(small_disk) as ledger:
        charged(ledger, request("before", pure(3)))
        granted, stored, text = spend_until_full(ledger, size)
        rest = os.statvfs(small_disk)
        filler = small_disk / "filler"
        filler.write_bytes(bytes(rest.f_bavail * rest.f_frsize))
        late = charge_until_full(ledger)  # in the room that its own files have left
        filler.unlink()
    for old in ("ledger.sqlite", "anchor"):
        assert (small_disk / old).stat().st_size > 0
    check_full_disk(elsewhere(small_disk), granted, stored, text, late)


def elsewhere(folder: Path) -> Path:
    """The files on a disk with room."""
    roomy = folder.parent / "roomy"
    roomy.mkdir()
    for path in folder.iterdir():
        (roomy / path.name).write_bytes(path.read_bytes())
    return roomy


@pytest.mark.parametrize("shift", range(0, 560, 80))
def test_a_full_disk_of_the_anchor_stops_a_charge_before_it_is_made(
    tmp_path: Path, small_disk: Path, shift: int
) -> None:
    """Planted bug: an anchor that only finds out once the charge is committed. shift: in bytes, so
    that the disk ends within a line of either kind.
    """
    path, anchor = tmp_path / "ledger.sqlite", small_disk / "anchor"
    new_ledger(tmp_path).close()
    (tmp_path / "anchor").rename(tmp_path / "old")
    anchor.write_bytes(bytes(shift) + b"\n" + (tmp_path / "old").read_bytes())
    filler = small_disk / "filler"
    with Ledger(path, anchor) as ledger:
        rest = os.statvfs(small_disk)
        filler.write_bytes(bytes(rest.f_bavail * rest.f_frsize))
        granted, _, text = spend_until_full(ledger, size=10)
        assert "No space" in text
        assert granted > 0  # the room that was there
        assert len(ledger.charges()) == granted
        filler.unlink()
        charged(ledger, request(f"more {granted}", pure(Fraction(1, 10**6))))
        assert epsilon_spent(ledger) == (granted + 1) * Fraction(1, 10**6)
        ledger.verify()


READ_ONLY = """
import json, os, sys
from pathlib import Path
from askew.errors import LedgerError
from askew_server.ledger import Ledger
from server.ledger.scenes import request

folder, nobody = Path(sys.argv[1]), 65534
if os.getuid() == 0:
    os.setgid(nobody)
    os.setuid(nobody)
os.chdir(folder)
said = []
for name in ("ledger.sqlite", "new.sqlite"):
    try:
        with Ledger(Path(name), Path("anchor"), patience=0.1) as ledger:
            ledger.charge(request("one more"))
        said.append("spent")
    except LedgerError as error:
        said.append(str(error))
print(json.dumps(said))
"""


@pytest.fixture
def reachable(folder: Path) -> Iterator[Path]:
    """A copy where any account can go. pytest closes its own folders, which its workers share."""
    with tempfile.TemporaryDirectory() as name:
        for path in folder.iterdir():
            shutil.copy(path, name)
        yield Path(name)
        Path(name).chmod(0o700)


@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_a_read_only_directory_is_a_clear_error(reachable: Path, mode: int) -> None:
    """As an ordinary account, whoever runs the tests."""
    content = {path.name: path.read_bytes() for path in reachable.iterdir()}
    for path in reachable.iterdir():
        path.chmod(0o444)
    reachable.chmod(mode if os.getuid() == 0 else 0o555)
    said = child(READ_ONLY, reachable)
    assert all("cannot be used" in str(text) for text in said), said
    assert content == {path.name: path.read_bytes() for path in reachable.iterdir()}


def test_a_missing_directory_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "none" / "ledger.sqlite", tmp_path / "anchor")
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "ledger.sqlite", tmp_path / "none" / "anchor")


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no regular file"):
        Ledger(tmp_path, tmp_path / "anchor")


def foreign(path: Path) -> None:
    path.unlink()
    run(path, "CREATE TABLE theirs (number)")


def newer(path: Path) -> None:
    run(path, "PRAGMA user_version = 2")


def text(path: Path) -> None:
    path.write_text("a text that is longer than the header of a database" * 100)


@pytest.mark.parametrize(
    ("change", "expected"),
    [(foreign, "is not a ledger"), (newer, "version 2"), (text, "no SQLite file")],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(
    folder: Path, change: Callable[[Path], None], expected: str
) -> None:
    path, anchor = files(folder)
    change(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=expected):
        Ledger(path, anchor)
    assert path.read_bytes() == before


def state(folder: Path) -> tuple[object, ...]:
    """All that a reader can see."""
    with open_ledger(folder) as ledger:
        if ledger.frozen is not None:
            raise LedgerFrozen(ledger.frozen)
        return ledger.datasets(), ledger.charges(), releases_of(ledger)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << at % 8
    path.write_bytes(content)


def check_flips(folder: Path, places: int, seed: int) -> None:
    path, _ = files(folder)
    whole, expected, noticed = path.read_bytes(), state(folder), 0
    used = [at for at, byte in enumerate(whole) if byte]  # most bytes of a page are free
    for at in random.Random(seed).sample(used, places):
        flip(path, at)
        for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
            (folder / name).unlink(missing_ok=True)
        try:
            assert state(folder) == expected, at
        except LedgerError:
            noticed += 1
        path.write_bytes(whole)
    assert noticed > places / 4


def test_no_flipped_bit_is_believed(folder: Path) -> None:
    """Noticed, or without any effect on what a reader sees."""
    check_flips(folder, places=60, seed=1)


@pytest.mark.audit
def test_no_flipped_bit_among_many_is_believed(folder: Path) -> None:
    check_flips(folder, places=2000, seed=2)


def open_and_spend(path: Path, anchor: Path) -> None:
    with Ledger(path, anchor) as ledger:
        ledger.charge(request("one more"))


@pytest.mark.parametrize("left", [0.02, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_not_believed(folder: Path, left: float) -> None:
    """An analyst asked, so no page is empty, and its end no loss."""
    path, anchor = files(folder)
    with open_ledger(folder) as ledger:
        ledger.grant("plays", "ann", TERMS)
        charged(ledger, answer("q1", 5))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(LedgerError):
        open_and_spend(path, anchor)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE charges SET epsilon = '1/a' WHERE key = 'monday'",
        "UPDATE totals SET epsilon = '1/a'",
        "UPDATE fulfilments SET payload = x'00'",
        "UPDATE charges SET key = 'sunday' WHERE key = 'wednesday'",
        "DELETE FROM charges WHERE key = 'wednesday'",
        "DELETE FROM totals WHERE sequence = 2",
        "INSERT INTO fulfilments VALUES (99, 6, x'00', NULL)",
        "UPDATE datasets SET epsilon = '64/1'",
    ],
)
def test_a_rewritten_row_freezes_the_ledger(folder: Path, statement: str) -> None:
    """Even by somebody who takes the triggers away first."""
    path, anchor = files(folder)
    rewrite(path, statement)
    with Ledger(path, anchor) as ledger:
        assert ledger.frozen is not None
        assert "schema" not in ledger.frozen
        with pytest.raises(LedgerFrozen, match="restore a backup"):
            ledger.charge(request("one more"))
        with pytest.raises(LedgerFrozen, match="restore a backup"):
            ledger.foresee(request("one more"))
        with pytest.raises(LedgerFrozen):
            ledger.unfreeze("never mind")
        with pytest.raises(LedgerFrozen):
            ledger.verify()


def test_a_table_whose_name_is_no_text_any_more_freezes_the_ledger(folder: Path) -> None:
    """As one flipped bit leaves it: found by an audit's flips."""
    path, anchor = files(folder)
    name = "UPDATE sqlite_schema SET name = x'746f74616c73' WHERE name = 'totals'"
    run(path, "PRAGMA writable_schema = ON", name)
    with Ledger(path, anchor) as ledger:
        assert ledger.frozen is not None
        assert "schema" in ledger.frozen
        assert "totals" in ledger.frozen


@pytest.mark.parametrize("table", ["chain", "charges", "fulfilments", "totals", "datasets"])
@pytest.mark.parametrize("verb", ["UPDATE {} SET sequence = 99", "DELETE FROM {}"])
def test_the_tables_are_append_only(folder: Path, table: str, verb: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        run(files(folder)[0], verb.format(table))


def test_no_row_is_replaced_by_a_program_of_ours(folder: Path) -> None:
    """REPLACE is a deletion that fires no trigger by itself. Planted bug: no recursive_triggers."""
    from askew_server.ledger.storage import connect

    path, _ = files(folder)
    before = path.read_bytes()
    with (
        closing(connect(path, 1)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute("REPLACE INTO totals SELECT * FROM totals")
    assert path.read_bytes() == before


def test_every_commit_waits_for_the_disk(folder: Path) -> None:
    """A kill cannot show it: the kernel keeps what a dead process wrote. Planted bug: NORMAL."""
    from askew_server.ledger.storage import connect, pragma

    with closing(connect(files(folder)[0], 1)) as database:
        assert pragma(database, "synchronous") == 2
        assert pragma(database, "journal_mode") == "wal"


def test_a_row_that_is_rewritten_under_an_open_ledger_stops_the_next_charge(folder: Path) -> None:
    path, anchor = files(folder)
    with Ledger(path, anchor) as ledger:
        charged(ledger, request("first", pure(Fraction(1, 10))))
        rewrite(path, "UPDATE chain SET hash = zeroblob(32)")
        with pytest.raises(LedgerFrozen, match="is not the row that it was"):
            ledger.charge(request("one more"))


@pytest.fixture
def restored(folder: Path) -> Path:
    """A backup came back, after a further charge of 2 and the grant of an analyst."""
    path, _ = files(folder)
    backup = path.read_bytes()
    with open_ledger(folder) as ledger:
        charge = charged(ledger, request("thursday", pure(2)))
        ledger.fulfill(charge.id, b"the lost list")
    path.write_bytes(backup)
    return folder


def test_a_restored_backup_freezes_spending_and_not_reading(restored: Path) -> None:
    """Planted bug: no look at the anchor; a charge that was made twice would be drawn twice."""
    with open_ledger(restored) as ledger:
        assert "an old copy of the ledger was restored" in str(ledger.frozen)
        for act in (
            lambda: ledger.charge(request("thursday", pure(2))),
            lambda: ledger.charge(request("friday")),
            lambda: ledger.fulfill(ledger.charges()[-1].id, b"late"),
            lambda: ledger.grant("plays", "ann", TERMS),
        ):
            with pytest.raises(LedgerFrozen, match="an old copy of the ledger was restored"):
                act()
        assert len(releases_of(ledger)) == 2
        assert ledger.charge(request("monday")) == releases_of(ledger)[0]
        assert epsilon_spent(ledger) == 3


def test_restoring_both_goes_unseen_so_the_anchor_belongs_on_another_disk(folder: Path) -> None:
    """The documented limit of an anchor that can be rolled back with the ledger."""
    backup = {each: each.read_bytes() for each in files(folder)}
    with open_ledger(folder) as ledger:
        charged(ledger, request("thursday"))
    for each, content in backup.items():
        each.write_bytes(content)
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        assert epsilon_spent(ledger) == 3


def garble(anchor: Path) -> None:
    anchor.write_bytes(b"no line of ours\n")


def test_an_anchor_behind_a_link_stays_on_the_disk_that_the_link_names(tmp_path: Path) -> None:
    """Planted bug: a new anchor put in the place of the link, beside the ledger, so that a backup
    of one disk puts both back.
    """
    path, anchor = files(tmp_path)
    other = tmp_path / "another disk"
    other.mkdir()
    anchor.symlink_to(other / "anchor")
    new_ledger(tmp_path).close()
    garble(other / "anchor")
    with Ledger(path, anchor) as ledger:
        ledger.unfreeze("the anchor's disk died", nothing_lost=True)
        charged(ledger, request("monday"))
    assert anchor.readlink() == other / "anchor"
    assert not (other / "anchor").is_symlink()
    with Ledger(path, anchor) as ledger:
        assert ledger.frozen is None


def test_a_link_that_is_moved_under_an_open_ledger_is_not_followed(tmp_path: Path) -> None:
    """Planted bug: every act looks where the link leads by then."""
    anchor = files(tmp_path)[1]
    mine, another = tmp_path / "mine", tmp_path / "another"
    anchor.symlink_to(mine)
    with new_ledger(tmp_path) as ledger:
        shutil.copy(mine, another)
        anchor.unlink()
        anchor.symlink_to(another)
        before = another.read_bytes()
        charged(ledger, request("monday"))
        assert ledger.frozen is None
    assert another.read_bytes() == before


def test_a_line_that_a_crash_cut_short_is_written_over(folder: Path) -> None:
    _, anchor = files(folder)
    content = anchor.read_bytes().rstrip(b"\0")
    anchor.write_bytes(content + b'{"sequence": 9, "ha')
    with open_ledger(folder) as ledger:
        charged(ledger, request("thursday"))
        ledger.verify()
    assert state(folder)
    lines = anchor.read_bytes().rstrip(b"\0").splitlines()
    assert [json.loads(line).get("announced") for line in lines[::2]] == list(range(1, 8))
    assert [json.loads(line).get("sequence") for line in lines[1::2]] == list(range(1, 8))


NAMES = ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "anchor"]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Path]:
    """A ledger with a charge, which a process has open."""
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request())
        yield tmp_path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_refused(opened: Path, name: str, mode: int) -> None:
    """Planted bug: a look at one of the files only, or at one of the two bits."""
    (opened / name).chmod(mode)
    with pytest.raises(LedgerError, match=r"others may write it.*\(chmod go-w\)") as refused:
        open_ledger(opened)
    what = "anchor" if name == "anchor" else "ledger"
    assert str(refused.value).startswith(f"the {what} {opened / name} cannot be used")
    assert (opened / name).stat().st_mode & 0o777 == mode
    (opened / name).chmod(mode & ~0o022)
    with open_ledger(opened) as ledger:
        charged(ledger, request("tuesday"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_account_is_refused(opened: Path, name: str) -> None:
    """Its owner may write it, whatever its mode says today. Planted bug: a look at the mode."""
    os.chown(opened / name, 65534, 65534)
    with pytest.raises(LedgerError, match="must be yours"):
        open_ledger(opened)


def test_an_anchor_that_others_may_write_is_not_made(tmp_path: Path) -> None:
    """Whatever the account's umask is."""
    before = os.umask(0)
    try:
        with Ledger(*files(tmp_path)):
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(before)
