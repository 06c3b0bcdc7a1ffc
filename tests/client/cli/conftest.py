"""Commands by the way that does most: it draws, charges and sends."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def by_signal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # it comes first
    """The demo's catalog fits every device, which by itself would ask nothing."""
    monkeypatch.setenv("ASKEW_WAY", "signal")
