"""The unit of systemd: read without a complaint, and with little to do harm with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from deploy.test_image import check_options

UNIT = Path(__file__).parents[2] / "deploy/askew-server@.service"
WORDS = UNIT.read_text(encoding="utf-8")


def said(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", WORDS, re.MULTILINE)


def analyze(folder: Path, words: str, *command: str) -> subprocess.CompletedProcess[str]:
    """systemd-analyze of a unit, whose program is one that is here."""
    if not shutil.which("systemd-analyze"):
        if os.environ.get("ASKEW_ENGINES") == "require":
            raise RuntimeError("ASKEW_ENGINES=require, but systemd-analyze is not installed")
        pytest.skip("systemd-analyze is not installed; get it by: apt-get install systemd")
    path = folder / "askew-server@1.service"
    path.write_text(re.sub("(?m)^ExecStart=.*", "ExecStart=/bin/true", words), encoding="utf-8")
    program = ["systemd-analyze", *command, str(path)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_systemd_reads_it_without_a_complaint(tmp_path: Path) -> None:
    assert analyze(tmp_path, WORDS, "verify").stderr == ""


@pytest.mark.parametrize(
    ("shipped", "planted"),
    [("ProtectSystem=strict", "ProtectSystems=strict"), ("RestartSec=2", "RestartSec=soon")],
)
def test_a_word_that_systemd_does_not_know_is_seen(
    tmp_path: Path, shipped: str, planted: str
) -> None:
    assert shipped in WORDS
    assert analyze(tmp_path, WORDS.replace(shipped, planted), "verify").stderr


SAFE = ("security", "--offline=true", "--threshold=14")  # of 100, at which there is no sandbox


def test_it_leaves_little_to_do_harm_with(tmp_path: Path) -> None:
    assert analyze(tmp_path, WORDS, *SAFE).returncode == 0


@pytest.mark.parametrize("planted", ["DynamicUser", "CapabilityBoundingSet", "SystemCallFilter"])
def test_a_wall_that_is_missing_is_seen(tmp_path: Path, planted: str) -> None:
    """Without an account of its own it runs as root."""
    words = re.sub(f"(?m)^{planted}=.*\n", "", WORDS)
    assert words != WORDS
    assert analyze(tmp_path, words, *SAFE).returncode != 0


def test_it_starts_a_command_that_exists_and_reloads_without_an_end() -> None:
    [start] = said("ExecStart")
    program, command, *options = start.split()
    assert program.endswith("/askew-server")
    check_options(command, options)
    assert said("ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert said("WatchdogSec") == []  # nobody would answer it
