"""A source distribution works like a clone; a wheel says what it is, and holds more than code."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def built(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files of the source distribution."""
    with tarfile.open(built("sdist", tmp_path_factory.mktemp("sdist"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [each for each in wheel.namelist() if each.endswith("/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_make_finds_in_a_source_distribution_what_it_finds_in_a_clone(source: set[str]) -> None:
    """Planted bug: no lock files, without which `make demo` has no rule to go by."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(
        re.findall(r"requirements[-a-z]*\.lock|benchmarks/\w+\.py|proto/\S+\.json", makefile)
    )
    assert "requirements.lock" in named
    assert named - source == set()
    needed = {
        ".ci/run",
        "CONTRIBUTING.md",
        "Makefile",
        "README.md",
        "hatch_build.py",
        "pyproject.toml",
    }
    assert needed - source == set()


MADE = {"__pycache__", "node_modules", "build"}  # by commands, and in no clone


@pytest.mark.parametrize(
    "folder", ["shared", "client", "server", "tests", "benchmarks", "deploy", "docs"]
)
def test_nothing_of_a_folder_is_left_out(source: set[str], folder: str) -> None:
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not MADE & set(path.relative_to(ROOT).parts)
    }
    assert files - source == set()


def test_a_wheel_says_what_it_is_and_where_it_lives(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier") or []
    assert {each.partition(" ::")[0] for each in classifiers} >= {
        "Development Status",
        "Intended Audience",
        "Programming Language",
        "Topic",
    }
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL") or [])
    assert set(urls) == {"Source", "Documentation", "Changelog"}
    assert all(url.startswith("https://") for url in urls.values())


def test_every_link_of_a_description_is_absolute_and_leads_to_a_file(metadata: Message) -> None:
    """Planted bug: README.md as it is, whose links lead nowhere on a package index."""
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL") or [])
    links = re.findall(r"\]\(([^)\s]+)\)", str(metadata.get_payload()))
    assert len(links) >= 5
    for link in links:
        assert link.startswith(("https://", "#")), link
        for start in (f"{urls['Source']}/blob/main/", f"{urls['Source']}/raw/main/"):
            if link.startswith(start):
                assert (ROOT / link.removeprefix(start).partition("#")[0]).is_file(), link


def test_the_wheel_has_the_protocol_files(wheel: zipfile.ZipFile) -> None:
    """For clients in other languages, at the path by which each file is known to the other."""
    protocol = {path.relative_to(ROOT / "proto"): path for path in ROOT.glob("proto/**/*.proto")}
    assert len(protocol) >= 2
    for name, path in protocol.items():
        assert wheel.read(name.as_posix()) == path.read_bytes()


def test_the_wheel_has_the_tables_of_geonames_and_beside_each_whose_they_are(
    wheel: zipfile.ZipFile,
) -> None:
    """CC BY 4.0 asks for the attribution wherever the data goes."""
    for table in ("askew_server/demo/towns.csv", "askew_client/settings/regions.csv"):
        assert table in wheel.namelist()
        words = wheel.read(table.rpartition("/")[0] + "/GEONAMES.md").decode()
        assert "https://www.geonames.org/" in words
        assert "creativecommons.org/licenses/by/4.0/" in words
