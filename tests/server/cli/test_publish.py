"""`askew-server publish`: what it writes is what devices hold, from any static host."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import static_host
from server.release.typed import Captured, Run

from askew.catalog.catalog_file import HEAD_BYTES, Part
from askew.wire.catalog_file import catalog_files
from askew_client.catalog.cache import CatalogCache
from askew_client.catalog.https import HttpsSource
from askew_client.settings.settings import StaticHost
from askew_client.transport.shaped import KeptLibrary
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel

MONDAY = datetime.date(2026, 11, 23)


def bytes_of(site: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in site.iterdir()}


def expected(model: ItemModel, day: str) -> dict[str, bytes]:
    files = catalog_files(model.card, model.catalog)
    return {f"{day}.{part}": file for part, file in files.items()}


async def test_what_is_published_is_what_a_device_holds(
    tmp_path: Path, directory: Path, run: Run, capsys: Captured
) -> None:
    site, model = tmp_path / "site", artifact.load(directory)
    assert run("publish", "--model", directory, "--week", "2026-11-23", "--out", site) == 0
    shown = capsys.readouterr().out
    files = bytes_of(site)
    assert files == expected(model, "2026-11-23")
    for file in files.values():  # which static hosts send by a range
        assert file[:8] == b"askewhld"
        assert int.from_bytes(file[8:16], "little") == len(file) - HEAD_BYTES
    assert all(f"{name}  {len(file):,} bytes\n" in shown for name, file in files.items())
    with static_host.serving({f"/{name}": file for name, file in files.items()}) as host:
        async with HttpsSource(StaticHost.of(host.base), 5.0, static_host.trust()) as source:
            cache = CatalogCache.of(tmp_path / "held", "server:1")
            held = await KeptLibrary(cache, source, 10**6).cached(MONDAY)
    assert held.card == model.card
    assert held.catalog.version == model.catalog.version
    assert held.size == len(files[f"2026-11-23.{Part.WHOLE}"])


def test_an_edition_is_written_again_as_it_was_and_never_changed(
    tmp_path: Path, directory: Path, run: Run, capsys: Captured
) -> None:
    """Devices that fetched half of it would get another half. The next one lies beside it."""
    site, model = tmp_path / "site", artifact.load(directory)
    command = ("publish", "--model", directory, "--week", "2026-11-23", "--out", site)
    assert run(*command) == 0
    before = bytes_of(site)
    assert run(*command) == 0
    assert "as it was" in capsys.readouterr().out
    assert run("publish", "--model", directory, "--week", "2026-11-30", "--out", site) == 0
    assert bytes_of(site) == before | expected(model, "2026-11-30")
    path = site / "2026-11-23.whole"
    path.write_bytes(before[path.name][:-1])
    assert run(*command) == 1
    assert "the files of a Monday never change" in capsys.readouterr().err
    assert len(path.read_bytes()) == len(before[path.name]) - 1
    assert run(*command[:-1], path) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("day", ["2026-11-24", "monday", "1970-01-04"])
def test_a_day_that_is_no_monday_is_refused_before_the_model_is_read(
    tmp_path: Path, run: Run, capsys: Captured, day: str
) -> None:
    """Nobody would ever look for it."""
    nowhere = tmp_path / "nowhere"
    command = ("publish", "--model", nowhere, "--week", day, "--out", tmp_path / "site")
    assert run(*command) != 0
    assert "a Monday" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
