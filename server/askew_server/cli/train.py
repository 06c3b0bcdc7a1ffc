"""`askew-server train`."""

from __future__ import annotations

from typing import Any

import click

from askew_server.cli.options import PATH, bad_rows_option
from askew_server.cli.private_options import private_options


@click.command()
@click.option(
    "--ratings",
    required=True,
    type=PATH,
    help="Ratings: a file, a folder or a pattern.",
)
@click.option("--items", type=PATH, help="Items file; without one, keys are titles.")
@click.option("--out", required=True, type=PATH, help="New model directory.")
@click.option("-k", default=20, show_default=True, help="The k that devices will choose.")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option(
    "--counts",
    is_flag=True,
    help="The ratings are counts, such as plays; each is a like, or each from --like-from on.",
)
@private_options
@click.option(
    "--model",
    type=PATH,
    help="Take items, vectors and rating scale from this model, which these people are not in.",
)
@click.option(
    "--scale",
    type=(float, float),
    default=(1.0, 5.0),
    show_default=True,
    help="Of a private model: lowest and highest rating; others do not count.",
)
@bad_rows_option
def train(**asked: Any) -> None:
    """Train a model on ratings. The same ratings and options make the same bytes.

    Reads MovieLens files in their original formats (csv, u.data and u.item, .dat), and any csv,
    tsv, txt, JSON lines or parquet with the columns user, item, rating; text may be packed as .gz
    or .zst. Without --items, the items of the ratings are their titles, such as "Alien (1979)".

    With --epsilon, the ratings are counted into one noisy matrix, which a ledger pays for, and the
    model is made of that matrix alone: epsilon and delta hide all that one person likes. Ratings
    are then files of text or parquet, or a table of --engine. It says first what it will spend, and
    where a list of what is popular would do as well.

    \b
    Examples:
      askew-server train --ratings ratings.csv --items movies.csv --out model
      askew-server train --epsilon 1 --delta 1e-6 --dataset films \\
        --ledger askew-ledger.sqlite --ratings ratings.csv --items movies.csv \\
        --out model
    """
    from askew_server.cli import train_run

    train_run.train(**asked)
