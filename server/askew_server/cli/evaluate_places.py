"""`askew-server evaluate --places`: the rules of metric spaces, in a made-up country."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.progress import shown_share, when_stopped

if TYPE_CHECKING:
    from askew_server.evaluation.places.cells import PlaceCell
    from askew_server.evaluation.places.study import PlacesProtocol, PlacesStudy

_WIDE = 150
_QUICK = {
    "items": (10_000,),
    "levels": ("town",),
    "ks": (5, 20),
    "people": 200,
    "draws": 2,
    "axis_levels": (),
}


def evaluate_places(out: Path, *, quick: bool, workers: int, **given: Any) -> None:
    """Play the protocol, write cells.csv, study.json and pictures, and show the tables."""
    from threadpoolctl import threadpool_limits

    from askew_server.demo.towns import german_towns
    from askew_server.evaluation.places.agreement import agreements
    from askew_server.evaluation.places.study import PlacesStudy, studied

    protocol = _protocol(quick=quick, **given)
    towns = german_towns().towns
    source = f"SIMULATED items and people around real {towns.source}"
    cells: list[PlaceCell] = []

    def found(*, whole: bool) -> PlacesStudy:
        checked = tuple(agreements()) if whole and protocol.axis_levels else ()
        return PlacesStudy(protocol, source, tuple(cells), checked, whole)

    with when_stopped(lambda: _stopped(found(whole=False), out)):
        with threadpool_limits(1), shown_share() as progress:
            for part in studied(protocol, towns, progress, workers):
                cells += part
            progress("lines and rings beside theory", 1.0)
            study = found(whole=True)
        _write(study, out)
        _draw(study, out)
    _show(study, out)


def _protocol(*, quick: bool, **given: Any) -> PlacesProtocol:
    from askew_server.evaluation.places.study import PlacesProtocol

    chosen: dict[str, Any] = dict(_QUICK) if quick else {}
    chosen |= {name: value for name, value in given.items() if value is not None}
    if "items" in chosen or "levels" in chosen:
        chosen["axis_levels"] = ()  # a part of the map is asked for
    return PlacesProtocol(**chosen)


def _stopped(study: PlacesStudy, out: Path) -> None:
    _write(study, out)
    click.echo(f"stopped: {len(study.cells)} cells are in {out}", err=True)


def _write(study: PlacesStudy, out: Path) -> None:
    from askew_server.evaluation.places.report import as_csv, as_json

    out.mkdir(parents=True, exist_ok=True)
    (out / "cells.csv").write_text(as_csv(study.cells), encoding="utf-8")
    (out / "study.json").write_text(as_json(study), encoding="utf-8")


def _draw(study: PlacesStudy, out: Path) -> None:
    if find_spec("matplotlib") is None:
        click.echo("no pictures: matplotlib is not installed (askew[plots])", err=True)
        return
    from askew_server.evaluation.places.pictures import draw

    draw(study, out)


def _show(study: PlacesStudy, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from askew_server.evaluation.places.bench import BY_KIND, NEAREST, SERVED
    from askew_server.evaluation.places.report import (
        agreement_lines,
        as_lines,
        best_lines,
        filter_lines,
        goal_lines,
    )

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a file has no edge to fold lines at
    ks = study.protocol.ks
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("ground", "items", "level", "who, density", "rule", *(f"k={k}" for k in ks)):
        table.add_column(heading, overflow="fold")
    for line in as_lines(study):
        table.add_row(*line)
    console.print(table)
    protocol = study.protocol
    about = (
        f"{study.source}: {protocol.people:,} people, {protocol.draws} draws each, seed "
        f"{protocol.seed}. Mean km beyond the truly nearest item, and its ratio to that of the k "
        "items nearest to the signal (nearest); on line and ring, units of distance."
    )
    said = (
        about,
        *best_lines(study),
        *(line for rule in (NEAREST, SERVED, BY_KIND) for line in filter_lines(study, rule, 20)),
        *agreement_lines(study),
        *goal_lines(study),
        f"written to {out}",
    )
    for text in said:
        console.print(text, markup=False, highlight=False)
