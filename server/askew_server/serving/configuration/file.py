"""A server's configuration file, in TOML: every name known, every value of its kind.

All that is wrong is found at once, each with its name, what was said and what would be accepted.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askew.errors import ConfigError, shown
from askew_server.serving.configuration.keys import BY_NAME, Key


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
