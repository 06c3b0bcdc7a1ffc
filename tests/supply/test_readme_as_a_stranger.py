"""The snippets of the README, pasted by a stranger: a wheel in an environment of its own, no clone.

It asks the package index for what the wheel needs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, differs, fences, played
from typed_snippets import CHECKERS, type_errors

README = (ROOT / "README.md").read_text("utf-8")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment, made as the README says, but from a wheel."""
    folder = tmp_path_factory.mktemp("stranger")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    made = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", made], check=True)
    [extras] = re.findall(r"pip install '\.(\[.*?\])'", README)
    install = [made / "bin/pip", "install", "-q", "--disable-pip-version-check"]
    command = [*map(str, install), f"{wheel}{extras}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return made


def test_three_snippets_are_one_line_six_lines_and_two_commands() -> None:
    select, device = (each.body for each in fences(README) if each.language == "python")
    assert len([line for line in select.splitlines() if line.startswith("askew.top_k(")]) == 1
    assert len([line for line in device.splitlines() if line]) == 6
    [server] = [each.commands for each in fences(README) if "askew-server collect" in each.body]
    assert [each.split()[:2] for each in server] == [
        ["askew-server", "collect"],
        ["askew-server", "serve"],
    ]


def test_each_does_what_the_readme_says(environment: Path, tmp_path: Path) -> None:
    """Planted bugs: a module that the wheel leaves out; a dependency that only developers have."""
    session = played(README, tmp_path, environment / "bin")
    assert session.code == 0, (tmp_path / "shell.out").read_text()
    assert len(session.printed) == 4  # the app's console is the fourth
    for fence, expected, shown in session.printed:
        assert differs(expected, shown, "by chance" in fence.notes) == "", fence.line


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_is_typed_by_what_the_wheel_says(
    environment: Path, checker: str, tmp_path: Path
) -> None:
    """Planted bug: a wheel without `py.typed`."""
    for each in fences(README):
        if each.language == "python":
            (tmp_path / f"line_{each.line}.py").write_text(each.body, "utf-8")
    assert type_errors(checker, tmp_path, environment / "bin/python") == []
