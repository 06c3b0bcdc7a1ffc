"""Commands by the way that does most: it draws, charges and sends."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from askew_client.settings.settings import Caps
from askew_client.signals.account import Entry
from askew_client.signals.store import SignalStore


@pytest.fixture(autouse=True)
def by_signal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # it comes first
    """The demo's catalog fits every device, which by itself would ask nothing."""
    monkeypatch.setenv("ASKEW_MODE", "ask")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKEW_TIMEOUT", "0.5")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a device keeps its files; not there yet."""
    return tmp_path / "data"


@pytest.fixture
def charges(data: Path) -> Callable[[], tuple[Entry, ...]]:
    """What the ledger in `data` has, if there is one."""

    def read() -> tuple[Entry, ...]:
        path = data / "signals.sqlite"
        return SignalStore(path, Caps(Fraction(192))).entries() if path.exists() else ()

    return read
