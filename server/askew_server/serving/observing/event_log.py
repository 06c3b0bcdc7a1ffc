"""One line an event: its time, how much it matters, its name, and fields of the allow-list."""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import TextIO

from askew_server.serving.configuration.observed import Log
from askew_server.serving.observing.events import EVENTS, Level, allowed

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
        self._process = {} if config.process is None else {"process": config.process}
        self._line = _json if config.format == "json" else _text
        self._told: dict[_Key, tuple[float, int]] = {}  # when last, and how often since
        self._lock = Lock()

    def tell(self, name: str, **fields: object) -> None:
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
            write_line(self._stream, self._line(head | self._process | kept))

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


def _text(fields: Mapping[str, object]) -> str:
    time_, level, event, *rest = fields.items()
    head = f"{time_[1]} {str(level[1]).upper()} {event[1]}"
    return " ".join([head, *(f"{name}={_word(value)}" for name, value in rest)])


def _word(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return json.dumps(text) if " " in text or '"' in text else text
