"""What the tests over real networks share."""

from __future__ import annotations

import pytest
from hurried import hurry


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a public moment."""
    hurry(monkeypatch)
