"""The log of a server: one line of JSON an event, with its time, level, name, and allowed fields.

EVENTS and FIELDS are the only events and fields that the log may have: a promise to those who ask.
Each field has a form, so that even an allowed field cannot carry a signal, a slate or an address.
No field is free text but `reason`, which says what is wrong with an operator's file.

Of an exception the log tells its type's name and the line of code that raised it, which is the same
for everybody. It never looks at the exception's text or at the values in its frames: they could
hold a request. Of what libraries say it keeps names of types and packages.
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import sys
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

_LOGGER = logging.getLogger("askew_server.serving")
_INFO, _WARNING, _ERROR = logging.INFO, logging.WARNING, logging.ERROR

EVENTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "ready": (_INFO, ("port", "http_port", "metrics_port")),
    "stopping": (_INFO, ()),
    "stopped": (_INFO, ()),
    "swapped": (_INFO, ("monday",)),
    "withdrawn": (_INFO, ("monday",)),
    "swap_refused": (_ERROR, ("error", "reason")),
    "certificates_changed": (_INFO, ()),
    "certificates_refused": (_ERROR, ("reason",)),
    "token_refused": (_WARNING, ()),
    "call_failed": (_ERROR, ("method", "error", "where")),
    "health_changed": (_WARNING, ("service", "serving")),
    "crashed": (_ERROR, ("error", "where")),
    "library": (_WARNING, ("logger", "error", "where")),
}
"""Their levels and fields."""

_OFTEN = {"call_failed", "crashed", "library", "token_refused"}
"""What others can bring about as often as they like: lines alike come once a minute."""

# A name of the code: a method, a class, a module with a line. Not long enough for a signal.
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")
_PLACE = re.compile(r"[A-Za-z_][\w.]{0,95}:\d{1,5}")
_PACKAGE = re.compile(r"(?=.{1,64}\Z)[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{0,300}")
_PORT = range(1 << 16)

FIELDS: Mapping[str, re.Pattern[str] | range] = {
    "error": _NAME,
    "http_port": _PORT,
    "logger": _PACKAGE,
    "method": _NAME,
    "metrics_port": _PORT,
    "monday": _DAY,
    "port": _PORT,
    "reason": _LINE,
    "service": _PACKAGE,
    "serving": range(2),
    "where": _PLACE,
}
"""Their forms."""


def has_form(name: str, value: object) -> bool:
    """Return True for a value that the log's field of this name, one of `FIELDS`, may have: ports
    from 0 to 65535, a date for "monday", names of code and the like. Raises KeyError for another
    name.
    """
    form = FIELDS[name]
    if isinstance(form, range):
        return isinstance(value, int) and value in form
    return isinstance(value, str) and form.fullmatch(value) is not None


def log_event(name: str, **fields: object) -> None:
    """Write an event of `EVENTS` to the log; a field that is None is left out. reason: becomes one
    printable line of at most 300 characters. Raises KeyError for another event.
    """
    if "reason" in fields:
        plain = "".join(c if c.isprintable() else " " for c in str(fields["reason"]))
        fields["reason"] = " ".join(plain.split())[:300] or None
    _LOGGER.log(EVENTS[name][0], name, extra={"fields": fields})


def of_error(error: BaseException) -> dict[str, object]:
    """Return the fields `error`, the name of the error's type, and, where it was raised, `where`:
    the innermost module and line, "module:12".
    """
    told: dict[str, object] = {"error": type(error).__name__}
    trace = error.__traceback__
    if trace is None:
        return told
    while trace.tb_next is not None:
        trace = trace.tb_next
    return told | {"where": f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"}


class JsonFormatter(logging.Formatter):
    """Formats events of the list, and of any other record the package and the type of its error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON for a record, without a line end: time, as
        "2026-11-23T08:00:00.000+00:00", level ("info"), event ("library" for others'
        records, without their text) and its fields. What its event may not have is left out, and
        counted as `dropped`; a field of None is left out.
        """
        name, fields = _event_of(record)
        said = {name: value for name, value in fields.items() if value is not None}
        kept = {
            field: value
            for field, value in said.items()
            if field in EVENTS[name][1] and has_form(field, value)
        }
        if len(kept) < len(said):
            kept["dropped"] = len(said) - len(kept)
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "level": record.levelname.lower(), "event": name} | kept)


def _event_of(record: logging.LogRecord) -> tuple[str, Mapping[str, object]]:
    if record.name == _LOGGER.name and record.msg in EVENTS:
        return record.msg, getattr(record, "fields", {})
    error = record.exc_info[1] if record.exc_info else None
    package = record.name.partition(".")[0]
    told = of_error(error) if error is not None else {"error": record.levelname}
    return "library", {"logger": package if package in sys.modules else "unknown", **told}


class _Lines(logging.StreamHandler[TextIO]):
    """Writes lines. A full disk, or a pipe that is full or closed, loses the line, ends nothing and
    holds nothing up.
    """

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            try:
                handle = self.stream.fileno()
            except OSError:  # no file at all
                super().emit(record)
                return
            # Past the stream, which would try again later what it could not write. A pipe that can
            # be written to takes a page at once.
            looked = select.poll()
            looked.register(handle, select.POLLOUT)
            if looked.poll(0):
                os.write(handle, f"{self.format(record)}\n".encode(errors="replace"))


class _OnceAMinute(logging.Filter):
    """Lets pass one line a minute of those alike: where somebody's calls fail, the disk stays."""

    def __init__(self) -> None:
        super().__init__()
        self._last = dict[tuple[object, ...], float]()

    def filter(self, record: logging.LogRecord) -> bool:
        name, fields = _event_of(record)
        if name not in _OFTEN:
            return True
        key = (name, *map(fields.get, ("logger", "method", "error")))
        now, last = record.created, self._last.get(key)
        if last is not None and 0 <= now - last < 60:
            return False
        self._last = {each: at for each, at in self._last.items() if 0 <= now - at < 60}
        self._last[key] = now
        return True


def start_log(stream: TextIO) -> None:
    """Write to `stream`, from now on and as lines of JSON alone, own events, warnings of libraries,
    and errors that nobody caught. Of what others can bring about, lines alike come once a minute.
    What code prints to standard error itself passes unchanged.
    """
    handler = _Lines(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(_OnceAMinute())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.INFO)
    logging.raiseExceptions = False  # else it quotes what it cannot write

    def crashed(error: BaseException | None) -> None:
        log_event("crashed", **(of_error(error) if error is not None else {}))

    def warned(*warning: Any, **_: Any) -> None:
        log_event("library", logger="warnings", error=warning[1].__name__)

    warnings.showwarning = warned
    sys.excepthook = lambda _, error, __: crashed(error)
    threading.excepthook = lambda hooked: crashed(hooked.exc_value)
    sys.unraisablehook = lambda hooked: crashed(hooked.exc_value)
