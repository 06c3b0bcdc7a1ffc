"""The command `askew-server`: train a model, serve it, publish popularity lists."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from askew import __version__
from askew.errors import AskewError, BudgetExceeded, ParameterError, Refused
from askew.rule_kind import RuleKind
from askew_server.cli.analyst import analyst
from askew_server.cli.commands import Commands
from askew_server.cli.evaluate import evaluate
from askew_server.cli.explain import explain
from askew_server.cli.ledger import ledger
from askew_server.cli.prior_options import PriorOptions, prior_options
from askew_server.cli.progress import Steps
from askew_server.cli.release import release
from askew_server.cli.releases import releases
from askew_server.cli.serve import serve
from askew_server.cli.serve_releases import serve_releases
from askew_server.cli.token import token
from askew_server.ratings import ItemRow, RatingTable, Rejects, read_items, read_ratings, titled
from askew_server.training.options import RULES

if TYPE_CHECKING:
    from askew_server.model.item_model import ItemModel  # brings scipy
    from askew_server.training.item_vectors import VectorSource

_SHOWN_REJECTS = 10
_Table = TypeVar("_Table")


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80}
)
@click.version_option(__version__)
def cli() -> None:
    """Train a recommendation model, answer noisy signals, publish popularity lists."""


@cli.command()
@click.option("--ratings", required=True, type=click.Path(path_type=Path), help="Ratings file.")
@click.option(
    "--items", type=click.Path(path_type=Path), help="Items file; without one, keys are titles."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
@click.option(
    "--epsilon",
    default=4.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="The epsilon that devices will choose.",
)
@click.option("-k", default=8, show_default=True, help="The k that devices will choose.")
@click.option("--dimension", type=int, help="Of the signal space; the default suits epsilon.")
@click.option("--ranking-dimension", default=32, show_default=True, help="Of the factors.")
@click.option("--long-tail", is_flag=True, help="Rank rarer items higher: score / sqrt(likes).")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option("--least-likes", default=20, show_default=True, help="Hold back shorter profiles.")
@click.option("--like-from", type=float, help="Lowest rating that is a like; default upper 1/4.")
@click.option(
    "--counts",
    is_flag=True,
    help="The ratings are counts, such as plays; each is a like, or each from --like-from on.",
)
@click.option(
    "--rule",
    default="auto",
    show_default=True,
    type=click.Choice(RULES),
    help="How to answer a signal; auto takes what did best for people kept aside.",
)
@click.option("--principal", is_flag=True, help="Signal along principal axes, nothing learned.")
@prior_options
@click.option(
    "--vectors-from",
    type=click.Path(path_type=Path),
    help="Take items, vectors and rating scale from this model, which these people are not in.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the decomposition.")
def train(
    ratings: Path,
    items: Path | None,
    out: Path,
    epsilon: float,
    k: int,
    dimension: int | None,
    ranking_dimension: int,
    long_tail: bool,
    min_ratings: int,
    least_likes: int,
    like_from: float | None,
    counts: bool,
    rule: str,
    principal: bool,
    vectors_from: Path | None,
    seed: int,
    prior: PriorOptions,
) -> None:
    """Train a model on ratings. The same ratings, options and prior make the same bytes.

    Reads MovieLens files in their original formats (csv, u.data and u.item, .dat), gzipped or not,
    and any csv or parquet file with the columns user, item, rating. Without --items, the items of
    the ratings are their titles, such as "Alien (1979)".

    \b
    Example:
      askew-server train --ratings ratings.csv --items movies.csv --out model
    """
    from threadpoolctl import threadpool_limits

    from askew_server.model import artifact
    from askew_server.model.item_model import train as fit
    from askew_server.training.disclosure import FIXED, LEARNED
    from askew_server.training.options import TrainingOptions

    options = TrainingOptions(
        epsilon=epsilon,
        k=k,
        dimension=dimension,
        ranking_dimension=ranking_dimension,
        boost_exponent=0.5 if long_tail else 0.0,
        min_ratings=min_ratings,
        least_likes=least_likes,
        like_from=None if counts else like_from,
        counts=_least_count(like_from) if counts else None,
        rule=rule,
        learned=not principal,
        seed=seed,
    )
    table, rows = _training_data(ratings, items, out, options.counts)
    vectors = _vectors(vectors_from)
    # On small matrices, more threads wait for each other: more CPU time, no faster.
    with (
        prior.source(options.counts) as people,
        Steps.shown() as steps,
        threadpool_limits(1),
    ):
        model = fit(
            table,
            rows,
            options,
            source=_source(table),
            prior=people,
            vectors=vectors,
            step=lambda name: steps.step(f"training: {name}"),
        )
        steps.step("writing the model")
        artifact.save(model, out)
    _report(model, table, out, FIXED if vectors.fixed else LEARNED)


@cli.command()
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Model directory.")
@click.option("--ratings", required=True, type=click.Path(path_type=Path), help="Ratings file.")
@click.option(
    "--items", type=click.Path(path_type=Path), help="Items file; else known titles stay."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New model directory.")
def update(model: Path, ratings: Path, items: Path | None, out: Path) -> None:
    """Make a new catalog in a model's space, without training.

    New items are folded in, items no longer rated are dropped, popularity and the shared slate are
    made anew. Devices keep their signals and pay nothing.

    \b
    Example:
      askew-server update --model model --ratings new.csv --items movies.csv --out model-2
    """
    from askew_server.model import artifact
    from askew_server.model.catalog_update import update as renew
    from askew_server.training.disclosure import UPDATED

    old = artifact.load(model)
    table, rows = _training_data(ratings, items, out, old.training.counts)
    if items is None:
        rows |= _rows_of(old)
    new = renew(old, table, rows, source=_source(table))
    artifact.save(new, out)
    added, dropped = len(set(new.keys) - set(old.keys)), len(set(old.keys) - set(new.keys))
    click.echo(f"items      {added:,} new, {dropped:,} dropped")
    _report(new, table, out, UPDATED)


def _rows_of(model: ItemModel) -> dict[str, ItemRow]:
    """What a model knows of its items."""
    named = zip(model.keys, model.catalog.items, strict=True)
    return {key: ItemRow(item.title, item.year, item.genres) for key, item in named}


def _vectors(model: Path | None) -> VectorSource:
    """The vectors of an existing model, or else vectors that training learns."""
    from askew_server.model import artifact
    from askew_server.training.item_vectors import FixedVectors, LearnedVectors

    if model is None:
        return LearnedVectors()
    given = artifact.load(model)
    return FixedVectors(given.keys, given.catalog.vectors, given.card.space.scale)


def _source(table: RatingTable) -> str:
    """Where the ratings come from, in the words of the card, which is public."""
    from askew_server.training.disclosure import in_words

    return f"ratings of {in_words(table.n_people)} people"


def _least_count(like_from: float | None) -> float:
    return 1.0 if like_from is None else like_from


def _training_data(
    ratings: Path, items: Path | None, out: Path, counts: float | None
) -> tuple[RatingTable, dict[str, ItemRow]]:
    if out.exists() or out.is_symlink():
        raise ParameterError("out", str(out), "a directory that does not exist yet")
    table = _loaded(partial(read_ratings, counts=counts), ratings, "Reading ratings")
    if items is None:
        return table, {key: titled(key) for key in table.item_keys}
    return table, _loaded(read_items, items, "Reading items")


def _report(model: ItemModel, table: RatingTable, out: Path, made_of_people: str) -> None:
    """What the operator reads. The first line is exact, and is not part of the model."""
    from askew_server.training.disclosure import what_it_tells

    space, rule = model.card.space, model.card.rule
    reach, epsilon = space.encoder.reach(), rule.epsilon
    size = f"{len(table.rating):,} by {table.n_people:,} people of {len(table.item_keys):,} items"
    click.echo(f"ratings    {size}")
    click.echo(f"catalog    {model.card.n_items:,} items, version {model.card.catalog_version}")
    click.echo(
        f"space      {space.ranking_dimension} ranking dimensions, {space.dimension} in a signal, "
        f"version {space.version}"
    )
    click.echo(
        f"distances  {model.median_distance:g} the median of two people, at most "
        f"{float(reach.one_rating):.3f} by one rating, {float(reach.diameter):.2f} the farthest"
    )
    if model.median_distance < 1:
        click.echo(
            "           the median would be 1, but devices refuse so wide a space: the unit of "
            "distance\n           is larger here, and epsilon hides people better than it says"
        )
    click.echo(
        f"epsilons   {epsilon:g}, at most {epsilon * float(reach.one_rating):.3g} and "
        f"{epsilon * float(reach.diameter):.3g} at these distances"
    )
    click.echo(f"rule       {rule.kind}, for epsilon {epsilon:g} and k = {rule.k}")
    click.echo(f"prior      {rule.prior}")
    for name, figure in model.figures.items():
        gain = f", {figure.gain:+.2f} ± {figure.gain_error:.2f}" if name != RuleKind.NONE else ""
        click.echo(f"  {name:<10} {figure.ratio:.2f} of the best possible score{gain}")
    long_tail = model.training.boost_exponent > 0
    told = what_it_tells(made_of_people, long_tail=long_tail)
    click.echo("tells      " + "\n           ".join(told))
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


def _exit_code(error: Exception) -> int:
    return 3 if isinstance(error, BudgetExceeded | Refused) else 1


def main() -> None:
    """Run the command; a deliberate error is one line, and exit code 3 for a budget, else 1."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would say the same again, at length
    try:
        cli()
    except (AskewError, OSError) as error:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        click.echo(f"askew-server: {error}{notes}", err=True)
        sys.exit(_exit_code(error))


for command in (
    analyst,
    evaluate,
    explain,
    ledger,
    release,
    releases,
    serve,
    serve_releases,
    token,
):
    cli.add_command(command)
