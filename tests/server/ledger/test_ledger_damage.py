"""Disks that are full, files that are damaged or that others may write, backups that come back: no
spend is lost or gained."""

from __future__ import annotations

import json
import os
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

from askew.errors import LedgerError
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
    """With room again, every charge that was granted is there. late: of them, those that nothing
    was stored for. An act that was committed and not marked, as the disk was full by then, was an
    error and stays: one at most until the disk was full, and one after it.
    """
    assert "full" in text or "disk" in text or "File too large" in text or "No space" in text
    assert stored in {granted, granted - 1}
    with open_ledger(folder) as ledger:
        more = len([c for c in ledger.charges() if c.request.key.startswith("more")])
        kept = len([r for r in releases_of(ledger) if r.request.key.startswith("more")])
        assert (more - granted, kept - stored) in {(0, 0), (1, 0), (0, 1)}
        after = len([c for c in ledger.charges() if c.request.key.startswith("late")])
        assert after - late in {0, 1}
        assert epsilon_spent(ledger) == 3 + (more + after) * Fraction(1, 10**6)
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
    for old in ("ledger.sqlite", "mark"):
        assert (small_disk / old).stat().st_size > 0
    check_full_disk(elsewhere(small_disk), granted, stored, text, late)


def elsewhere(folder: Path) -> Path:
    """The files on a disk with room."""
    roomy = folder.parent / "roomy"
    roomy.mkdir()
    for path in folder.iterdir():
        (roomy / path.name).write_bytes(path.read_bytes())
    return roomy


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
        with Ledger(Path(name), Path("mark"), patience=0.1) as ledger:
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
        Ledger(tmp_path / "none" / "ledger.sqlite", tmp_path / "mark")
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "ledger.sqlite", tmp_path / "none" / "mark")


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no regular file"):
        Ledger(tmp_path, tmp_path / "mark")


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
    path, mark = files(folder)
    change(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=expected):
        Ledger(path, mark)
    assert path.read_bytes() == before


def open_and_spend(path: Path, mark: Path) -> None:
    with Ledger(path, mark) as ledger:
        ledger.charge(request("one more"))


@pytest.mark.parametrize("left", [0.02, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_not_believed(folder: Path, left: float) -> None:
    """An analyst asked, so no page is empty, and its end no loss."""
    path, mark = files(folder)
    with open_ledger(folder) as ledger:
        ledger.grant("plays", "ann", TERMS)
        charged(ledger, answer("q1", 5))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(LedgerError):
        open_and_spend(path, mark)


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


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Path]:
    """A ledger with a charge, which a process has open."""
    with new_ledger(tmp_path) as ledger:
        charged(ledger, request())
        yield tmp_path


@pytest.mark.parametrize("name", ["ledger.sqlite-wal", "ledger.sqlite-shm"])
def test_a_journal_that_others_may_write_is_refused(opened: Path, name: str) -> None:
    """Planted bug: a look at the ledger's own file only."""
    (opened / name).chmod(0o602)
    with pytest.raises(LedgerError, match=r"others may write it.*\(chmod go-w\)"):
        open_ledger(opened)
