"""Settings of a role: declared once, in its dataclasses, and read from four sources.

    flag  >  environment  >  file  >  default

A field that `setting` makes says all that there is to know of one setting: `settings_of` lists
them, `Setting.option` gives the arguments of `click.option`, and `Table.read` takes every value by
one rule whatever its source. It refuses all that is wrong at once, also names that no setting has,
since nothing would read what was to limit something. A message names the setting, its source, what
is accepted and what stood there, but for what may be a password.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from askew.errors import ConfigError, ParameterError, maybe, shown

LARGEST: Final = 1_000_000_000  # of a whole number; gRPC takes twice as many


@dataclass(frozen=True)
class Kind:
    """What a setting may be. words: what is accepted, after "must be". read: the value that a text
    or a value of a file stands for; raises ValueError, or ParameterError with a limit of its own.
    """

    words: str
    read: Callable[[Any], Any]
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()


def _between(
    convert: Callable[[object], Any], least: Any, most: Any, words: str, metavar: str
) -> Kind:
    def read(value: object) -> Any:
        value = convert(value)
        if not least <= value <= most:  # NaN is not
            raise ValueError
        return value

    return Kind(words, read, metavar)


def _whole(value: object) -> int:
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,18}", value, re.ASCII):
        return int(value)
    if type(value) is not int:  # a bool is a number to Python
        raise ValueError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal | float):
        raise ValueError
    if isinstance(value, str) and len(value) > 40:
        raise ValueError
    return float(value)


def _exact(value: object) -> Fraction:
    if isinstance(value, str | Decimal):
        return exact_number(str(value))
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise ValueError  # also a float such as 0.1, which is not what it seems
    return Fraction(value)


def whole(least: int, most: int = LARGEST) -> Kind:
    """Return the Kind whose `read` takes ints from least to most, 10**9 by default, or their digits
    as text, and raises ValueError for all else, also a bool or 7.0.
    """
    return _between(_whole, least, most, f"a whole number from {least} to {most}", "INTEGER")


def number(least: float, most: float, unit: str = "") -> Kind:
    """Return the Kind whose `read` makes a float from least to most of an int, a float, a Decimal
    or text of at most 40 characters that `float` takes, and raises ValueError for all else,
    OverflowError for an int beyond floats. unit: text behind the limits in `words`, "a number from
    0 to 1".
    """
    return _between(_number, least, most, f"a number from {least:g} to {most:g}{unit}", "NUMBER")


def exact(least: Fraction, most: Fraction) -> Kind:
    """Return the Kind of Fractions from least to most: read from a Fraction, an int, a Decimal of a
    file, or text as `exact_number` takes, but from no float; ValueError for all else.
    """
    words = f'a number such as 2, 1/3 or "0.5", from {least} to {most}'
    return _between(_exact, least, most, words, "NUMBER")


def text(
    words: str = "text", check: Callable[[str], object] | None = None, *, empty: bool = False
) -> Kind:
    """Return the Kind whose `read` returns a text on one line, without controls, as it is;
    ValueError for all else, and what check raises (ValueError or ParameterError) for another form.
    words: what is accepted. empty: whether "" is accepted, which is not checked.
    """

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or not (value or empty):
            raise ValueError
        if value and check is not None:
            check(value)
        return value

    return Kind(words, read)


def one_of(*names: str) -> Kind:
    """Return the Kind of texts that are one of these names, to the letter: its `choices`."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError
        return value

    return Kind(f"one of {', '.join(names)}", read, f"[{'|'.join(names)}]", names)


def _read_switch(value: object) -> bool:
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        value = value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError
    return value


SWITCH: Final = Kind("true or false", _read_switch)


def several(kind: Kind) -> Kind:
    """Return the Kind of tuples of values of a kind: from a list or tuple, or text with spaces
    between, "" being ().
    """

    def read(value: object) -> tuple[Any, ...]:
        values = value.split() if isinstance(value, str) else value
        if not isinstance(values, list | tuple):
            raise ValueError
        return tuple(map(kind.read, values))

    return Kind(f"a list, each {kind.words}", read)


@dataclass(frozen=True)
class Setting:
    """One setting. name: as a file has it, with its table if it has one: "tls.key". parameter: its
    name in Python: "tls_key".

    flag: "" for what only a file and the environment say. shared: the variable of other commands
    that means the same. bare: what its flag alone means. secret: it may hold a password, and is
    never shown.
    """

    kind: Kind
    default: Any
    help: str
    flag: str = ""
    shared: str = ""
    bare: str | None = None
    secret: bool = False
    name: str = ""
    parameter: str = ""
    variable: str = ""

    def of(self, value: object, called: str) -> Any:
        """Return what the setting's kind reads a value as. called: how a message names the setting.

        Raises ParameterError, which does not show the value of a secret.
        """
        limit = self.kind.words
        try:
            return self.kind.read(value)
        except ParameterError as error:  # by a check of a text
            limit = error.limit
        except (ValueError, OverflowError):
            pass
        raise ParameterError(called, _HIDDEN if self.secret else value, limit) from None

    def option(self) -> tuple[Sequence[str], dict[str, Any]]:
        """Return names and keywords for `click.option`: (["--k", "k"], {"default": None, "help":
        "How many.  [default: 5]", "metavar": "INTEGER"}); the help alone where the default is None,
        (), 0, False or "". A switch has "--k/--no-k", metavar None and is_flag True; `bare` adds
        is_flag False and flag_value, choices shell_complete.
        """
        names, default = [self.flag], "" if self.default in {None, (), False, ""} else self.default
        keywords: dict[str, Any] = {
            "default": None,  # what was not typed says nothing
            "help": self.help + (f"  [default: {default}]" if default else ""),
            "metavar": self.kind.metavar,
        }
        if self.kind is SWITCH:
            names = [f"{self.flag}/--no-{self.flag.removeprefix('--')}"]
            keywords |= {"is_flag": True, "metavar": None}
        if self.kind.choices:
            keywords["shell_complete"] = lambda _, __, begun: [
                name for name in self.kind.choices if name.startswith(begun)
            ]
        if self.bare is not None:
            keywords |= {"is_flag": False, "flag_value": self.bare}
        return [*names, self.parameter], keywords


class _Hidden:
    """In place of what may be a password."""

    def __str__(self) -> str:
        return "something else"


_HIDDEN: Final = _Hidden()


def setting(kind: Kind, default: object, help: str = "", flag: str = "", **more: Any) -> Any:  # noqa: A002
    """Return a field of a dataclass that declares a setting; more: other fields of `Setting`.

    Without a help it is an argument of programs alone: `check` looks at it, and no source has it.
    """
    declared = Setting(kind, default, help, flag, **more)
    return field(default=default, repr=not declared.secret, metadata={"setting": declared})


def settings_of(role: type, variables: str, tables: Sequence[str] = ()) -> tuple[Setting, ...]:
    """Return the settings that a dataclass declares, in its order, of those with a help. variables:
    what their variables begin with: "ASKEW_" makes ASKEW_TLS_KEY of tls_key. tables: of the file,
    each of the fields whose names begin with its own ("tls.key"), and the first one of all others;
    () where the file has none.
    """

    def name_of(field_name: str) -> str:
        table, _, own = field_name.partition("_")
        return ".".join((table, own) if table in tables else (*tables[:1], field_name))

    return tuple(
        replace(
            each.metadata["setting"],
            name=name_of(each.name),
            parameter=each.name,
            variable=f"{variables}{each.name.upper()}",
        )
        for each in fields(role)
        if "setting" in each.metadata and each.metadata["setting"].help
    )


def check(role: object) -> None:
    """Put each declared field of an object of a dataclass into the form of its kind, in place.

    Raises ParameterError, by the name of the field, for the first that has none.
    """
    for each in fields(role):  # type: ignore[arg-type]
        if declared := each.metadata.get("setting"):
            value = declared.of(getattr(role, each.name), each.name)
            object.__setattr__(role, each.name, value)


def tables_of(data: bytes, name: str) -> dict[str, Any]:
    """Return the tables of a file in TOML, {table: {name: value}}, in which a decimal is a Decimal,
    so exact. Raises ConfigError, which calls it `name` and does not repeat it.
    """
    try:
        tables = tomllib.loads(data.decode(), parse_float=Decimal)
        repr(tables)  # ValueError for whole numbers of thousands of digits
    except UnicodeDecodeError:
        raise ConfigError(f"{name} is no text") from None
    except tomllib.TOMLDecodeError as error:
        place = str(error).rpartition(" (at ")[2].rstrip(")")  # the rest may repeat a secret
        raise ConfigError(f"{name} must be a file in TOML, and is none at {place}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise ConfigError(f"{name} must be a file in TOML") from None
    return tables


@dataclass(frozen=True)
class Table:
    """The settings of a role. prefix: of variables that no other program has, but for `others` and
    those that Kubernetes makes of Services.
    """

    settings: tuple[Setting, ...]
    prefix: str
    others: tuple[str, ...] = ()

    def read(
        self,
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        file: Mapping[str, Any],
        source: str = "the configuration",
    ) -> dict[str, Any]:
        """Return the value of every setting by its parameter, from the first source that has it:
        flag, its own variable, the shared one, file, default. All are checked, also those that do
        not count.

        flags: by parameter; None and () say nothing, and neither does an empty variable. file: its
        tables; source: its name. Raises ConfigError with all that is wrong, also names that are no
        setting.
        """
        spoken = {
            name: value
            for name, value in environment.items()
            if value and not is_of_kubernetes(name, value)
        }
        stated = dict(_flat(file))
        names = dict.fromkeys(each.name for each in self.settings)
        problems = [
            f"{shown(name)} is no setting ({source}){_meant(name, names)}"
            for name in stated.keys() - names.keys()
        ]
        variables = dict.fromkeys(each.variable for each in self.settings)
        known = variables.keys() | {self.prefix + name for name in self.others}
        problems += [
            f"{name} is no setting{_meant(name, variables)}"
            for name in spoken.keys() - known
            if name.startswith(self.prefix)
        ]
        values = {each.parameter: each.default for each in self.settings}
        for each in self.settings:
            flag = flags.get(each.parameter)
            sources = [(stated.get(each.name), f"{each.name} ({source})")]
            for variable in (each.shared, each.variable):
                sources.append((spoken.get(variable), f"{each.name} ({variable})"))
            sources.append((None if flag == () else flag, each.flag))
            # The last one counts, and all are looked at: half a file is no configuration.
            for value, called in sources:
                if value is not None:
                    try:
                        values[each.parameter] = each.of(value, called)
                    except ParameterError as error:
                        problems.append(str(error))
        if problems:
            raise ConfigError("; ".join(sorted(problems)))
        return values


def is_of_kubernetes(name: str, value: str) -> bool:
    """Return True for a variable that Kubernetes makes of a Service in the same namespace, such as
    ASKEW_SERVICE_HOST, ASKEW_PORT_7571_TCP_ADDR, or ASKEW_SERVER_PORT with tcp://10.0.0.1:7571.

    Nobody typed it, so it neither says anything nor is it a slip.
    """
    of_service = r".*_SERVICE_(HOST|PORT(_.+)?)|.*_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?"
    if name.endswith("_PORT") and re.match("(tcp|udp|sctp)://", value):
        return True
    return re.fullmatch(of_service, name) is not None


def exact_number(text: str) -> Fraction:
    """Return the Fraction of a text such as 2, -0.5 or 1/3: at most 12 digits before and after a
    point, 24 around a slash. Raises ValueError for other forms, as +2, .5 or 1e3.
    """
    # Short digits only: Fraction would spend minutes on "1e99999999". A ratio has room for what
    # 12 digits before and after a point become when they are written down again.
    if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,12})?|-?[0-9]{1,24}/0*[1-9][0-9]{0,23}", text):
        return Fraction(text)
    raise ValueError


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for table, content in tables.items():
        if isinstance(content, dict):
            yield from ((f"{table}.{name}", value) for name, value in content.items())
        else:
            yield table, content


def _meant(name: str, known: Collection[str]) -> str:
    """Return what was probably meant: a name with all its words, of another table, or like it."""
    words = {*re.split(r"[._]", name)}
    longer = [each for each in known if words <= {*re.split(r"[._]", each)}]
    own = [each for each in known if each.rpartition(".")[2] == name.rpartition(".")[2]]
    likely = own or longer
    return f" (perhaps {' or '.join(likely)})" if likely else maybe(name, known)


def host_of(server: str) -> str:
    """Return the host of "host:port", with its brackets if it has some: "[::1]" of "[::1]:7571".

    Raises ParameterError for anything else, and a port that is not from 1 to 65535.
    """
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
    """Return True for a loopback address, with or without brackets, and the text "localhost"."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
