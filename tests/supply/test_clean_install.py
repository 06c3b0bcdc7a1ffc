"""The README as a stranger types it: a wheel or source distribution, alone in an environment.

It asks the package index. The wheel in this Python is a slow test; the oldest and newest Python,
and the source distribution, are evidence of a release.
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
from packaging.version import Version
from pages import ROOT, differs, fences, played
from typed_snippets import CHECKERS, type_errors

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")
MINORS = range(11, 20)


def pythons() -> dict[str, str]:
    """Find supported interpreters: version to path."""
    found: dict[str, str] = {}
    # An interpreter's own manager keeps several side by side, and puts one on the path.
    beside = Path(sys.base_prefix).parent.glob("*/bin/python3.1[0-9]")
    names = [shutil.which(f"python3.{minor}") for minor in MINORS]
    for path in (sys.executable, *filter(None, names), *map(str, sorted(beside))):
        command = [path, "-c", "import platform; print(platform.python_version())"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        version = said.stdout.strip()
        if said.returncode == 0 and version in SpecifierSet(PROJECT["requires-python"]):
            found.setdefault(version.rpartition(".")[0], path)
    return found


@functools.cache
def built(folder: Path, kind: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder / kind)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = (folder / kind).iterdir()
    return path


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dist")


def metadata_of(path: Path) -> bytes:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            [name] = [name for name in archive.namelist() if name.endswith("dist-info/METADATA")]
            return archive.read(name)
    with tarfile.open(path) as archive:
        member = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert member is not None
        return member.read()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_an_index_would_take_its_metadata(dist: Path, kind: str) -> None:
    """Planted bugs: a classifier's license beside a license expression; a relative address."""
    metadata = Metadata.from_email(metadata_of(built(dist, kind)), validate=True)
    assert str(metadata.version) == PROJECT["version"]
    assert metadata.description_content_type == "text/markdown"


@pytest.mark.slow
def test_three_snippets_are_one_line_six_lines_and_two_commands() -> None:
    select, device = (fence.body for fence in fences(README) if fence.language == "python")
    assert len([line for line in select.splitlines() if line.startswith("askew.top_k(")]) == 1
    assert len([line for line in device.splitlines() if line]) == 6
    [server] = [fence.commands for fence in fences(README) if "askew-server collect" in fence.body]
    assert [command.split()[1] for command in server] == ["collect", "serve"]


NIGHTLY = [
    pytest.param(kind, age, marks=pytest.mark.nightly)
    for kind in ("wheel", "sdist")
    for age in ("oldest", "newest")
]


@pytest.mark.parametrize(
    ("kind", "age"), [pytest.param("wheel", "this", marks=pytest.mark.slow), *NIGHTLY]
)
def test_it_installs_alone_and_all_that_the_readme_types_runs(
    dist: Path, kind: str, age: str, tmp_path: Path
) -> None:
    """And its snippets have the types that they promise. Planted bugs: a module that the wheel
    leaves out; a dependency that only developers have; a wheel without `py.typed`.
    """
    environment, python = tmp_path / "environment", sys.executable
    if age != "this":
        versions = sorted(pythons().items(), key=lambda pair: Version(pair[0]))
        _, python = versions[0 if age == "oldest" else -1]
    subprocess.run([python, "-m", "venv", environment], check=True)
    scripts = environment / "bin"

    def run(*command: str) -> str:
        """Run it in another folder and home, so that no clone and no habit helps."""
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

    [extras] = re.findall(r"pip install '\.(\[.*?\])'", README)
    run("pip", "install", "-q", "--disable-pip-version-check", f"{built(dist, kind)}{extras}")
    assert "No broken requirements" in run("pip", "check")
    for program in ("askew", "askew-server"):
        assert PROJECT["version"] in run(program, "--version")
    assert re.search(r"spent \d", run("askew", "demo"))
    session = played(README, tmp_path, scripts)
    assert session.code == 0, (tmp_path / "shell.out").read_text()
    assert len(session.printed) == 4  # the app's console is the fourth
    for fence, expected, shown in session.printed:
        assert differs(expected, shown, "by chance" in fence.notes) == "", fence.line
    snippets = tmp_path / "snippets"
    snippets.mkdir()
    for fence in fences(README):
        if fence.language == "python":
            (snippets / f"line_{fence.line}.py").write_text(fence.body, "utf-8")
    for checker in CHECKERS:
        assert type_errors(checker, snippets, scripts / "python") == []
