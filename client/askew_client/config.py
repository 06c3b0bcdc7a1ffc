"""The configuration: defaults < file < environment < flags, for every setting alike.

The file is TOML in the platform's place for configurations (ASKEW_CONFIG names another); in the
environment a setting is called ASKEW_ and its name. docs/device.md lists the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askew.errors import ParameterError

if TYPE_CHECKING:
    from askew_client.settings import ClientSettings

DEFAULT_SERVER = "127.0.0.1:7571"


@dataclass(frozen=True)
class Config:
    """What a command works with. data is None for the platform's own places.

    chosen holds what was set of ClientSettings. Raises ParameterError, from `settings`, for a
    value out of range.
    """

    server: str
    data: Path | None
    chosen: Mapping[str, Any]

    @cached_property
    def settings(self) -> ClientSettings:
        """The device's settings; the first use loads numpy, after a command's first line."""
        from askew_client.settings import ClientSettings

        return ClientSettings(**self.chosen)


def exact_number(name: str, value: object) -> Fraction:
    """An exact number such as 2, 0.5 or 1/3. Raises ParameterError."""
    # Short digits only: Fraction would spend minutes on "1e99999999".
    if re.fullmatch("-?[0-9]{1,12}([./][0-9]{1,12})?", str(value)):
        try:
            return Fraction(str(value))
        except ZeroDivisionError:
            pass
    raise ParameterError(name, value, "a number such as 2, 0.5 or 1/3")


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


_PARSERS: dict[str, Callable[[str, object], object]] = {
    "mechanism": _text,
    "epsilon": exact_number,
    "k": whole_number,
    "lifetime_cap": exact_number,
    "max_diameter": _decimal,
    "timeout": _decimal,
}
NAMES = ("server", "data", *_PARSERS)


def configured(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Mapping[str, object]
) -> Config:
    """What the three sources say together; a flag that is None says nothing.

    Raises ParameterError for a name in the file that does not exist, or a value of another type.
    """
    for name in file:
        if name not in NAMES:
            raise ParameterError("a name in the configuration", name, f"one of {', '.join(NAMES)}")
    values = dict(file)
    for name in NAMES:
        if environment.get(f"ASKEW_{name.upper()}"):
            values[name] = environment[f"ASKEW_{name.upper()}"]
        if flags.get(name) is not None:
            values[name] = flags[name]
    return Config(
        server=_text("server", values.get("server", DEFAULT_SERVER)),
        data=Path(str(values["data"])).expanduser() if "data" in values else None,
        chosen={
            name: parse(name, values[name]) for name, parse in _PARSERS.items() if name in values
        },
    )


def read_file(path: Path) -> dict[str, object]:
    """The file's settings, none where there is no file. Raises ParameterError if it is no TOML."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    import tomllib

    try:
        return tomllib.loads(data.decode(), parse_float=str)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ParameterError("the configuration", str(path), "a file in TOML") from None


def changed_text(text: str, values: Mapping[str, object]) -> str:
    """A configuration's text with some settings replaced, its other lines as they were."""
    for name, value in values.items():
        if name not in NAMES:
            raise ParameterError("a name in the configuration", name, f"one of {', '.join(NAMES)}")
        plain = isinstance(value, int) and not isinstance(value, bool)
        line = f"{name} = {value}" if plain else f"{name} = {_quoted(str(value))}"
        verbatim = line.replace("\\", "\\\\")
        text, found = re.subn(rf"(?m)^\s*{name}\s*=.*$", verbatim, text, count=1)
        if not found:
            text = f"{text.rstrip()}\n{line}\n".lstrip("\n")
    return text


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not text.isprintable():
        raise ParameterError("a setting", text, "printable text")
    return f'"{escaped}"'
