"""The protocol has no field that names a person, a device or a time."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_message_on_the_wire_names_a_person_a_device_or_a_time() -> None:
    """Planted bug: a session, a device id or a clock in the protocol."""
    protos = sorted((ROOT / "proto").rglob("retrieval.proto"))  # analysts' tokens are another's
    fields = [
        name
        for proto in protos
        for name in re.findall(
            r"^\s*(?:repeated )?\w+ (\w+) = \d+;", proto.read_text(), re.MULTILINE
        )
    ]
    telling = {"account", "client", "clock", "cookie", "device", "id", "person", "session"}
    telling |= {"time", "timestamp", "token", "user", "uuid"}
    assert [name for name in fields if telling & set(name.split("_"))] == []
    assert "values" in fields
