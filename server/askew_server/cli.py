"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, ParameterError
from askew.model_card import Catalog, ModelCard
from askew_server.command_options import address_of, existing, listening_options
from askew_server.ledger_cli import ledger
from askew_server.ratings import RatingTable, Rejects, read_items, read_ratings
from askew_server.release_cli import release
from askew_server.releases_cli import releases
from askew_server.serve_releases_cli import serve_releases
from askew_server.token_cli import token

if TYPE_CHECKING:
    from askew_server.grpc_server import Service
    from askew_server.item_model import ItemModel  # brings scipy
    from askew_server.release_reader import ReleaseReader

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


@cli.command()
@click.option("--model", type=click.Path(path_type=Path), help="Model directory.")
@click.option("--demo", is_flag=True, help="Serve the embedded films with simulated ratings.")
@click.option("--releases", type=click.Path(path_type=Path), help="Serve a ledger's releases too.")
@click.option(
    "--popularity", type=click.IntRange(1), help="The charge of the release shown on a cold start."
)
@listening_options
def serve(
    model: Path | None,
    demo: bool,
    releases: Path | None,
    popularity: int | None,
    host: str,
    port: int,
    with_parent: bool,
) -> None:
    """Answer noisy signals until SIGTERM or Ctrl-C.

    With --releases, the stored releases of a ledger are served beside, read-only; with
    --popularity, one of them orders what a device shows before it knows anything.

    Speaks plain text: on any address but this machine's own, put a TLS proxy in front.

    \b
    Examples:
      askew-server serve --model model
      askew-server serve --demo
      askew-server serve --model model --releases askew-ledger.sqlite --popularity 1
    """
    if (model is None) == (not demo):
        raise click.UsageError("name one model to serve: --model DIR or --demo")
    if popularity is not None and releases is None:
        raise click.UsageError("--popularity names a release of the ledger in --releases")
    from askew_server.grpc_service import RetrievalService
    from askew_server.retrieval import Retriever
    from askew_server.serving import serve as run

    if model is None:
        from askew_server.demo.model import demo_model

        served = demo_model()
    else:
        from askew_server import artifact

        served = artifact.load(model)

    card, catalog = served.card, served.catalog
    services: list[Service] = []
    if releases is not None:
        from askew_server.popularity_service import PopularityService
        from askew_server.release_reader import ReleaseReader

        reader = ReleaseReader(existing(releases))
        services.append(PopularityService(reader))
        if popularity is not None:
            card, catalog = _popular_first(card, catalog, reader, popularity)

    def announce(bound: int) -> None:
        click.echo(f"listening on {host}:{bound}, {card.n_items} items, {card.source}")

    services.append(RetrievalService(Retriever(card, catalog)))
    asyncio.run(run(services, address_of(host, port), announce, with_parent=with_parent))


def _popular_first(
    card: ModelCard, catalog: Catalog, reader: ReleaseReader, charge: int
) -> tuple[ModelCard, Catalog]:
    """A release as the popularity prior; says how many of its items the catalog does not have."""
    from askew.release import release_from_bytes
    from askew_server.popularity_prior import with_popularity

    release = release_from_bytes(reader.document(charge))
    card, catalog, missed = with_popularity(card, catalog, release)
    click.echo(
        f"cold start: release {charge}, {len(release.items) - missed} items; "
        f"{missed} are not in the catalog",
        err=True,
    )
    return card, catalog


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


for command in (ledger, release, releases, serve_releases, token):
    cli.add_command(command)
