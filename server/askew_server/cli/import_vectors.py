"""`askew-server import`."""

from __future__ import annotations

from typing import Any

import click

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
def import_vectors(**asked: Any) -> None:
    """Make a model of vectors that another model has: embeddings, factors.

    VECTORS has rows of floating-point numbers, whose dot products rank: `vectors` in npz, a column
    `vector` of lists in parquet. Beside them `keys` (in parquet `key`) name the items as the items
    file does; without keys, vectors are in the order of its rows.

    The space of signals is fitted to simulated histories of likes: of the users whose vectors are
    named, or else of made-up people. With ratings at hand, fit it to these: import, and then
    train --model the imported one.

    \b
    Example:
      askew-server import als.npz --items movies.csv --out model
    """
    from askew_server.cli import train_run

    train_run.import_vectors(**asked)
