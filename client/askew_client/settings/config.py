"""The configuration: flags, environment and file, the file changed in place, and where a device's
files lie.

The file is TOML in the platform's place for configurations (ASKEW_CONFIG names another); in the
environment a setting is called ASKEW_ and its name. When the app changes the file, comments and the
lines of other settings stay as they are. A file is replaced whole or not at all, and it is mode
0600 from then on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import platformdirs

from askew.errors import AskewError, ConfigError, ParameterError
from askew.settings import Kind, Table, host_of, one_of, setting, settings_of, tables_of, text
from askew_client.settings.settings import ClientSettings, absolute

if TYPE_CHECKING:
    from fractions import Fraction

Theme = Literal["dark", "light"]
DEFAULT_SERVER = "127.0.0.1:7571"
_OF_SERVER = "ASKEW_SERVER_"


@dataclass(frozen=True)
class Config:
    """What a command works with. data is None for the platform's own places. keys: of the app, by
    the name of what they do.
    """

    server: str = setting(
        text(check=host_of),
        DEFAULT_SERVER,
        "The server, as host:port; TLS for all but this machine.",
        "--server",
    )
    data: Path | None = setting(  # absolute, because each directory has its own budget
        Kind("an absolute path, or one that begins with ~", absolute, "DIRECTORY"),
        None,
        "The directory of the profile, the ledger and its mark.",
        "--data",
    )
    theme: Theme = setting(one_of("dark", "light"), "dark", "How the app begins.")
    settings: ClientSettings = field(default_factory=ClientSettings)
    keys: Mapping[str, str] = field(default_factory=dict)


SETTINGS: Final = Table(
    (*settings_of(Config, "ASKEW_"), *settings_of(ClientSettings, "ASKEW_")),
    "ASKEW_",
    # What other programs of this project read in the same environment, beside ASKEW_SERVER_...
    (
        *("ANALYST_SERVER", "CONFIG", "ENGINE", "LEDGER", "MARK", "TOKEN_FILE", "WITH_PARENT"),
        *("BENCH_ROWS", "BROWSERS", "ENGINES"),
    ),
)


@dataclass(frozen=True)
class DeviceFiles:
    """The files of one person: profile, ledger, the ledger's mark in another directory, and the
    directory of what is held of each server's catalog.
    """

    profile: Path
    ledger: Path
    mark: Path
    held: Path


def places(directory: str | Path | None) -> DeviceFiles:
    """Return the paths of the files in a directory (~ is the home), or (None) in the platform's
    places for data and for state; nothing is made. Raises ParameterError for what is no path: "",
    ~ and the name of nobody, another type.
    """
    try:
        # No text at all is no path: it would be the directory where one stands.
        if directory is not None and (not str(directory) or "\0" in str(directory)):
            raise ValueError
        named = None if directory is None else Path(directory).expanduser()
    except (TypeError, ValueError, RuntimeError):  # the last of a home of nobody
        limit = "a path, or None for the platform's own"
        raise ParameterError("directory", directory, limit) from None
    data = named or Path(platformdirs.user_data_dir("askew", appauthor=False))
    state = named or Path(platformdirs.user_state_dir("askew", appauthor=False))
    mark = state / "mark" / "signals.json"
    return DeviceFiles(data / "profile.sqlite", data / "signals.sqlite", mark, data / "held")


def config_file() -> Path:
    """Return the path of the person's configuration, "config.toml" in the platform's place."""
    return Path(platformdirs.user_config_dir("askew", appauthor=False)) / "config.toml"


def configured(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    file: Mapping[str, Any],
    source: str = "the configuration",
) -> Config:
    """Return what the three sources say together: flags before environment before file, else the
    defaults; a flag that is None says nothing. source: what messages call the file. Raises
    ConfigError with all that is wrong.
    """
    keys = dict(_keys_of(file.get("keys", {}), source))
    values = SETTINGS.read(
        flags,
        {name: value for name, value in environment.items() if not name.startswith(_OF_SERVER)},
        {name: value for name, value in file.items() if name != "keys"},
        source,
    )
    own = {each.name: values.pop(each.name) for each in fields(Config) if each.name in values}
    return Config(**own, settings=ClientSettings(**values), keys=keys)


def _keys_of(table: object, source: str, of: str = "") -> Iterator[tuple[str, str]]:
    # near.ask is a name, quoted or not.
    for name, value in table.items() if isinstance(table, dict) else [("", table)]:
        if isinstance(value, dict) and not of:
            yield from _keys_of(value, source, f"{name}.")
        elif isinstance(value, str) and value:
            yield f"{of}{name}", value
        else:
            raise ConfigError(f'in {source}, a line of [keys] is a name and a key: near.ask = "x"')


def read_file(path: Path) -> dict[str, Any]:
    """Return the TOML tables of the file as a dict, decimals as Decimal; {} where there is no file.
    Raises ConfigError for what is no TOML in UTF-8, OSError for a file that cannot be read.
    """
    try:
        return tables_of(path.read_bytes(), f"the configuration {path}")
    except FileNotFoundError:
        return {}


class ConfigFile:
    """A configuration that keeps what a person chooses in the app."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, values: Mapping[str, object]) -> None:
        """Write these settings, by name, to the file, which is made where there is none; comments
        and other lines stay.

        Raises ConfigError, in which case the file is as it was.
        """
        import tomlkit

        from askew_client.storage.private_files import replace_file  # with SQLite: not at a start

        try:
            path = Path(os.path.realpath(self.path))  # a link stays one
            before = path.read_bytes().decode() if path.exists() else ""
            document = tomlkit.parse(before)
            for name, value in values.items():
                document[name] = value if isinstance(value, int) else str(value)
            changed = tomlkit.dumps(document)
            # Refused unless a command would start with it.
            configured({}, {}, tables_of(changed.encode(), self._name))
            replace_file(path, changed.encode())
        except OSError as error:
            raise ConfigError(f"{self._name} cannot be written: {error.strerror}") from None
        except (AskewError, ValueError, RecursionError):
            reason = "has something in it that this program cannot read, and was left alone"
            raise ConfigError(f"{self._name} {reason}") from None

    def lifetime_cap(self) -> Fraction:
        """Return the lifetime cap of ratings that the file says, or the default one where it says
        none. Raises ConfigError for a file that cannot be read.
        """
        try:
            return configured({}, {}, read_file(self.path)).settings.rating_lifetime_cap
        except (OSError, AskewError):
            raise ConfigError(f"{self._name} cannot be read, and was left alone") from None

    @property
    def _name(self) -> str:
        return f"the configuration {self.path}"
