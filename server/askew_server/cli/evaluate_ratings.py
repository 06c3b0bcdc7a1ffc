"""`askew-server evaluate` of ratings: what each rule is worth to people kept aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.progress import Steps, shown_share, when_stopped

if TYPE_CHECKING:
    from rich.table import Table

    from askew_server.evaluation.parts import Findings
    from askew_server.evaluation.protocol import Protocol
    from askew_server.evaluation.study import Study

_WIDE = 120
_SIMULATED = "the embedded films with SIMULATED ratings"


def evaluate_ratings(ratings: Path | None, out: Path, people: int | None, **given: Any) -> None:
    """Play the protocol, write cells.csv, study.json and pictures, and show the tables.

    people: a sample of so many, or everybody.
    """
    from threadpoolctl import threadpool_limits

    from askew_server.evaluation.data import read_table, sampled, simulated_table
    from askew_server.evaluation.parts import KeptParts, identity_of
    from askew_server.evaluation.study import collected, played

    protocol = _protocol(simulated=ratings is None, **given)
    with when_stopped(), Steps.shown() as steps:
        steps.step("reading ratings")
        times = protocol.held_out == "latest"
        table = (
            simulated_table()
            if ratings is None
            else read_table(ratings, steps.of_total, times=times)
        )
    source = _SIMULATED if ratings is None else ratings.name
    if people is not None and people < table.n_people:
        source += f", a sample of {people:,} of {table.n_people:,} people"
        table = sampled(table, people)
    kept = KeptParts(out / "unfinished", identity_of(table, protocol))
    found: list[Findings] = []
    with when_stopped(lambda: _stopped(collected(found, table, protocol, source), out)):
        # On small matrices, more threads wait for each other: four times the CPU time, no faster.
        with threadpool_limits(1), shown_share() as progress:
            for each in played(table, protocol, progress, kept):
                found.append(each)
        whole = collected(found, table, protocol, source)
        _write(whole, out)
        _draw(whole, out)
    kept.remove()
    _show(whole, out)


def _stopped(found: Study, out: Path) -> None:
    """Write what there is."""
    _write(found, out)
    click.echo(
        f"stopped: {len(found.cells)} cells are in {out}; the same command goes on from there",
        err=True,
    )


def _protocol(*, simulated: bool, quick: bool, principal: bool, **given: Any) -> Protocol:
    from askew_server.evaluation.protocol import Protocol

    chosen: dict[str, Any] = {}
    if quick or simulated:  # the default answers within a minute of one core
        chosen = {"seeds": (0,), "epsilons": (1.0, 4.0), "dimensions": (1, 2, 4)}
        chosen["sizes"] = (2, 4, 8, 16)
    if quick:
        chosen |= {"dimensions": ()}
    chosen |= {name: value for name, value in given.items() if value is not None}
    return Protocol(**chosen, learned=not principal)


def _write(found: Study, out: Path) -> None:
    from askew_server.evaluation.report import as_csv, as_json

    out.mkdir(parents=True, exist_ok=True)
    (out / "cells.csv").write_text(as_csv((*found.cells, *found.by_dimension)), encoding="utf-8")
    (out / "study.json").write_text(as_json(found), encoding="utf-8")


def _draw(found: Study, out: Path) -> None:
    if find_spec("matplotlib") is None:
        click.echo("no pictures: matplotlib is not installed (askew[plots])", err=True)
        return
    from askew_server.evaluation.pictures import draw

    draw(found, out)


def _show(found: Study, out: Path) -> None:
    from rich.console import Console

    from askew_server.evaluation.report import as_lines, leak_lines, measure_lines

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a file has no edge to fold lines at
    costs = ("truth", "epsilon", "rule")
    ks = (f"k={k}" for k in found.protocol.ks)
    console.print(_table((*costs, "a rating", *ks), as_lines(found)))
    k, lines = measure_lines(found)
    of_k = (f"recall@{k}", f"nDCG@{k}", "hit", "coverage", "Gini", "worse off", "better")
    console.print(_table((*costs, *of_k, "gain at 5, 50, 95 %"), lines))
    console.print(
        f"{found.source}: {found.n_people:,} people, {found.n_ratings:,} ratings. Score of the "
        "picks / best possible, of what any channel of this epsilon could reach at most, and its "
        "paired gain over the zero-information slate (none) of the same k. epsilon: between any "
        "two people; a rating: between two who differ in one. Worse off, better, gain: than with "
        "that slate, by this one draw.",
        markup=False,
    )
    for text in leak_lines(found):
        console.print(text, markup=False)
    console.print(f"written to {out}", markup=False)


def _table(headings: Iterable[str], lines: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table
