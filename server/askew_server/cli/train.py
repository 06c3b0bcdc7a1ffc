"""`askew-server train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_server.cli.options import bad_rows_option
from askew_server.cli.progress import Steps
from askew_server.cli.saved_model import load, of_tastes
from askew_server.cli.train_private import PrivateOptions, private_options, train_private
from askew_server.cli.training_data import (
    default_items_option,
    report,
    save,
    scale_of,
    show_left_out,
    source_of,
    training_data,
)

if TYPE_CHECKING:
    from askew_server.ratings import RatingTable
    from askew_server.taste.training.item_vectors import VectorSource  # brings numpy
    from askew_server.taste.training.options import TrainingOptions


@click.command()
@click.option(
    "--ratings",
    required=True,
    type=click.Path(path_type=Path),
    help="Ratings: a file, a folder or a pattern.",
)
@click.option(
    "--items", type=click.Path(path_type=Path), help="Items file; without one, keys are titles."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option("-k", default=20, show_default=True, help="The k that devices will choose.")
@click.option("--ranking-dimension", type=int, help="Numbers of a vector; default 64.")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option("--least-likes", default=20, show_default=True, help="Hold back shorter profiles.")
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option(
    "--counts",
    is_flag=True,
    help="The ratings are counts, such as plays; each is a like, or each from --like-from on.",
)
@click.option("--ledger", type=click.Path(path_type=Path), help="Of a private model: what pays.")
@click.option("--mark", type=click.Path(path_type=Path), help="The ledger's mark.")
@click.option("--dataset", help="Whose budget pays.")
@private_options
@click.option(
    "--vectors-from",
    type=click.Path(path_type=Path),
    help="Take items, vectors and rating scale from this model, which these people are not in.",
)
@default_items_option
@bad_rows_option
def train(
    ratings: Path,
    items: Path | None,
    out: Path,
    k: int,
    ranking_dimension: int | None,
    min_ratings: int,
    least_likes: int,
    like_from: float | None,
    counts: bool,
    ledger: Path | None,
    mark: Path | None,
    dataset: str | None,
    vectors_from: Path | None,
    default_items: int | None,
    max_bad_rows: float,
    paying: PrivateOptions,
) -> None:
    """Train a model on ratings. The same ratings and options make the same bytes.

    Reads MovieLens files in their original formats (csv, u.data and u.item, .dat), and any csv,
    tsv, txt, JSON lines or parquet with the columns user, item, rating; text may be packed as .gz
    or .zst. Without --items, the items of the ratings are their titles, such as "Alien (1979)".

    With --private, the ratings are counted into one noisy matrix, which a ledger pays for, and the
    model is made of that matrix alone: --epsilon and --delta hide all that one person likes.
    Ratings are then files of text or parquet, or a table of --engine. It says first what it will
    spend, and where a list of what is popular would do as well.

    \b
    Examples:
      askew-server train --ratings ratings.csv --items movies.csv --out model
      askew-server train --private --epsilon 1 --delta 1e-6 --dataset films \\
        --ledger askew-ledger.sqlite --ratings ratings.csv --items movies.csv \\
        --out model
    """
    from threadpoolctl import threadpool_limits

    from askew_server.taste.model.item_model import train as fit
    from askew_server.taste.training.options import (
        FIXED,
        LEARNED,
        TrainingOptions,
        what_it_tells,
    )

    options = TrainingOptions(
        k=k,
        ranking_dimension=ranking_dimension,
        min_ratings=min_ratings,
        least_likes=least_likes,
        like_from=None if counts else like_from,
        counts=_least_count(like_from) if counts else None,
        default_items=default_items,
    )
    if paying.private:
        if items is None or counts or vectors_from:
            raise click.UsageError(
                "--private needs --items, and takes no --counts or --vectors-from"
            )
        scale = scale_of(paying.scale, like_from)
        spending = paying.spending(ratings, scale, ledger, mark, dataset)
        train_private(spending, items, out, options, scale)
        return
    paying.check_unused()
    table, rows = training_data(
        ratings, items, out, options.counts, bad_share=max_bad_rows, encoding=paying.encoding
    )
    vectors = _vectors(vectors_from)
    show_left_out(table, *_taken(table, vectors, options))
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    with Steps.shown() as steps, threadpool_limits(1):
        model = fit(
            table,
            rows,
            options,
            source=source_of(table),
            vectors=vectors,
            step=lambda name: steps.step(f"training: {name}"),
        )
        save(model, out, steps)
    report(model, table, out, what_it_tells(FIXED if vectors.fixed else LEARNED))


def _vectors(model: Path | None) -> VectorSource:
    """The vectors of an existing model, or else vectors that training learns."""
    from askew_server.taste.training.item_vectors import FixedVectors, LearnedVectors

    if model is None:
        return LearnedVectors()
    given = of_tastes(load(model))
    catalog = given.catalog
    return FixedVectors(tuple(given.keys), catalog.vectors, catalog.boosts, given.card.space)


def _taken(
    table: RatingTable, vectors: VectorSource, options: TrainingOptions
) -> tuple[tuple[str, ...], float, str]:
    """Which items a model will have, the least rating that is a like, and why no others."""
    from askew_server.taste.training.item_vectors import FixedVectors, often_rated
    from askew_server.taste.training.space_fit import scale_of

    if isinstance(vectors, FixedVectors):
        no_vector = "the model of --vectors-from does not have them"
        return vectors.keys, vectors.space.scale.like_from, no_vector
    kept = tuple(table.item_keys[item] for item in often_rated(table, options.min_ratings))
    scale = scale_of(table, options.like_from)
    return kept, scale.like_from, f"fewer than {options.min_ratings} ratings (--min-ratings)"


def _least_count(like_from: float | None) -> float:
    return 1.0 if like_from is None else like_from
