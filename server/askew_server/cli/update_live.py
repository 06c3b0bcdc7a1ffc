"""`askew-server update-live`."""

from __future__ import annotations

from pathlib import Path

import click

from askew_server.cli.collect import named_file
from askew_server.cli.collection_report import say_omitted
from askew_server.cli.progress import Steps, when_stopped


@click.command("update-live")
@click.option(
    "--model", required=True, type=click.Path(path_type=Path), help="Directory of collections."
)
@click.option(
    "--collection",
    "collections",
    multiple=True,
    required=True,
    metavar="NAME=FILE",
    help="A collection and a csv, parquet or GeoJSON file of keys and live values.",
)
@click.option("--strict", is_flag=True, help="Refuse files of which any row is left out.")
def update_live(model: Path, collections: tuple[str, ...], strict: bool) -> None:
    """Replace live values of collections, also while they are served.

    A file has the column id or key, and live columns. Items and columns that it does not have keep
    their values; an empty field makes a value unknown. A server takes the new values within a
    second, whole; nothing else changes, and devices pay nothing.

    \b
    Example:
      askew-server update-live --model model --collection chargers=free.csv
    """
    from askew_server.collections.intake import Told
    from askew_server.collections.intake import update_live as update

    for name, path in map(named_file, collections):
        with when_stopped(), Steps.shown() as steps:
            done = update(model, name, path, Told(steps.step, steps.share), strict=strict)
        say_omitted(done.omissions)
        items = "1 item" if done.n_items == 1 else f"{done.n_items:,} items"
        click.echo(f"{name}: {', '.join(done.columns)} of {items}")
