"""A small metric model, saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_collections import keys_of, small_map

from askew_server.collections import artifact


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of the small map; its cafés can be updated."""
    artifact.save(small_map(), tmp_path / "model", {"cafes": keys_of(30)})
    return tmp_path / "model"
