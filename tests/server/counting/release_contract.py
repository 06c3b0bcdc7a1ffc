"""`askew-server release` on an engine, as an operator types it: beside DuckDB, coin by coin.

With the same coins, a release is a function of the counts. So the stored bytes must be DuckDB's,
and so must what is charged; with epsilons at which other coins make another list.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from server.counting import seeded_commands
from server.counting.availability import QUICK_JVM
from server.counting.parquet import write_parquet
from server.counting.reference import columns_of, varied_events
from server.ledger.scenes import ENVIRONMENT
from server.release.typed import document_in

from askew.dp.release import Release, release_from_bytes

PASSWORD = "hunter2-canary"
PATIENCE = 300  # seconds; only a hang waits for it
BUDGET = ("ledger", "open", "--dataset", "plays", "--epsilon", "40", "--delta", "1/100")
EVENTS = [event for event in varied_events() if all(event)]
CATALOG = [*sorted({item for _, item in EVENTS}), "nobody's choice"]


@dataclass(frozen=True)
class Place:
    """An engine's address, and what the events and their catalog are called there."""

    address: str
    events: str
    catalog: str


@dataclass(frozen=True)
class Said:
    """What three commands said: a plan, a release of a known domain, one of an unknown domain."""

    outputs: list[tuple[int, str, str]]
    engine_said: str
    ledger: dict[str, Any]

    def release(self, number: int) -> Release:
        return release_from_bytes(document_in(self.outputs[number][1]))


def files(folder: Path) -> tuple[Path, Path]:
    """The events and their catalog as parquet, which most engines read or load."""
    events, catalog = folder / "events.parquet", folder / "catalog.parquet"
    units, items = columns_of(EVENTS)
    write_parquet(events, {"unit": units, "item": items})
    write_parquet(catalog, {"item": CATALOG})
    return events, catalog


def ran(
    work: Path, address: str, commands: list[tuple[str, ...]], seed: int = 1
) -> subprocess.CompletedProcess[str]:
    """Commands in a process of its own; what it says is for `seeded_commands` to explain."""
    return program(work, address, seeded_commands.__file__, str(seed), json.dumps(commands))


def program(work: Path, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of the tests in this folder, with an engine as an operator sets it."""
    made = subprocess.run(
        [sys.executable, *arguments],
        cwd=work,
        env={**ENVIRONMENT, **QUICK_JVM, "ASKEW_ENGINE": address},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return made


def said(folder: Path, place: Place, seed: int = 1) -> Said:
    """Dry run, known and unknown domain, in a process of its own and with a ledger of its own."""
    work = folder / f"operator {seed}"
    work.mkdir()
    source = ("--events", place.events, "--as-of", "monday")
    events = ("release", *source, "-k", "6", "--max-items-per-unit", "3")
    known = (*events, "--catalog", place.catalog, "--epsilon", "1/2", "--mechanism", "peeling")
    unknown = (*events, "--epsilon", "24", "--delta", "1/1000", "--json")
    commands = [BUDGET, (*known, "--dry-run"), ("ledger", "show", "--json")]
    commands += [(*known, "--json"), unknown, ("ledger", "show", "--json")]
    made = ran(work, place.address, commands, seed)
    opened, dry, before, first, second, after = json.loads(made.stdout)
    assert [each[0] for each in (opened, before, after)] == [0, 0, 0]
    assert json.loads(before[1])["charges"] == []
    for path in work.iterdir():
        assert PASSWORD.encode() not in path.read_bytes(), path.name
    assert PASSWORD not in made.stdout + made.stderr
    return Said([dry, first, second], made.stderr, json.loads(after[1]))


class ReleaseContract(ABC):
    """A subclass for each engine says where that has the events."""

    @abstractmethod
    def place(self, folder: Path, request: pytest.FixtureRequest) -> Place:
        """Puts the events and the catalog there."""

    def test_a_release_is_the_same_as_from_duckdb(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        """A plan, a known and an unknown domain, and what they cost. Planted bugs: another bound,
        key or order of the rows on this engine; a password in anything that is written or said."""
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        ours.mkdir()
        theirs.mkdir()
        expected = said(theirs, Place("duckdb:", *map(str, files(theirs))))
        actual = said(ours, self.place(ours, request))
        assert [code for code, _, _ in actual.outputs] == [0, 0, 0], actual.outputs
        assert [out for _, out, _ in actual.outputs[1:]] == [
            out for _, out, _ in expected.outputs[1:]
        ]
        assert actual.ledger == expected.ledger
        assert "nothing was charged" in actual.outputs[0][1]
        assert all("will spend" in err for _, _, err in actual.outputs[1:])
        known, unknown = actual.release(1), actual.release(2)
        assert (known.mechanism, unknown.mechanism) == ("peeling", "limited-domain")
        assert len(known.items) == 6
        assert unknown.items


def address_of(conninfo: str) -> str:
    """The address of the tests' PostgreSQL, with a password, for which it does not ask."""
    named = dict(part.split("=") for part in conninfo.split())
    return f"postgresql://{named['user']}:{PASSWORD}@/{named['dbname']}?host={named['host']}"


def in_a_process(program: str, *arguments: str) -> None:
    """Runs a text as a program; for an engine that can be opened only once in each."""
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=dict(os.environ),
        check=True,
        timeout=PATIENCE,
    )
