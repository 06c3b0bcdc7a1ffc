"""A server's configuration file, in TOML: every name known, every value of its kind.

All that is wrong is found at once, each with its name, what was said and what would be accepted.

A file that only its owner may read: a key.

What a look at a configuration finds.

Variables of the environment that look like settings and are none: nothing would read them.
"""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from askew.errors import AccessError, ConfigError, shown
from askew_server.serving.configuration.keys import BY_NAME, KEYS, Key

_MOST = 1 << 20


def read_private(path: Path) -> bytes:
    """What a key file holds, a megabyte at most.

    Raises AccessError where others could read it. A file that root gave to a group, as one who
    mounts secrets does, may be read by that group.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_mode & _exposed(found.st_uid):
                raise AccessError(f"the key file {path} must be a regular file of mode 0600")
            return file.read(_MOST)
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be read: {error.strerror}") from None


def _exposed(owner: int) -> int:
    """The bits of a mode that a file of this owner must not have."""
    given = owner == 0 and os.geteuid() != 0
    return 0o037 if given else 0o077


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: in order, worth a look, or wrong. text: one line."""

    health: Literal["ok", "warn", "fail"]
    name: str
    text: str


@dataclass(frozen=True)
class FileValues:
    """What a file says, by the names of keys, and what is wrong with the rest."""

    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> FileValues:
    """Raises ConfigError for a file that cannot be read or is no TOML."""
    try:
        tables = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        place = str(error).rpartition(" (at ")[2].rstrip(")")  # the rest may repeat a secret
        raise ConfigError(f"{path} is no TOML, at {place}") from None
    except ValueError:
        raise ConfigError(f"{path} is no text") from None
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in _flat(tables):
        key = BY_NAME.get(name)
        if key is None:
            problems.append(_unknown(name))
            continue
        try:
            values[name] = checked(key, value)
        except ValueError:
            problems.append(wrong(key, value))
    return FileValues(values, tuple(problems))


def checked(key: Key, value: object) -> object:
    """A value of a key. Raises ValueError."""
    if not key.several:
        return key.kind.checked(value)
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(key.kind.checked(each) for each in value)


def wrong(key: Key, value: object) -> str:
    """What is wrong with a value, which is shown unless it may hold a password."""
    got = "something else" if key.secret else shown(value)
    return f"{key.name} must be {key.words}, got {got}"


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for table, content in tables.items():
        if isinstance(content, dict):
            for name, value in content.items():
                yield f"{table}.{name}", value
        else:
            yield table, content


def _unknown(name: str) -> str:
    """With the name that was probably meant: of the same table, or the same in another."""
    own = name.rpartition(".")[2]
    elsewhere = [each for each in BY_NAME if each.rpartition(".")[2] == own]
    near = elsewhere or difflib.get_close_matches(name, BY_NAME, n=1)
    advice = f"; did you mean {near[0]}?" if near else ""
    return f"{shown(name)} is no setting{advice}"


_PREFIX = "ASKEW_SERVER_"
_KNOWN = {each.variable for each in KEYS} | {"ASKEW_SERVER_CONFIG"}


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """A line for each, without its value, with the name that was probably meant."""
    for name in sorted(set(names) - _KNOWN):
        if name.startswith(_PREFIX):
            near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.8)
            advice = f"; did you mean {near[0]}?" if near else ""
            yield f"{name} is no setting{advice}"
