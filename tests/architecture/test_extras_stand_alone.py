"""What each extra installs is enough for its commands, and what it lacks is one friendly line.

The programs run in processes that find no module of any other distribution than those that pip
would install for the extras.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = """
import runpy, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
absent, module = set(sys.argv[1].split()), sys.argv[2]
sys.meta_path.insert(0, Absent())
sys.argv = [module, *sys.argv[3:]]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def installed_by(requirements: list[str], extras: frozenset[str] = frozenset()) -> set[str]:
    installed: set[str] = set()
    contexts = [{"extra": extra} for extra in extras or {""}]
    for requirement in map(Requirement, requirements):
        if not requirement.marker or any(map(requirement.marker.evaluate, contexts)):
            installed.add(name := canonicalize_name(requirement.name))
            with suppress(PackageNotFoundError):  # not for this system
                installed |= installed_by(requires(name) or [], frozenset(requirement.extras))
    return installed


@cache
def absent_with(extras: tuple[str, ...]) -> str:
    wanted = [*PROJECT["dependencies"]]
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    present = installed_by(wanted) | {"askew"}
    return " ".join(
        module
        for module, distributions in packages_distributions().items()
        if not present & set(map(canonicalize_name, distributions))
    )


def python(*words: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
    return subprocess.run(
        [sys.executable, *words],
        env=environment | more,
        cwd=home,
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


def run(extras: str, line: str, home: Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = line.split()
    module = {"askew": "askew_client", "askew-server": "askew_server"}[program]
    absent = absent_with(tuple(extras.split()))
    return python("-c", WITHOUT, absent, module, *arguments, home=home)


@pytest.mark.thin
@pytest.mark.parametrize(
    ("extras", "line", "advice"),
    [
        ("", "askew", "askew: click is not installed; .* '.[client]'"),
        ("", "askew-server --help", "askew-server: click is not installed; .* '.[server]'"),
        ("client", "askew-server train --ratings r --out m", "askew-server: .* '.[server]'"),
        ("client", "askew tui --demo", "askew: textual is not installed; .* '.[client,tui]'"),
        ("server", "askew budget", "askew: platformdirs .* '.[client]'"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_how_to_install_it(
    tmp_path: Path, extras: str, line: str, advice: str
) -> None:
    """Planted bug: a program that imports before it looks: a traceback of the entry point."""
    found = run(extras, line, tmp_path)
    assert (found.returncode, found.stdout) == (1, ""), found.stderr
    [said] = found.stderr.splitlines()
    start, _, command = advice.partition(".*")
    assert said.startswith(start)
    assert command in said


def test_a_demo_without_the_server_says_how_to_install_it(tmp_path: Path) -> None:
    """The server runs in a process of its own, which is all that this one hears of."""
    package = tmp_path / "askew_server"
    (package / "cli").mkdir(parents=True)
    for name in ("__init__", "__main__", "cli/__init__", "cli/start"):
        shutil.copy(ROOT / f"server/askew_server/{name}.py", package / f"{name}.py")
    (package / "cli/main.py").write_text("raise ModuleNotFoundError(name='scipy')")
    found = python("-m", "askew_client", "demo", home=tmp_path, PYTHONPATH=str(tmp_path))
    start = "askew: askew-server did not start: askew-server: scipy is not installed; "
    last = found.stderr.splitlines()[-1]
    assert (last.startswith(start), last.endswith("pip install '.[server]'")) == (True, True)
    assert found.returncode == 4


@pytest.mark.thin
@pytest.mark.parametrize(
    ("extras", "line"),
    [
        ("client", "askew budget"),
        ("client", "askew ask --help"),
        ("server", "askew-server release --demo -k 3 --mechanism peeling"),
    ],
)
def test_an_extra_is_enough_for_its_own_commands(tmp_path: Path, extras: str, line: str) -> None:
    """Planted bugs: a requirement left out of an extra; the server's libraries needed for help."""
    found = run(extras, line, tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout != ""


def test_what_is_missing_of_our_own_is_no_missing_extra(tmp_path: Path) -> None:
    """A fault of this program must not be told as something to install."""
    broken = "import sys; sys.modules['askew_client.cli.main'] = None; import askew_client.__main__"
    found = python("-c", broken, home=tmp_path)
    assert "ModuleNotFoundError" in found.stderr
    assert "pip install" not in found.stderr


@pytest.mark.parametrize("package", ["askew_client", "askew_server"])
def test_windows_is_refused_in_one_line(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a module is imported that Windows lacks. Planted bug: the command refuses."""
    start = importlib.import_module(f"{package}.cli.start")
    monkeypatch.setitem(sys.modules, f"{package}.cli.main", None)  # to import it is an error
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        with pytest.raises(SystemExit, match=r"^[\w-]+: it does not run on Windows; .*WSL.*$"):
            start.main()
