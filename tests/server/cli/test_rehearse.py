"""`askew-server rehearse`, which `askew demo` plays: its answers are tested there."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nearest", "a line must be a way to answer and a question in base64"),
        ("nearest no-base-64!", "a line must be a way to answer and a question in base64"),
        ("nearest AAAA", "askew-server: "),
    ],
)
def test_a_line_that_is_no_question_is_one_line_of_complaint(line: str, complaint: str) -> None:
    command = [sys.executable, "-m", "askew_server", "rehearse"]
    done = subprocess.run(command, input=f"{line}\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    [told] = done.stderr.splitlines()
    assert told.startswith("askew-server: ")
    assert complaint in told
