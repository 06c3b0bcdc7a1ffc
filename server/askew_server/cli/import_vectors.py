"""`askew-server import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.limits import MAX_RANKING_DIMENSION
from askew_server.cli.options import bad_rows_option
from askew_server.cli.progress import Steps
from askew_server.cli.training_data import (
    check_new,
    default_items_option,
    report,
    save,
    scale_of,
    show_omissions,
)

if TYPE_CHECKING:
    from askew_server.taste.training.given_vectors import MatchedItems


@click.command("import")
@click.option(
    "--item-vectors",
    required=True,
    type=click.Path(path_type=Path),
    help="Vectors of the items: npz, safetensors or parquet.",
)
@click.option("--items", required=True, type=click.Path(path_type=Path), help="Items file.")
@click.option(
    "--user-vectors",
    "people_vectors",
    type=click.Path(path_type=Path),
    help="Vectors of users, to simulate histories like theirs.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option(
    "--scale",
    default=(1.0, 5.0),
    show_default=True,
    type=(float, float),
    help="Lowest and highest rating on devices.",
)
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option("-k", default=20, show_default=True, help="The k that devices will choose.")
@click.option("--least-likes", default=20, show_default=True, help="Hold back shorter profiles.")
@default_items_option
@bad_rows_option
def import_vectors(
    item_vectors: Path,
    items: Path,
    people_vectors: Path | None,
    out: Path,
    scale: tuple[float, float],
    like_from: float | None,
    k: int,
    least_likes: int,
    default_items: int | None,
    max_bad_rows: float,
) -> None:
    """Make a model of vectors that another model has: embeddings, factors.

    Vectors are rows of floating-point numbers, whose dot products rank: `vectors` in npz or
    safetensors, a column `vector` of lists in parquet. Beside them `keys` (in parquet `key`) name
    the items as the items file does; without keys, vectors are in the order of its rows.

    The space of signals is fitted to simulated histories of likes: of the users whose vectors are
    given, or else of made-up people. With ratings at hand, fit it to these: import, and then
    train --vectors-from the imported model.

    \b
    Example:
      askew-server import --item-vectors als.npz --items movies.csv --out model
    """
    from threadpoolctl import threadpool_limits

    from askew_server.ratings import read_items
    from askew_server.ratings.vectors import read_vectors
    from askew_server.taste.model.item_model import import_model
    from askew_server.taste.training.given_vectors import match_items
    from askew_server.taste.training.options import GIVEN, TrainingOptions, what_it_tells

    options = TrainingOptions(
        k=k,
        ranking_dimension=MAX_RANKING_DIMENSION,  # as many as the vectors have
        least_likes=least_likes,
        default_items=default_items,
    )
    rated = scale_of(scale, like_from)
    check_new(out)
    vectors = read_vectors(item_vectors)
    people = None if people_vectors is None else read_vectors(people_vectors)
    rows, left_out = read_items(items, bad_share=max_bad_rows)
    show_omissions(left_out)
    given = match_items(vectors, rows, left_out.count)
    _say(given)
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    with Steps.shown() as steps, threadpool_limits(1):
        model, table = import_model(
            given,
            people,
            rows,
            options,
            rated,
            step=lambda name: steps.step(f"import: {name}"),
        )
        save(model, out, steps)
    report(model, table, out, what_it_tells(GIVEN))


def _say(given: MatchedItems) -> None:
    n, size = given.vectors.shape
    click.echo(f"vectors    {n:,} items, {size} numbers each")
    if given.without:
        click.echo(f"           {given.without:,} rows of the items have no vector: left out")
    click.echo("people     SIMULATED from the vectors: nobody gave the ratings that follow")
