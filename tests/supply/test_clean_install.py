"""A wheel and a source distribution, in clean environments of the oldest and the newest Python.

It asks the package index and takes minutes: evidence of a release, and no part of `make test`.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.specifiers import SpecifierSet
from pages import ROOT, differs, played

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = "client,tui,server"
MINORS = range(11, 20)

pytestmark = pytest.mark.nightly


@functools.cache
def pythons() -> dict[str, str]:
    """The version of each supported interpreter that this machine has, and its path."""
    found: dict[str, str] = {}
    # An interpreter's own manager keeps several side by side, and puts one on the path.
    beside = Path(sys.base_prefix).parent.glob("*/bin/python3.1[0-9]")
    names = [shutil.which(f"python3.{minor}") for minor in MINORS]
    for path in (sys.executable, *filter(None, names), *map(str, sorted(beside))):
        said = subprocess.run(
            [path, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=False,
        )
        version = said.stdout.strip()
        if said.returncode == 0 and version in SpecifierSet(PROJECT["requires-python"]):
            found.setdefault(version.rpartition(".")[0], path)
    return found


def of_age(age: str) -> str:
    choose = min if age == "oldest" else max
    return pythons()[choose(pythons(), key=lambda version: [int(n) for n in version.split(".")])]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    [sdist] = folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def metadata_of(path: Path) -> bytes:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            [name] = [each for each in archive.namelist() if each.endswith("dist-info/METADATA")]
            return archive.read(name)
    with tarfile.open(path) as archive:
        member = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert member is not None
        return member.read()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_an_index_would_take_its_metadata(built: dict[str, Path], kind: str) -> None:
    """Planted bugs: a classifier's license beside a license expression; a relative address."""
    metadata = Metadata.from_email(metadata_of(built[kind]), validate=True)
    assert str(metadata.version) == PROJECT["version"]
    assert metadata.description_content_type == "text/markdown"


@pytest.mark.parametrize("age", ["oldest", "newest"])
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_installs_alone_and_all_that_the_readme_types_runs(
    built: dict[str, Path], kind: str, age: str, tmp_path: Path
) -> None:
    """Planted bugs: a module that the wheel leaves out; a dependency that only developers have."""
    environment = tmp_path / "environment"
    subprocess.run([of_age(age), "-m", "venv", environment], check=True)
    scripts = environment / "bin"

    def run(*command: str) -> str:
        """In another folder and home, so that no clone and no habit helps."""
        ran = subprocess.run(
            [scripts / command[0], *command[1:]],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": f"{scripts}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        return ran.stdout

    run("pip", "install", "-q", "--disable-pip-version-check", f"{built[kind]}[{EXTRAS}]")
    assert "No broken requirements" in run("pip", "check")
    assert PROJECT["version"] in run("askew", "--version")
    assert PROJECT["version"] in run("askew-server", "--version")
    assert re.search(r"spent \d", run("askew", "demo"))
    session = played((ROOT / "README.md").read_text("utf-8"), tmp_path, scripts)
    assert session.code == 0, (tmp_path / "shell.out").read_text()
    for fence, expected, shown in session.printed:
        assert differs(expected, shown, "by chance" in fence.notes) == "", fence.line
