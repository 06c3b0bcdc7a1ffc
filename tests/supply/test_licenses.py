"""Whatever is locked has a license that somebody allowed."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
SERVER = (ROOT / "requirements-server.lock").read_text(encoding="utf-8")

_spec = importlib.util.spec_from_file_location("licenses", ROOT / "deploy/licenses.py")
assert _spec is not None and _spec.loader is not None  # noqa: PT018
licenses = importlib.util.module_from_spec(_spec)
sys.modules["licenses"] = licenses  # as its dataclasses need
_spec.loader.exec_module(licenses)
KNOWN = licenses.known()
SHIPPED = frozenset(licenses.locked(SERVER))


def test_all_that_is_locked_has_a_license_that_is_allowed() -> None:
    names = licenses.locked(LOCK)
    assert len(names) > 80
    assert licenses.complaints(names, KNOWN, SHIPPED) == []


@pytest.mark.parametrize("expression", ["MIT AND AGPL-3.0-only", "MPL-2.0"])
def test_a_license_that_nobody_allowed_is_seen(expression: str) -> None:
    """A server is shipped with less than what it is developed with may have."""
    read = replace(KNOWN, read={"numpy": expression})
    assert licenses.complaints(["numpy"], read, SHIPPED) == [f"numpy: {expression} is not allowed"]
    assert licenses.complaints(["hypothesis"], KNOWN, SHIPPED) == []
    assert licenses.complaints(["hypothesis"], KNOWN, SHIPPED | {"hypothesis"}) != []
    [complaint] = licenses.complaints(["no-such-distribution"], KNOWN, SHIPPED)
    assert complaint == "no-such-distribution: no license that is known"
