"""`askew-server update`."""

from __future__ import annotations

from typing import Any

import click

from askew_server.cli.options import PATH, bad_rows_option
from askew_server.cli.private_options import private_options


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

    A private model is updated with --epsilon alone, from another noisy matrix, which is paid for
    like the first: their epsilons add up.

    \b
    Example:
      askew-server update --model model --ratings new.csv \\
        --items movies.csv --out model-2
    """
    from askew_server.cli import train_run

    train_run.update(**asked)
