"""The lines that a server's log writes while a test runs."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from askew_server.serving.log import JsonFormatter


class Lines(io.StringIO):
    """What was written."""

    @property
    def events(self) -> list[dict[str, object]]:
        found = [json.loads(line) for line in self.getvalue().splitlines()]
        return [{name: each[name] for name in each if name != "time"} for each in found]


@contextmanager
def logged() -> Iterator[Lines]:
    """Yield lines as they come, of every level."""
    lines = Lines()
    handler, log = logging.StreamHandler(lines), logging.getLogger("askew_server.serving")
    handler.setFormatter(JsonFormatter())
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
