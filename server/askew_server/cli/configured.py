"""The settings of one command: its options, and the configuration that all sources make."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from askew_server.serving.settings import (
    KEYS,
    SETTINGS,
    Configuration,
    configuration_of,
    read_file,
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


class CommandSettings:
    """The settings of these tables, or named so.

    defaults: where a command has its own. shared: variables that other commands read mean the same
    here.
    """

    def __init__(
        self, *names: str, defaults: Mapping[str, object] | None = None, shared: bool = False
    ) -> None:
        own = defaults or {}
        self._own = {
            key.name for key in KEYS if not {key.name, key.name.partition(".")[0]}.isdisjoint(names)
        }
        keys = (
            replace(
                key,
                default=own.get(key.name, key.default),
                shared=key.shared if shared else "",
            )
            for key in KEYS
        )
        self._table = replace(SETTINGS, settings=tuple(keys))

    def options(self, command: _Command) -> _Command:
        """Return a command with --config, and an option for each setting of its own that has a
        flag.
        """
        for key in reversed(
            [key for key in self._table.settings if key.name in self._own and key.flag]
        ):
            names, keywords = key.option()
            command = click.option(*names, **keywords)(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="ASKEW_SERVER_CONFIG",
            help="A file of settings in TOML; a variable or a flag says otherwise.",
        )(command)

    def configuration(self, config: Path | None, flags: Mapping[str, object]) -> Configuration:
        """Return the configuration that flags, variables, the file `config` and defaults make
        together, in this order. Raises ConfigError or ParameterError.

        A file may say what another command takes; it is looked at all the same.
        """
        file = {} if config is None else read_file(config)
        values = self._table.read(flags, os.environ, file, str(config))
        return configuration_of({name: values[name] for name in self._own})
