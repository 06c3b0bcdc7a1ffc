"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import os
import sys

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, Refused
from askew_server.cli.commands import Commands

# The module of each: what runs is imported, and nothing of the others.
_MODULES = {
    "analyst": "analyst",
    "certs": "certs",
    "check": "check",
    "collect": "collect",
    "evaluate": "evaluate",
    "explain": "explain",
    "import": "import_vectors",
    "ledger": "ledger",
    "publish": "publish",
    "rehearse": "rehearse",
    "release": "release",
    "releases": "releases",
    "serve": "serve",
    "serve-releases": "serve_releases",
    "token": "token",
    "train": "train",
    "update": "update",
    "update-live": "update_live",
}


@click.group(
    cls=Commands,
    modules={name: f"askew_server.cli.{module}" for name, module in _MODULES.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
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
