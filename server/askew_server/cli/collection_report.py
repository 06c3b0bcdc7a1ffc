"""What an operator reads of collections that were made or updated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from askew_server.collections.intake import Reading
    from askew_server.collections.model import MetricModel
    from askew_server.collections.tables import Omissions


def say_omitted(omissions: Omissions) -> None:
    """What was left out of a file, on standard error."""
    if omissions.count:
        rows = "1 row" if omissions.count == 1 else f"{omissions.count:,} rows"
        click.echo(f"{rows} of {omissions.file} left out:", err=True)
        for line in omissions.lines:
            click.echo(f"  {line}", err=True)


def report(model: MetricModel, readings: list[Reading], out: Path) -> None:
    """What was made, on standard output."""
    from askew_server.collections.model import words_of

    card = model.card
    click.echo(f"space        {words_of(card.space)}, version {card.space.version}")
    for reading in readings:
        _report_collection(reading)
    click.echo(f"rule         {card.rule.kind}, density: {card.rule.density}")
    small = [each for each in card.collections if each.n_items < card.max_slate_size]
    few = [f"; of {each.name} {each.n_items}" for each in small]
    click.echo(f"largest k    {card.max_slate_size}{''.join(few)}")
    click.echo(f"model        {out}")


def _report_collection(reading: Reading) -> None:
    card = reading.collection.card
    simulated = ", SIMULATED" if card.simulated else ""
    click.echo(
        f"collection   {card.name}, {card.n_items:,} items, version {card.version}{simulated}"
    )
    for each in card.attributes:
        live, unit = ", live" if each.live else "", f" in {each.unit}" if each.unit else ""
        click.echo(f"  shows      {each.name}: {each.kind}{unit}{live}")
    if reading.unused:
        click.echo(f"  hides      {', '.join(reading.unused)}")
