"""`askew-server import`."""

from __future__ import annotations

from pathlib import Path

import click

from askew.limits import MAX_RANKING_DIMENSION
from askew_server.cli.options import PATH, bad_rows_option


@click.command("import")
@click.argument("vectors", type=PATH)
@click.option("--items", required=True, type=PATH, help="Items file.")
@click.option(
    "--user-vectors",
    type=PATH,
    help="Vectors of users, to simulate histories like theirs.",
)
@click.option("--out", required=True, type=PATH, help="New model directory.")
@click.option(
    "--scale",
    default=(1.0, 5.0),
    show_default=True,
    type=(float, float),
    help="Lowest and highest rating on devices.",
)
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option("-k", default=20, show_default=True, help="The k that devices will choose.")
@bad_rows_option
def import_vectors(
    vectors: Path,
    items: Path,
    user_vectors: Path | None,
    out: Path,
    scale: tuple[float, float],
    like_from: float | None,
    k: int,
    max_bad_rows: float,
) -> None:
    """Make a model of vectors that another model has: embeddings, factors.

    VECTORS has rows of floating-point numbers, whose dot products rank: `vectors` in npz or
    safetensors, a column `vector` of lists in parquet. Beside them `keys` (in parquet `key`) name
    the items as the items file does; without keys, vectors are in the order of its rows.

    The space of signals is fitted to simulated histories of likes: of the users whose vectors are
    named, or else of made-up people. With ratings at hand, fit it to these: import, and then
    train --model the imported one.

    \b
    Example:
      askew-server import als.npz --items movies.csv --out model
    """
    from threadpoolctl import threadpool_limits

    from askew_server.cli import training_data as data
    from askew_server.cli.progress import Steps
    from askew_server.ratings import read_items
    from askew_server.ratings.vectors import read_vectors
    from askew_server.taste.model.item_model import import_model
    from askew_server.taste.training.given_vectors import given_items
    from askew_server.taste.training.options import GIVEN, TrainingOptions, what_it_tells

    # As many dimensions as the vectors have.
    options = TrainingOptions(k=k, ranking_dimension=MAX_RANKING_DIMENSION)
    rated = data.scale_of(scale, like_from)
    data.check_new(out)
    read = read_vectors(vectors)
    people = None if user_vectors is None else read_vectors(user_vectors)
    rows, left_out = read_items(items, bad_share=max_bad_rows)
    data.show_omissions(left_out)
    imported = given_items(read, rows, left_out.count)
    n, size = imported.vectors.shape
    click.echo(f"vectors    {n:,} items, {size} numbers each")
    if imported.without:
        click.echo(f"           {imported.without:,} rows of the items have no vector: left out")
    click.echo("people     SIMULATED from the vectors: nobody gave the ratings that follow")
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    with Steps.shown() as steps, threadpool_limits(1):
        model, table = import_model(
            imported, people, rows, options, rated, step=lambda name: steps.step(f"import: {name}")
        )
        data.save(model, out, steps)
    data.report(model, table, out, what_it_tells(GIVEN))
