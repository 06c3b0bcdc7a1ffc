"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, ParameterError
from askew_server.ledger_cli import ledger
from askew_server.ratings import RatingTable, Rejects, read_items, read_ratings
from askew_server.release_cli import release
from askew_server.releases_cli import releases
from askew_server.serve_cli import serve
from askew_server.serve_releases_cli import serve_releases
from askew_server.token_cli import token

if TYPE_CHECKING:
    from askew_server.item_model import ItemModel  # brings scipy

_SHOWN_REJECTS = 10
_Table = TypeVar("_Table")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__)
def cli() -> None:
    """Train a recommendation model, answer noisy signals, publish popularity lists."""


@cli.command()
@click.option("--ratings", required=True, type=click.Path(path_type=Path), help="Ratings file.")
@click.option("--items", required=True, type=click.Path(path_type=Path), help="Items file.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option("--dimension", default=2, show_default=True, help="Dimension of the feature space.")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option("--item-radius", default=0.5, show_default=True, help="Spread of the items.")
@click.option("--seed", default=0, show_default=True, help="Seed of the decomposition.")
def train(
    ratings: Path,
    items: Path,
    out: Path,
    dimension: int,
    min_ratings: int,
    item_radius: float,
    seed: int,
) -> None:
    """Train a model on ratings.

    Reads MovieLens files in their original formats (csv, u.data and u.item, .dat), gzipped or not,
    and any csv or parquet file with the columns user, item, rating.

    \b
    Example:
      askew-server train --ratings ratings.csv --items movies.csv --out model
    """
    from askew_server import artifact
    from askew_server.item_model import TrainingOptions
    from askew_server.item_model import train as fit

    options = TrainingOptions(dimension, min_ratings, item_radius, seed=seed)
    if out.exists() or out.is_symlink():
        raise ParameterError("--out", str(out), "a directory that does not exist yet")
    table = _loaded(read_ratings, ratings, "Reading ratings")
    rows = _loaded(read_items, items, "Reading items")
    click.echo("Training ...", err=True)
    model = fit(table, rows, options, source=f"ratings of {table.n_people:,} people")
    artifact.save(model, out)
    _report(model, table, out)


def _report(model: ItemModel, table: RatingTable, out: Path) -> None:
    space = model.card.space
    size = f"{len(table.rating):,} by {table.n_people:,} people of {len(table.item_keys):,} items"
    click.echo(f"ratings    {size}")
    click.echo(f"catalog    {model.card.n_items:,} items, version {model.card.catalog_version}")
    click.echo(f"space      {space.dimension} dimensions, version {space.version}")
    click.echo(f"diameter   {space.diameter:.2f} times the median distance between two people")
    click.echo(f"model      {out}")


def _loaded(read: Callable[..., tuple[_Table, Rejects]], path: Path, label: str) -> _Table:
    """A file's content, with progress, and with its bad rows counted on the screen."""
    total = path.stat().st_size if path.is_file() else 0
    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        content, rejects = read(path, progress=lambda done, _: bar.update(done - bar.pos))
    if rejects.count:
        click.echo(f"{rejects.count:,} bad rows left out, such as:", err=True)
        for bad in rejects.examples[:_SHOWN_REJECTS]:
            click.echo(f"  {bad.file}, line {bad.line}: {bad.reason}", err=True)
    return content


def _exit_code(error: Exception) -> int:
    return 3 if isinstance(error, BudgetExceeded) else 1


def main() -> None:
    """Run the command; a deliberate error is one line, and exit code 3 for a budget, else 1."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would say the same again, at length
    try:
        cli()
    except (AskewError, OSError, RuntimeError) as error:  # a taken port is a RuntimeError
        click.echo(f"askew-server: {error}", err=True)
        sys.exit(_exit_code(error))


for command in (ledger, release, releases, serve, serve_releases, token):
    cli.add_command(command)
