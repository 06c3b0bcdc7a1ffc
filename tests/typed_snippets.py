"""Two checkers of types, as a stranger runs them: without a setting of this project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
CHECKERS = ["mypy", "pyright"]


def type_errors(checker: str, folder: Path, python: Path = Path(sys.executable)) -> list[str]:
    """Return the errors in a folder, where `python` has the packages that it imports."""
    if checker == "mypy":
        strict = ["--strict", "--config-file=", "--no-error-summary"]
        words = [*strict, f"--python-executable={python}"]
    elif shutil.which("node") is None:
        pytest.skip("pyright needs node")
    else:
        words = [f"--pythonpath={python}"]
    command = [str(BIN / checker), *words, "."]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode in {0, 1}, ran.stderr
    found = [line.strip() for line in ran.stdout.splitlines() if "error:" in line]
    assert bool(found) == bool(ran.returncode), ran.stdout
    return found
