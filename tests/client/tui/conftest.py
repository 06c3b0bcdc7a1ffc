"""A device in a temporary directory, with the small world's twelve films."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from client.tui.person import Device

if TYPE_CHECKING:
    from client.conftest import Pair


@pytest.fixture
def device(pair: Pair, tmp_path: Path) -> Device:
    """Nothing rated, nothing spent."""
    return Device(pair.card, pair.catalog, tmp_path)


@pytest.fixture
async def rated(device: Device) -> Device:
    """Three films are rated: a liking for the lower left of the map."""
    await device.rated(film_2=5, film_6=4, film_11=1)
    return device
