"""`askew-server train`, `update` and `import`."""

from __future__ import annotations

from typing import Any

import click

from askew_server.cli.options import PATH, bad_rows_option, private_options


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
    where a list of what is popular would do as well. A terminal then asks for a yes (a no is exit
    130). Exit code 3: the budget does not allow it. Else nothing is asked.

    Prints a report, from "ratings" and "catalog" to "model", with the utility in a table.

    \b
    Examples:
      askew-server train --ratings ratings.csv --items movies.csv --out model
      askew-server train --epsilon 1 --delta 1e-6 --dataset films \\
        --ledger askew-ledger.sqlite --ratings ratings.csv --items movies.csv \\
        --out model
    """
    from askew_server.cli import train_run

    train_run.train(**asked)


@click.command()
@click.option("--model", required=True, type=PATH, help="Model directory.")
@click.option(
    "--ratings",
    required=True,
    type=PATH,
    help="Ratings: a file, a folder or a pattern.",
)
@click.option("--items", type=PATH, help="Items file; else known titles stay.")
@click.option("--out", required=True, type=PATH, help="New model directory.")
@private_options
@bad_rows_option
def update(**asked: Any) -> None:
    """Make a new catalog in a model's space, without training.

    New items are folded in, items no longer rated are dropped, popularity and the shared slate are
    made anew. Devices keep their signals and pay nothing.

    Prints "items      12 new, 3 dropped" and the report of train; asks nothing.

    A private model is updated with --epsilon alone, from another noisy matrix, which is paid for
    and asked about like the first: their epsilons add up. Then there is no line of items.

    \b
    Example:
      askew-server update --model model --ratings new.csv \\
        --items movies.csv --out model-2
    """
    from askew_server.cli import train_run

    train_run.update(**asked)


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
    train --model the imported one. Asks nothing. Prints "vectors    1,682 items, 50 numbers each",
    a line that the people are SIMULATED, and the report of train.

    \b
    Example:
      askew-server import als.npz --items movies.csv --out model
    """
    from askew_server.cli import train_run

    train_run.import_vectors(**asked)
