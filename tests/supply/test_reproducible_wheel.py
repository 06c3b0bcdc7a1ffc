"""A wheel is the same bytes, wherever and whenever it is made."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("LICENSE", "README.md", "hatch_build.py", "pyproject.toml")
TREES = ("client", "proto", "server", "shared")


def copied(folder: Path, when: int, mask: int) -> Path:
    folder.mkdir()
    for name in SOURCES:
        shutil.copyfile(ROOT / name, folder / name)
    for name in TREES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*"):
        path.chmod(0o777 & ~mask if path.is_dir() else 0o666 & ~mask)
        os.utime(path, (when, when))
    return folder


def wheel_of(folder: Path, zone: str) -> str:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "made"]
    environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"} | {"TZ": zone}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
    [wheel] = (folder / "made").iterdir()
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.slow
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    """Planted bugs: `reproducible = false`, and a hook that writes down the time."""
    one = copied(tmp_path / "one", when=1_000_000_000, mask=0o022)
    other = copied(tmp_path / "a longer name", when=1_700_000_000, mask=0o077)
    assert wheel_of(one, "UTC") == wheel_of(other, "Asia/Kathmandu")
