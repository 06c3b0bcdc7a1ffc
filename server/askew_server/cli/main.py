"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import os
import sys

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, Refused
from askew_server.cli.analyst import analyst
from askew_server.cli.certs import certs
from askew_server.cli.check import check
from askew_server.cli.collect import collect
from askew_server.cli.commands import Commands
from askew_server.cli.evaluate import evaluate
from askew_server.cli.explain import explain
from askew_server.cli.import_vectors import import_vectors
from askew_server.cli.ledger import ledger
from askew_server.cli.publish import publish
from askew_server.cli.rehearse import rehearse
from askew_server.cli.release import release
from askew_server.cli.releases import releases
from askew_server.cli.serve import serve
from askew_server.cli.serve_releases import serve_releases
from askew_server.cli.token import token
from askew_server.cli.train import train
from askew_server.cli.update import update
from askew_server.cli.update_live import update_live


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80}
)
@click.version_option(__version__)
def cli() -> None:
    """Train a recommendation model, answer noisy signals, publish popularity lists."""


def _exit_code(error: Exception) -> int:
    return 3 if isinstance(error, BudgetExceeded | Refused) else 1


def main() -> None:
    """Run the command; a deliberate error is one line, and exit code 3 for a budget, else 1."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would say the same again, at length
    try:
        cli()
    except (AskewError, OSError) as error:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        click.echo(f"askew-server: {error}{notes}", err=True)
        sys.exit(_exit_code(error))
    except MemoryError as error:
        click.echo(f"askew-server: {_too_large(error)}", err=True)
        sys.exit(1)


def _too_large(error: MemoryError) -> str:
    """What was being done, from the outside in, and what to do."""
    doing = ", ".join(reversed(getattr(error, "__notes__", ["this"])))
    return (
        f"{doing}: takes more memory than there is. Nothing is half-written. Give it more memory "
        "or less data: of ratings, those of fewer people"
    )


for command in (
    analyst,
    certs,
    check,
    collect,
    evaluate,
    explain,
    import_vectors,
    ledger,
    publish,
    rehearse,
    release,
    releases,
    serve,
    serve_releases,
    token,
    train,
    update,
    update_live,
):
    cli.add_command(command)
