"""What an operator types, and what the ledger then shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

USAGE, BUDGET, FAILED = 2, 3, 1  # exit codes
Run = Callable[..., int]
Captured = pytest.CaptureFixture[str]
KNOWN = ("release", "--events", "log.csv", "--catalog", "films.csv", "--epsilon", 20, "-k", 3)
UNKNOWN = ("release", "--events", "log.csv", "--epsilon", 20, "--delta", "1e-9", "-k", 5)


def release_in(printed: str) -> dict[str, Any]:
    release: dict[str, Any] = json.loads(printed)["release"]
    return release


def ledger_shown(run: Run, capsys: Captured, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run("ledger", "show", "--json", *options) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def spent(run: Run, capsys: Captured, dataset: str = "films") -> str:
    [found] = ledger_shown(run, capsys, "--dataset", dataset)["datasets"]
    return str(found["spent_epsilon"])
