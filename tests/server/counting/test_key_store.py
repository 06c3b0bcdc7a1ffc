"""One key for ever, in a file that nobody else reads."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from askew.errors import LedgerError
from askew.noise.randomness import ReplayBits
from askew_server.counting.key_store import stored_key

KEY = bytes(range(100, 132))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "bounding-key"


def test_a_key_is_made_once_and_found_again(path: Path) -> None:
    assert stored_key(path, ReplayBits(KEY)) == KEY
    assert stored_key(path, ReplayBits(b"")) == KEY  # no bits are drawn


def test_a_key_comes_from_the_kernel_unless_told_otherwise(path: Path) -> None:
    key = stored_key(path)
    assert len(key) == 32
    assert key != stored_key(path.with_name("another"))


def test_the_file_is_closed_to_others_and_alone(path: Path) -> None:
    stored_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.slow
def test_many_processes_that_start_at_once_get_one_key(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from askew_server.counting.key_store import stored_key\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(stored_key(Path(sys.argv[1])).hex())"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout
        racer.stdout.readline()
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    keys = {racer.communicate()[0] for racer in racers}
    assert keys == {stored_key(path).hex() + "\n"}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-1],
        lambda text: text + "\n",
        lambda text: text.replace("key-1", "key-2"),
        lambda text: text.replace("6", "7", 1),
        lambda text: "\u00e9" * 100,
    ],
)
def test_a_damaged_file_is_refused_kept_and_not_shown(path: Path, damage: object) -> None:
    stored_key(path, ReplayBits(KEY))
    assert callable(damage)
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="damaged") as error:
        stored_key(path)
    assert path.read_bytes() == before
    assert KEY.hex()[:8] not in str(error.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_file_that_others_can_open_is_refused(path: Path, mode: int) -> None:
    stored_key(path)
    path.chmod(mode)
    with pytest.raises(LedgerError, match="open to others"):
        stored_key(path)


def test_another_accounts_file_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_key(path)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(LedgerError, match="open to others"):
        stored_key(path)


def test_a_link_or_a_pipe_in_its_place_is_refused(path: Path) -> None:
    target = path.with_name("elsewhere")
    stored_key(target)
    path.symlink_to(target)
    with pytest.raises(LedgerError, match="cannot be used"):
        stored_key(path)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(LedgerError, match="no regular file"):
        stored_key(path)


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be used"):
        stored_key(tmp_path / "file" / "bounding-key")


def test_a_draft_that_a_crash_left_behind_does_no_harm(path: Path) -> None:
    path.parent.mkdir()
    path.with_name(f"{path.name}.{os.getpid()}.draft").write_text("half a k")
    assert stored_key(path, ReplayBits(KEY)) == KEY
