"""`askew doctor`: looks at the server, the stores, the clock and the keyring."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.errors import AskewError
from askew_client.cli import options

if TYPE_CHECKING:
    from askew_client.device.doctor import Finding
    from askew_client.settings.config import Config
    from askew_client.transport.protocol import Transport


@click.command()
@options.all_of(options.server, options.mode, options.data, options.as_json)
@click.pass_context
def doctor(
    context: click.Context,
    server: str | None,
    mode: str | None,
    data: Path | None,
    as_json: bool,
) -> int:
    """Check the server, its space, what `askew ask` would do, the ledger, the profile, file modes,
    clock and keyring.

    Nothing is changed, drawn or charged. Exit code 1 if a check failed.

    \b
    Examples:
      askew doctor
      askew doctor --json
    """
    config = options.load(context, server=server, mode=mode, data=data)
    options.note(f"looking at {config.server} and the files of this device ...")
    findings = options.run(_findings(config))
    if as_json:
        options.print_json(findings)
    else:
        _print(findings)
    return 1 if any(finding.health == "fail" for finding in findings) else 0


async def _findings(config: Config) -> list[Finding]:
    found = [finding async for finding in _server(config)]
    return found + _device(config)


async def _server(config: Config) -> AsyncIterator[Finding]:
    from askew_client.device.doctor import Finding
    from askew_client.opening import way_to
    from askew_client.views.problems import problem_of

    try:
        settings = config.settings
        network = way_to(config.server, settings)
        async with network:
            await network.check_health()
        yield Finding("server", "ok", f"{config.server} is healthy")
        for finding in await _space(network, config):
            yield finding
    except AskewError as error:
        hint = f"{problem_of(error).hint} `askew-server serve --demo` starts one here."
        yield Finding("server", "fail", f"{config.server}: {error}", hint)


async def _space(network: Transport, config: Config) -> tuple[Finding, ...]:
    """Whether this device asks this server, whichever kind of space it has, and by which mode."""
    import datetime
    from tempfile import TemporaryDirectory

    from askew.errors import OtherKind
    from askew_client.catalog.cache import CatalogCache
    from askew_client.device.doctor import check_metric_space, check_mode, check_space
    from askew_client.opening import files_of
    from askew_client.settings.paths import places
    from askew_client.settings.settings import month_of
    from askew_client.taste.choice import CachedItems
    from askew_client.transport.calls import METRIC_CARD, metric_card_of
    from askew_client.transport.held import KeptLibrary

    settings, today = config.settings, datetime.date.today()
    cache = CatalogCache.of(places(config.data).held, config.server)
    try:
        source = files_of(config.server, settings)
        found = await KeptLibrary(cache, source, settings.byte_budget).kept(today)
        if found is None:  # nothing that it looks at stays
            with TemporaryDirectory(prefix="askew-held-") as directory:
                cache = CatalogCache(Path(directory))
                found = await KeptLibrary(cache, source, settings.byte_budget).cached(today)
    except OtherKind:
        card = metric_card_of(await network.call("GetModelCard", METRIC_CARD))
        return (check_metric_space(card, settings),)
    held = CachedItems(len(found.catalog), found.size)
    mode = check_mode(found.card, settings, held, server=config.server, month=month_of(today))
    return check_space(found.card, settings), mode


def _device(config: Config) -> list[Finding]:
    import datetime

    from askew.noise.randomness import SystemBits
    from askew_client.device import doctor as checks
    from askew_client.profile.encryption import keyring_name
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.paths import places
    from askew_client.signals.store import SignalStore

    where = places(config.data)
    store = SignalStore(where.ledger, config.settings.caps, where.mark)
    profile = ProfileStore(where.profile, SystemBits())
    modes = [*checks.check_modes(where)]  # first: the stores close what others could read
    return [
        checks.check_ledger(store, where.ledger),
        checks.check_profile(profile),
        checks.check_named_places(profile, store, where.ledger),
        checks.check_clock(store, where.ledger, datetime.date.today()),
        checks.check_keyring(keyring_name()),
        *checks.check_places(where),
        *modes,
    ]


def _print(findings: list[Finding]) -> None:
    for finding in findings:
        click.echo(f"{finding.health:<4}  {finding.name}: {finding.text}")
        if finding.hint:
            click.echo(f"      {finding.hint}")
