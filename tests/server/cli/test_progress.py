"""Long work says where it is: a moving line on a terminal, plain lines with the time in a log."""

from __future__ import annotations

import io
import sys

import pytest

from askew_server.cli.progress import Steps


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """From within a test: pytest puts a stream of its own in place before each."""
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_a_terminal_has_a_line_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_a_screen(monkeypatch)
    with Steps.shown() as steps:
        steps.step("counting")
        assert steps.status is not None
        steps.share(0.25)
        assert "counting ... 25%" in str(steps.status.status)
    assert "\x1b[" in screen.getvalue()


def test_a_log_has_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    """And, within a long one, no more than one in ten seconds."""
    clock = [100.0]
    with Steps.shown(lambda: clock[0]) as steps:
        steps.step("charging")
        clock[0] += 3
        steps.step("counting")
        for share in range(40):
            clock[0] += 1
            steps.share(share / 40)
    assert capsys.readouterr().err.splitlines() == [
        "     0 s  charging",
        "     3 s  counting",
        "    13 s  counting, 22%",
        "    23 s  counting, 48%",
        "    33 s  counting, 72%",
        "    43 s  counting, 98%",
    ]
