"""What `train`, `import` and `update` share: ratings come in, a report of the model goes out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from askew.dp.privacy import Reach, SignalLoss
from askew.errors import OutOfRange, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.utility_table import (
    DEVICE_BYTES,
    Baseline,
    ModeUtility,
    RuleKind,
    ServingMode,
    UtilityTable,
)
from askew_server.cli.progress import Steps, named_if_too_large, when_stopped

if TYPE_CHECKING:
    from askew.catalog.catalog import Catalog
    from askew.protocol.model_card import ModelCard
    from askew.spaces.vectors import RatingScale
    from askew_server.ratings import ItemRow, RatingTable, Rejects
    from askew_server.taste.model.item_model import ItemModel  # brings scipy


default_items_option = click.option(
    "--default-items",
    type=click.IntRange(1),
    help="Items on a device that does not hold them all.  [default: as many as 800 kB hold]",
)
_SHOWN_REJECTS = 10
_SHOWN_KEY = 40  # characters of an item's key
_MANY_LIKES = 0.1
_Table = TypeVar("_Table")


def source_of(table: RatingTable) -> str:
    """Where the ratings come from, in the words of the card, which is public."""
    from askew_server.taste.training.options import in_words

    return f"ratings of {in_words(table.n_people)} people"


def training_data(
    ratings: Path, items: Path | None, out: Path, counts: float | None
) -> tuple[RatingTable, dict[str, ItemRow]]:
    """The ratings, and what is publicly known of their items. Raises ParameterError for an `out`
    that is there.
    """
    from askew_server.ratings import read_items, read_ratings, titled

    check_new(out)
    table = _loaded(partial(read_ratings, counts=counts), ratings, "Reading ratings")
    if items is None:
        return table, {key: titled(key) for key in table.item_keys}
    rows = _loaded(read_items, items, "Reading items")
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
    """How many rated items are not among these keys, with what share of the likes, and why: exact,
    and so for the operator alone. A tenth of the likes and more is a warning.
    """
    import numpy as np

    known = set(keys)
    kept = np.fromiter((key in known for key in table.item_keys), np.bool_, len(table.item_keys))
    if kept.all():
        return
    likes = table.rating >= like_from
    share = float(np.mean(~kept[table.item[likes]])) if likes.any() else 0.0
    items = f"{np.count_nonzero(~kept):,} of {len(kept):,} rated items are left out"
    told = "warning: " if share >= _MANY_LIKES else ""
    click.echo(f"{told}{items}, with {share:.1%} of the likes: {reason}", err=True)


def scale_of(limits: tuple[float, float], like_from: float | None) -> RatingScale:
    """The scale that options name. Raises ParameterError, by the option."""
    from askew.spaces.vectors import RatingScale

    given: dict[str, object] = {"scale": limits} if like_from is None else {"like_from": like_from}
    try:
        usual = RatingScale.between(*limits)
        return usual if like_from is None else RatingScale(*limits, like_from)
    except OutOfRange as error:
        [(name, value)] = given.items()
        raise ParameterError(name, value, error.limit) from None


def check_new(out: Path) -> None:
    """Raises ParameterError for an `out` that is there."""
    if out.exists() or out.is_symlink():
        raise ParameterError("out", str(out), "a directory that does not exist yet")


def bytes_held(card: ModelCard, catalog: Catalog) -> int:
    """How many bytes the file has that a device holds, of these items."""
    from askew.wire.catalog_file import catalog_to_bytes

    return len(catalog_to_bytes(card, catalog))


def save(
    model: ItemModel, out: Path, steps: Steps, beside: Mapping[str, Path] | None = None
) -> None:
    """Write the model, and a copy of files beside it."""
    from askew_server.taste.model import artifact

    steps.step("writing the model")
    artifact.save(model, out, beside)


def report(model: ItemModel, table: RatingTable | None, out: Path, tells: tuple[str, ...]) -> None:
    """What the operator reads. table: whose first line is exact, and no part of the model; None of
    a private one. tells: of the people, what the model does.
    """
    from askew.spaces.buckets import SlateCodebook

    space, rule = model.card.space, model.card.rule
    reach, epsilon = space.encoder.reach(), rule.epsilon
    if table is not None:
        size = f"{table.n_people:,} people of {len(table.item_keys):,} items"
        click.echo(f"ratings    {len(table.rating):,} by {size}")
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
            "           devices refuse a space so wide that the median is 1, so the unit of "
            "distance\n           is longer: people are closer in it, and one epsilon hides more"
        )
    click.echo(
        f"epsilons   {epsilon:g}, at most {epsilon * float(reach.one_rating):.3g} and "
        f"{epsilon * float(reach.diameter):.3g} at these distances"
    )
    click.echo(f"rule       {rule.kind}, for epsilon {epsilon:g} and k = {rule.k}")
    click.echo(f"prior      {rule.prior}")
    for name, figure in model.figures.items():
        gain = f", {_gained(figure.gain.mean, figure.gain.error)}" if name != RuleKind.NONE else ""
        click.echo(f"  {name:<10} NDCG@10 {_either_way(figure.ndcg.mean, figure.ndcg.error)}{gain}")
    if isinstance(space.buckets, SlateCodebook):
        slates, k = space.buckets.boosts.shape
        click.echo(f"slates     {slates} of {k} items, whose vectors devices hold")
    if model.payloads is not None:
        sizes = [len(model.payloads[item]) for item in range(len(model.payloads))]
        have = f"{sum(map(bool, sizes)):,} of {len(sizes):,} items"
        click.echo(f"payloads   {have}, {sum(sizes):,} bytes, {max(sizes):,} the largest")
    if model.card.utility_table is not None:
        for line in lines_of(model.card.utility_table, reach, simulated=model.card.simulated):
            click.echo(line)
    click.echo("tells      " + "\n           ".join(tells))
    click.echo(f"model      {out}")


def _loaded(read: Callable[..., tuple[_Table, Rejects]], path: Path, label: str) -> _Table:
    """A file's content, with progress, and with its bad rows counted on the screen. Who stops it
    stops it in order: it may have made a copy of the file.
    """
    from askew_server.ratings.formats import size_at

    bar_of = click.progressbar(length=size_at(path), label=label, file=sys.stderr)
    with when_stopped(), named_if_too_large(label.lower), bar_of as bar:
        content, rejects = read(path, progress=lambda done, _: bar.update(done - bar.pos))
    show_rejects(rejects)
    return content


def show_rejects(rejects: Rejects) -> None:
    """How many rows of a file were left out, and the first ones."""
    if rejects.count:
        click.echo(f"{rejects.count:,} bad rows left out, such as:", err=True)
        for bad in rejects.examples[:_SHOWN_REJECTS]:
            click.echo(f"  {bad.file}, line {bad.line}: {bad.reason}", err=True)


_HEAD = ("mode", "holds", "bytes", "mechanism", "k", "any two", "a rating", "a unit")
_ROW = "  {:<12}{:>7}{:>12}  {:<12}{:>3}{:>9}{:>10}{:>8}"
_MEASURES = "  {:<13}{:<13}"


def lines_of(table: UtilityTable, reach: Reach, *, simulated: bool = False) -> Iterator[str]:
    """The table with its header, and a sentence of what it proposes. reach: of the space.
    simulated: nobody gave the ratings.
    """
    whom = "SIMULATED people" if simulated else "people"
    yield (
        f"utility    for {whom} whom the model did not see, by what they liked and did not tell;"
        " epsilon of any two people, of a rating, of a unit"
    )
    measures = _MEASURES.format("NDCG@10", "recall@20")
    yield f"{_ROW.format(*_HEAD)}{measures}gain           equivalent items"
    for each in table.baselines:
        named = _ROW.format(each.name, *[""] * (len(_HEAD) - 1))
        yield (named + _measures(each)).rstrip()
    for offer in table.rows:
        yield (_ROW.format(*_cells(offer, reach)) + _measures(offer) + _gain(offer)).rstrip()
    yield f"proposal   {sentence(table)}"


def sentence(table: UtilityTable) -> str:
    """What a device that follows the card does, and why."""
    offer = table.proposal
    match offer.mode:
        case ServingMode.LOCAL:
            size = f"all {offer.held:,} items in {offer.size:,} bytes"
            fits = "" if offer.size <= DEVICE_BYTES else "; that is more than it takes by default"
            return f"local: a device holds {size}, ranks them itself and sends nothing{fits}"
        case ServingMode.CACHED:
            return (
                f"cached: a device ranks the {offer.held:,} items that everybody holds and sends "
                "nothing; no signal at this epsilon gains more than chance makes"
            )
        case ServingMode.QUERY:
            return (
                f"query: {offer.mechanism} at {_short(float(offer.epsilon))}, k = {offer.k}, "
                f"brings {_gained(offer.gain, offer.gain_error)} of NDCG@10 beside {offer.held:,} "
                "items that everybody holds"
            )


def loss_of(offer: ModeUtility, reach: Reach) -> SignalLoss | None:
    """What the signal of a row costs in a space of this reach, whatever the number of buckets."""
    match offer.mechanism:
        case "geo_laplace":
            return LatticeLaplace.for_epsilon(offer.epsilon).privacy_loss(reach)
        case "bucket_rr":
            return RandomizedResponse.for_epsilon(2, offer.epsilon).privacy_loss(reach)
        case None:
            return None


def _cells(offer: ModeUtility, reach: Reach) -> tuple[str, ...]:
    loss = loss_of(offer, reach)
    held = (f"{offer.held:,}", f"{offer.size:,}")
    if loss is None:
        return (offer.mode, *held, "", "", "", "", "")
    near = loss.epsilon_per_distance
    costs = (float(loss.epsilon), float(loss.epsilon_per_rating), near and float(near))
    shown = [_short(each) if each else "" for each in costs]
    return (offer.mode, *held, offer.mechanism or "", str(offer.k), *shown)


def _measures(row: ModeUtility | Baseline) -> str:
    ndcg = _either_way(row.ndcg, row.ndcg_error)
    return _MEASURES.format(ndcg, _either_way(row.recall, row.recall_error))


def _gain(offer: ModeUtility) -> str:
    if offer.mode is not ServingMode.QUERY:
        return ""
    equivalent = str(offer.equivalent_items) if offer.equivalent_items else "-"
    return f"{_gained(offer.gain, offer.gain_error)} {equivalent:>9}"


def _gained(mean: float, error: float) -> str:
    return f"{'-' if mean < 0 else '+'}{_either_way(mean, error)}"


def _either_way(mean: float, error: float) -> str:
    """Without its sign."""
    size, spread = (f"{each:.3f}".removeprefix("0") for each in (abs(mean), error))
    return f"{size} ± {spread}"


def _short(number: float) -> str:
    return f"{number:.3g}"
