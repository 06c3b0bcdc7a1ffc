"""Collections as an operator sees them: files come in, a model and what was left out go out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from askew.catalog.catalog_file import LIVE_BYTES
from askew.errors import DataError, ParameterError
from askew.limits import DEVICE_BYTES
from askew.protocol.cards import ServingMode
from askew.spaces.map import MetricSpace
from askew.wire.catalog_file import rows_to_bytes
from askew_server.cli.options import check_new
from askew_server.cli.progress import Steps, show_omissions, when_stopped
from askew_server.collections import artifact, intake
from askew_server.collections.artifact import numbers_for
from askew_server.collections.intake import (
    AttributeOption,
    CollectionFile,
    ReadCollection,
)
from askew_server.collections.model import (
    MetricModel,
    describe_space,
    model_of,
    space_of_axes,
    space_of_region,
)


def named_files(
    texts: Sequence[str],
    most_bad: float,
    source: str | None = None,
    week: datetime.datetime | None = None,
    before: Path | None = None,
) -> list[CollectionFile]:
    """Return a `CollectionFile` for each text "NAME=FILE", in their order, of the Monday of the
    week of `week`, or else of today. source: shown to people; else the file's name. Raises
    ParameterError for another text.
    """
    day, files = week.date() if week else datetime.date.today(), []
    monday = day - datetime.timedelta(day.weekday())
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise ParameterError("collection", text, "NAME=FILE, such as pharmacies=pharmacies.csv")
        shown = source or Path(path).name
        files.append(CollectionFile(name, Path(path), monday, shown, most_bad, before))
    return files


def collect(
    out: Path,
    collections: Sequence[str],
    region: str,
    attributes: Sequence[str],
    live: Sequence[str],
    wants: Sequence[str],
    towns: Path | None,
    source: str | None,
    week: datetime.datetime | None,
    before: Path | None,
    max_bad_rows: float,
) -> None:
    """Make a model of collections, each "NAME=FILE", in a region, "S/W/N/E" or a TOML file of axes;
    write it to `out` and print a report; see `askew-server collect`. A name that the folder of
    `out` never had gets the next number, from 0 on. Raises ParameterError and DataError.
    """
    files = named_files(collections, max_bad_rows, source, week, before)
    check_new(out)
    space: MetricSpace
    if Path(region).is_file():  # a path may have three slashes, as edges have
        space = space_of_axes(Path(region))
    elif region.count("/") == 3:
        space = space_of_region(region)
    else:
        limit = "edges in degrees, S/W/N/E such as 47/5/55/16 (only devices know countries by name)"
        raise ParameterError("region", region, f"{limit}, or a TOML file of axes")
    options = [AttributeOption.parsed(text) for text in attributes]
    options += [AttributeOption.parsed(text, live=True) for text in live]
    for option in options:
        if option.live and option.name in [shown.name for shown in options if not shown.live]:
            raise ParameterError("live", option.name, "a column that --attribute does not name")
    steps = Steps()
    with when_stopped():
        named = (() if tuple(wants) == ("none",) else wants) if wants else None
        readings = []
        for file in files:
            steps.step(f"reading {file.path.name}")  # first: JSON is read as a whole to be opened
            reading = intake.read_collection(file, space, options, named, progress=steps.share)
            readings.append(reading)
            show_omissions(reading.omissions, reading.unknown)
        _check_used(options, named or (), readings)
        is_flawed = any(reading.omissions.count or reading.unknown.count for reading in readings)
        if is_flawed and max_bad_rows == 0:
            what = "rows were left out, or values are unknown"
            raise DataError(f"{what}, and --max-bad-rows 0 refuses that; nothing was written")
        people = None
        if towns is not None:  # a list of the world is no slip
            steps.step(f"reading {towns.name}")
            people, omissions = intake.read_towns(
                towns, space, towns.name, max_bad_rows, progress=steps.share
            )
            show_omissions(omissions)
        names = [reading.collection.card.name for reading in readings]
        numbers = numbers_for(out.parent, names)
        numbered = [
            replace(part, card=replace(part.card, number=numbers[part.card.name]))
            for part in (reading.collection for reading in readings)
        ]
        model, proposals = _proposing(model_of(space, numbered, people))
        steps.step("writing the model")
        keys = {
            name: reading.keys
            for name, reading in zip(names, readings, strict=True)
            if reading.keys is not None
        }
        artifact.save(model, out, keys)
    card = model.card
    click.echo(f"space        {describe_space(card.space)}, version {card.space.version}")
    for reading in readings:
        _report_collection(reading)
    click.echo(f"rule         {card.rule}, density: {card.density}")
    largest = [f"{part.name} {card.largest_slate(part.name)}" for part in card.collections]
    click.echo(f"largest k    {', '.join(largest)}")
    click.echo(f"model        {out}")
    for words in proposals:
        click.echo(words)


def update_live(model: Path, file: CollectionFile) -> None:
    """Replace live values of one collection and print what was replaced, "chargers: free of 1,200
    items", and on standard error what was left out; see `askew-server update-live`. Raises
    DataError and ArtifactError.
    """
    steps = Steps()
    with when_stopped():
        steps.step(f"reading {file.path.name}")
        strict = file.max_bad_rows == 0
        n_items, columns, omissions, unknown = intake.update_live(
            model, file, strict=strict, progress=steps.share
        )
    show_omissions(omissions, unknown)
    items = "1 item" if n_items == 1 else f"{n_items:,} items"
    click.echo(f"{file.name}: {', '.join(columns)} of {items}")


def _check_used(
    options: Sequence[AttributeOption], wants: Sequence[str], readings: Sequence[ReadCollection]
) -> None:
    # A column that no file has is a slip, or the wrong file.
    cards = [reading.collection.card for reading in readings]
    shown = {attribute.name for card in cards for attribute in card.attributes}
    for option in options:
        if option.name not in shown:
            limit = "a column of a file; a live one that comes later needs a kind, NAME=KIND"
            raise ParameterError("live" if option.live else "attribute", option.name, limit)
    wanted = {want.attribute for card in cards for want in card.wants}
    for text in wants:
        if text.partition("=")[0] not in wanted:
            raise ParameterError("want", text, "of a column that replies show")


def _proposing(model: MetricModel) -> tuple[MetricModel, list[str]]:
    # The model whose card proposes, from sizes, how devices get each collection; and in words.
    if sum(map(len, model.collections.values())) > artifact.MOST_HELD:
        return model, [f"devices ask: they hold no more than {artifact.MOST_HELD:,} items"]
    whole = len(rows_to_bytes(model.card, model.collections))
    numbers = [
        replace(each.card, mode=ServingMode.HELD)
        for each in model.collections.values()
        if each.card.live_bytes is not None
    ]
    live = replace(model.card, collections=tuple(numbers)).in_live_file if numbers else ()
    size = sum(each.live_bytes or 0 for each in numbers)
    proposed, words = {}, []
    for name, collection in model.collections.items():
        card, mode = collection.card, ServingMode.ASK
        rows = len(rows_to_bytes(model.card, {name: collection}))
        if whole > DEVICE_BYTES:
            why = f"all rows take {whole:,} bytes, and devices hold {DEVICE_BYTES:,}"
            words.append(f"devices ask for {name}: {why}")
        elif card.live_bytes is None:
            words.append(f"devices ask for {name}: some of its live values are words")
        elif card.is_live and not live:
            why = f"all live values take {size:,} bytes, and devices fetch {LIVE_BYTES:,}"
            words.append(f"devices ask for {name}: {why}")
        elif card.is_live:
            mode, fetched = ServingMode.HELD, f"{size:,} bytes of live values of everything"
            words.append(f"devices hold {name}, {rows:,} bytes, and fetch {fetched}")
        else:
            mode = ServingMode.HELD
            words.append(f"devices hold {name}, {rows:,} bytes, and send nothing")
        proposed[name] = replace(collection, card=replace(card, mode=mode))
    cards = tuple([proposed[card.name].card for card in model.card.collections])
    return replace(model, card=replace(model.card, collections=cards), collections=proposed), words


def _report_collection(reading: ReadCollection) -> None:
    card = reading.collection.card
    simulated = ", SIMULATED" if card.simulated else ""
    click.echo(
        f"collection   {card.name}, number {card.number}, {card.n_items:,} items, "
        f"version {card.version}{simulated}"
    )
    units = {}
    for shown in card.attributes:
        live, unit = ", live" if shown.live else "", f" in {shown.unit}" if shown.unit else ""
        click.echo(f"  shows      {shown.name}: {shown.kind}{unit}{live}")
        units[shown.name] = f" km a {shown.unit or 'unit'}"
    # A line for each weight of an attribute.
    wants: dict[tuple[str, float, str], list[str]] = {}
    for want in card.wants:
        unit = units[want.attribute] if want.rate else ""
        words = wants.setdefault((want.attribute, want.weight, unit), [])
        words.append(want.word or f"{want.rate:g}")
    for (name, weight, unit), words in wants.items():
        click.echo(f"  wants      {name}: {', '.join(words)}{unit}, {weight:.1%} of people each")
    if card.wants:
        rest = 1 - sum(want.weight for want in card.wants)
        click.echo(f"  wants      distance alone: {rest:.0%}")
    if reading.unused:
        click.echo(f"  hides      {', '.join(reading.unused)} (--attribute COLUMN shows one)")
