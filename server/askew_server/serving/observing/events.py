"""The only events that a server's log may tell, and the only fields that they may have.

Each field has a form, so that even a field of the list cannot carry a signal, a slate or an
address: there is none for free text but `reason`, which says what is wrong with an operator's file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

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
    "ready": Event(Level.INFO, ("port", "metrics_port")),
    "stopping": Event(Level.INFO),
    "stopped": Event(Level.INFO),
    "swapped": Event(Level.INFO, ("monday",)),
    "withdrawn": Event(Level.INFO, ("monday",)),
    "swap_refused": Event(Level.ERROR, ("error", "reason"), alike=("error", "reason")),
    "certificates_refused": Event(Level.ERROR, ("reason",), alike=("reason",)),
    "connections_limited": Event(Level.WARNING, ("count",)),
    "connections_closed": Event(Level.WARNING, ("count",), alike=()),
    "token_refused": Event(Level.WARNING, ("token",), alike=("token",)),
    "call_failed": Event(Level.ERROR, ("method", "error", "where"), alike=("method", "error")),
    "overload_began": Event(Level.WARNING, ("lane",)),
    "overload_ended": Event(Level.INFO, ("lane", "count", "seconds")),
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
    "lane": _text(_NAME),
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
    "token": lambda value: value in {"garbage", "revoked", "expired"},
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
