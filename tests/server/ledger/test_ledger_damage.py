"""Disks that are full, files that are damaged or that others may write, backups that come back: no
spend is lost or gained."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from server.ledger.scenes import (
    TERMS,
    answer,
    charged,
    files,
    new_ledger,
    open_ledger,
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
    from askew_server.ledger.store import connect

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
