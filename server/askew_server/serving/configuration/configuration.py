"""A whole configuration: values by the names of their keys, as objects that hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from askew.errors import ConfigError
from askew_server.serving.configuration.served import Analysts, Models, Releases
from askew_server.serving.configuration.server import ServerConfig
from askew_server.serving.configuration.tls import Tls


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How a server listens, and what it answers from."""

    server: ServerConfig
    models: Models
    releases: Releases
    analysts: Analysts


def configuration_of(values: Mapping[str, Any]) -> Configuration:
    """What values of keys come to; None is as if nothing was said.

    Raises ConfigError or ParameterError for values that do not go together.
    """
    plain = ServerConfig()
    server = replace(
        plain,
        **_table(values, "server", plain),
        tls=_tls(values),
        **{
            table: replace(own, **_table(values, table, own))
            for table in ("metrics", "log", "limits", "answers", "analysts")
            for own in (getattr(plain, table),)
        },
    )
    return Configuration(
        server=server,
        models=Models(**_table(values, "models", Models)),
        releases=Releases(**_table(values, "releases", Releases)),
        analysts=Analysts(**_table(values, "analysts", Analysts)),
    )


def _tls(values: Mapping[str, Any]) -> Tls | None:
    named = _table(values, "tls", Tls)
    if not named:
        return None
    if not {"certificate", "key"} <= set(named):
        raise ConfigError("TLS needs both --tls-certificate and --tls-key")
    return Tls(**named)


def _table(values: Mapping[str, Any], table: str, kind: Any) -> dict[str, Any]:
    """What is said in a table of the fields of a class, or of an object of it."""
    named = {each.name: values.get(f"{table}.{each.name}") for each in fields(kind)}
    return {name: value for name, value in named.items() if value is not None}
