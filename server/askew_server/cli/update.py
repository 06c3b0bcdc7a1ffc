"""`askew-server update`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_server.cli.options import bad_rows_option
from askew_server.cli.progress import Steps
from askew_server.cli.saved_model import load, of_tastes
from askew_server.cli.train_private import (
    PrivateOptions,
    is_private,
    private_options,
    update_private,
)
from askew_server.cli.training_data import (
    report,
    save,
    show_left_out,
    source_of,
    training_data,
)

if TYPE_CHECKING:
    from askew_server.ratings import ItemRow
    from askew_server.taste.model.item_model import ItemModel  # brings scipy


@click.command()
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Model directory.")
@click.option(
    "--ratings",
    required=True,
    type=click.Path(path_type=Path),
    help="Ratings: a file, a folder or a pattern.",
)
@click.option(
    "--items", type=click.Path(path_type=Path), help="Items file; else known titles stay."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Of a private model: what pays.")
@click.option("--mark", type=click.Path(path_type=Path), help="The ledger's mark.")
@click.option("--dataset", help="Whose budget pays.")
@private_options
@bad_rows_option
def update(
    model: Path,
    ratings: Path,
    items: Path | None,
    out: Path,
    ledger: Path | None,
    mark: Path | None,
    dataset: str | None,
    max_bad_rows: float,
    paying: PrivateOptions,
) -> None:
    """Make a new catalog in a model's space, without training.

    New items are folded in, items no longer rated are dropped, popularity and the shared slate are
    made anew. Devices keep their signals and pay nothing.

    A private model is updated with --private alone, from another noisy matrix, which is paid for
    like the first: their epsilons add up.

    \b
    Example:
      askew-server update --model model --ratings new.csv \\
        --items movies.csv --out model-2
    """
    from threadpoolctl import threadpool_limits

    from askew_server.taste.model.item_model import update as renew
    from askew_server.taste.training.item_vectors import often_rated
    from askew_server.taste.training.options import UPDATED, what_it_tells

    old = of_tastes(load(model))
    if paying.private != is_private(model):
        raise click.UsageError(
            f"{model} is a private model: update it with --private"
            if is_private(model)
            else f"{model} is no private model: its people are told as they are, without --private"
        )
    if paying.private:
        if items is None:
            raise click.UsageError("--private needs --items")
        scale = old.card.space.scale
        spending = paying.spending(ratings, scale, ledger, mark, dataset)
        update_private(spending, old, items, out)
        return
    paying.check_unused()
    table, rows = training_data(
        ratings, items, out, old.training.counts, bad_share=max_bad_rows, encoding=paying.encoding
    )
    if items is None:
        rows |= _rows_of(old)
    least = old.training.min_ratings
    kept = {table.item_keys[item] for item in often_rated(table, least)}
    reason = f"fewer than {least} ratings, as the model was trained"
    show_left_out(table, kept, old.card.space.scale.like_from, reason)
    with Steps.shown() as steps, threadpool_limits(1):
        steps.step("the catalog")
        new = renew(old, table, rows, source=source_of(table))
        save(new, out, steps)
    added, dropped = len(set(new.keys) - set(old.keys)), len(set(old.keys) - set(new.keys))
    click.echo(f"items      {added:,} new, {dropped:,} dropped")
    report(new, table, out, what_it_tells(UPDATED))


def _rows_of(model: ItemModel) -> dict[str, ItemRow]:
    """What a model knows of its items."""
    from askew_server.ratings import ItemRow

    named = zip(model.keys, model.catalog.items, strict=True)
    return {key: ItemRow(item.title, item.year, item.genres) for key, item in named}
