"""What a run of the tests prints: a line a room as it ends, and at the end what was not run.

A plugin of pytest; under xdist it prints in the process that hands out tests.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict

import pytest

REQUIRED = "ASKEW_ENGINES"  # "require": nothing may be skipped, as in CI
# Drawn once (seed 20261130), and each run against as many as 120 of the tests that enter its
# function. Of the other 8 some change nothing, as a mode of 645 for 644.
POWER = "Of 60 bugs drawn at random, all tests see 52 and these see 51 (30 November 2026)."
WIDE = ("client", "server")  # whose folders are rooms of their own


def room_of(nodeid: str) -> str:
    """Return the folder of a test: `core`, `server/release`."""
    parts = nodeid.partition("::")[0].removeprefix("tests/").split("/")[:-1]
    return "/".join(parts[: 2 if parts and parts[0] in WIDE else 1]) or "others"


def is_late(item: pytest.Item) -> bool:
    """Return True for a test that only an audit or a night runs."""
    return any(item.get_closest_marker(name) for name in ("audit", "nightly"))


class Rooms:
    """Counts the tests of a room, and prints its line when the last of them has ended."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left: Counter[str] = Counter()
        self._ran: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._slow = 0
        self._skipped: list[str] = []
        self._files: set[str] = set()
        self._night: set[str] = set()  # files with a test of the audit or the night

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._left = Counter(map(room_of, ids))  # all workers collect the same

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._left = Counter(room_of(item.nodeid) for item in session.items)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._slow += sum(item.get_closest_marker("slow") is not None for item in items)
        self._night |= {item.nodeid.partition("::")[0] for item in items if is_late(item)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        told = getattr(node, "workeroutput", {})
        self._slow = told.get("slow", self._slow)
        self._night |= set(told.get("night", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Print no letter for a test that passed or was skipped."""
        if report.failed or (getattr(report, "when", "setup") != "call" and report.passed):
            return None
        return report.outcome, "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        room = room_of(report.nodeid)
        self._seconds[room] += report.duration
        self._failed[room] += report.failed
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skipped.append(f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}")
        elif report.when == "call":
            self._ran[room] += 1
            self._files.add(report.nodeid.partition("::")[0])
        if report.when == "teardown":
            self._left[room] -= 1
            if not self._left[room] and (terminal := self._terminal()):
                end = f"{self._failed[room]} failed" if self._failed[room] else "ok"
                terminal.ensure_newline()
                terminal.write_line(
                    f"{room:<20}{self._ran[room]:6,} tests {self._seconds[room]:6.0f} s  {end}"
                )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that is skipped as a whole."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skipped.append(f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}")

    def _terminal(self) -> pytest.TerminalReporter | None:
        return self._config.pluginmanager.get_plugin("terminalreporter")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that requires everything where a test was skipped, or a file ran none."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["slow"] = self._slow
            self._config.workeroutput["night"] = sorted(self._night)
        elif os.environ.get(REQUIRED) == "require" and (self._skipped or self._idle_files()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _idle_files(self) -> list[str]:
        root = self._config.rootpath
        if self._config.args != [str(root / "tests")] and self._config.args != ["tests"]:
            return []
        there = {str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py")}
        return sorted(there - self._files - self._night)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in sorted(set(self._skipped)):
            terminalreporter.write_line(f"skipped {line}")
        if os.environ.get(REQUIRED) == "require":
            for file in self._idle_files():
                terminalreporter.write_line(f"no case of {file} was run")
        elif self._slow:
            terminalreporter.write_line(
                f"Not run: {self._slow:,} slow tests (make test ALL=1); PostgreSQL and Spark"
                " (make engines); browsers (make test-web); the audit (make audit)."
            )
            terminalreporter.write_line(POWER)
