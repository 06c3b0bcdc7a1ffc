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


@pytest.mark.parametrize(
    ("name", "expression"),
    [("numpy", "GPL-3.0-only"), ("numpy", "MIT AND AGPL-3.0-only"), ("numpy", "MPL-2.0")],
)
def test_a_license_that_nobody_allowed_is_seen(name: str, expression: str) -> None:
    """A server is shipped with less than what it is developed with may have."""
    known = replace(KNOWN, read={name: expression})
    assert licenses.complaints([name], known, SHIPPED) == [f"{name}: {expression} is not allowed"]


def test_a_tool_may_have_a_license_that_a_server_may_not() -> None:
    assert licenses.complaints(["hypothesis"], KNOWN, SHIPPED) == []
    assert licenses.complaints(["hypothesis"], KNOWN, SHIPPED | {"hypothesis"}) != []


def test_a_distribution_that_nobody_looked_at_is_seen() -> None:
    [complaint] = licenses.complaints(["no-such-distribution"], KNOWN, SHIPPED)
    assert complaint == "no-such-distribution: no license that is known"
