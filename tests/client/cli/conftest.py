"""Commands by the way that does most: it draws, charges and sends."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def by_signal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # it comes first
    """The demo's catalog fits every device, which by itself would ask nothing."""
    monkeypatch.setenv("ASKEW_MODE", "query")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that gives a server up at once: for tests of what it says then."""
    monkeypatch.setenv("ASKEW_TIMEOUT", "0.5")
