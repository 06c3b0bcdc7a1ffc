"""The command `askew`: the group of its commands, and errors as words and exit codes.

What a person likes comes from a file, standard input or a prompt, never from the command line,
which other programs on the machine can read. Commands import what they need when they run.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from pathlib import Path

import click

from askew import __version__
from askew.errors import (
    AskewError,
    BudgetExceeded,
    LedgerError,
    LedgerRefused,
    NotShown,
    OtherKind,
    ParameterError,
    PlaceError,
    ServerFailed,
    StaleSpace,
    TransportError,
    UnclearTown,
    WireError,
    maybe,
)
from askew_client.storage.guard import switch_off_core_dumps

_COMMANDS = ("ask", "budget", "catalog", "demo", "near", "place", "profile", "refresh", "tui")
# Commands that live in another's module; every other has a module of its own name.
_MODULES = {"catalog": "ask", "demo": "tui", "refresh": "ask"}


class _LazyCommands(click.Group):
    """A command's module is imported when the command is named, and nothing of the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, a list of text, sorted."""
        return sorted({*_COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, whose module is imported the first time; None where
        there is none.
        """
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            module = import_module(f"askew_client.cli.{_MODULES.get(cmd_name, cmd_name)}")
            self.add_command(getattr(module, cmd_name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and the arguments that remain, as click does. Raises
        click.UsageError for an unknown name, which says the nearest name, if one is near.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            nearest = maybe(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.message}{nearest}", ctx) from None


@click.group(
    cls=_LazyCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__)
@click.option(
    "--config",
    "config_file",
    # A mistyped name would mean the defaults, perhaps with another epsilon.
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    envvar="ASKEW_CONFIG",
    show_envvar=True,
    help="The configuration file, in TOML.",
)
@click.pass_context
def cli(context: click.Context, config_file: Path | None) -> None:
    """Get recommendations in private: what leaves this device is noisy, or nothing.

    \b
    Examples:
      askew profile import my-ratings.csv
      askew ask
      askew place add home --region DE
      askew near pharmacies --place home
      askew budget
      askew tui --demo

    A setting comes from its flag, else from the environment (such as ASKEW_SERVER), else from the
    configuration file, else it is the default.

    Exit codes: 0 done, 1 an error, 2 wrong usage, 3 the budget is spent, or a cost needs your yes,
    4 no usable answer from a server, 130 stopped, also by a no. Without a command this help goes to
    standard error, with code 2.
    """
    context.obj = config_file


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      askew completion bash > ~/.local/share/bash-completion/completions/askew
      askew completion zsh > ~/.zfunc/_askew
      askew completion fish > ~/.config/fish/completions/askew.fish
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    if completion is None:  # click knows all three
        raise click.UsageError(f"no completion for {shell}")
    root = context.find_root().command
    click.echo(completion(root, {}, "askew", "_ASKEW_COMPLETE").source())


def main() -> None:
    """Run the command and exit with its code. An AskewError or OSError is one line on standard
    error, "askew: ...", with the code of `exit_code`; wrong usage is code 2; a no, or Ctrl-C, is
    "stopped" and code 130.
    """
    switch_off_core_dumps()
    # gRPC's own log repeats text of the server, control characters and all.
    os.environ["GRPC_VERBOSITY"] = "NONE"
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our characters
    try:
        code = cli.main(standalone_mode=False, prog_name="askew")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except (AskewError, OSError) as error:
        click.echo(f"askew: {_in_words(error)}", err=True)
        sys.exit(exit_code(error))
    sys.exit(code if isinstance(code, int) else 0)


def _in_words(error: Exception) -> str:
    # Of a server that failed, nobody needs to be asked whether it runs; of towns, all is said.
    if not isinstance(error, AskewError) or isinstance(error, ServerFailed | UnclearTown):
        return str(error)
    hinted = TransportError | OtherKind | NotShown | BudgetExceeded | PlaceError | LedgerError
    hinted |= StaleSpace
    no_region = isinstance(error, ParameterError) and (error.name, error.value) == ("region", "")
    if not (isinstance(error, hinted) or no_region):
        return str(error)
    from askew_client.views.problems import problem_of

    return f"{error}. {problem_of(error).hint}"


def exit_code(error: Exception) -> int:
    """Return the exit code of a command that raised this error: 3 for a spent budget, a refusing
    ledger or NotShown, 4 for a server without a usable answer, else 1.
    """
    if isinstance(error, BudgetExceeded | LedgerRefused | NotShown):
        return 3
    return 4 if isinstance(error, TransportError | WireError) else 1
