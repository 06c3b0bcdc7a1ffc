"""`askew-server check`: what is wrong with a configuration, before a server is started with it."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from askew.errors import AskewError
from askew_server.cli.configured import configured, file_of, settings
from askew_server.cli.options import SERVE_PORT
from askew_server.serving.configuration.file import Finding, unknown_variables
from askew_server.serving.configuration.keys import Key
from askew_server.serving.configuration.server import configuration_of

_TABLES = ("server", "models", "releases", "analysts", "tls", "metrics", "log", "limits", "answers")
_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@configured(*_TABLES, defaults={"server.port": SERVE_PORT}, shared=True)
@click.option("--print", "printing", is_flag=True, help="Write all settings, and who said them.")
@click.pass_context
def check(context: click.Context, /, *, config: Path | None, printing: bool, **_: object) -> None:
    """Check a configuration, its models, its certificates and its ledger. Nothing is changed.

    It takes the file and every flag of serve and of serve-releases. Exit code 1 if a check failed.

    \b
    Examples:
      askew-server check --config askew-server.toml
      askew-server check --config askew-server.toml --print
      askew-server check --model model --host 0.0.0.0 --plain-text
    """
    if printing:
        click.echo("\n".join(_printed(settings(context))))
    failed = False
    for finding in _findings(context, config):
        health = click.style(f"{finding.health:<4}", fg=_COLORS[finding.health])
        click.echo(f"{health}  {finding.name}: {finding.text}", err=printing)
        failed = failed or finding.health == "fail"
    context.exit(1 if failed else 0)


def _findings(context: click.Context, config: Path | None) -> Iterator[Finding]:
    from askew_server.cli.examined import examined

    found = file_of(context)
    yield from (Finding("fail", "configuration", f"{config}: {each}") for each in found.problems)
    try:
        chosen = configuration_of({key.name: value for key, value, _ in settings(context)})
    except AskewError as error:
        yield Finding("fail", "configuration", str(error))
        return
    if not found.problems:
        said = sum(origin != "default" for _, _, origin in settings(context))
        yield Finding("ok", "configuration", f"{config or 'no file'}, {said} settings said")
    yield from (Finding("warn", "environment", each) for each in unknown_variables(os.environ))
    yield from examined(chosen, datetime.datetime.now(datetime.UTC))


def _printed(said: Sequence[tuple[Key, object, str]]) -> Iterator[str]:
    """A file of the same settings, but for secrets, each with its origin."""
    for table in _TABLES:
        yield f"[{table}]"
        for key, value, origin in said:
            of, _, name = key.name.partition(".")
            if of == table:
                yield _line(key, name, value, origin)


def _line(key: Key, name: str, value: object, origin: str) -> str:
    if value is None:
        return f"# {name} is not set"
    if key.secret and origin != "default":
        return f"# {name} is set by {origin}, and not shown"
    return f"{name} = {_as_toml(value)}  # {origin}"


def _as_toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
