"""How a demo writes: headings, plain lines and a bar, in 80 columns of terminal text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

WIDTH = 80


class Page:
    """Writes to a console. Whatever came from a server is text, never markup."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, "bold"))

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._console.print(Text(line))

    def _starting(self, title: str) -> None:
        self._heading(title)
        self._say("Starting askew-server as a separate process ...")

    def listening(self, address: str) -> None:
        """Who answers."""
        self._say(f"It listens on {address} and is healthy.")

    @contextmanager
    def progress(self, total: int) -> Iterator[Callable[[], None]]:
        """A progress bar over draws of the noise; gone when done."""
        self._heading("4  How good is the pick?")
        columns = (TextColumn("  {task.description}"), BarColumn(30), MofNCompleteColumn())
        with Progress(*columns, console=self._console, transient=True) as bar:
            task = bar.add_task("drawing the noise again", total=total)
            yield lambda: bar.advance(task)


def table(between: int = 5) -> Table:
    """A table without lines, whose columns stand so far apart."""
    padding = (0, between - between // 2, 0, between // 2)
    return Table(box=None, pad_edge=False, header_style="dim", padding=padding)
