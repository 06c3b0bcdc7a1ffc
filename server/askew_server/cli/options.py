"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.errors import LedgerError

# Of their own, so that both servers run on one machine.
SERVE_PORT, RELEASES_PORT = 7571, 7575
DEFAULT_LEDGER = "askew-ledger.sqlite"
NEIGHBORS = {"add-or-remove": ADD_OR_REMOVE_ONE, "replace": REPLACE_ONE}
DEFAULT_ENGINE = "duckdb:"

# The options that say where things are.
PLACES = (
    *("ledger", "mark"),
    *("engine", "memory_limit", "encoding"),
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where an operator keeps the ledger and its mark; which engine counts."""

    ledger: Path
    mark: Path | None = None
    engine: str = field(default=DEFAULT_ENGINE, repr=False)  # may hold a password
    memory_limit: str | None = None
    encoding: str | None = None

    @property
    def mark_path(self) -> Path:
        """As named, or beside the ledger."""
        return mark_file(self.ledger, self.mark)

    @property
    def log_encoding(self) -> str:
        """As named, or UTF-8: nothing of a log decides it."""
        return self.encoding or "utf-8"


class Rational(click.ParamType[Fraction]):
    """An exact number: 1, 0.5, 1e-6 or 1/3, never through a float. positive: above 0 only."""

    name = "number"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """The number that the text names."""
        if not isinstance(value, Fraction):
            value = self._parsed(str(value), param, ctx)
        if self._positive and value <= 0:
            self.fail(f"{value} is not above 0", param, ctx)
        return value

    def _parsed(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        try:
            if len(text) > 80 or abs(int(text.lower().partition("e")[2] or 0)) > 100:
                raise ValueError
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{text[:80]!r} is no number such as 1, 0.5, 1e-6 or 1/3", param, ctx)


RATIONAL = Rational()
POSITIVE = Rational(positive=True)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def k_option(command: _Command) -> _Command:
    """-k."""
    return click.option("-k", default=20, show_default=True, help="How many items.")(command)


def counts_option(command: _Command) -> _Command:
    """--counts."""
    return click.option(
        "--counts",
        "share",
        is_flag=False,
        flag_value="1/2",
        default="0",
        type=RATIONAL,
        metavar="[SHARE]",
        help="Noisy counts beside the items, for this share of epsilon: 1/2 if none is named.  "
        "[default: no counts]",
    )(command)


def bound_option(command: _Command) -> _Command:
    """--max-items-per-unit."""
    return click.option(
        "--max-items-per-unit",
        type=int,
        help="Count no more of a person.  [default: 100 where noise or threshold depend on it, "
        "else no bound]",
    )(command)


def bad_rows_option(command: _Command) -> _Command:
    """--max-bad-rows."""
    return click.option(
        "--max-bad-rows",
        type=click.FloatRange(0, 1),
        default=0.1,
        show_default=True,
        metavar="SHARE",
        help="Refuse files of which more rows are no rows, or lack what each must have.",
    )(command)


def expect_option(command: _Command) -> _Command:
    """--expect."""
    return click.option(
        "--expect",
        metavar="USERS|FILE",
        help="How many users place k has, as far as you know without this log; or a csv with a "
        "column `count`, an item a row, such as an earlier list.",
    )(command)


def ledger_option(command: _Command) -> _Command:
    """--ledger."""
    return click.option(
        "--ledger",
        type=click.Path(path_type=Path),
        default=DEFAULT_LEDGER,
        show_default=True,
        envvar="ASKEW_LEDGER",
        help="The ledger of spends and releases.",
    )(command)


def ledger_options(command: _Command) -> _Command:
    """--ledger and --mark."""
    return ledger_option(
        click.option(
            "--mark",
            type=click.Path(path_type=Path),
            envvar="ASKEW_MARK",
            help="Its mark, best on another disk.  [default: the ledger's name with .mark]",
        )(command)
    )


_PASSWORD = re.compile(r"//[^/@:]*:[^/]+@|[?&](ssl)?password=.")


def refuse_password(address: str) -> None:
    """Raise click.BadParameter for an engine's address on the command line that has a password,
    which it does not repeat: every account of a machine sees what its programs were called with.
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
    """Return one name for one encoding: it is a part of what a paid request is known by."""
    if value is None:
        return None
    from askew_server.tables import known_encoding  # pyarrow takes a while

    return known_encoding(value)


def engine_options(command: _Command) -> _Command:
    """--engine and its settings."""
    options = (
        click.option(
            "--engine",
            default=DEFAULT_ENGINE,
            show_default=True,
            envvar="ASKEW_ENGINE",
            callback=_typed_engine,
            help="What counts: duckdb:, duckdb:FILE, spark:MASTER or postgresql://...  "
            "A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
        ),
        click.option(
            "--memory-limit", help='DuckDB\'s, such as "4GB"; what is beyond it lies in TMPDIR.'
        ),
        click.option(
            "--encoding",
            callback=_known_encoding,
            help="Of files of text, such as latin-1: what is counted decides nothing about it.  "
            "[default: utf-8]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def again_options(command: _Command) -> _Command:
    """--as-of and --again."""
    return click.option(
        "--as-of",
        help="Your word for the state of the events, such as 2026-11-29: the same request is paid "
        "once for each. Without it, once for all.",
    )(
        click.option(
            "--again",
            is_flag=True,
            help="Make and pay another release of a request that was made before, or that crashed.",
        )(command)
    )


def mark_file(ledger: Path, mark: Path | None) -> Path:
    """Return where the mark is."""
    return mark or ledger.with_name(ledger.name + ".mark")


def existing(ledger: Path) -> Path:
    """The path, if something is there. Raises LedgerError: no command but `open` makes a ledger."""
    if not ledger.exists():
        raise LedgerError(f"there is no ledger {ledger}; see askew-server ledger open --help")
    return ledger
