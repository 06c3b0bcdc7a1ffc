"""What a device holds is read from its cache, and what was just checked is not read again."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from client.conftest import Pair

from askew.limits import DEVICE_BYTES
from askew_client.catalog.cache import CatalogCache
from askew_client.transport import shaped
from askew_client.transport.in_process import LocalTransport
from askew_client.transport.shaped import KeptLibrary

TODAY = datetime.date(2026, 11, 21)


async def test_a_body_is_read_once_when_it_is_fetched_and_once_when_it_is_found(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a catalog made twice on the first start, to be checked and to be used."""
    bodies: list[bytes] = []
    read = shaped._read

    def counted(body: bytes) -> object:
        bodies.append(body)
        return read(body)

    monkeypatch.setattr(shaped, "_read", counted)
    source = LocalTransport(pair.card, pair.catalog)
    library = KeptLibrary(CatalogCache(tmp_path), source, DEVICE_BYTES)
    first = await library.cached(TODAY)
    assert len(bodies) == 1
    again = await library.cached(TODAY)
    assert len(bodies) == 2
    assert again.catalog is not first.catalog  # nothing of it is kept here
    assert again.catalog.version == first.catalog.version
