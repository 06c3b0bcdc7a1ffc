"""Messages with one thing wrong, and the texts that steer terminals."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from askew.errors import WireError

TOO_LONG = "x" * 501
HOSTILE_TEXTS = {
    "an escape sequence that clears the screen": "\x1b[2J",
    "an escape sequence in eight bits": "\x9b2J",
    "a title that sets the window's name": "\x1b]0;owned\x07",
    "a line break": "Alien\nThe server is fine",
    "a carriage return": "Alien\rHeat",
    "a backspace": "Alien\b",
    "a NUL": "Alien\0",
    "a direction override": "Alien \u202efdp.exe",
    "a line separator": "Alien\u2028Heat",
    "501 characters": TOO_LONG,
    "a megabyte": "x" * 2**20,
    "nothing": "",
}

CLEARED = object()  # in place of a value
Case = tuple[str, object, type[WireError]]
"""A field, by a path such as "collections.1.name", what it is set to, and the error."""


def altered(whole: Message, path: str, value: object) -> bytes:
    """Return a message's bytes with one field cleared, or set to another value."""
    changed = type(whole)()
    changed.CopyFrom(whole)
    target: Any = changed
    *way, field = path.split(".")
    for step in way:
        target = target[int(step)] if step.isdigit() else getattr(target, step)
    target.ClearField(field)
    if isinstance(value, list | tuple):
        getattr(target, field).extend(value)
    elif isinstance(value, Message):
        getattr(target, field).CopyFrom(value)
    elif value is not CLEARED:
        setattr(target, field, value)
    return bytes(changed.SerializeToString())


def accepted_parts(whole: bytes, parse: Callable[[bytes], object]) -> list[int]:
    """How long the beginnings of a message are that pass for a message."""
    accepted = []
    for length in range(len(whole)):
        with contextlib.suppress(WireError):
            parse(whole[:length])
            accepted.append(length)
    return accepted
