"""A source distribution works like a clone, and a wheel says what it is."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
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
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"))) as archive:
        [name] = [each for each in archive.namelist() if each.endswith("/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


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


@pytest.mark.parametrize(
    "folder", ["shared", "client", "server", "tests", "benchmarks", "deploy", "docs"]
)
def test_nothing_of_a_folder_is_left_out(source: set[str], folder: str) -> None:
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
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
