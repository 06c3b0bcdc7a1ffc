"""What long work shows on standard error: a moving line on a terminal, plain lines in a log."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.status import Status

Clock = Callable[[], float]
_PAUSE = 10.0  # seconds between two lines that say how far one step is


@dataclass
class Steps:
    """Tells the steps of one piece of work. status: where there is a terminal."""

    status: Status | None = None
    clock: Clock = time.monotonic
    _step: str = "checking"
    _started: float = field(init=False)
    _said: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self._said = self.clock()

    @classmethod
    @contextmanager
    def shown(cls, clock: Clock = time.monotonic) -> Iterator[Steps]:
        """Yield steps that are shown on standard error until the body of the `with` ends: as a
        moving line on a terminal, else as plain lines.
        """
        steps = cls(clock=clock)
        with _status(cls._step) as steps.status:
            try:
                yield steps
            except MemoryError as error:
                error.add_note(steps._step)  # `main` shows it
                raise

    def step(self, name: str) -> None:
        """Show that a step of this name begins."""
        self._step = name
        if self.status is None:
            self._line(name)
        else:
            self.status.update(f"{name} ...")
            self.status.start()

    def share(self, done: float) -> None:
        """Show how much of the step is done, from 0 to 1; in a log at most every ten seconds."""
        if self.status is not None:
            self.status.update(f"{self._step} ... {done:.0%}")
        elif self.clock() - self._said >= _PAUSE:
            self._line(f"{self._step}, {done:.0%}")

    def pause(self) -> None:
        """Leave the terminal to what is said or asked now, until the next step."""
        if self.status is not None:
            self.status.stop()

    def _line(self, text: str) -> None:
        self._said = self.clock()
        click.echo(f"{self._said - self._started:6.0f} s  {text}", err=True)


@contextmanager
def _status(step: str) -> Iterator[Status | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{step} ...") as status:
        yield status


class _Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def when_stopped(said: str = "\nstopped") -> Iterator[None]:
    """End the process in order where Ctrl-C or SIGTERM stops the body of the `with`: with these
    words, and the exit code that a shell gives the signal.
    """

    def terminate(_: int, __: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt as stop:
        click.echo(said, err=True)
        number = signal.SIGTERM if isinstance(stop, _Terminated) else signal.SIGINT
        sys.exit(128 + number)
    finally:
        signal.signal(signal.SIGTERM, before)
