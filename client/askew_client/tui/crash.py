"""What the app says when it fails: where, and never with which values."""

from __future__ import annotations

from typing import TypeVar

from rich.segment import Segments
from rich.traceback import Traceback
from textual.app import App

_Result = TypeVar("_Result")


class DiscreetApp(App[_Result]):
    """An app whose report of a failure has no local variables."""

    def _fatal_error(self) -> None:
        """Textual's own report prints them: titles, ratings, a passphrase being typed."""
        self.bell()
        report = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(report)))
        self._close_messages_no_wait()
