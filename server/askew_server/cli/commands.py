"""Commands whose errors name what a person typed: the option, or the variable it came from."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from askew.errors import AskewError, ConfigError, ParameterError

_MODULES = {"import": "import_vectors"}  # Python has another use for the word


class Commands(click.Group):
    """A group that imports a command when it is named, and explains its errors.

    listed: by name, what the list of commands says of each, so that this imports none of them; ""
    for one that is left out. package: where their modules are; a command's function is called as
    its module is.
    """

    def __init__(self, *args: Any, listed: Mapping[str, str], package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.listed, self._package = listed, package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """By name."""
        return sorted(self.listed)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """As click's, but nothing is imported for it."""
        rows = [(name, said) for name, said in sorted(self.listed.items()) if said]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """As click's; imported the first time."""
        if cmd_name in self.listed and cmd_name not in self.commands:
            name = _MODULES.get(cmd_name, cmd_name.replace("-", "_"))
            self.add_command(getattr(import_module(f"{self._package}.{name}"), name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """As click's. A ParameterError of an option becomes wrong usage of it, and another error
        that repeats what a variable of the environment says gets a note that names the variable.
        """
        _explain(cmd)
        super().add_command(cmd, name)


def _explain(command: click.Command) -> None:
    """This command, or all of a group, which is complete by now."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _explain(each)
    elif command.callback is not None:
        command.callback = _explained(command.callback)


def _explained(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            return callback(*args, **kwargs)
        except ConfigError as error:
            raise click.UsageError(str(error), click.get_current_context()) from None
        except MemoryError as error:
            error.add_note(click.get_current_context().info_name or "")
            raise
        except AskewError as error:
            context = click.get_current_context()
            option = _option(context, error)
            if option is None or not isinstance(error, ParameterError):
                _name_variables(context, error)
                raise
            text = str(error).removeprefix(error.name)
            raise click.BadParameter(f"it{text}", context, option) from None

    return explained


def _option(context: click.Context, error: AskewError) -> click.Parameter | None:
    """The option that the error is about, if there is one."""
    name = f"--{error.name.replace('_', '-')}" if isinstance(error, ParameterError) else ""
    return next((each for each in context.command.params if name in each.opts), None)


def _name_variables(context: click.Context, error: AskewError) -> None:
    for each in context.command.params:
        value = context.params.get(each.name or "")
        source = context.get_parameter_source(each.name or "")
        if source is not ParameterSource.ENVIRONMENT or not isinstance(value, str | Path):
            continue  # a number would be found in many a text
        if str(value) in str(error):
            names = [each.envvar] if isinstance(each.envvar, str) else each.envvar or ()
            variable = next(name for name in names if os.environ.get(name))
            error.add_note(f"{variable} in the environment names it")
