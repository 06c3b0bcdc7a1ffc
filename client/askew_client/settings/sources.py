"""The configuration: defaults < file < environment < flags, for every setting alike.

The file is TOML in the platform's place for configurations (ASKEW_CONFIG names another); in the
environment a setting is called ASKEW_ and its name. docs/device.md lists the settings.
`settings.file` reads and changes the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from askew.address import host_of
from askew.errors import ParameterError
from askew_client.settings.app_keys import chosen_keys
from askew_client.settings.ranges import check_settings, exact_number

if TYPE_CHECKING:
    from askew_client.settings.settings import ClientSettings

Theme = Literal["dark", "light"]
DEFAULT_SERVER = "127.0.0.1:7571"


@dataclass(frozen=True)
class Config:
    """What a command works with. data is None for the platform's own places.

    chosen holds what was set of ClientSettings, each within its range. keys: the app's, of the
    file alone.
    """

    server: str
    data: Path | None
    theme: Theme
    chosen: Mapping[str, Any]
    keys: Mapping[str, str]

    @cached_property
    def settings(self) -> ClientSettings:
        """The device's settings; the first use loads numpy, after a command's first line."""
        from askew_client.settings.settings import ClientSettings

        return ClientSettings(**self.chosen)


def whole_number(name: str, value: object) -> int:
    """A whole number. Raises ParameterError."""
    if not re.fullmatch("-?[0-9]{1,9}", str(value)):
        raise ParameterError(name, value, "a whole number")
    return int(str(value))


def _decimal(name: str, value: object) -> float:
    return float(exact_number(name, value))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(name, value, "text")
    return value


def _directory(name: str, value: object) -> Path:
    """A directory that no working folder changes, because each directory has its own budget."""
    if isinstance(value, Path):
        return value  # a flag, which is typed for one run
    text = _text(name, value)
    try:
        place = Path(text).expanduser()
    except RuntimeError:  # nobody of that name
        place = Path()
    if not place.is_absolute() or "\0" in text:
        raise ParameterError(name, value, "an absolute path, or one that begins with ~")
    return place


def _consent(name: str, value: object) -> str:
    """Text, which may be empty: the last consent was withdrawn."""
    return _text(name, value) if value else ""


def _theme(name: str, value: object) -> Theme:
    match value:
        case "dark" | "light":
            return value
    raise ParameterError(name, value, "dark or light")


_PARSERS: dict[str, Callable[[str, object], object]] = {
    "mechanism": _text,
    "epsilon": exact_number,
    "k": whole_number,
    "lifetime_cap": exact_number,
    "monthly_cap": exact_number,
    "max_diameter": _decimal,
    "max_one_rating": _decimal,
    "interval": _decimal,
    "timeout": _decimal,
    "authority": _text,
    "mode": _text,
    "byte_budget": whole_number,
    "held_from": _text,
    "consent": _consent,
    "region": _text,
    "level": _text,
    "near_k": whole_number,
    "place_draw_cap": exact_number,
    "place_monthly_cap": exact_number,
    "place_lifetime_cap": exact_number,
    "max_axes_diameter": _decimal,
}
NAMES = ("server", "data", "theme", *_PARSERS)


def source_of(name: str, environment: Mapping[str, str], file: Path) -> str:
    """Where a setting that is no flag was found: its variable, or the file."""
    return _variable(name) if environment.get(_variable(name)) else str(file)


def configured(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Mapping[str, object]
) -> Config:
    """What the three sources say together; a flag that is None says nothing.

    Raises ParameterError for a name in the file that does not exist, or a value of another type or
    out of range.
    """
    for name in file:
        # "accept" was a yes to whichever server proposed it: none of them counts any more.
        if name not in (*NAMES, "keys", "accept"):
            raise ParameterError("a name of a setting", name, f"one of {', '.join(NAMES)}")
    if "authority" in file:  # which every run reads, wherever it stands
        _directory("authority", file["authority"])
    values = dict(file)
    for name in NAMES:
        if environment.get(_variable(name)):
            values[name] = environment[_variable(name)]
        if flags.get(name) is not None:
            values[name] = flags[name]
    chosen = {name: parse(name, values[name]) for name, parse in _PARSERS.items() if name in values}
    check_settings(chosen)
    server = _text("server", values.get("server", DEFAULT_SERVER))
    host_of(server)
    return Config(
        server=server,
        data=_directory("data", values["data"]) if "data" in values else None,
        theme=_theme("theme", values.get("theme", "dark")),
        chosen=chosen,
        keys=chosen_keys(file.get("keys", {})),
    )


def _variable(name: str) -> str:
    """What a setting is called in the environment."""
    return f"ASKEW_{name.upper()}"
