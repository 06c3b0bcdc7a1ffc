"""The log of a server: one line an event, with its time, its level, its name, and allowed fields.

EVENTS and FIELDS are the only events and fields that the log may have. Each field has a form, so
that even an allowed field cannot carry a signal, a slate or an address. No field is free text but
`reason`, which says what is wrong with an operator's file.

Of an exception the log tells its type's name and the line of code that raised it, which is the same
for everybody. It never looks at the exception's text or at the values in its frames: they could
hold a request.

The log is also the one door to standard error. A library does not know what is private here:
asyncio logs the text of an exception that nobody took, warnings quote source and values, and an
interpreter that ends prints a traceback with the exception's text. Of all that, the log keeps names
of types and lines of code.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import select
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from threading import Lock
from types import TracebackType
from typing import Any, TextIO

from askew_server.serving.settings import Log

_Form = Callable[[object], bool]
_MOST = 1 << 53  # whole numbers that every reader of JSON has exactly


class Level(IntEnum):
    """How much an event matters."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True)
class Event:
    """What may be told. alike: of an event that others can bring about as often as they like, the
    fields that make two lines alike; such lines come once a minute.
    """

    level: Level
    fields: tuple[str, ...] = ()
    alike: tuple[str, ...] | None = None


EVENTS: Mapping[str, Event] = {
    "ready": Event(Level.INFO, ("port", "http_port", "metrics_port")),
    "stopping": Event(Level.INFO),
    "stopped": Event(Level.INFO),
    "swapped": Event(Level.INFO, ("monday",)),
    "withdrawn": Event(Level.INFO, ("monday",)),
    "swap_refused": Event(Level.ERROR, ("error", "reason"), alike=("error", "reason")),
    "certificates_refused": Event(Level.ERROR, ("reason",), alike=("reason",)),
    "connections_limited": Event(Level.WARNING, ("count",)),
    "token_refused": Event(Level.WARNING, alike=()),
    "call_failed": Event(Level.ERROR, ("method", "error", "where"), alike=("method", "error")),
    "overload_began": Event(Level.WARNING, ("queue",)),
    "overload_ended": Event(Level.INFO, ("queue", "count", "seconds")),
    "health_changed": Event(Level.WARNING, ("service", "serving")),
    "crashed": Event(Level.ERROR, ("error", "where"), alike=("error", "where")),
    "library": Event(Level.WARNING, ("logger", "error", "where"), alike=("logger", "error")),
}

# A name of the code: a method, a class, a module with a line. Not long enough for a signal.
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")
_PLACE = re.compile(r"[A-Za-z_][\w.]{0,95}:\d{1,5}")
_PACKAGE = re.compile(r"(?=.{1,64}\Z)[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{0,300}")


def _text(pattern: re.Pattern[str]) -> _Form:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _flag(value: object) -> bool:
    return type(value) is bool


FIELDS: Mapping[str, _Form] = {
    "count": _count,
    "dropped": _count,
    "error": _text(_NAME),
    "http_port": _count,
    "queue": _text(_NAME),
    "logger": _text(_PACKAGE),
    "method": _text(_NAME),
    "metrics_port": _count,
    "monday": _text(_DAY),
    "port": _count,
    "reason": _text(_LINE),
    "seconds": _count,
    "service": _text(_PACKAGE),
    "serving": _flag,
    "suppressed": _count,
    "where": _text(_PLACE),
}


def allowed(event: Event, fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that the event has and whose values are of their form. None is no field.

    What was left out is counted as `dropped`: a mistake in a line of the log fails no call.
    """
    fields = {name: value for name, value in fields.items() if value is not None}
    kept = {
        name: value
        for name, value in fields.items()
        if name in event.fields and FIELDS[name](value)
    }
    dropped = len(fields) - len(kept)
    return kept | {"dropped": dropped} if dropped else kept


def of_error(error: BaseException) -> dict[str, object]:
    """`error` and, where it was raised, `where`."""
    told: dict[str, object] = {"error": type(error).__name__}
    place = _innermost(error.__traceback__)
    return told | {"where": place} if place else told


def _innermost(trace: TracebackType | None) -> str | None:
    """The module and the line in which a trace ends."""
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "unknown")
    return f"{module}:{trace.tb_lineno}"


_QUIET = 60.0  # seconds between two lines alike of an event that callers can bring about
_Key = tuple[object, ...]


def write_line(stream: TextIO, line: str) -> None:
    """A line for whoever reads it. A full disk, or a pipe that is full or closed, loses the line,
    ends nothing and holds nothing up.
    """
    data = f"{line}\n"
    with contextlib.suppress(OSError, ValueError):
        try:
            handle = stream.fileno()
        except OSError:  # no file at all
            stream.write(data)
            return
        # Past the stream, which would try again later what it could not write. A pipe that can be
        # written to takes a page at once.
        looked = select.poll()
        looked.register(handle, select.POLLOUT)
        if looked.poll(0):
            os.write(handle, data.encode(errors="replace"))


class EventLog:
    """Writes events to a stream, or nowhere. Safe for several threads.

    clock: seconds since 1970.
    """

    def __init__(
        self,
        stream: TextIO | None,
        config: Log | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        config = config or Log()
        self._stream, self._clock = stream, clock
        self._least = Level[config.level.upper()]
        self._line = _json if config.format == "json" else _plain
        self._told: dict[_Key, tuple[float, int]] = {}  # when last, and how often since
        self._lock = Lock()

    def log_event(self, name: str, **fields: object) -> None:
        """Write an event of the list. Raises nothing for the sake of a line: neither for a field
        that it may not have, nor for a stream that takes none.
        """
        event = EVENTS[name]
        if self._stream is None or event.level < self._least:
            return
        kept = allowed(event, fields)
        now = self._clock()
        with self._lock:
            if event.alike is not None and not self._due(
                (name, *map(kept.get, event.alike)), kept, now
            ):
                return
            head = {"time": _shown(now), "level": event.level.name.lower(), "event": name}
            write_line(self._stream, self._line(head | kept))

    def _due(self, key: _Key, kept: dict[str, object], now: float) -> bool:
        """Whether the last line alike is long ago. Then says how many were left out since."""
        last, left_out = self._told.get(key, (None, 0))
        if last is not None and 0 <= now - last < _QUIET:
            self._told[key] = (last, left_out + 1)
            return False
        if left_out:
            kept["suppressed"] = left_out
        self._told[key] = (now, 0)
        self._told = {each: told for each, told in self._told.items() if _counts(*told, now)}
        return True


def _counts(last: float, left_out: int, now: float) -> bool:
    """Whether a line that was told still matters for the next one alike."""
    return left_out > 0 or 0 <= now - last < _QUIET


def _shown(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")


def _json(fields: Mapping[str, object]) -> str:
    return json.dumps(fields)


def _plain(fields: Mapping[str, object]) -> str:
    time_, level, event, *rest = fields.items()
    head = f"{time_[1]} {str(level[1]).upper()} {event[1]}"
    return " ".join([head, *(f"{name}={_word(value)}" for name, value in rest)])


def _word(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return json.dumps(text) if " " in text or '"' in text else text


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
        self._log.log_event(
            "library", logger=package if package in sys.modules else "unknown", **told
        )


def take_over(log: EventLog) -> None:
    """Let nothing but a log's events reach standard error from this process's Python code."""
    root = logging.getLogger()
    root.handlers[:] = [ForeignLines(log)]
    root.setLevel(logging.WARNING)

    def crashed(error: BaseException | None) -> None:
        log.log_event("crashed", **of_error(error) if error is not None else {})

    def warned(*warning: Any, **_: Any) -> None:
        log.log_event("library", logger="warnings", error=warning[1].__name__)

    warnings.showwarning = warned
    sys.excepthook = lambda _, error, __: crashed(error)
    threading.excepthook = lambda hooked: crashed(hooked.exc_value)
    sys.unraisablehook = lambda hooked: crashed(hooked.exc_value)
