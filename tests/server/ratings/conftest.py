"""Every test of files of ratings runs twice: row by row, and by columns however small the file."""

from __future__ import annotations

import pytest

from askew_server.ratings import reader


@pytest.fixture(params=["rows", "columns"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    least = 0 if request.param == "columns" else 1 << 60
    monkeypatch.setattr(reader, "LEAST_BYTES", least)
    return str(request.param)
