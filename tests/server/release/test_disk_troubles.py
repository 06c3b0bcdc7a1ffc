"""A disk that is full, read-only or damaged, through the command: one line, and no spend lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from mounts import read_only
from server.ledger.scenes import releases_of
from server.release.test_crashes import ledger_of, make_folder

from askew_server.ledger import Ledger

FAILED = 1
PATIENCE = 120  # seconds; only a hang waits for it
# The command, in a process whose files cannot grow beyond a limit: what a full disk does.
LIMITED = """
import resource, signal, sys
limit, *sys.argv[1:] = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
from askew_server.cli.main import main
main()
"""
Damage = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger that has one release in it."""
    return make_folder(tmp_path / "work")


def release(folder: Path, *before: object) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, *before] if before else [sys.executable, "-m", "askew_server"]
    arguments = ["release", "--events", "log.csv", "--catalog", "films.csv", "-k", "3"]
    arguments += ["--epsilon", "1/100", "--key", "the second", "--json"]
    return subprocess.run(
        [*map(str, start), *arguments, "--ledger", "ledger.sqlite"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def refusal(run: subprocess.CompletedProcess[str]) -> str:
    """The one line that a command which failed says beside its plan."""
    assert run.returncode == FAILED, run.stderr
    assert run.stdout == ""
    [line] = [each for each in run.stderr.splitlines() if each.startswith("askew-server: ")]
    assert "Traceback" not in run.stderr
    return line


def standing(folder: Path) -> tuple[int, int, Fraction]:
    """Charges, releases, and what is spent."""
    with Ledger(*ledger_of(folder)) as book:
        book.verify()
        return len(book.charges()), len(releases_of(book)), book.dataset("films").spent.epsilon


ONE = Fraction(1, 100)


def test_the_command_works_where_there_is_room(folder: Path) -> None:
    """Or every refusal below could have another reason."""
    run = release(folder, "-c", LIMITED, 1 << 30)
    assert run.returncode == 0, run.stderr
    assert standing(folder) == (2, 2, 2 * ONE)


def test_a_full_disk_is_one_line_and_charges_nothing(folder: Path) -> None:
    line = refusal(release(folder, "-c", LIMITED, 8192))
    assert "full" in line or "disk" in line or "File too large" in line
    assert standing(folder) == (1, 1, ONE)
    assert release(folder).returncode == 0
    assert standing(folder) == (2, 2, 2 * ONE)


def test_a_read_only_folder_is_one_line(folder: Path) -> None:
    with read_only(folder):
        line = refusal(release(folder))
    assert "read-only" in line.lower()


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xa5" * 4096
    path.write_bytes(data)


def garble(path: Path) -> None:
    """Its last line, in which it remembers what was spent."""
    before, last, room = path.read_bytes().rpartition(b"\n")
    path.write_bytes(before[:-20] + b"\xa5" * 20 + last + room)


def forget(path: Path) -> None:
    """Its last line is gone, as in an old copy."""
    lines = path.read_bytes().split(b"\n")[:-1]
    path.write_bytes(b"".join(line + b"\n" for line in lines[:-2]))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_bytes(b"this is no ledger\n" * 100)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut_short, overwrite, empty, text, directory])
def test_a_damaged_ledger_is_one_line_and_no_release(folder: Path, damage: Damage) -> None:
    damage(folder / "ledger.sqlite")
    assert "ledger" in refusal(release(folder))
    assert not (folder / "shown").exists()


@pytest.mark.parametrize("damage", [garble, forget, empty, text, directory, Path.unlink])
def test_a_damaged_anchor_stops_spending(folder: Path, damage: Damage) -> None:
    damage(folder / "ledger.sqlite.anchor")
    refusal(release(folder))
    with Ledger(*ledger_of(folder)) as book:
        assert book.frozen is not None
        assert book.dataset("films").spent.epsilon == ONE
        assert len(releases_of(book)) == 1
