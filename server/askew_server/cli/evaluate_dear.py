"""`askew-server evaluate --dear`: naming a slate by the vectors of all slates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_server.cli.progress import Steps, shown_share, when_stopped

if TYPE_CHECKING:
    from askew_server.evaluation.dear_study import DearProtocol, DearRow
    from askew_server.training.quality import Estimate

_WIDE = 120
_NOTE = (
    "Score of the picks / best possible, and paired gains. epsilon: between any two people. other: "
    "the linear encoder; after refills, new slates named by a new signal, where `slates` is the "
    "signal of before the first. Each refill replaces a tenth of the items."
)


def evaluate_dear(ratings: Path | None, out: Path, *, quick: bool, **given: Any) -> None:
    """Play the protocol, write dear.csv and show the table."""
    from threadpoolctl import threadpool_limits

    from askew_server.evaluation.data import read_table, simulated_table
    from askew_server.evaluation.dear_study import as_csv, dear_rows

    protocol = _protocol(quick=quick or ratings is None, **given)
    with when_stopped(), Steps.shown() as steps:
        steps.step("reading ratings")
        table = simulated_table() if ratings is None else read_table(ratings, steps.of_total)
    with threadpool_limits(1), shown_share() as progress:
        rows = list(dear_rows(table, protocol, progress))
    out.mkdir(parents=True, exist_ok=True)
    (out / "dear.csv").write_text(as_csv(rows), encoding="utf-8")
    _show(rows)
    click.echo(f"written to {out / 'dear.csv'}")


def _protocol(
    *,
    quick: bool,
    ks: tuple[int, ...] | None = None,
    **given: Any,
) -> DearProtocol:
    from askew_server.evaluation.dear_study import DearProtocol

    if ks is not None and len(ks) != 1:
        raise click.UsageError("--dear takes one k")
    chosen: dict[str, Any] = {"seeds": (0,), "epsilons": (4.0,), "sizes": (4, 8)} if quick else {}
    chosen |= {name: value for name, value in given.items() if value is not None}
    if ks is not None:
        chosen["k"] = ks[0]
    return DearProtocol(**chosen)


def _show(rows: list[DearRow]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a file has no edge to fold lines at
    table = Table(box=None, header_style="bold", pad_edge=False)
    headings = "truth epsilon k refills left none other slates gain over-other number bytes"
    for heading in headings.split():
        table.add_column(heading.replace("-", " "), overflow="fold")
    for row in rows:
        table.add_row(*_line(row))
    console.print(table)
    console.print(_NOTE, markup=False)


def _line(row: DearRow) -> tuple[str, ...]:
    ways = [f"{each.mean:.3f}" for each in (row.none, row.other, row.named)]
    refills = "" if row.refills < 0 else str(row.refills)
    number, size = (str(row.slates), str(row.size)) if row.slates else ("", "")
    gains = (_signed(row.over_none), _signed(row.over_other))
    head = (row.truth, f"{row.epsilon:g}", str(row.k), refills, f"{row.left:.0%}")
    return (*head, *ways, *gains, number, size)


def _signed(estimate: Estimate) -> str:
    return f"{estimate.mean:+.3f} ± {estimate.error:.3f}"
