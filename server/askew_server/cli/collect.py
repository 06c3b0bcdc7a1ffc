"""`askew-server collect` and `askew-server update-live`: collections from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from askew.catalog.item import AttributeKind
from askew_server.cli.options import PATH, bad_rows_option

_COLLECTION: Any = {
    "multiple": True,
    "required": True,
    "metavar": "NAME=FILE",
}


@click.command()
@click.option("--out", required=True, type=PATH, help="New model directory.")
@click.option(
    "--collection",
    "collections",
    **_COLLECTION,
    help="A collection and its file, folder or pattern of files; may be given again.",
)
@click.option(
    "--region",
    required=True,
    metavar="S/W/N/E|FILE",
    help="The map's edges in degrees, 47/5/55/16; or a TOML file of one to three axes.",
)
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="COLUMN[=KIND[:UNIT]]",
    help=f"A column that replies show; kinds: {', '.join(AttributeKind)}.  [default: none]",
)
@click.option(
    "--live",
    multiple=True,
    metavar="COLUMN[=KIND[:UNIT]]",
    help="The same for a column whose values change while it is served.",
)
@click.option(
    "--want",
    "wants",
    multiple=True,
    metavar="COLUMN=WORD|KM:WEIGHT",
    help="What a share of people may care about, or none.  [default: by the columns]",
)
@click.option(
    "--model", "before", type=PATH, help="A model before it, whose live values its items keep."
)
@click.option("--towns", type=PATH, help="Where people are: a csv of towns with a population.")
@click.option("--source", help="Where the items come from, shown to people.  [default: the files]")
@click.option(
    "--week",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="A day of the week whose opening hours count.  [default: today]",
)
@bad_rows_option
def collect(**asked: Any) -> None:
    """Make a model of collections: items on a map or on lines.

    A file is csv, tsv, JSON lines, GeoJSON or parquet. It has a column title or name, latitude and
    longitude (or lat and lon; on axes, the axes' names), and an id or key if live values are to
    find their items. Of its other columns replies show those that --attribute or --live name.
    Every row is checked. Rows that are left out, and values that cannot be read and are unknown,
    are counted under their reason, with the first lines. Hours are OpenStreetMap's opening_hours,
    of one week.

    Items keep the live values that they have in --model, by their keys: name it to take an item
    out of a model that is served.

    Questions name a collection by a number. Each new name gets the next one, from 0 on, and keeps
    it in collection-numbers.txt beside the model: keep that file with your models, and collect the
    next one into the same folder. Asks nothing. Prints a report: the space, each collection and
    what it shows, the rule, the largest k, the model, and how devices get each collection.

    \b
    Examples:
      askew-server collect --out model --region 47/5/55/16 \\
        --collection pharmacies=pharmacies.csv --attribute hours --live on_duty
      askew-server collect --out model --region 47/5/55/16 --towns towns.csv \\
        --collection chargers=chargers.parquet --attribute power=number:kW \\
        --live free=number
      askew-server collect --out model --region motorway.toml \\
        --collection rests=rests.csv
    """
    from askew_server.cli import collect_run

    collect_run.collect(**asked)


@click.command("update-live")
@click.option("--model", required=True, type=PATH, help="Directory of collections.")
@click.option(
    "--collection", "collections", **_COLLECTION, help="A collection, and keys and live values."
)
@bad_rows_option
def update_live(model: Path, collections: tuple[str, ...], max_bad_rows: float) -> None:
    """Replace live values of collections, also while they are served.

    A file has the column id or key, and live columns. Items and columns that it does not have keep
    their values; an empty field makes a value unknown. A server takes the new values within a
    second, whole; nothing else changes, and devices pay nothing. Asks nothing, and prints a line a
    collection, "chargers: free of 1,200 items". A file that is refused: exit 1.

    \b
    Example:
      askew-server update-live --model model --collection chargers=free.csv
    """
    from askew_server.cli import collect_run

    for file in collect_run.named_files(collections, max_bad_rows):
        collect_run.update_live(model, file)
