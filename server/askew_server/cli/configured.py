"""Options made from the table of settings: flag before environment, before file, before default.

The precedence is click's own: a file is its `default_map`, and nothing else reads either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from askew.errors import ConfigError
from askew_server.serving.settings import (
    KEYS,
    Choice,
    Configuration,
    File,
    FileValues,
    Key,
    Network,
    Number,
    Switch,
    Text,
    Whole,
    configuration_of,
    read_file,
    wrong,
)

_Command = TypeVar("_Command", bound=Callable[..., Any])
_METAVARS: Mapping[type, str] = {
    Whole: "INTEGER",
    Number: "NUMBER",
    Text: "TEXT",
    File: "PATH",
    Choice: "WORD",
    Network: "ADDRESS",
    Switch: "",
}
_ORIGINS = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}


def configured(
    *names: str, defaults: Mapping[str, object] | None = None, shared: bool = False
) -> Callable[[_Command], _Command]:
    """--config, and an option for each setting of these tables, or named so.

    defaults: where a command has its own. shared: variables that other commands read mean the same
    here. The command takes its context, for `configuration`.
    """
    own = defaults or {}
    keys = [key for name in names for key in KEYS if name in {key.name, key.name.partition(".")[0]}]
    options = [_option(key, own.get(key.name, key.default), shared=shared) for key in keys]

    def decorated(command: _Command) -> _Command:
        for option in [*reversed(options), _config_option]:
            command = option(command)
        return command

    return decorated


def configuration(context: click.Context) -> Configuration:
    """What all sources say together. Raises ConfigError or ParameterError where that is nothing."""
    found = file_of(context)
    if found.problems:
        raise ConfigError("; ".join(found.problems))
    return configuration_of({key.name: value for key, value, _ in settings(context)})


def settings(context: click.Context) -> Sequence[tuple[Key, Any, str]]:
    """Each setting of a command, what it is, and where that was said."""
    return [
        (key, context.params[key.parameter], _origin(context, key))
        for key in KEYS
        if key.parameter in context.params
    ]


def file_of(context: click.Context) -> FileValues:
    """What the file of this run says; nothing without one."""
    found: FileValues = context.meta.get(__name__, FileValues())
    return found


def _origin(context: click.Context, key: Key) -> str:
    source = context.get_parameter_source(key.parameter)
    return _ORIGINS.get(source, "default") if source else "default"


def _read(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Before all other options: what they are by default is what the file says."""
    if path is not None:
        try:
            found = read_file(path)
        except ConfigError as error:
            raise click.UsageError(str(error), context) from None
        context.meta[__name__] = found
        named = {key.parameter: found.values[key.name] for key in KEYS if key.name in found.values}
        context.default_map = named
    return path


_config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar="ASKEW_SERVER_CONFIG",
    is_eager=True,
    callback=_read,
    help="A file of settings in TOML; a variable or a flag says otherwise.",
)


class _Typed(click.ParamType[Any]):
    """A value of a key, from text or as it already is."""

    def __init__(self, key: Key) -> None:
        self.name = key.name
        self._key = key

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or wrong usage that names the key, its type and its limit."""
        kind = self._key.kind
        try:
            return kind.of_text(value) if isinstance(value, str) else kind.checked(value)
        except ValueError:
            self.fail(wrong(self._key, value) + self._where(param, ctx), param, ctx)

    def _where(self, param: click.Parameter | None, ctx: click.Context | None) -> str:
        source = ctx.get_parameter_source(param.name or "") if ctx and param else None
        if source is not ParameterSource.ENVIRONMENT:
            return ""
        named = self._key.variable
        return f", by {named if os.environ.get(named) else self._key.shared} in the environment"


class _TypedSwitch(_Typed, click.types.BoolParamType):
    """As click wants the type of a flag that has an opposite."""


def _option(key: Key, default: object, *, shared: bool) -> Callable[[_Command], _Command]:
    """The click option of a key."""
    shown: dict[str, Any] = {
        "help": key.help,
        "hidden": not key.flags,
        "envvar": [key.variable, key.shared] if shared and key.shared else key.variable,
        "default": default,
        "show_default": default not in {None, ()},
        "type": _Typed(key),
        "metavar": key.metavar or _METAVARS[type(key.kind)],
    }
    flags = key.all_flags
    if isinstance(key.kind, Choice):
        shown["metavar"] = f"[{'|'.join(key.kind.names)}]"
    if isinstance(key.kind, Switch):
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
        shown |= {"is_flag": True, "type": _TypedSwitch(key), "metavar": None}
    if key.bare is not None:
        shown |= {"is_flag": False, "flag_value": key.bare}
    return click.option(*flags, key.parameter, multiple=key.several, **shown)
