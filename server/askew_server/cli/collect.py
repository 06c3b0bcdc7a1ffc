"""`askew-server collect` and `askew-server update-live`: collections from files."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.catalog.item import AttributeKind
from askew.errors import DataError, ParameterError
from askew.protocol.metric_card import CollectionCard, MetricRuleKind
from askew.spaces.map import MetricSpace
from askew_server.cli.options import bad_rows_option
from askew_server.cli.progress import Steps, when_stopped

if TYPE_CHECKING:
    from askew_server.collections.intake import AttributeOption, CollectionFile, ReadCollection
    from askew_server.collections.model import MetricModel, Towns
    from askew_server.tables import Omissions

_PATH = click.Path(path_type=Path)
_KINDS = ", ".join(AttributeKind)


@click.command()
@click.option("--out", required=True, type=_PATH, help="New model directory.")
@click.option(
    "--collection",
    "collections",
    multiple=True,
    required=True,
    metavar="NAME=FILE",
    help="A collection and its file, folder or pattern of files; may be given again.",
)
@click.option("--region", metavar="S/W/N/E", help="The map's edges in degrees: 47/5/55/16.")
@click.option("--axes", type=_PATH, help="A TOML file of one to three axes, instead of a map.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="COLUMN[=KIND[:UNIT]]",
    help=f"A column that replies show; kinds: {_KINDS}.  [default: none]",
)
@click.option(
    "--live",
    multiple=True,
    metavar="COLUMN[=KIND[:UNIT]]",
    help="The same for a column whose values change while it is served.",
)
@click.option(
    "--want",
    "wants",
    multiple=True,
    metavar="COLUMN=WORD|KM:WEIGHT",
    help="What a share of people may care about, or none.  [default: by the columns]",
)
@click.option("--towns", type=_PATH, help="Where people are: a csv of towns with a population.")
@click.option("--source", help="Where the items come from, shown to people.  [default: the files]")
@click.option("--simulated", is_flag=True, help="Nobody can go there: say so to devices.")
@click.option(
    "--rule",
    type=click.Choice([kind.value for kind in MetricRuleKind]),
    help="How to answer.  [default: posterior with --towns, else items]",
)
@click.option(
    "--week",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="A day of the week whose opening hours count.  [default: today]",
)
@bad_rows_option
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse files of which any row is left out or any value is unknown.",
)
def collect(
    out: Path,
    collections: tuple[str, ...],
    region: str | None,
    axes: Path | None,
    attributes: tuple[str, ...],
    live: tuple[str, ...],
    wants: tuple[str, ...],
    towns: Path | None,
    source: str | None,
    simulated: bool,
    rule: str | None,
    week: datetime.datetime | None,
    max_bad_rows: float,
    strict: bool,
) -> None:
    """Make a model of collections: items on a map or on lines.

    A file is csv, tsv, JSON lines, GeoJSON or parquet. It has a column title or name, latitude and
    longitude (or lat and lon; on axes, the axes' names), and an id or key if live values are to
    find their items. Of its other columns replies show those that --attribute or --live name.
    Every row is checked. Rows that are left out, and values that cannot be read and are unknown,
    are counted under their reason, with the first lines. Hours are OpenStreetMap's opening_hours,
    of one week.

    \b
    Examples:
      askew-server collect --out model --region 47/5/55/16 \\
        --collection pharmacies=pharmacies.csv --attribute hours --live on_duty
      askew-server collect --out model --region 47/5/55/16 --towns towns.csv \\
        --collection chargers=chargers.parquet --attribute power=number:kW \\
        --live free=number --source "made up by us" --simulated
      askew-server collect --out model --axes motorway.toml \\
        --collection rests=rests.csv
    """
    if (region is None) == (axes is None):
        raise click.UsageError("name one space: --region S/W/N/E or --axes FILE")
    if out.exists() or out.is_symlink():
        raise ParameterError("out", str(out), "a directory that does not exist yet")
    from askew_server.collections import artifact
    from askew_server.collections.intake import AttributeOption, CollectionFile
    from askew_server.collections.model import model_of, space_of_axes, space_of_region

    space = space_of_axes(axes) if axes is not None else space_of_region(region or "")
    options = [AttributeOption.parsed(each) for each in attributes]
    options += [AttributeOption.parsed(each, live=True) for each in live]
    day = week.date() if week else datetime.date.today()
    files = [
        CollectionFile(name, path, day, source or path.name, simulated, max_bad_rows)
        for name, path in map(_named_file, collections)
    ]
    with when_stopped(), Steps.shown() as steps:
        readings = _read(files, space, options, wants, steps, strict=strict)
        known = None if towns is None else _towns(towns, space, steps, max_bad_rows)
        kind = MetricRuleKind(rule) if rule else None
        model = model_of(space, [each.collection for each in readings], known, kind)
        model, proposals = _proposing(model)
        steps.step("writing the model")
        keys = {each.collection.card.name: each.keys for each in readings if each.keys}
        artifact.save(model, out, keys)
    _report(model, readings, out)
    for words in proposals:
        click.echo(words)


@click.command("update-live")
@click.option(
    "--model", required=True, type=click.Path(path_type=Path), help="Directory of collections."
)
@click.option(
    "--collection",
    "collections",
    multiple=True,
    required=True,
    metavar="NAME=FILE",
    help="A collection and a file of keys and live values.",
)
@bad_rows_option
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse files of which any row is left out or any value is unknown.",
)
def update_live(
    model: Path, collections: tuple[str, ...], max_bad_rows: float, strict: bool
) -> None:
    """Replace live values of collections, also while they are served.

    A file has the column id or key, and live columns. Items and columns that it does not have keep
    their values; an empty field makes a value unknown. A server takes the new values within a
    second, whole; nothing else changes, and devices pay nothing.

    \b
    Example:
      askew-server update-live --model model --collection chargers=free.csv
    """
    from askew_server.collections.intake import CollectionFile, Told
    from askew_server.collections.intake import update_live as update

    for name, path in map(_named_file, collections):
        with when_stopped(), Steps.shown() as steps:
            today = datetime.date.today()
            file = CollectionFile(name, path, today, max_bad_rows=max_bad_rows)
            done = update(model, file, Told(steps.step, steps.share, _note), strict=strict)
        _say_omitted(done.omissions)
        _say_unknown(done.unknown)
        items = "1 item" if done.n_items == 1 else f"{done.n_items:,} items"
        click.echo(f"{name}: {', '.join(done.columns)} of {items}")


def _read(
    files: list[CollectionFile],
    space: MetricSpace,
    options: list[AttributeOption],
    wants: tuple[str, ...],
    steps: Steps,
    *,
    strict: bool,
) -> list[ReadCollection]:
    """The collections of the files; says what was left out. Raises DataError if that is refused."""
    from askew_server.collections.intake import Told, read_collection

    told = Told(steps.step, steps.share, _note)
    named = (() if wants == ("none",) else wants) if wants else None
    readings = [read_collection(each, space, options, told, named) for each in files]
    steps.pause()
    for reading in readings:
        _say_omitted(reading.omissions)
        _say_unknown(reading.unknown)
    _check_used(options, readings)
    known = {each.attribute for reading in readings for each in reading.collection.card.wants}
    for text in named or ():
        if text.partition("=")[0] not in known:
            raise ParameterError("want", text, "of a column that replies show")
    if strict and any(each.omissions.count or each.unknown.count for each in readings):
        what = "rows were left out, or values are unknown"
        raise DataError(f"{what}, and --strict refuses that; nothing was written")
    return readings


def _towns(path: Path, space: MetricSpace, steps: Steps, max_bad_rows: float) -> Towns:
    """The towns of a file; says what was left out. A list of the world is no slip."""
    from askew_server.collections.intake import Told, read_towns

    told = Told(steps.step, steps.share, _note)
    towns, omissions = read_towns(path, space, path.name, told, max_bad_rows)
    steps.pause()
    _say_omitted(omissions)
    return towns


def _proposing(model: MetricModel) -> tuple[MetricModel, list[str]]:
    """Return the model whose card proposes, from sizes, how devices get each collection, and what
    it proposes in words.
    """
    from askew.protocol.modes import DEVICE_BYTES, ServingMode
    from askew.wire.rows_file import rows_to_bytes
    from askew_server.collections.artifact import MOST_HELD

    if sum(map(len, model.collections.values())) > MOST_HELD:
        return model, [f"devices ask: they hold no more than {MOST_HELD:,} items"]
    whole = len(rows_to_bytes(model.card, model.collections))
    proposed, words = {}, []
    for name, each in model.collections.items():
        card, rows, mode = each.card, len(rows_to_bytes(model.card, {name: each})), ServingMode.ASK
        if whole > DEVICE_BYTES:
            why = f"all rows take {whole:,} bytes, and devices hold {DEVICE_BYTES:,}"
            words.append(f"devices ask for {name}: {why}")
        elif card.is_live:
            words.append(f"devices ask for {name}: some of its values are live")
        else:
            mode = ServingMode.HELD
            words.append(f"devices hold {name}, {rows:,} bytes, and send nothing")
        proposed[name] = replace(each, card=replace(card, mode=mode))
    cards = tuple([proposed[each.name].card for each in model.card.collections])
    return replace(model, card=replace(model.card, collections=cards), collections=proposed), words


def _named_file(text: str) -> tuple[str, Path]:
    """The name and the file of "NAME=FILE". Raises ParameterError."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ParameterError("collection", text, "NAME=FILE, such as pharmacies=pharmacies.csv")
    return name, Path(path)


def _check_used(options: list[AttributeOption], readings: list[ReadCollection]) -> None:
    """Raises ParameterError for a column that no file has: it is a slip, or the wrong file."""
    shown = {a.name for each in readings for a in each.collection.card.attributes}
    for option in options:
        if option.name not in shown:
            limit = "a column of a file; a live one that comes later needs a kind, NAME=KIND"
            raise ParameterError("live" if option.live else "attribute", option.name, limit)


def _note(text: str) -> None:
    """Say what an operator should know of a file, on standard error."""
    click.echo(text, err=True)


def _say_omitted(omissions: Omissions) -> None:
    """What was left out of a file, on standard error."""
    if omissions.count:
        rows = "1 row" if omissions.count == 1 else f"{omissions.count:,} rows"
        click.echo(f"{rows} of {Path(omissions.file).name} left out:", err=True)
        for line in omissions.lines:
            click.echo(f"  {line}", err=True)


def _say_unknown(unknown: Omissions) -> None:
    """What could not be read of rows that stay, on standard error."""
    if unknown.count:
        values = "1 value" if unknown.count == 1 else f"{unknown.count:,} values"
        click.echo(
            f"{values} of {Path(unknown.file).name} unknown, or in part; their rows stay:", err=True
        )
        for line in unknown.lines:
            click.echo(f"  {line}", err=True)


def _report(model: MetricModel, readings: list[ReadCollection], out: Path) -> None:
    """What was made, on standard output."""
    from askew_server.collections.model import words_of

    card = model.card
    click.echo(f"space        {words_of(card.space)}, version {card.space.version}")
    for reading in readings:
        _report_collection(reading)
    click.echo(f"rule         {card.rule}, density: {card.density}")
    most = [f"{each.name} {card.largest_slate(each.name)}" for each in card.collections]
    click.echo(f"largest k    {', '.join(most)}")
    click.echo(f"model        {out}")


def _report_collection(reading: ReadCollection) -> None:
    card = reading.collection.card
    simulated = ", SIMULATED" if card.simulated else ""
    click.echo(
        f"collection   {card.name}, {card.n_items:,} items, version {card.version}{simulated}"
    )
    for each in card.attributes:
        live, unit = ", live" if each.live else "", f" in {each.unit}" if each.unit else ""
        click.echo(f"  shows      {each.name}: {each.kind}{unit}{live}")
    for words in _wanted(card):
        click.echo(f"  wants      {words}")
    if reading.unused:
        click.echo(f"  hides      {', '.join(reading.unused)}")


def _wanted(card: CollectionCard) -> Iterator[str]:
    """What a collection's results hedge over, a line for each weight of an attribute."""
    units = {each.name: each.unit for each in card.attributes}
    rated = {each.attribute for each in card.wants if each.rate}
    found: dict[tuple[str, float], list[str]] = {}
    for each in card.wants:
        said = each.word or f"{each.rate:g}"
        found.setdefault((each.attribute, each.weight), []).append(said)
    for (name, weight), what in found.items():
        rates = f" km a {units[name] or 'unit'}" if name in rated else ""
        yield f"{name}: {', '.join(what)}{rates}, {weight:.1%} of people each"
    if card.wants:
        yield f"distance alone: {1 - sum(each.weight for each in card.wants):.0%}"
