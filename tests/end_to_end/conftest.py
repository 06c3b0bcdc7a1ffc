"""What the tests over real networks share."""

from __future__ import annotations

import pytest
from client.tui.sheets import sheets_read_once  # noqa: F401 (a fixture)
from hurried import hurry


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a public moment."""
    hurry(monkeypatch)
