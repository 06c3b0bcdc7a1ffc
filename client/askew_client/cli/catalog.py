"""`askew catalog` and `askew refresh`: what this device holds of a server's catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from askew_client.settings.config import Config
    from askew_client.views.answers import Refreshed


@click.command()
@options.all_of(options.server, options.as_json)
@click.pass_context
def catalog(context: click.Context, server: str | None, as_json: bool) -> None:
    """List the titles that this device holds: the whole catalog, or the default items.

    Every device of a server holds the same, so the list says nothing about you.

    \b
    Example:
      askew catalog | grep -i alien
    """
    titles = options.run(_titles(options.load(context, server=server)))
    if as_json:
        options.print_json([{"label": label, "genres": genres} for label, genres in titles])
        return
    for label, genres in titles:
        click.echo(f"{label}\t{', '.join(genres)}")


@click.command()
@options.all_of(options.server, options.data, options.as_json)
@click.pass_context
def refresh(context: click.Context, server: str | None, data: Path | None, as_json: bool) -> None:
    """Fetch what this device holds of a server's catalog, if it is time.

    For cron or a timer, every few hours: a device looks once a week, a random delay of up to two
    days after Monday, and in between this sends nothing. Questions never look. The catalog is the
    same for everybody, and comes from a static host where `held_from` is set. No profile is read.

    \b
    Example:
      askew refresh > /dev/null
    """
    file = options.run(_refreshed(options.load(context, server=server, data=data)))
    if as_json:
        options.print_json(file)
        return
    click.echo(f"held       {file.catalog_date}, {file.part}, {file.size:,} bytes")
    click.echo(f"fetched    {file.fetched:,} bytes")
    click.echo(f"next look  {file.next_look:%Y-%m-%d %H:%M} UTC")


async def _refreshed(config: Config) -> Refreshed:
    from askew_client.opening import open_library

    opened = open_library(config.settings, server=config.server, directory=config.data)
    async with opened as (_, library):
        return await library.refresh()


async def _titles(config: Config) -> list[tuple[str, tuple[str, ...]]]:
    import datetime

    from askew_client.opening import open_library

    opened = open_library(config.settings, server=config.server, directory=config.data)
    async with opened as (_, library):
        held = await library.cached(datetime.date.today())
    return [(item.label, item.genres) for item in held.catalog.items]
