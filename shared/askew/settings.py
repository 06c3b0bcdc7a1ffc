"""Settings of a command: what each may be, and what its four sources say.

    flag  >  environment  >  file  >  default

Each command has a table of settings. Everything else about them is here: kinds and ranges, the
precedence, TOML, and messages. A value is checked by the same rule whatever its source, and a
message names the setting, the source, what is accepted and what was given. Text is read as the
number or the word that it spells, since flags and variables are text. `host_of` reads where a
server is, as people write it: host:port.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, Protocol

from askew.errors import AskewError, ConfigError, ParameterError, maybe, shown

LARGEST: Final = 1_000_000_000  # of a whole number; gRPC takes twice as many
Origin = Literal["flag", "environment", "file", "default"]


class ValueKind(Protocol):
    """A type of settings, with its range."""

    @property
    def words(self) -> str:
        """What is accepted, after "must be"."""

    def of(self, value: object) -> object:
        """The value that a text or a value of a file means. Raises ValueError."""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int = LARGEST

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a whole number from {self.least} to {self.most}"

    def of(self, value: object) -> int:
        """Digits, and nothing else that Python would take; no bool, which is a number to Python."""
        if isinstance(value, str) and re.fullmatch("-?[0-9]{1,18}", value, re.ASCII):
            value = int(value)
        if type(value) is not int or not self.least <= value <= self.most:
            raise ValueError
        return value


@dataclass(frozen=True)
class Number:
    """A number that need not be whole."""

    least: float
    most: float
    unit: str = ""

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a number from {self.least:g} to {self.most:g}{self.unit}"

    def of(self, value: object) -> float:
        """Written so that NaN is refused too."""
        if isinstance(value, str) and len(value) <= 40:
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not self.least <= value <= self.most:
            raise ValueError
        return float(value)


@dataclass(frozen=True)
class Exact:
    """An exact number, as a Fraction, an int or text. A float such as 0.1 is not what it seems."""

    least: Fraction
    most: Fraction

    @property
    def words(self) -> str:
        """With both ends."""
        return f'a number such as 2, 1/3 or "0.5", from {self.least} to {self.most}'

    def of(self, value: object) -> Fraction:
        """Never through a float."""
        if isinstance(value, str):
            value = exact_number(value)
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            raise ValueError
        if not self.least <= value <= self.most:
            raise ValueError
        return Fraction(value)


@dataclass(frozen=True)
class Text:
    """Text on one line. check: raises ValueError for a text of another form. empty: none is one."""

    words: str = "text"
    check: Callable[[str], object] | None = None
    empty: bool = False

    def of(self, value: object) -> str:
        """As it is, without controls."""
        if not isinstance(value, str) or not value.isprintable():
            raise ValueError
        if not value and not self.empty:
            raise ValueError
        if value and self.check is not None:
            self.check(value)
        return value


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(self.names)}"

    def of(self, value: object) -> str:
        """One of them."""
        if not isinstance(value, str) or value not in self.names:
            raise ValueError
        return value


@dataclass(frozen=True)
class Switch:
    """Yes or no."""

    words: str = "true or false"

    def of(self, value: object) -> bool:
        """As TOML writes it; no number, which would be true to Python."""
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            value = value.lower() == "true"
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Setting:
    """One setting. name: as a file has it, with its table if it has one: "server.port".

    variable: of the environment. shared: one of other commands that means the same. flags: none
    for what only a file and the environment say. several: a list in a file. bare: what its flag
    alone means. secret: it may hold a password, and is never shown.
    """

    name: str
    kind: ValueKind
    variable: str
    default: Any = None
    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    shared: str | None = None
    several: bool = False
    bare: str | None = None
    secret: bool = False

    @property
    def parameter(self) -> str:
        """Its name in Python."""
        return self.name.replace(".", "_")

    @property
    def words(self) -> str:
        """What a file may say, after "must be"."""
        return f"a list, each {self.kind.words}" if self.several else self.kind.words

    def variable_in(self, environment: Mapping[str, str]) -> str | None:
        """The variable that says it; an empty one says nothing."""
        names = [name for name in (self.variable, self.shared) if name and environment.get(name)]
        return names[0] if names else None

    def of(self, value: object, source: str = "") -> Any:
        """The value. source: the variable or the file that says so. Raises ParameterError."""
        limit = self.words
        try:
            if not self.several:
                return self.kind.of(value)
            values = value.split() if isinstance(value, str) else value
            if isinstance(values, list | tuple):
                return tuple(self.kind.of(each) for each in values)
        except ParameterError as error:  # by a check of a text
            limit = error.limit
        except ValueError:
            pass
        name = f"{self.name} ({source})" if source else self.name
        raise ParameterError(name, _Hidden() if self.secret else value, limit) from None


class _Hidden:
    """In place of what may be a password."""

    def __str__(self) -> str:
        return "something else"


@dataclass(frozen=True)
class FileValues:
    """What a file says, by the names of settings, and what is wrong with the rest."""

    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[AskewError, ...] = ()


@dataclass(frozen=True)
class Said:
    """What a setting is, and who said so."""

    value: Any
    origin: Origin


def tables_of(data: bytes, name: str) -> dict[str, Any]:
    """A file in TOML; decimals stay text, so that 0.1 is exact. Raises ConfigError."""
    import tomllib  # most devices have no file

    try:
        found = tomllib.loads(data.decode(), parse_float=str)
        repr(found)  # ValueError for whole numbers of thousands of digits
    except UnicodeDecodeError:
        raise ConfigError(f"{name} is no text") from None
    except tomllib.TOMLDecodeError as error:
        place = str(error).rpartition(" (at ")[2].rstrip(")")  # the rest may repeat a secret
        raise ConfigError(f"{name} must be a file in TOML, and is none at {place}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{name} must be a file in TOML") from None
    return found


def file_values(
    tables: Mapping[str, Any], settings: Iterable[Setting], source: str = ""
) -> FileValues:
    """What a file says of these settings, and all that is wrong with it."""
    known = {each.name: each for each in settings}
    values: dict[str, Any] = {}
    problems: list[AskewError] = []
    for name, value in _flat(tables):
        setting = known.get(name)
        if setting is None:
            problems.append(ConfigError(_unknown(name, known, source)))
            continue
        try:
            values[name] = setting.of(value, source)
        except ParameterError as error:
            problems.append(error)
    return FileValues(values, tuple(problems))


def said(
    settings: Iterable[Setting],
    *,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    file: Mapping[str, Any],
) -> dict[str, Said]:
    """What all sources say together. flags: by parameter; None and () say nothing. file: values
    that were checked. Raises ParameterError.
    """
    found: dict[str, Said] = {}
    for each in settings:
        variable, flag = each.variable_in(environment), flags.get(each.parameter)
        if flag is not None and flag != ():
            found[each.name] = Said(each.of(flag), "flag")
        elif variable is not None:
            found[each.name] = Said(each.of(environment[variable], variable), "environment")
        elif each.name in file:
            found[each.name] = Said(file[each.name], "file")
        else:
            found[each.name] = Said(each.default, "default")
    return found


def exact_number(text: str) -> Fraction:
    """An exact number such as 2, 0.5 or 1/3. Raises ValueError."""
    # Short digits only: Fraction would spend minutes on "1e99999999". A ratio has room for what
    # 12 digits before and after a point become when they are written down again.
    if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,12})?|-?[0-9]{1,24}/0*[1-9][0-9]{0,23}", text):
        return Fraction(text)
    raise ValueError


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for table, content in tables.items():
        if isinstance(content, dict):
            for name, value in content.items():
                yield f"{table}.{name}", value
        else:
            yield table, content


def _unknown(name: str, known: Iterable[str], source: str) -> str:
    """With the name that was probably meant: of the same table, or the same in another."""
    own = name.rpartition(".")[2]
    elsewhere = [each for each in known if each.rpartition(".")[2] == own]
    advice = f" (perhaps {elsewhere[0]})" if elsewhere else maybe(name, known)
    return f"{shown(name)} is no setting{f' ({source})' if source else ''}{advice}"


def host_of(server: str) -> str:
    """The host of "host:port". Raises ParameterError for anything else."""
    host, colon, port = server.rpartition(":") if isinstance(server, str) else ("", "", "")
    if not (
        colon
        and host
        and "/" not in host
        and re.fullmatch("[0-9]{1,5}", port)
        and 0 < int(port) < 65536
    ):
        raise ParameterError("server", server, "host:port, such as 127.0.0.1:7571")
    return host


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
