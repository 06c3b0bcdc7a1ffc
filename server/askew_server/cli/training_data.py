"""What `train`, `import` and `update` share: ratings come in, a report of the model goes out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import click
import numpy as np

from askew.dp.privacy import DEVICE_EPSILON
from askew.errors import OutOfRange, ParameterError
from askew.limits import DEVICE_BYTES
from askew.spaces.vectors import RatingScale
from askew.wire.catalog_file import catalog_to_bytes
from askew_server.cli.options import check_new
from askew_server.cli.progress import Steps, show_omissions, when_stopped
from askew_server.ratings import ItemRow, RatingTable, read_items, read_ratings, titled
from askew_server.tables import open_table
from askew_server.tables.rows import Omissions
from askew_server.taste.evaluation import EPSILONS
from askew_server.taste.measures import Estimate
from askew_server.taste.model import ItemModel

_SHOWN_KEY = 40  # characters of an item's key
_MANY_LIKES = 0.1
_Table = TypeVar("_Table")


def training_data(
    ratings: Path,
    items: Path | None,
    out: Path,
    counts: float | None,
    *,
    most_bad: float,
    encoding: str | None = None,
) -> tuple[RatingTable, dict[str, ItemRow]]:
    """Return the ratings of a file (counts: likes of a file of plays, where their sum is at least
    that), and the items by key: the rows of the items file, or without one each key as a title.
    Prints on standard error what was left out, and which rated items have no row.

    Raises ParameterError for an `out` that is there, and DataError for files that cannot be used.
    """
    check_new(out)
    named = open_table(ratings, encoding=encoding)
    read = partial(read_ratings, named, counts=counts, most_bad=most_bad)
    table = _loaded(read, "reading ratings")
    if items is None:
        return table, {key: titled(key) for key in table.item_keys}
    rows = _loaded(partial(read_items, items, most_bad=most_bad), "reading items")
    untitled = [key for key in table.item_keys if key not in rows]
    if untitled:
        click.echo(
            f"warning: {len(untitled):,} of {len(table.item_keys):,} rated items have no row in"
            f" {items.name}, and are shown as 'item {untitled[0][:_SHOWN_KEY]}': are its ids those"
            " of the ratings?",
            err=True,
        )
    return table, rows


def show_left_out(table: RatingTable, keys: Collection[str], like_from: float, reason: str) -> None:
    """Print on standard error how many rated items are not among these keys: "2 of 400 rated items
    are left out, with 1.5% of the likes: REASON"; nothing where all are.

    The share is exact, and so for the operator alone. Of a tenth of the likes and more, the line
    begins with "warning: ".
    """
    wanted = set(keys)
    kept = np.array([key in wanted for key in table.item_keys], np.bool_)
    if kept.all():
        return
    likes = table.rating >= like_from
    share = float(np.mean(~kept[table.item[likes]])) if likes.any() else 0.0
    items = f"{np.count_nonzero(~kept):,} of {len(kept):,} rated items are left out"
    warning = "warning: " if share >= _MANY_LIKES else ""
    click.echo(f"{warning}{items}, with {share:.1%} of the likes: {reason}", err=True)


def scale_of(limits: tuple[float, float], like_from: float | None) -> RatingScale:
    """Return the rating scale between two limits; likes begin at like_from, by default at the upper
    quarter: 4.0 from 1 to 5. Raises ParameterError that names "scale", or "like_from" where
    one is given.
    """
    try:
        usual = RatingScale.between(*limits)
        return usual if like_from is None else RatingScale(*limits, like_from)
    except OutOfRange as error:
        if like_from is None:
            raise ParameterError("scale", limits, error.limit) from None
        raise ParameterError("like_from", like_from, error.limit) from None


def report(model: ItemModel, table: RatingTable | None, out: Path, tells: tuple[str, ...]) -> None:
    """Print on standard output what the operator reads of a model: lines of ratings, catalog,
    space, distances, epsilons, `figures_of`, tells and model (`out`).

    table: whose line, ratings, is exact, and no part of the model; None, of a private one, for no
    such line. tells: lines on what the model tells of the people.
    """
    card, space = model.card, model.card.space
    if table is not None:
        size = f"{table.n_people:,} people of {len(table.item_keys):,} items"
        click.echo(f"ratings    {len(table.rating):,} by {size}")
    click.echo(f"catalog    {card.n_items:,} items, version {card.catalog_version}")
    click.echo(
        f"space      {space.ranking_dimension} ranking dimensions, {space.dimension} in a signal, "
        f"version {space.version}"
    )
    click.echo(
        f"distances  in ratings: {card.median_distance:g} the median of two people, "
        f"{float(space.diameter):.2f} the farthest"
    )
    distances = (1.0, card.median_distance, float(space.diameter))
    rates = [
        ", ".join(f"{float(rate) * distance:.3g}" for distance in distances) for rate in EPSILONS
    ]
    click.echo(f"epsilons   a rating, at the median, between any two: {'; '.join(rates)}")
    for line in figures_of(model):
        click.echo(line)
    click.echo("tells      " + "\n           ".join(tells))
    click.echo(f"model      {out}")


def _loaded(read: Callable[..., tuple[_Table, Omissions]], label: str) -> _Table:
    # Who stops it stops it in order: it may have made a copy of the file.
    steps = Steps()
    with when_stopped():
        steps.step(label)
        content, left_out = read(progress=steps.share)
    show_omissions(left_out)
    return content


def figures_of(model: ItemModel) -> Iterator[str]:
    """Yield the lines of a table of the NDCG@10 of people held out, by how many items devices hold
    and what they do, and last a sentence of advice on what devices do.
    """
    card, k = model.card, model.training.k
    whom = "SIMULATED people" if card.simulated else "people"
    yield f"utility    NDCG@10 of {whom} held out, by what they liked and did not tell"
    columns = list(model.figures.items())
    yield "  " + f"{'devices hold':<28}" + "".join(f"{int(count):>22,}" for count, _ in columns)
    names = list(dict.fromkeys(name for _, column in columns for name in column))
    words = {"alone": "and send nothing", "everybody": f"and get the same {k} for all"}
    for name in names:
        line = f"  {words.get(name, f'and ask at {name} a rating'):<28}"
        for figure in (column.get(name) for _, column in columns):
            cell = ""
            if figure is not None and name == "alone":
                cell = f"{_short(figure.ndcg.mean)} ± {_short(figure.ndcg.error)}"
            elif figure is not None:
                cell = f"{_short(figure.ndcg.mean)} {_gained(figure.gain)}"
            line += f"{cell:>22}"
        yield line
    yield "           a gain is over the line of everybody, of that over sending nothing"
    whole = len(catalog_to_bytes(card, model.catalog))
    size = f"{whole:,} bytes hold all {card.n_items:,} items"
    default = f"{float(DEVICE_EPSILON):g}"
    if whole <= DEVICE_BYTES:
        yield f"advice     hold them: {size}, and devices rank all and send nothing"
        return
    figure = model.figures.get(str(card.n_default), {}).get(default)
    # Twice the standard error: of nothing, chance makes as much once in 44 times.
    if figure is not None and figure.gain.mean > 2 * figure.gain.error:
        ask = f"and ask: at {default} a rating the gain is {_gained(figure.gain)}"
        yield f"advice     hold {card.n_default:,} items {ask}; {size}"
    else:
        reason = f"at {default} a rating there is no gain beyond what chance makes"
        yield f"advice     hold {card.n_default:,} items and send nothing: {reason}; {size}"


def _gained(gain: Estimate) -> str:
    sign = "-" if gain.mean < 0 else "+"
    return f"{sign}{_short(abs(gain.mean))} ± {_short(gain.error)}"


def _short(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")
