"""The configuration's file, in TOML: read, and changed in place.

Comments and the lines of other settings stay as they are. A file is replaced whole or not at all,
and it is mode 0600 from then on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from askew.errors import ConfigError, ParameterError
from askew_client.settings.sources import configured
from askew_client.storage.private_files import replace_file

if TYPE_CHECKING:
    from fractions import Fraction

_STRING = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''


def read_file(path: Path) -> dict[str, object]:
    """The file's settings, none where there is no file. Raises ParameterError if it is no TOML."""
    try:
        return _parsed(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except ValueError:  # no text, or no TOML
        raise ParameterError("the configuration", str(path), "a file in TOML") from None


class ConfigFile:
    """A configuration that keeps what a person chooses in the app."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, values: Mapping[str, object]) -> None:
        """Change these settings in the file, which is made where there is none.

        Raises ConfigError, in which case the file is as it was.
        """
        try:
            path = Path(os.path.realpath(self.path))  # a link stays one
            before = path.read_bytes().decode() if path.exists() else ""
            replace_file(path, _checked_text(before, values))
        except OSError as error:
            raise ConfigError(f"{self._name} cannot be written: {error.strerror}") from None
        except ValueError:
            reason = "has something in it that this program cannot read, and was left alone"
            raise ConfigError(f"{self._name} {reason}") from None

    def lifetime_cap(self) -> Fraction:
        """The cap that the file says, or the default one. Raises ConfigError."""
        from askew_client.settings.settings import ClientSettings

        try:
            chosen = configured({}, {}, read_file(self.path)).chosen
        except (OSError, ParameterError):
            raise ConfigError(f"{self._name} cannot be read, and was left alone") from None
        cap: Fraction = chosen.get("lifetime_cap", ClientSettings.lifetime_cap)
        return cap

    @property
    def _name(self) -> str:
        return f"the configuration {self.path}"


def changed_text(text: str, values: Mapping[str, object]) -> str:
    """A configuration's text with some settings replaced, all else as it was.

    Settings stand before the first table, such as that of the keys.
    """
    table = re.search(r"(?m)^[ \t]*\[", text)
    text, tables = (text[: table.start()], text[table.start() :]) if table else (text, "")
    for name, value in values.items():
        line = f"{name} = {_as_toml(value)}"
        verbatim = line.replace("\\", "\\\\")
        pattern = rf"(?m)^[ \t]*{name}[ \t]*=[ \t]*(?:{_STRING}|[^\s#]+)"
        text, found = re.subn(pattern, verbatim, text, count=1)
        if not found:
            text = f"{text.rstrip()}\n{line}\n".lstrip("\n")
            text += "\n" if tables else ""
    return text + tables


def _checked_text(text: str, values: Mapping[str, object]) -> str:
    """The changed text, if it says what it said before but for these values. Raises ValueError."""
    changed = changed_text(text, values)
    _check_whole(changed)
    if _parsed(changed) != _parsed(text) | _parsed(changed_text("", values)):
        raise ValueError
    return changed


def _check_whole(text: str) -> None:
    """Raises ValueError for a text that no command would start with."""
    configured({}, {}, _parsed(text))


def _parsed(text: str) -> dict[str, object]:
    import tomllib  # most devices have no file

    try:
        found = tomllib.loads(text, parse_float=str)
        repr(found)  # ValueError for whole numbers of thousands of digits
    except RecursionError:
        raise ValueError from None
    return found


def _as_toml(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = str(value)
    if not text.isprintable():
        raise ParameterError("a setting", text, "printable text")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
