"""The one door to standard error: what other packages say passes it without its words.

A library does not know what is private here. asyncio logs the text of an exception that nobody
took, warnings quote source and values, and an interpreter that ends prints a traceback with the
exception's text. Of all that, names of types and lines of code remain.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from typing import Any

from askew_server.serving.observing.event_log import EventLog
from askew_server.serving.observing.told_errors import of_error


class ForeignLines(logging.Handler):
    """Tells which package logged something of weight, and the type of its exception."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Looks neither at the message nor at its arguments."""
        error = record.exc_info[1] if record.exc_info else None
        told = of_error(error) if error is not None else {"error": record.levelname}
        package = record.name.partition(".")[0]
        self._log.tell("library", logger=package if package in sys.modules else "unknown", **told)


def take_over(log: EventLog) -> None:
    """Let nothing but a log's events reach standard error from this process's Python code."""
    root = logging.getLogger()
    root.handlers[:] = [ForeignLines(log)]
    root.setLevel(logging.WARNING)

    def crashed(error: BaseException | None) -> None:
        log.tell("crashed", **of_error(error) if error is not None else {})

    def warned(*warning: Any, **_: Any) -> None:
        log.tell("library", logger="warnings", error=warning[1].__name__)

    warnings.showwarning = warned
    sys.excepthook = lambda _, error, __: crashed(error)
    threading.excepthook = lambda hooked: crashed(hooked.exc_value)
    sys.unraisablehook = lambda hooked: crashed(hooked.exc_value)
