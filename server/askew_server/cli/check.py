"""`askew-server check`: what is wrong with a configuration, before a server is started with it.

It looks at what the configuration names without changing any of it: one finding a thing.
"""

from __future__ import annotations

import datetime
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from askew.errors import AskewError
from askew.settings import FileValues, Said, Setting
from askew_server.cli.configured import CommandSettings, config_option
from askew_server.cli.options import SERVE_PORT
from askew_server.cli.saved_model import of_one_kind
from askew_server.published.reader import GlancingReader
from askew_server.serving.settings import (
    Analysts,
    Configuration,
    Models,
    Releases,
    ServerConfig,
    Tls,
    unknown_variables,
)
from askew_server.taste.model.mondays import models_in

_TABLES = ("server", "models", "releases", "analysts", "tls", "metrics", "log", "limits", "answers")
_SETTINGS = CommandSettings(*_TABLES, defaults={"server.port": SERVE_PORT}, shared=True)
_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True)
class Verdict:
    """One thing that was looked at: in order, worth a look, or wrong. text: one line."""

    health: Literal["ok", "warn", "fail"]
    name: str
    text: str


@click.command()
@config_option
@click.option("--print", "printing", is_flag=True, help="Write all settings, and who said them.")
@click.pass_context
def check(context: click.Context, /, *, config: Path | None, printing: bool) -> None:
    """Check a configuration, its models, its certificates and its ledger. Nothing is changed.

    It takes what the file and the environment say to serve and serve-releases. Exit code 1 if a
    check failed.

    \b
    Examples:
      askew-server check --config askew-server.toml
      askew-server check --config askew-server.toml --print
    """
    found = _SETTINGS.file(config)
    settings = _SETTINGS.said(found, {})
    if printing:
        click.echo("\n".join(_printed(settings)))
    failed = False
    for finding in _findings(config, found, settings):
        health = click.style(f"{finding.health:<4}", fg=_COLORS[finding.health])
        click.echo(f"{health}  {finding.name}: {finding.text}", err=printing)
        failed = failed or finding.health == "fail"
    context.exit(1 if failed else 0)


def _findings(
    config: Path | None, found: FileValues, settings: Mapping[str, Said]
) -> Iterator[Verdict]:
    yield from (Verdict("fail", "configuration", str(each)) for each in found.problems)
    try:
        chosen = _SETTINGS.made(settings)
    except AskewError as error:
        yield Verdict("fail", "configuration", str(error))
        return
    if not found.problems:
        said = sum(each.origin != "default" for each in settings.values())
        yield Verdict("ok", "configuration", f"{config or 'no file'}, {said} settings said")
    yield from (Verdict("warn", "environment", each) for each in unknown_variables(os.environ))
    yield from examined(chosen, datetime.datetime.now(datetime.UTC))


def _printed(settings: Mapping[str, Said]) -> Iterator[str]:
    """A file of the same settings, but for secrets, each with its meaning and its origin."""
    table = ""
    for key in _SETTINGS.keys:
        of, _, name = key.name.partition(".")
        if of != table:
            table = of
            yield f"[{table}]"
        yield f"# {' '.join(key.help.split())}"
        yield _line(key, name, settings[key.name])


def _line(key: Setting, name: str, found: Said) -> str:
    if found.value is None:
        return f"# {name} is not set"
    if key.secret and found.origin != "default":
        return f"# {name} is set by {found.origin}, and not shown"
    return f"{name} = {_as_toml(found.value)}  # {found.origin}"


def _as_toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)


_SOON = datetime.timedelta(days=21)
_FIRST_FREE = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


def examined(chosen: Configuration, now: datetime.datetime) -> Iterator[Verdict]:
    """All that there is to say, in the order in which a server would need it."""
    yield from _listening(chosen.server)
    if chosen.server.tls is not None:
        yield from _certificate(chosen.server.tls, now)
    yield from _models(chosen.models)
    yield from _releases(chosen.releases)
    yield from _analysts(chosen.analysts)
    if chosen.models == Models() and chosen.releases.ledger is None:
        yield Verdict("fail", "served", "nothing: name a model, a demo, or a ledger of releases")


def _listening(config: ServerConfig) -> Iterator[Verdict]:
    words = "TLS" if config.tls is not None else "plain text"
    yield from _place("listening", config.host, config.port, words)
    metrics = config.metrics
    if metrics.port is None:
        return
    last = metrics.port + (config.processes - 1 if metrics.port else 0)
    ports = f"{metrics.port} to {last}"
    if metrics.port and metrics.port <= config.port <= last:
        which = f"one of the ports {ports}" if last > metrics.port else f"port {last}"
        yield Verdict("fail", "metrics", f"{which} is the server's own")
    else:
        yield from _place("metrics", metrics.host, metrics.port, "numbers")


def _place(name: str, host: str, port: int, words: str) -> Iterator[Verdict]:
    """Whether this machine has the address; the port itself may be in use by a server that runs."""
    try:
        (family, kind, _, _, place), *_ = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as trial:
            trial.bind(place)
    except OSError:
        yield Verdict("fail", name, f"this machine has no address {host}")
        return
    first = int(_FIRST_FREE.read_text()) if _FIRST_FREE.exists() else 1024
    if 0 < port < first and os.geteuid() != 0:
        yield Verdict("warn", name, f"port {port} needs a privilege: those from {first} on do not")
    yield Verdict("ok", name, f"{words} on {host}, port {port}")


def _certificate(tls: Tls, now: datetime.datetime) -> Iterator[Verdict]:
    from askew_server.serving.certificates import read_identity

    try:
        found = read_identity(tls)
    except AskewError as error:
        yield Verdict("fail", "certificate", str(error))
        return
    words = f"{tls.certificate}, until {found.ends:%Y-%m-%d}, for {', '.join(found.names)}"
    if not found.names:
        yield Verdict("fail", "certificate", f"{tls.certificate} names no host")
    elif found.ends <= now:
        yield Verdict("fail", "certificate", f"expired: {words}")
    elif now < found.begins:
        yield Verdict("fail", "certificate", f"not valid before {found.begins:%Y-%m-%d}: {words}")
    else:
        soon = found.ends - now < _SOON
        yield Verdict("warn" if soon else "ok", "certificate", words + ", and its key fits")
    if tls.client_authority is not None:
        yield Verdict("ok", "callers", f"need a certificate of {tls.client_authority}")


def _models(models: Models) -> Iterator[Verdict]:
    if models.demo is not None:
        yield Verdict("ok", "model", f"the demo of {models.demo}")
        return
    try:
        found = [] if models.folder is None else [*models_in(models.folder).values()]
    except AskewError as error:
        yield Verdict("fail", "model", str(error))
        return
    if models.folder is not None and not found:
        yield Verdict("fail", "model", f"{models.folder} has none that is named by a Monday")
    kinds: set[type] = set()
    for directory in found if models.directory is None else [models.directory]:
        yield _model(directory, kinds)


def _model(directory: Path, kinds: set[type]) -> Verdict:
    try:
        model = of_one_kind(directory, kinds)
    except (AskewError, OSError) as error:
        return Verdict("fail", "model", str(error))
    return Verdict("ok", "model", f"{directory}: {model.words}")


def _releases(releases: Releases) -> Iterator[Verdict]:
    if releases.ledger is None:
        return
    reader = GlancingReader(releases.ledger)
    try:
        page = reader.page("", 0, 1000)
        if releases.popularity is not None:
            reader.named(releases.popularity)
    except AskewError as error:
        yield Verdict("fail", "releases", str(error))
        return
    count = f"{len(page.summaries):,}{' or more' if page.more else ''}"
    yield Verdict("ok", "releases", f"{releases.ledger} can be read, and has {count}")


def _analysts(analysts: Analysts) -> Iterator[Verdict]:
    if analysts.token_key is None:
        return
    from askew_server.serving.bearer import read_key

    try:
        read_key(analysts.token_key)
    except AskewError as error:
        yield Verdict("fail", "analysts", str(error))
        return
    yield Verdict("ok", "analysts", f"tokens of {analysts.token_key}, about {analysts.dataset}")
