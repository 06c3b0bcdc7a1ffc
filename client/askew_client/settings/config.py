"""The configuration: flags, environment and file, and the file changed in place.

The file is TOML in the platform's place for configurations (ASKEW_CONFIG names another); in the
environment a setting is called ASKEW_ and its name. docs/reference/settings.md is made from the
table. When the app changes the file, comments and the lines of other settings stay as they are. A
file is replaced whole or not at all, and it is mode 0600 from then on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from askew.errors import AskewError, ConfigError, ParameterError, maybe
from askew.settings import OneOf, Setting, Text, file_values, host_of, said, tables_of
from askew_client.settings.settings import ASKED, ClientSettings

if TYPE_CHECKING:
    from fractions import Fraction

Theme = Literal["dark", "light"]
DEFAULT_SERVER = "127.0.0.1:7571"


@dataclass(frozen=True)
class Config:
    """What a command works with. data is None for the platform's own places. keys: of the app, by
    the name of what they do.
    """

    server: str
    data: Path | None
    theme: Theme
    settings: ClientSettings
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _AbsolutePath:
    """A directory that no working folder changes, because each directory has its own budget."""

    words: str = "an absolute path, or one that begins with ~"

    def of(self, value: object) -> Path:
        """A path is that of a flag, which is typed for one run."""
        if isinstance(value, Path):
            return value
        if not isinstance(value, str) or "\0" in value:
            raise ValueError
        try:
            place = Path(value).expanduser()
        except RuntimeError:  # nobody of that name
            raise ValueError from None
        if not place.is_absolute():
            raise ValueError
        return place


SETTINGS: Final = (
    Setting(
        "server",
        Text(check=host_of),
        "ASKEW_SERVER",
        default=DEFAULT_SERVER,
        help="The server, as host:port; TLS for all but this machine.",
    ),
    Setting(
        "data",
        _AbsolutePath(),
        "ASKEW_DATA",
        help="The directory of the profile, the ledger and its mark.",
    ),
    Setting(
        "theme",
        OneOf(("dark", "light")),
        "ASKEW_THEME",
        default="dark",
        help="How the app begins.",
    ),
    *ASKED,
)


# What other programs of this project read in the same environment, beside ASKEW_SERVER_...
_OTHER_PROGRAMS: Final = frozenset(
    f"ASKEW_{name}"
    for name in (
        *("ANALYST_SERVER", "CERTIFICATE", "CERTIFICATE_KEY", "ENGINE", "LEDGER", "MARK"),
        *("TOKEN_FILE", "WITH_PARENT", "BENCH_ROWS", "BROWSERS", "ENGINES"),
    )
)


def configured(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    file: Mapping[str, Any],
    source: str = "the configuration",
) -> Config:
    """What the three sources say together; a flag that is None says nothing. source: the file.

    Raises ConfigError for a name in the file or the environment that does not exist, and
    ParameterError for a value of another type or out of range.
    """
    _check_variables(environment)
    keys = dict(_keys_of(file.get("keys", {}), source))
    found = file_values({k: v for k, v in file.items() if k != "keys"}, SETTINGS, source)
    if found.problems:
        raise found.problems[0]
    if "authority" in file:  # which every run reads, wherever it stands
        Setting("authority", _AbsolutePath(), "").of(file["authority"], source)
    everything = said(SETTINGS, flags=flags, environment=environment, file=found.values)
    values = {name: each.value for name, each in everything.items()}
    asked = {each.name: values[each.name] for each in ASKED if values[each.name] is not None}
    settings = ClientSettings(**asked)
    return Config(values["server"], values["data"], values["theme"], settings, keys)


def _check_variables(environment: Mapping[str, str]) -> None:
    """Raise ConfigError, without a value, for a variable that looks like a setting and is none:
    nothing would read it, and what it was to limit would be spent.
    """
    known = [*(each.variable for each in SETTINGS), "ASKEW_CONFIG"]
    for name in sorted(environment.keys() - set(known) - _OTHER_PROGRAMS):
        if name.startswith("ASKEW_") and not name.startswith("ASKEW_SERVER_") and environment[name]:
            longer = [each for each in known if {*name.split("_")} <= {*each.split("_")}]
            advice = f" (perhaps {' or '.join(longer)})" if longer else maybe(name, known)
            raise ConfigError(f"{name} is no setting{advice}")


def _keys_of(table: object, source: str, of: str = "") -> Iterator[tuple[str, str]]:
    """Each name and its key; near.ask is a name, quoted or not. Raises ConfigError."""
    for name, value in table.items() if isinstance(table, dict) else [("", table)]:
        if isinstance(value, dict) and not of:
            yield from _keys_of(value, source, f"{name}.")
        elif isinstance(value, str) and value:
            yield f"{of}{name}", value
        else:
            raise ConfigError(f'in {source}, a line of [keys] is a name and a key: near.ask = "x"')


def read_file(path: Path) -> dict[str, Any]:
    """The file's tables, none where there is no file. Raises ConfigError if it is no TOML."""
    try:
        return tables_of(path.read_bytes(), f"the configuration {path}")
    except FileNotFoundError:
        return {}


class ConfigFile:
    """A configuration that keeps what a person chooses in the app."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, values: Mapping[str, object]) -> None:
        """Change these settings in the file, which is made where there is none.

        Raises ConfigError, in which case the file is as it was.
        """
        from askew_client.storage.private_files import replace_file  # with SQLite: not at a start

        try:
            path = Path(os.path.realpath(self.path))  # a link stays one
            before = path.read_bytes().decode() if path.exists() else ""
            replace_file(path, _checked_text(before, values))
        except OSError as error:
            raise ConfigError(f"{self._name} cannot be written: {error.strerror}") from None
        except (AskewError, ValueError):
            reason = "has something in it that this program cannot read, and was left alone"
            raise ConfigError(f"{self._name} {reason}") from None

    def lifetime_cap(self) -> Fraction:
        """The cap that the file says, or the default one. Raises ConfigError."""
        try:
            return configured({}, {}, read_file(self.path)).settings.rating_lifetime_cap
        except (OSError, AskewError):
            raise ConfigError(f"{self._name} cannot be read, and was left alone") from None

    @property
    def _name(self) -> str:
        return f"the configuration {self.path}"


_STRING = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''


def changed_text(text: str, values: Mapping[str, object]) -> str:
    """A configuration's text with some settings replaced, all else as it was."""
    table = re.search(r"(?m)^[ \t]*\[", text)  # settings stand before the first, keys in it
    text, rest = (text[: table.start()], text[table.start() :]) if table else (text, "")
    for name, value in values.items():
        line = f"{name} = {_as_toml(value)}"
        verbatim = line.replace("\\", "\\\\")
        pattern = rf"(?m)^[ \t]*{name}[ \t]*=[ \t]*(?:{_STRING}|[^\s#]+)"
        text, found = re.subn(pattern, verbatim, text, count=1)
        if not found:
            text = f"{text.rstrip()}\n{line}\n".lstrip("\n")
    return text + rest


def _checked_text(text: str, values: Mapping[str, object]) -> str:
    """The changed text, if a command would start with it, and it says what it said before but for
    these values. Raises ValueError, ConfigError.
    """
    changed = changed_text(text, values)
    configured({}, {}, _parsed(changed))
    if _parsed(changed) != _parsed(text) | _parsed(changed_text("", values)):
        raise ValueError
    return changed


def _parsed(text: str) -> dict[str, Any]:
    return tables_of(text.encode(), "the configuration")


def _as_toml(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = str(value)
    if not text.isprintable():
        raise ParameterError("a setting", text, "printable text")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
