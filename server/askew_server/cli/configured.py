"""The settings of one command: its options, and the configuration that all sources make."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from askew.errors import ConfigError, ParameterError
from askew.settings import FileValues, Number, OneOf, Setting, Switch, Whole, said
from askew_server.cli.main import VARIABLES
from askew_server.serving.settings import (
    KEYS,
    Configuration,
    File,
    configuration_of,
    read_file,
    unknown_variables,
)

_Command = TypeVar("_Command", bound=Callable[..., Any])
_METAVARS: Mapping[type, str] = {Whole: "INTEGER", Number: "NUMBER", File: "PATH"}

_config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar="ASKEW_SERVER_CONFIG",
    help="A file of settings in TOML; a variable or a flag says otherwise.",
)


class CommandSettings:
    """The settings of these tables, or named so.

    defaults: where a command has its own. shared: variables that other commands read mean the same
    here.
    """

    def __init__(
        self, *names: str, defaults: Mapping[str, object] | None = None, shared: bool = False
    ) -> None:
        own = defaults or {}
        self.keys = tuple(
            replace(
                key,
                default=own.get(key.name, key.default),
                shared=key.shared if shared else None,
            )
            for key in KEYS
            if not {key.name, key.name.partition(".")[0]}.isdisjoint(names)
        )

    def options(self, command: _Command) -> _Command:
        """--config, and an option for each setting that has a flag."""
        options = [_option(key) for key in self.keys if key.flags]
        for option in [*reversed(options), _config_option]:
            command = option(command)
        return command

    def configuration(self, config: Path | None, flags: Mapping[str, object]) -> Configuration:
        """What all sources say together. Raises ConfigError or ParameterError."""
        file = FileValues() if config is None else read_file(config)
        problems = [*map(str, file.problems), *unknown_variables(os.environ)]
        if problems:
            raise ConfigError("; ".join(problems))
        try:
            found = said(self.keys, flags=flags, environment=os.environ, file=file.values)
        except ParameterError as error:
            raise ConfigError(str(error)) from None
        context = click.get_current_context(silent=True)
        if context is not None:  # for what an error is told with
            context.meta[VARIABLES] = {
                key.variable_in(os.environ): found[key.name].value
                for key in self.keys
                if found[key.name].origin == "environment"
            }
        return configuration_of({name: each.value for name, each in found.items()})


class _Typed(click.ParamType[Any]):
    """A value of a setting, from text."""

    def __init__(self, key: Setting) -> None:
        self.name = key.name
        self._key = key

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or wrong usage that says what is accepted."""
        try:
            return self._key.kind.of(value)
        except ValueError:
            words = f"it must be {self._key.kind.words}"
            self.fail(words if self._key.secret else f"{words}, got {value!r}", param, ctx)


class _TypedSwitch(_Typed, click.types.BoolParamType):
    """As click wants the type of a flag that has an opposite."""


def _option(key: Setting) -> Callable[[_Command], _Command]:
    """The click option of a setting. The default is not click's to know: it comes last."""
    flags = key.flags
    default = "" if key.default in {None, (), False} else f"  [default: {key.default}]"
    shown: dict[str, Any] = {
        "help": key.help + default,
        "default": None,  # a switch that was not given says nothing
        "type": _Typed(key),
        "metavar": key.metavar or _METAVARS.get(type(key.kind), "TEXT"),
    }
    if isinstance(key.kind, OneOf):
        shown["metavar"] = f"[{'|'.join(key.kind.names)}]"
    if isinstance(key.kind, Switch):
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
        shown |= {"is_flag": True, "type": _TypedSwitch(key), "metavar": None}
    if key.bare is not None:
        shown |= {"is_flag": False, "flag_value": key.bare}
    return click.option(*flags, key.parameter, **shown)
