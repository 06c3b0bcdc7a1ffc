"""What a wheel holds, beside the code."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = str(tmp_path_factory.mktemp("wheel"))
    (path,) = WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    return Path(path)


def test_the_wheel_has_the_protocol_files(made: Path) -> None:
    """For clients in other languages, at the path by which each file is known to the other."""
    protocol = {path.relative_to(ROOT / "proto"): path for path in ROOT.glob("proto/**/*.proto")}
    assert len(protocol) >= 2
    with zipfile.ZipFile(made) as wheel:
        for name, path in protocol.items():
            assert wheel.read(name.as_posix()) == path.read_bytes()


def test_the_wheel_has_the_tables_of_geonames_and_beside_each_whose_they_are(made: Path) -> None:
    """CC BY 4.0 asks for the attribution wherever the data goes."""
    with zipfile.ZipFile(made) as wheel:
        names = set(wheel.namelist())
        for table in ("askew_server/demo/towns.csv", "askew_client/settings/regions.csv"):
            assert table in names
            words = wheel.read(table.rpartition("/")[0] + "/GEONAMES.md").decode()
            assert "https://www.geonames.org/" in words
            assert "creativecommons.org/licenses/by/4.0/" in words
