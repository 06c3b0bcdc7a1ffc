"""Training as an operator sees it: files come in, a model and its report go out."""

from __future__ import annotations

from pathlib import Path

import click
from threadpoolctl import threadpool_limits

from askew.limits import MAX_RANKING_DIMENSION
from askew_server.cli.options import PrivateOptions, check_new
from askew_server.cli.progress import Steps, show_omissions
from askew_server.cli.saved_model import load, of_tastes
from askew_server.cli.train_private import make_private
from askew_server.cli.training_data import (
    report,
    scale_of,
    show_left_out,
    training_data,
)
from askew_server.ratings import ItemRow, RatingTable, read_items
from askew_server.ratings.vectors import read_vectors
from askew_server.taste import artifact
from askew_server.taste import model as item_model
from askew_server.taste.artifact import TasteManifest
from askew_server.taste.directory import MANIFEST, MANIFEST_LIMIT, decode_manifest, read
from askew_server.taste.imported_vectors import match_items
from askew_server.taste.item_vectors import GivenVectors, often_rated
from askew_server.taste.options import (
    FIXED,
    IMPORTED,
    LEARNED,
    UPDATED,
    TrainingOptions,
    count_in_words,
    disclosure_lines,
)
from askew_server.taste.paid_matrix import NOISY
from askew_server.taste.space_fit import rating_scale_of as scale_of_ratings


def train(
    ratings: Path,
    items: Path | None,
    out: Path,
    paying: PrivateOptions,
    *,
    k: int,
    min_ratings: int,
    like_from: float | None,
    counts: bool,
    model: Path | None,
    scale: tuple[float, float],
    max_bad_rows: float,
) -> None:
    """Train a model, write it to `out` and print a report; see `askew-server train`. Raises
    click.UsageError for options that do not go together, ParameterError for an `out` that is there
    and for numbers beyond their limits, and DataError for files that cannot be used.
    """
    options = TrainingOptions(
        k=k,
        min_ratings=min_ratings,
        like_from=None if counts else like_from,
        counts=(1.0 if like_from is None else like_from) if counts else None,
    )
    if paying.epsilon is not None:
        if counts or model:
            raise click.UsageError("a private model (--epsilon) takes no --counts and no --model")
        make_private(paying, ratings, items, out, options, scale_of(scale, like_from))
        return
    paying.check_unused()
    table, rows = training_data(
        ratings, items, out, options.counts, most_bad=max_bad_rows, encoding=paying.encoding
    )
    vectors = None
    if model is None:
        kept = tuple(table.item_keys[item] for item in often_rated(table, min_ratings))
        least = scale_of_ratings(table, options.like_from).like_from
        reason = f"fewer than {min_ratings} ratings (--min-ratings)"
    else:
        imported = of_tastes(load(model))
        catalog, space = imported.catalog, imported.card.space
        kept = tuple(imported.keys)
        vectors = GivenVectors(kept, catalog.vectors, space.scale, catalog.boosts, space.scales)
        least, reason = space.scale.like_from, "the model of --model does not have them"
    show_left_out(table, kept, least, reason)
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    steps = Steps()
    with threadpool_limits(1):
        trained = item_model.train(
            table,
            rows,
            options,
            source=_source_of(table),
            vectors=vectors,
            step=lambda name: steps.step(f"training: {name}"),
        )
        steps.step("writing the model")
        artifact.save(trained, out)
    report(trained, table, out, disclosure_lines(FIXED if vectors else LEARNED))


def update(
    model: Path,
    ratings: Path,
    items: Path | None,
    out: Path,
    paying: PrivateOptions,
    *,
    max_bad_rows: float,
) -> None:
    """Make a new catalog in a model's space, write it to `out` and print a report; see
    `askew-server update`. Raises click.UsageError for a private model without --epsilon, or another
    with it, ParameterError for a model of collections and for an `out` that is there.
    """
    old = of_tastes(load(model))
    # As its manifest says, also where the matrix is gone.
    manifest = decode_manifest(read(model / MANIFEST, MANIFEST_LIMIT), TasteManifest)
    is_private = NOISY in manifest.files
    if is_private != (paying.epsilon is not None):
        raise click.UsageError(
            f"{model} is a private model: update it with --epsilon, and pay again"
            if is_private
            else f"{model} is not a private model: update it without --epsilon"
        )
    if is_private:
        make_private(paying, ratings, items, out, old.training, old.card.space.scale, old)
        return
    paying.check_unused()
    table, rows = training_data(
        ratings, items, out, old.training.counts, most_bad=max_bad_rows, encoding=paying.encoding
    )
    if items is None:
        items_of_model = zip(old.keys, old.catalog.items, strict=True)
        rows |= {key: ItemRow(item.title, item.year, item.genres) for key, item in items_of_model}
    least = old.training.min_ratings
    kept = {table.item_keys[item] for item in often_rated(table, least)}
    reason = f"fewer than {least} ratings, as the model was trained"
    show_left_out(table, kept, old.card.space.scale.like_from, reason)
    steps = Steps()
    with threadpool_limits(1):
        steps.step("the catalog")
        new = item_model.update(old, table, rows, source=_source_of(table))
        steps.step("writing the model")
        artifact.save(new, out)
    added, dropped = len(set(new.keys) - set(old.keys)), len(set(old.keys) - set(new.keys))
    click.echo(f"items      {added:,} new, {dropped:,} dropped")
    report(new, table, out, disclosure_lines(UPDATED))


def import_vectors(
    vectors: Path,
    items: Path,
    user_vectors: Path | None,
    out: Path,
    *,
    scale: tuple[float, float],
    like_from: float | None,
    k: int,
    max_bad_rows: float,
) -> None:
    """Make a model of vectors that another model has, write it to `out` and print a report; see
    `askew-server import`. Raises ParameterError, as for an `out` that is there, and DataError.
    """
    rated = scale_of(scale, like_from)
    # As many dimensions as the vectors have.
    options = TrainingOptions(k=k, ranking_dimension=MAX_RANKING_DIMENSION)
    check_new(out)
    imported = read_vectors(vectors)
    users = None if user_vectors is None else read_vectors(user_vectors)[0]
    rows, left_out = read_items(items, most_bad=max_bad_rows)
    show_omissions(left_out)
    matched, keys = match_items(*imported, rows, left_out.count)
    n, size = matched.shape
    click.echo(f"vectors    {n:,} items, {size} numbers each")
    if without := len(rows) - n:
        click.echo(f"           {without:,} rows of the items have no vector: left out")
    click.echo("people     SIMULATED from the vectors: nobody gave the ratings that follow")
    steps = Steps()
    with threadpool_limits(1):
        model, table = item_model.import_model(
            matched,
            keys,
            rows,
            options,
            rated,
            people=users,
            step=lambda name: steps.step(f"import: {name}"),
        )
        steps.step("writing the model")
        artifact.save(model, out)
    report(model, table, out, disclosure_lines(IMPORTED))


def _source_of(table: RatingTable) -> str:
    # In the words of the card, which is public.
    return f"ratings of {count_in_words(table.n_people)} people"
