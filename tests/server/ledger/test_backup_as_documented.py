"""The commands for backups that docs/operations.md shows, typed as they stand: what they give back
is taken or refused as the page says, and nothing is spent twice unseen but where it says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from askew_server.cli.main import cli

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[3]
SECTION = (
    (ROOT / "docs/operations.md")
    .read_text(encoding="utf-8")
    .partition("## Ledger backup")[2]
    .partition("\n## ")[0]
)
BACKUP, RESTORE = (
    re.sub(r"(?m)^(\$ |\.\.\.$)", "", block)
    for block in re.findall(r"^```(?:console)?\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

if not shutil.which("sqlite3"):
    if os.environ.get("ASKEW_ENGINES") == "require":
        raise RuntimeError("ASKEW_ENGINES=require, but sqlite3 is not installed")
    pytest.skip(
        "sqlite3 is not installed; get it by: apt-get install sqlite3", allow_module_level=True
    )


def typed(folder: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of lines of the page, stopped by the first that fails."""
    return subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
    )


def command(folder: Path, *words: str) -> Result:
    """`askew-server ledger`, of the folder's ledger."""
    ledger = ["--ledger", str(folder / "askew-ledger.sqlite")]
    return CliRunner().invoke(cli, ["ledger", *words, *ledger])


def grant(folder: Path, principal: str) -> Result:
    """Spends ten of epsilon."""
    losses = ("--outputs", "10", "--questions", "1", "--epsilon", "10")
    deltas = ("--delta", "1e-9", "--slack", "1e-9")
    return command(folder, "grant", "--dataset", "films", principal, *losses, *deltas)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with one spend, and a backup of it."""
    budget = ["open", "--dataset", "films", "--epsilon", "35", "--delta", "1e-6"]
    assert command(tmp_path, *budget).exit_code == 0
    assert grant(tmp_path, "ada").exit_code == 0
    assert typed(tmp_path, BACKUP).returncode == 0
    return tmp_path


def test_an_older_copy_is_refused_and_an_acceptance_counts_what_was_lost(folder: Path) -> None:
    """Of 35, twenty were spent and ten of these lost: ten more fit, and not another ten."""
    assert grant(folder, "grace").exit_code == 0
    assert "older than its mark" in typed(folder, RESTORE).stdout
    refused = grant(folder, "hedy")
    assert refused.exit_code != 0
    assert "older than its mark" in str(refused.exception)
    assert command(folder, "accept").exit_code == 0
    assert grant(folder, "hedy").exit_code == 0
    assert grant(folder, "joan").exit_code != 0


def test_the_newest_copy_is_taken_and_without_its_mark_has_to_be_accepted(folder: Path) -> None:
    restored = typed(folder, RESTORE)
    assert (restored.returncode, "mark" in restored.stdout) == (0, False), restored.stderr
    (folder / "askew-ledger.sqlite.mark").unlink()
    assert "mark is missing" in typed(folder, RESTORE).stdout
    assert grant(folder, "grace").exit_code != 0
    assert command(folder, "accept").exit_code == 0
    assert grant(folder, "grace").exit_code == 0


def test_restoring_the_mark_too_goes_unseen_as_the_page_warns(folder: Path) -> None:
    assert grant(folder, "grace").exit_code == 0
    both = "cp backup/askew-ledger.sqlite.mark askew-ledger.sqlite.mark\n" + RESTORE
    assert typed(folder, both).returncode == 0
    assert "**it goes unseen**" in SECTION
