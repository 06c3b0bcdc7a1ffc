"""What long work shows on standard error, and how it ends where somebody stops it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # it brings pyarrow, which other commands do without
    from askew_server.tables.rows import Omissions

Clock = Callable[[], float]
_PAUSE = 10.0  # seconds between two lines that say how far one step is


class Steps:
    """Prints the steps of one piece of work on standard error, each with the seconds since this was
    made.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._step = clock, "checking"
        self._started = self._said = clock()

    def step(self, name: str) -> None:
        """Print on standard error that a step of this name begins, behind the seconds, in six
        places, since this object was made: "     3 s  counting".
        """
        self._step = name
        self._line(name)

    def share(self, done: float) -> None:
        """Print on standard error how much of the step is done, from 0 to 1, as
        "    14 s  counting, 40%"; nothing within ten seconds of the line before.
        """
        if self._clock() - self._said >= _PAUSE:
            self._line(f"{self._step}, {done:.0%}")

    def _line(self, text: str) -> None:
        self._said = self._clock()
        click.echo(f"{self._said - self._started:6.0f} s  {text}", err=True)


@contextmanager
def when_stopped(said: str = "\nstopped") -> Iterator[None]:
    """End the process in order where Ctrl-C or SIGTERM stops the body of the `with`: print `said`
    on standard error, and exit with 130 for Ctrl-C and 143 for SIGTERM. Ctrl-C at a question is a
    click.Abort, as a no is, and passes.
    """
    is_terminated = False

    def terminate(_: int, __: FrameType | None) -> None:
        nonlocal is_terminated
        is_terminated = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except (KeyboardInterrupt, click.Abort) as stop:
        if isinstance(stop, click.Abort) and not is_terminated:
            raise
        click.echo(said, err=True)
        sys.exit(128 + (signal.SIGTERM if is_terminated else signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, before)


def show_omissions(left_out: Omissions, unknown: Omissions | None = None) -> None:
    """Print on standard error how a table was read ("note: ..."), which rows were left out of it
    ("2 rows of films.csv left out:", then a line a reason), and which values are unknown, likewise;
    nothing where there is none of these.
    """
    for note in left_out.notes:
        click.echo(f"note: {note}", err=True)
    for omissions, what, words in (
        (left_out, "row", "left out:"),
        (unknown, "value", "unknown, or in part; their rows stay:"),
    ):
        if omissions is not None and omissions.count:
            count = f"{omissions.count:,} {what}{'s' * (omissions.count > 1)}"
            click.echo(f"{count} of {Path(omissions.table).name} {words}", err=True)
            for line in omissions.lines:
                click.echo(f"  {line}", err=True)
