"""The command `askew`: ask in private, list the catalog, watch a demo.

A person's ratings come from a file or standard input, never from the command line, which other
programs on the machine can read.
"""

from __future__ import annotations

import asyncio
import datetime
import io
import json
import os
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, ProfileError, TransportError

if TYPE_CHECKING:
    from askew_client.settings import ClientSettings, MechanismName

DEFAULT_SERVER = "127.0.0.1:7571"


class RationalNumber(click.ParamType[Fraction]):
    """An exact number: 2, 0.5 or 1/3."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """The number, or a usage error."""
        try:
            # Short digits only: Fraction would spend minutes on "1e99999999".
            if re.fullmatch("-?[0-9]{1,12}([./][0-9]{1,12})?", str(value)):
                return Fraction(str(value))
        except ZeroDivisionError:
            pass
        return self.fail(f"{value!r} is not a number such as 2, 0.5 or 1/3", param, ctx)


_k = click.option("-k", default=8, show_default=True, help="Results to ask for.")
_epsilon = click.option(
    "--epsilon",
    default="4",
    show_default=True,
    type=RationalNumber(),
    help="Privacy loss of one signal, per unit distance or by bucket; smaller is more private.",
)
_mechanism = click.option(
    "--mechanism",
    default="geo_laplace",
    show_default=True,
    type=click.Choice(["geo_laplace", "bucket_rr"]),
    help="Noise on a point, or a bucket named truthfully or not.",
)
_server = click.option(
    "--server", default=DEFAULT_SERVER, show_default=True, help="The server, as host:port."
)


@click.group(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 80,
        "auto_envvar_prefix": "ASKEW",
    }
)
@click.version_option(__version__)
def cli() -> None:
    """Recommendations for a question that leaves this device bent by noise.

    Every option can also be set in the environment, as ASKEW_COMMAND_OPTION.

    Exit codes: 1 an error, 2 wrong usage, 3 the budget is spent, 4 no answer from a server, 130
    stopped.
    """


@cli.command()
@click.option(
    "--ratings",
    required=True,
    type=click.File("r", encoding="utf-8-sig"),
    help='A csv file "title,rating", or - for standard input. It stays on this device.',
)
@_server
@_k
@_epsilon
@_mechanism
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the budget ledger.")
@click.option("--json", "as_json", is_flag=True, help="Print the ranking as JSON.")
def ask(
    ratings: TextIO,
    server: str,
    k: int,
    epsilon: Fraction,
    mechanism: MechanismName,
    data: Path | None,
    as_json: bool,
) -> None:
    """Ask once, and rank the results in private.

    One noisy signal is drawn and charged each month; asking again sends the same one.

    \b
    Examples:
      askew ask --ratings my-ratings.csv
      askew ask --ratings - --json < my-ratings.csv
    """
    from askew_client.asking import ask_once
    from askew_client.paths import data_directory, ledger_file

    settings = _settings(k, epsilon, mechanism)
    try:
        lines = ratings.read().splitlines()
    except UnicodeDecodeError:
        raise ProfileError("the file of ratings is not text in UTF-8") from None
    ledger = ledger_file(data or data_directory())
    ranking = asyncio.run(ask_once(settings, server, lines, _today(), ledger))
    if as_json:
        click.echo(json.dumps(ranking.as_json(), ensure_ascii=False))
        return
    for line in ranking.as_lines():
        click.echo(line)


@cli.command()
@_server
def catalog(server: str) -> None:
    """List the titles that can be rated and recommended.

    The whole catalog is fetched, by everybody, so that it says nothing of whom it is for.

    \b
    Example:
      askew catalog | grep -i alien
    """
    from askew_client.asking import fetch_catalog

    for item in asyncio.run(fetch_catalog(server)).items:
        click.echo(f"{item.label}\t{', '.join(item.genres)}")


@cli.command()
@_k
@_epsilon
@click.option(
    "--draws",
    default=300,
    show_default=True,
    type=click.IntRange(200),
    help="How often to draw the noise when measuring.",
)
def demo(k: int, epsilon: Fraction, draws: int) -> None:
    """Play one made-up person's exchange against a server on this machine.

    \b
    Example:
      askew demo -k 16 --epsilon 1
    """
    from rich.console import Console

    from askew_client.demo import play
    from askew_client.demo_screen import WIDTH, DemoScreen

    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    asyncio.run(play(_settings(k, epsilon), _today(), draws, DemoScreen(console)))


def main() -> None:
    """Run the command; an error is one line, and its kind is the exit code."""
    # gRPC's own log repeats text of the server, control characters and all.
    os.environ["GRPC_VERBOSITY"] = "NONE"
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our characters
    try:
        cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt, asyncio.CancelledError):
        click.echo("stopped", err=True)
        sys.exit(130)
    except (AskewError, OSError) as error:
        click.echo(f"askew: {error}", err=True)
        sys.exit(_exit_code(error))


def _exit_code(error: Exception) -> int:
    if isinstance(error, BudgetExceeded):
        return 3
    return 4 if isinstance(error, TransportError) else 1


def _settings(
    k: int, epsilon: Fraction, mechanism: MechanismName = "geo_laplace"
) -> ClientSettings:
    from askew_client.settings import ClientSettings

    return ClientSettings(mechanism=mechanism, epsilon=epsilon, k=k)


def _today() -> str:
    from askew_client.settings import slot_of

    return slot_of(datetime.date.today())  # the device's own calendar
