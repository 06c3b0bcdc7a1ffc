"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from askew.errors import LedgerError
from askew.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE

DEFAULT_PORT = 7571
DEFAULT_LEDGER = "askew-ledger.sqlite"
NEIGHBORS = {"add-or-remove": ADD_OR_REMOVE_ONE, "replace": REPLACE_ONE}
FORMATS = ("table", "json", "csv")
ENGINES = ("duckdb", "spark", "postgres", "clickhouse")

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Workplace:
    """Where an operator keeps the ledger, its anchor and the bounding key, and what counts."""

    ledger: Path
    anchor: Path
    bounding_key: Path
    engine: str


class Rational(click.ParamType[Fraction]):
    """An exact number: 1, 0.5, 1e-6 or 1/3, never through a float."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """The number that the text names."""
        if isinstance(value, Fraction):
            return value
        text = str(value)
        try:
            if len(text) > 80 or abs(int(text.lower().partition("e")[2] or 0)) > 100:
                raise ValueError
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{text[:80]!r} is no number such as 1, 0.5, 1e-6 or 1/3", param, ctx)


RATIONAL = Rational()


def format_option(command: _Command) -> _Command:
    """--format table, json or csv."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How standard output is written.",
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
    """--ledger and --anchor."""
    return ledger_option(
        click.option(
            "--anchor",
            type=click.Path(path_type=Path),
            envvar="ASKEW_ANCHOR",
            help="Its anchor, best on another disk.  [default: the ledger's name with .anchor]",
        )(command)
    )


def engine_options(command: _Command) -> _Command:
    """--engine and --bounding-key."""
    command = click.option(
        "--bounding-key",
        type=click.Path(path_type=Path),
        envvar="ASKEW_BOUNDING_KEY",
        help="The secret that chooses which events count; made where there is none.  "
        "[default: the ledger's name with .bounding-key]",
    )(command)
    return click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default=ENGINES[0],
        show_default=True,
        help="Where the events are counted.",
    )(command)


def listening_options(command: _Command) -> _Command:
    """--host, --port and the hidden --with-parent."""
    options = (
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option(
            "--port",
            default=DEFAULT_PORT,
            show_default=True,
            type=click.IntRange(0, 65535),
            help="Port; 0 takes a free one.",
        ),
        click.option(
            "--with-parent", is_flag=True, hidden=True, help="Stop when standard input closes."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def address_of(host: str, port: int) -> str:
    """As gRPC wants it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bounding_key_of(ledger: Path, bounding_key: Path | None) -> Path:
    """Where the secret key of contribution bounding lies."""
    return bounding_key or ledger.with_name(ledger.name + ".bounding-key")


def anchor_of(ledger: Path, anchor: Path | None) -> Path:
    """Where the anchor lies."""
    return anchor or ledger.with_name(ledger.name + ".anchor")


def existing(ledger: Path) -> Path:
    """The path, if something is there. Raises LedgerError: no command but `open` makes a ledger."""
    if not ledger.exists():
        raise LedgerError(f"there is no ledger {ledger}; see askew-server ledger open --help")
    return ledger
