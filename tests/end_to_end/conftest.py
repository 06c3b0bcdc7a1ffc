"""What the tests over real networks share."""

from __future__ import annotations

from pathlib import Path

import pytest
from client.tui.sheets import sheets_read_once  # noqa: F401 (a fixture)
from hurried import hurry


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a public moment."""
    hurry(monkeypatch)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, profile or ledger of a real person."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
