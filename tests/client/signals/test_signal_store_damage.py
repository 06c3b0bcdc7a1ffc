"""A store that cannot be read or trusted is an error: nothing is drawn anew in its place."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import VERSION, SignalStore

SPACE = "0123456789abcdef" * 2
MONTH = "2026-11"
STORED = Signal(SPACE, LatticeLaplace(11, 1024), (-1480, 82))


def never() -> Signal:
    pytest.fail("a signal was drawn")


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one signal."""
    path = tmp_path / "signals.sqlite"
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, MONTH, SignalCharge(Fraction(1)), lambda: STORED)
    return path


Spoil = Callable[[Path], object]


def rewritten(change: Callable[[bytes], bytes]) -> Spoil:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def replaced(*statements: str) -> Spoil:
    """By another database."""

    def spoil(path: Path) -> None:
        path.unlink()
        run(path, *statements)

    return spoil


def put_a_directory_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


PHOTOS = "CREATE TABLE photos (name TEXT)"
SPOILED: dict[str, Spoil] = {
    "overwritten": rewritten(lambda data: b"\xff" * len(data)),
    "all but the header": rewritten(lambda data: data[:100] + b"\xff" * (len(data) - 100)),
    "half of it": rewritten(lambda data: data[: len(data) // 2]),
    "one page": rewritten(lambda data: data[:4096]),
    "text": rewritten(lambda _: b"title,rating\n"),
    "a directory": put_a_directory_in_its_place,
    "another database": replaced(PHOTOS),
    "another database of this version": replaced(PHOTOS, f"PRAGMA user_version = {VERSION}"),
    "a newer one": lambda path: run(path, f"PRAGMA user_version = {VERSION + 1}"),
    "a negative version": lambda path: run(path, "PRAGMA user_version = -1"),
    "no table of signals": lambda path: run(path, "DROP TABLE signals"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_store_is_refused_and_nothing_is_drawn(path: Path, case: str) -> None:
    """Planted bug: starting over with an empty store, which forgets what was spent. The mark
    would refuse that one, too, so the file itself has to stay as it is.
    """
    SPOILED[case](path)
    before = path.read_bytes() if path.is_file() else None
    store = SignalStore(path, Caps(Fraction(10)))
    with pytest.raises(LedgerError) as refusal:
        store.remember(SPACE, MONTH, SignalCharge(Fraction(1)), never)
    assert refusal.type is LedgerError
    assert (path.read_bytes() if path.is_file() else None) == before


def lattice(step_exponent: int = 11, inverse_rate: int = 1024, values: bytes = bytes(8)) -> bytes:
    return struct.pack("<BII", 1, step_exponent, inverse_rate) + values


ROWS = {
    "nothing": b"",
    "an unknown kind": b"\x03" + lattice()[1:],
    "half a lattice": lattice()[:7],
    "no coordinates": lattice(values=b""),
    "half a coordinate": lattice(values=bytes(2)),
    "a coordinate and a half": lattice(values=bytes(6)),
    "a coordinate beyond the limit": lattice(values=struct.pack("<i", -(2**31))),
    "a step beyond the limit": lattice(step_exponent=21),
    "no noise": lattice(inverse_rate=0),
    "too much noise": lattice(inverse_rate=4097),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_damaged_signal_is_neither_sent_nor_drawn_again(path: Path, row: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        kept = "SELECT sql FROM sqlite_schema WHERE name = 'signals_no_update'"
        [trigger] = database.execute(kept).fetchone()
    run(
        path,
        "DROP TRIGGER signals_no_update",
        f"UPDATE signals SET record = x'{ROWS[row].hex()}'",
        trigger,
    )
    before = path.read_bytes()
    store = SignalStore(path, Caps(Fraction(10)))
    with pytest.raises(LedgerError):
        store.remember(SPACE, MONTH, SignalCharge(Fraction(1)), never)
    assert path.read_bytes() == before


@pytest.mark.parametrize("epsilon", ["0", "-1", "", "0/7"])
def test_the_file_itself_refuses_a_charge_that_is_not_above_zero(path: Path, epsilon: str) -> None:
    row = f"(9, '{'0' * 32}', 'signal', 'x', '', '2026-12', '{epsilon}', '0')"
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        run(path, f"INSERT INTO charges VALUES {row}")


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError):
        SignalStore(tmp_path / "file" / "signals.sqlite", Caps(Fraction(10))).remember(
            SPACE, MONTH, SignalCharge(Fraction(1)), never
        )
