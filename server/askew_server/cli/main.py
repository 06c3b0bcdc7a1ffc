"""The command `askew-server`: train a model, serve it, publish popularity lists.

Errors of its commands name what a person typed: the option, or the variable it came from.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, ConfigError, ParameterError, Refused

# Commands that are not in a module of their name, as a function of its name.
_ELSEWHERE = {
    "import": ("train", "import_vectors"),  # Python has another use for the word
    "serve-releases": ("serve", "serve_releases"),
    "update": ("train", "update"),
    "update-live": ("collect", "update_live"),
}


class Commands(click.Group):
    """A group that imports a command when it is named, and explains its errors. Its function has
    the name of its module, but for those elsewhere.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, sorted."""
        return sorted(_COMMANDS)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list "Commands" to `formatter`: each name with a line about it, sorted by name.
        Imports no command.
        """
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command as click does, imported the first time; None for a name that there is
        not.
        """
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            own = cmd_name.replace("-", "_")
            module, name = _ELSEWHERE.get(cmd_name, (own, own))
            found = getattr(import_module(f"askew_server.cli.{module}"), name)
            _explain(found)
            self.add_command(found, cmd_name)
        return super().get_command(ctx, cmd_name)


# A ParameterError of an option becomes wrong usage of that option.
def _explain(command: click.Command) -> None:
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _explain(each)
    elif command.callback is not None:
        command.callback = _explained(command.callback)


def _explained(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def explained(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context()
        try:
            return callback(*args, **kwargs)
        except ConfigError as error:
            raise click.UsageError(str(error), context) from None
        except AskewError as error:
            if not isinstance(error, ParameterError):
                raise
            name = ("-" if len(error.name) == 1 else "--") + error.name.replace("_", "-")
            for option in context.command.params:
                if name in option.opts:
                    text = str(error).removeprefix(error.name)
                    raise click.BadParameter(f"it{text}", context, option) from None
            raise

    return explained


# What the list of commands says of each. What runs is imported, and
# nothing of the others.
_COMMANDS = {
    "analyst": "Ask for the most popular items, from a budget that an operator granted.",
    "certs": "Make certificates to develop with, in DIRECTORY.",
    "collect": "Make a model of collections: items on a map or on lines.",
    "explain": "Say how good a released list will be, the best mechanism first.",
    "import": "Make a model of vectors that another model has: embeddings, factors.",
    "ledger": "Budgets: open them, look at them, give some to analysts.",
    "publish": "Write what devices hold of a model, for any static HTTPS host.",
    "release": "Publish the most popular items of a log of events, with differential privacy.",
    "releases": "Stored releases.",
    "serve": "Answer noisy signals until SIGTERM or Ctrl-C.",
    "serve-releases": "Serve stored releases to everybody and, with --tokens, answers to analysts.",
    "train": "Train a model on ratings.",
    "update": "Make a new catalog in a model's space, without training.",
    "update-live": "Replace live values of collections, also while they are served.",
}


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__)
def cli() -> None:
    """Train a recommendation model, answer noisy signals, publish popularity lists.

    Exit codes: 0 done, 1 an error, 2 wrong usage or no command, 3 refused, as by a budget, 130
    stopped, also by a no, 143 ended by SIGTERM. A server that is stopped ends with 0.
    """


def exit_code(error: Exception) -> int:
    """Return the exit code of a command that raised this error: 3 for BudgetExceeded and Refused,
    else 1.
    """
    return 3 if isinstance(error, BudgetExceeded | Refused) else 1


def main() -> None:
    """Run the command of `sys.argv` and exit: 0 done, 2 wrong usage. An AskewError or OSError is
    one line on standard error, "askew-server: ...", and ends the process with `exit_code`; so does
    a MemoryError, with 1. A no, or Ctrl-C, is "stopped" and 130.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would say the same again, at length
    try:
        code = cli.main(standalone_mode=False, prog_name="askew-server")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except (AskewError, OSError) as error:
        click.echo(f"askew-server: {error}", err=True)
        sys.exit(exit_code(error))
    except MemoryError:
        click.echo(
            "askew-server: this takes more memory than there is. Nothing is half-written. Give it"
            " more memory or less data: of ratings, those of fewer people",
            err=True,
        )
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
