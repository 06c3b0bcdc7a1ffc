"""Plants bugs in the production code, one at a time, and runs the tests that claim to see each.

    python -m benchmarks.mutants [WORDS ..]    those whose words have one of these; by default all

Nothing is planted in the work tree: each worker has a copy of it. First the tests have to pass as
the code is. A bug that no test sees ends the run with 1, and so does a text that is not found once.
The last line says how many were caught; of a run of all it is kept, for the report of an audit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from benchmarks.results import commit

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/guarantees/planted.toml"
LAST = ROOT / "build/mutants.txt"  # how the last run of all ended, and of which commit
CODE = ("shared", "client", "server")
COPIED = (*CODE, "tests", "benchmarks", "deploy", "docs", "proto", "pyproject.toml", "README.md")
WORKERS, PATIENCE = 2, 180  # seconds for the tests of one bug
_DATES = count(1)  # Python knows what it compiled by size and date, so no two bugs have one date


@dataclass(frozen=True)
class Bug:
    """says: what is wrong then. file: of the code. old, new: its text. tests: that see it."""

    says: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def planted(self) -> str:
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1 or self.old == self.new:
            found = text.count(self.old)
            raise ValueError(f"{self.says}: its text is {found} times in {self.file}")
        return text.replace(self.old, self.new)


def bugs() -> list[Bug]:
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bug"]
    return [Bug(**{**row, "tests": tuple(row["tests"])}) for row in rows]


@contextmanager
def copies(number: int) -> Iterator[SimpleQueue[Path]]:
    free: SimpleQueue[Path] = SimpleQueue()
    with TemporaryDirectory(prefix="askew-mutants-") as folder:
        for each in range(number):
            copy = Path(folder) / str(each)
            for name in COPIED:
                source = ROOT / name
                if source.is_dir():
                    unneeded = shutil.ignore_patterns("__pycache__", "node_modules")
                    shutil.copytree(source, copy / name, ignore=unneeded)
                else:
                    shutil.copy(source, copy / name)
            free.put(copy)
        yield free


def failed(copy: Path, tests: Sequence[str], patience: float = PATIENCE) -> tuple[int, str | None]:
    """Return how pytest ended in a copy, and the first test that failed: a run that breaks off, or
    does not end, is no test that saw anything.
    """
    paths = os.pathsep.join(str(copy / each) for each in CODE)
    options = ("-q", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-m", "not nightly")
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=copy,
            env=os.environ
            | {
                "PYTHONPATH": paths,
                "PYTHONPYCACHEPREFIX": str(copy.parent / "compiled"),
                "PYTHONDONTWRITEBYTECODE": "",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return -1, None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return run.returncode, found[1] if found and run.returncode == 1 else None


def without_a_bug(tests: Sequence[str], free: SimpleQueue[Path]) -> tuple[int, str | None]:
    copy = free.get()
    try:
        return failed(copy, tests, PATIENCE * 5)
    finally:
        free.put(copy)


def seen_by(bug: Bug, free: SimpleQueue[Path]) -> str | None:
    copy = free.get()
    file = copy / bug.file
    before, dates = file.read_text(encoding="utf-8"), file.stat()
    try:
        file.write_text(bug.planted(), encoding="utf-8")
        os.utime(file, (0, next(_DATES)))
        return failed(copy, bug.tests)[1]
    finally:
        file.write_text(before, encoding="utf-8")
        os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))
        free.put(copy)


def main(words: Sequence[str]) -> int:
    began = time.monotonic()
    chosen = [each for each in bugs() if not words or any(word in each.says for word in words)]
    if not chosen:
        print("no bug of the table has these words: nothing was planted")
        return 1
    for each in chosen:
        each.planted()
    with copies(WORKERS) as free, ThreadPoolExecutor(WORKERS) as pool:
        tests = sorted({test for each in chosen for test in each.tests})
        parts = [part for n in range(WORKERS) if (part := tests[n::WORKERS])]
        for code, test in pool.map(lambda part: without_a_bug(part, free), parts):
            if code:
                print(f"without a bug {test or 'the run of all tests'} fails: nothing was planted")
                return 1
        found = list(pool.map(lambda each: told(each, free), chosen))
    caught = sum(found)
    said = f"caught {caught} of {len(chosen)} in {time.monotonic() - began:.0f} s"
    print(said)
    if not words:
        LAST.parent.mkdir(exist_ok=True)
        LAST.write_text(f"{commit()}: {said}\n", encoding="utf-8")
    return int(caught < len(chosen))


def told(bug: Bug, free: SimpleQueue[Path]) -> bool:
    began = time.monotonic()
    test = seen_by(bug, free)
    took = f"{time.monotonic() - began:.1f} s"
    print(f"{'caught' if test else 'NOT CAUGHT'}: {bug.says} ({took}, {test})", flush=True)
    return test is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
