"""What make and CI do: in which order, with how many words, and that no failure is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")
}


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@needs_make
@pytest.mark.parametrize("target", [".venv/.installed", ".venv-proto/.installed"])
@pytest.mark.parametrize("fails", [False, True], ids=["installs", "fails"])
def test_a_set_up_is_one_line_and_a_failure_says_what_pip_said(
    tmp_path: Path, target: str, fails: bool
) -> None:
    """Planted bugs: pip's warnings on the screen; a failure whose cause is in a file; a set-up that
    failed and counts as done.
    """
    for name in ("Makefile", "pyproject.toml", *(path.name for path in ROOT.glob("*.lock"))):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "proto").mkdir()
    pip = f"echo 'WARNING: a page' >&2; case $* in *install*) exit {int(fails)};; esac"
    made = f'mkdir -p "$3/bin"; cp "{program(tmp_path / "pip", pip)}" "$3/bin/python"'
    python = program(tmp_path / "python", f'case "$2" in venv) {made};; esac')
    run = subprocess.run(
        ["make", target, "UV=", f"PYTHON={python}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    [line] = run.stdout.splitlines()
    assert line.startswith(f"Setting up {target.partition('/')[0]} from requirements")
    assert (tmp_path / target).exists() is (run.returncode == 0) is not fails
    assert ("WARNING: a page" in run.stderr) is fails
    assert fails or run.stderr == ""


CI = [
    "make demo",
    "make test",
    "make docs",
    "apt-get update -qq",
    "apt-get install -y",
    "make engines",
    "make test TESTS=tests/some/test_engine.py tests/server/counting/test_stopped.py",
    "make test-web",
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("failing", [*range(1, len(CI) + 1), None])
def test_ci_first_does_what_a_stranger_does_and_stops_at_the_first_failure(
    tmp_path: Path, failing: int | None
) -> None:
    """Planted bugs: apt, engines or the site before the README's two commands; a failure lost in a
    pipe; what was skipped not run again; a stranger's tests with SIGINT as it is.
    """
    folder, log = tmp_path / "bin", tmp_path / "log"
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    stub = f"""echo "${{0##*/}} $1${{2:+ $2}}" >> {log}
[ "$*" != test ] || kill -INT $$
echo 'SKIPPED tests/some/test_engine.py::test_it[a b] - Skipped: no: engine'
[ "$(sed -n '$=' {log})" != {failing} ]"""
    for name in ("make", "apt-get"):
        program(folder / name, stub)
    for name in ("bash", "dirname", "mkdir", "sed", "sh", "sort", "tee", "timeout"):
        (folder / name).symlink_to(str(shutil.which(name)))
    run = subprocess.run(
        [folder / "bash", ".ci/run"],
        cwd=tmp_path,
        env={"PATH": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert log.read_text().splitlines() == CI[:failing], run.stderr
    assert (run.returncode == 0) is (failing is None)
