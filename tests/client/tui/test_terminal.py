"""The app leaves a terminal as it found it, however it ends, and draws again when it comes back."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ENTERS, LEAVES = b"\x1b[?1049h", b"\x1b[?1049l"  # the terminal's other screen
SECONDS = 120.0  # until a busy machine has started the app


class Terminal:
    """A pseudo-terminal with `askew tui --demo` in it."""

    def __init__(self, home: Path, **environment: str) -> None:
        words = [sys.executable, "-m", "askew_client", "tui", "--demo"]
        self.process, self.fd = pty.fork()
        if self.process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            os.execve(sys.executable, words, {**os.environ, "HOME": str(home), **environment})
        self.shown = b""

    def wait_for(self, text: bytes) -> bytes:
        """Read until `text` was written; return all that was."""
        start = len(self.shown)
        while text not in self.shown[start:]:
            ready, _, _ = select.select([self.fd], [], [], SECONDS)
            assert ready, self.shown[-400:]
            self.shown += os.read(self.fd, 1 << 16)
        return self.shown[start:]

    def wait_for_end(self) -> int:
        """Read until the process has ended; return its exit code, or minus its signal."""
        while True:
            ready, _, _ = select.select([self.fd], [], [], SECONDS)
            assert ready, self.shown[-400:]
            try:
                text = os.read(self.fd, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not text:
                break
            self.shown += text
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


Opening = Callable[..., Terminal]


@pytest.fixture
def terminals(home: Path) -> Iterator[Opening]:
    opened: list[Terminal] = []

    def open_one(**environment: str) -> Terminal:
        opened.append(Terminal(home, **environment))
        return opened[-1]

    yield open_one
    for terminal in opened:
        os.close(terminal.fd)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP], ids=lambda sent: sent.name)
def test_a_signal_that_ends_the_app_restores_the_terminal(
    terminals: Opening, sent: signal.Signals
) -> None:
    """Planted bug: the default action, which leaves the other screen, no echo and the mouse on."""
    terminal = terminals()
    terminal.wait_for(b"Near")
    os.kill(terminal.process, sent)
    assert terminal.wait_for_end() == 128 + sent
    assert terminal.shown.rfind(LEAVES) > terminal.shown.rfind(ENTERS)


@pytest.mark.slow
def test_the_app_draws_its_screen_when_it_comes_back(terminals: Opening) -> None:
    """Planted bug: the other screen is entered again, and stays empty until a key is pressed."""
    terminal = terminals()
    terminal.wait_for(b"Near")
    os.kill(terminal.process, signal.SIGTSTP)
    _, status = os.waitpid(terminal.process, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    terminal.wait_for(LEAVES)
    os.kill(terminal.process, signal.SIGCONT)
    terminal.wait_for(ENTERS)
    terminal.wait_for(b"Near")
    os.kill(terminal.process, signal.SIGTERM)
    terminal.wait_for_end()


def test_a_terminal_that_cannot_show_the_signs_is_refused_in_a_line(
    terminals: Opening,
) -> None:
    """Planted bug: a UnicodeEncodeError in the thread that writes, and a screen that stays dark."""
    terminal = terminals(PYTHONIOENCODING="latin-1")
    assert terminal.wait_for_end() == 1
    assert terminal.shown.startswith(b"askew: the app needs a terminal with UTF-8")
    assert ENTERS not in terminal.shown
