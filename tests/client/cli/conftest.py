"""Commands by the way that does most: it draws, charges and sends."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from client.conftest import Askew, Outcome

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.config import places
from askew_client.settings.settings import Caps, month_of
from askew_client.signals.account import Entry
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def by_signal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # it comes first
    """The demo's catalog fits every device, which by itself would ask nothing."""
    monkeypatch.setenv("ASKEW_MODE", "ask")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKEW_TIMEOUT", "0.5")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


RATINGS = b"title,rating\nAlien (1979),4.5\nCasablanca (1942),1.5\nToy Story (1995),2.5\n"
Ask = Callable[..., "Outcome"]
Spend = Callable[..., None]
Charges = Callable[[], tuple[Entry, ...]]


@pytest.fixture
def ask(askew: Askew, demo_address: str, data: Path) -> Ask:
    """Runs `askew ask --ratings -` at the demo's server."""

    def run(*options: str | Path, stdin: bytes = RATINGS) -> Outcome:
        words = ("ask", "--ratings", "-", "--server", demo_address, "--data", data)
        return askew(*words, *options, stdin=stdin)

    return run


@pytest.fixture
def spend(data: Path) -> Spend:
    def charge(epsilon: Fraction | int, month: str = month_of(datetime.date.today())) -> None:
        where, drawn = places(data), Signal(SPACE, LatticeLaplace(11, 1024), (1, 2))
        store = SignalStore(where.ledger, Caps(Fraction(48)), where.mark)
        store.remember(SPACE, month, SignalCharge(Fraction(epsilon)), lambda: drawn)

    return charge


@pytest.fixture
def charges(data: Path) -> Charges:
    def read() -> tuple[Entry, ...]:
        path = data / "signals.sqlite"
        return SignalStore(path, Caps(Fraction(192))).entries() if path.exists() else ()

    return read
