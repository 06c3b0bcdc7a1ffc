"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.errors import LedgerError, ParameterError

# Of their own, so that both servers run on one machine.
SERVE_PORT, RELEASES_PORT = 7571, 7575
DEFAULT_LEDGER = "askew-ledger.sqlite"
NEIGHBORS = {"add-or-remove": ADD_OR_REMOVE_ONE, "replace": REPLACE_ONE}
DEFAULT_ENGINE = "duckdb:"
PATH = click.Path(path_type=Path)

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where an operator keeps the ledger and its mark; which engine counts."""

    ledger: Path
    mark: Path | None = None
    engine: str = field(default=DEFAULT_ENGINE, repr=False)  # may hold a password
    encoding: str | None = None

    @property
    def mark_path(self) -> Path:
        """Return the path of the mark as named, or the ledger's with .mark behind its name, whether
        or not it is there.
        """
        return mark_file(self.ledger, self.mark)

    @property
    def log_encoding(self) -> str:
        """Return the encoding as named, or "utf-8": nothing of a log decides it."""
        return self.encoding or "utf-8"


class Rational(click.ParamType[Fraction]):
    """An exact number: 1, 0.5, 1e-6 or 1/3, never through a float. positive: above 0 only."""

    name = "number"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Return the exact number of a text such as "0.5", "1e-6" or "1/3". Raises
        click.BadParameter for another text, one of over 80 characters, an exponent beyond 100, and,
        where only numbers above 0 are allowed, any other.
        """
        text = str(value)
        try:
            # Fraction would spend minutes on a long exponent.
            if len(text) > 80 or abs(int(text.lower().partition("e")[2] or 0)) > 100:
                raise ValueError
            number = Fraction(text)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{text[:80]!r} is no number such as 1, 0.5, 1e-6 or 1/3", param, ctx)
        if self._positive and number <= 0:
            self.fail(f"{number} is not above 0", param, ctx)
        return number


RATIONAL = Rational()
POSITIVE = Rational(positive=True)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
k_option = click.option("-k", default=20, show_default=True, help="How many items.")
counts_option = click.option(
    "--counts",
    "share",
    is_flag=False,
    flag_value="1/2",
    default="0",
    type=RATIONAL,
    metavar="[SHARE]",
    help="Noisy counts beside the items, for this share of epsilon: 1/2 if none is named.  "
    "[default: no counts]",
)
bound_option = click.option(
    "--max-items-per-unit",
    type=int,
    help="Count no more of a person.  [default: 100 where noise or threshold depend on it, "
    "else no bound]",
)
bad_rows_option = click.option(
    "--max-bad-rows",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Refuse files of which more rows are no rows, or lack what each must have.",
)
expect_option = click.option(
    "--expect",
    metavar="USERS|FILE",
    help="How many users place k has, as far as you know without this log; or a csv with a "
    "column `count`, an item a row, such as an earlier list.",
)
_as_of_option = click.option(
    "--as-of",
    help="Your word for the state of the events, such as 2026-11-29: the same request is paid "
    "once for each. Without it, once for all.",
)
_again_option = click.option(
    "--again",
    is_flag=True,
    help="Make and pay another release of a request that was made before, or that crashed.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what it would spend, and stop.")
ledger_option = click.option(
    "--ledger",
    type=PATH,
    default=DEFAULT_LEDGER,
    show_default=True,
    envvar="ASKEW_LEDGER",
    help="The ledger of spends and releases.",
)
mark_option = click.option(
    "--mark",
    type=PATH,
    envvar="ASKEW_MARK",
    help="Its mark, best on another disk.  [default: the ledger's name with .mark]",
)


def again_options(command: _Command) -> _Command:
    """Return a command with the options --as-of and --again."""
    return _as_of_option(_again_option(command))


def ledger_options(command: _Command) -> _Command:
    """Return a command with the options --ledger and --mark."""
    return ledger_option(mark_option(command))


# Of a URL, and of words as libpq takes them.
_PASSWORD = re.compile(r"//[^/@:]*:[^@]+@|(^|[?&\s])(ssl)?password\s*=\s*.", re.IGNORECASE)


def refuse_password(address: str) -> None:
    """Raise click.BadParameter where an engine's address has a password, which the error does not
    repeat: every account of a machine sees what its programs were called with.
    """
    if _PASSWORD.search(address):
        raise click.BadParameter(
            "a password on the command line is seen by every account of this machine. Put the"
            " address into the variable ASKEW_ENGINE, or the password into the engine's own files",
            param_hint="'--engine'",
        )


def _typed_engine(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE:
        refuse_password(value)
    return value


def _known_encoding(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from askew_server.tables.text import usual_encoding  # pyarrow takes a while

    return usual_encoding(value)


_engine_option = click.option(
    "--engine",
    default=DEFAULT_ENGINE,
    show_default=True,
    envvar="ASKEW_ENGINE",
    callback=_typed_engine,
    help="What counts: duckdb:, duckdb:FILE, spark:MASTER or postgresql://...  "
    "A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
)
_encoding_option = click.option(
    "--encoding",
    callback=_known_encoding,
    help="Of files of text, such as latin-1: what is counted decides nothing about it.  "
    "[default: utf-8]",
)


def engine_options(command: _Command) -> _Command:
    """Return a command with the options --engine and --encoding."""
    return _engine_option(_encoding_option(command))


def mark_file(ledger: Path, mark: Path | None) -> Path:
    """Return the path of a ledger's mark: as named, or the ledger's with .mark behind its name."""
    return mark or ledger.with_name(ledger.name + ".mark")


def existing(ledger: Path, mark: Path | None = None) -> Path:
    """Return the ledger's path, if something is there. Raises LedgerError where nothing is: no
    command but `open` makes a ledger, and none but `accept` makes one again that was lost.
    """
    if ledger.exists():
        return ledger
    if mark_file(ledger, mark).exists():
        raise LedgerError(
            f"the ledger {ledger} is gone, and its mark {mark_file(ledger, mark)} is there: put the"
            " newest copy of the ledger back. If there is none, askew-server ledger accept begins"
            " a new one, in which all is spent that the mark knows of"
        )
    raise LedgerError(
        f"there is no ledger {ledger}: askew-server ledger open --help says how to make one, and"
        " --ledger names another"
    )


def check_new(out: Path) -> None:
    """Raise ParameterError where something, also a dangling link, is at `out`."""
    if out.exists() or out.is_symlink():
        raise ParameterError("out", str(out), "a directory that does not exist yet")


_PRIVATE_OPTIONS = (
    click.option(
        "--epsilon",
        type=POSITIVE,
        help="Make a private model, of one noisy matrix of likes, at this epsilon, such as 1.",
    ),
    click.option("--delta", type=RATIONAL, help="Of a private model: its delta, such as 1e-6."),
    click.option(
        "--expect",
        type=click.IntRange(1),
        help="Of a private model: how many people there are, as far as you know without them.",
    ),
    click.option("--ledger", type=PATH, help="Of a private model: what pays."),
    click.option("--mark", type=PATH, help="The ledger's mark."),
    click.option("--dataset", help="Whose budget pays."),
    again_options,
    dry_run_option,
    bound_option,
    engine_options,
)


@dataclass(frozen=True)
class PrivateOptions:
    """What was typed. expect: how many people, as far as the operator knows without ratings."""

    epsilon: Fraction | None
    delta: Fraction | None
    expect: int | None
    ledger: Path | None
    mark: Path | None
    dataset: str | None
    as_of: str | None
    again: bool
    dry_run: bool
    max_items_per_unit: int | None
    engine: str
    encoding: str | None

    def check_unused(self) -> None:
        """Raise click.UsageError where --delta, --expect, --ledger, --mark, --dataset,
        --as-of, --max-items-per-unit, --again or --dry-run was typed: only a private model takes
        one.
        """
        typed = (self.delta, self.expect, self.ledger, self.mark, self.dataset, self.as_of)
        is_typed = any(value is not None for value in (*typed, self.max_items_per_unit))
        if is_typed or self.again or self.dry_run:
            raise click.UsageError(
                "--delta, --expect, --ledger, --mark, --dataset, --as-of, --max-items-per-unit, "
                "--again and --dry-run are of a private model: name its --epsilon, or omit them"
            )

    @property
    def place(self) -> Workplace:
        """Return the `Workplace` of ledger, mark, engine and encoding. Raises click.UsageError
        without a ledger or a delta.
        """
        if self.ledger is None or self.delta is None:
            raise click.UsageError("a private model (--epsilon) needs --delta and --ledger, too")
        return Workplace(
            ledger=self.ledger, mark=self.mark, engine=self.engine, encoding=self.encoding
        )


def private_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of private training; it gets them as one keyword argument,
    `paying`.
    """

    @wraps(command)
    def gathered(*positional: Any, **named: Any) -> Any:
        fields = {name: named.pop(name) for name in PrivateOptions.__dataclass_fields__}
        return command(*positional, paying=PrivateOptions(**fields), **named)

    taking: Callable[..., Any] = gathered
    for option in reversed(_PRIVATE_OPTIONS):
        taking = option(taking)
    return taking
