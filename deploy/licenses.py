"""The licenses of every distribution of a lock file; it fails for one that nobody has looked at.

    python deploy/licenses.py requirements.lock

A license is what a distribution says of itself in SPDX; where it says nothing that a program can
read, what somebody has read stands in deploy/licenses.toml, beside the licenses that are allowed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

TABLE = Path(__file__).with_name("licenses.toml")


@dataclass(frozen=True)
class Known:
    """Which licenses are allowed, and which somebody has read, by distribution."""

    allowed: frozenset[str]
    tools: frozenset[str]  # allowed of what is only developed with
    read: Mapping[str, str]


def known() -> Known:
    """The table beside this file."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return Known(frozenset(table["allowed"]), frozenset(table["tools"]), table["read"])


def locked(lock: str) -> dict[str, str]:
    """The distributions of a lock file, and a version of each."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, re.MULTILINE))


def license_of(name: str, table: Known) -> str | None:
    """In SPDX; None where nobody knows."""
    if name in table.read:
        return table.read[name]
    try:
        said = metadata(name).get_all("License-Expression")
    except PackageNotFoundError:
        return None
    return said[0] if said else None


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """One side of each OR, with all that AND adds to it. Parentheses are read by people."""
    sides = expression.split(" OR ")
    return any(all(each in allowed for each in side.split(" AND ")) for side in sides)


def complaints(names: Iterable[str], table: Known, shipped: frozenset[str]) -> list[str]:
    """shipped: what a server is installed with, of which more is asked."""
    found = []
    for name in names:
        expression = license_of(name, table)
        allowed = table.allowed if name in shipped else table.allowed | table.tools
        if expression is None:
            found.append(f"{name}: no license that is known")
        elif not is_allowed(expression, allowed):
            found.append(f"{name}: {expression} is not allowed")
    return found


def main(paths: list[str]) -> int:
    """The exit code."""
    versions: dict[str, str] = {}
    for path in paths:
        versions |= locked(Path(path).read_text(encoding="utf-8"))
    server = Path("requirements-server.lock").read_text(encoding="utf-8")
    table = known()
    for name, version in sorted(versions.items()):
        print(f"{name:28}{version:20}{license_of(name, table)}")
    wrong = complaints(versions, table, frozenset(locked(server)))
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
