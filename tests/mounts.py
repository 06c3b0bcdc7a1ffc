"""File systems of a test's own, where whoever runs the tests may mount them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(place: Path, *options: str) -> Iterator[Path]:
    """`place` as `mount` makes it by these options; skips a test that cannot have that."""
    if shutil.which("mount") is None:
        pytest.skip("mount is not installed; get it by: apt-get install mount")
    _mount(*options, str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def unwritable(folder: Path) -> Iterator[Path]:
    """The same folder, into which nobody may write, root neither."""
    if os.geteuid() == 0:
        with read_only(folder):
            yield folder
        return
    folder.chmod(0o500)
    try:
        yield folder
    finally:
        folder.chmod(0o700)


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The same folder, on a file system that is mounted read-only."""
    with mounted(folder, "--bind", str(folder)):
        _mount("-o", "remount,ro,bind", str(folder))
        yield folder


def _mount(*options: str) -> None:
    made = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"a file system of its own needs root: {made.stderr.strip()}")
