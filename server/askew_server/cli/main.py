"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import os
import sys

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, Refused
from askew_server.cli.commands import Commands

# What the list of commands says of each; "" for one that it leaves out. What runs is imported, and
# nothing of the others.
_COMMANDS = {
    "analyst": "Ask for the most popular items, from a budget that an operator granted.",
    "certs": "Make an authority and a server's certificate in DIRECTORY, to develop with.",
    "check": "Check a configuration, its models, its certificates and its ledger.",
    "collect": "Make a model of collections: items on a map, on lines or on rings.",
    "evaluate": "Compare the ways to answer a signal, always beside the slate that knows nothing.",
    "explain": "Say how good a released list will be, the best mechanism first.",
    "import": "Make a model of vectors that another model has: embeddings, factors.",
    "ledger": "Budgets: open them, look at them, give some to analysts.",
    "publish": "Write what devices hold of a model, for any static HTTPS host.",
    "rehearse": "",
    "release": "Publish the most popular items of a log of events, with differential privacy.",
    "releases": "Stored releases.",
    "serve": "Answer noisy signals until SIGTERM or Ctrl-C.",
    "serve-releases": "Serve stored releases to everybody and, with --token-key, answers to "
    "analysts.",
    "token": "Who may ask the Analyst service: make its key, mint tokens with it.",
    "train": "Train a model on ratings.",
    "update": "Make a new catalog in a model's space, without training.",
    "update-live": "Replace live values of collections, also while they are served.",
}


@click.group(
    cls=Commands,
    listed=_COMMANDS,
    package="askew_server.cli",
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
