"""`make test` starts what the tests of a file share once, whatever versions its tools have."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("n", range(8))
def test_it(n):
    with (pathlib.Path(__file__).parent / "ran").open("a") as ran:
        ran.write(os.environ["PYTEST_XDIST_WORKER"] + " " + pathlib.Path(__file__).stem + "\\n")
"""


def test_a_file_runs_in_one_worker_and_the_files_of_an_engine_in_the_same_but_pages_in_any(
    tmp_path: Path,
) -> None:
    """Planted bugs: groups by name, which pytest 9.2 does not keep; each file by itself."""
    [options] = re.findall("^WORKERS = (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    names = ("test_spark_a", "test_spark_b", "test_pages_as_typed", "test_z")
    run(tmp_path, names, *shlex.split(options))
    workers = defaultdict(set)
    for line in (tmp_path / "ran").read_text("utf-8").splitlines():
        worker, name = line.split()
        workers[name].add(worker)
    assert set(workers) == set(names)
    assert len(workers.pop("test_pages_as_typed")) > 1
    assert all(len(each) == 1 for each in workers.values())
    assert workers["test_spark_a"] == workers["test_spark_b"]
    assert len(set.union(*workers.values())) > 1


def test_tests_run_where_xdist_is_left_out(tmp_path: Path) -> None:
    """Planted bug: a hook that pytest alone does not know."""
    run(tmp_path, ["test_a"], "-p", "no:xdist", "--collect-only")


CTRL_C = """
import os, signal, subprocess, sys, pytest

def test_ctrl_c():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)

def test_ctrl_c_of_what_a_test_starts():
    started = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    assert subprocess.run([sys.executable, "-c", started]).returncode == -signal.SIGINT
"""


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_ctrl_c_is_heard_where_whoever_started_the_tests_ignores_it(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """As a shell does for what runs in its background. Planted bug: what is inherited is kept, and
    tests of Ctrl-C wait for good.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run(tmp_path, ["test_ctrl_c"], *options, source=CTRL_C)
    finally:
        signal.signal(signal.SIGINT, before)


def run(folder: Path, names: Iterable[str], *options: str, source: str = TESTS) -> None:
    """Files of these names, beside the tests' own configuration."""
    (folder / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text("utf-8"), "utf-8")
    for name in names:
        (folder / f"{name}.py").write_text(source, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        check=True,
        capture_output=True,
    )
