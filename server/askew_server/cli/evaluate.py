"""`askew-server evaluate`: what each rule is worth to people held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table

    from askew_server.evaluation.study import Study
    from askew_server.ratings import RatingTable

_WIDE = 120
_SIMULATED = "the embedded films with SIMULATED ratings"


class _List(click.ParamType[tuple[Any, ...]]):
    """Comma-separated values."""

    name = "list"

    def __init__(self, kind: Callable[[str], Any]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, ...]:
        """The values, as a tuple; a tuple stays as it is."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._kind(part.strip()) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of values separated by commas", param, ctx)


@click.command()
@click.option(
    "--ratings",
    type=click.Path(path_type=Path),
    help="Ratings: a file or a folder of them; default: simulated.",
)
@click.option(
    "--out",
    default="evaluation.csv",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The figures as csv.",
)
@click.option("--seeds", type=_List(int), help="Such as 0,1,2, which is the default; simulated: 0.")
@click.option(
    "--epsilons",
    type=_List(float),
    help="Between any two people; default .5,1,2,4,8, simulated 1,4.",
)
@click.option("-k", "ks", type=_List(int), default="1,5,20", show_default=True)
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option(
    "--held-out",
    type=click.Choice(["random", "latest"]),
    default="random",
    show_default=True,
    help="Which fifth of each person's ratings; latest needs times.",
)
@click.option("--people", type=click.IntRange(1), help="A sample of so many people.")
@click.option(
    "--quick", is_flag=True, help="One seed, epsilons 1 and 4, few numbers of buckets: two minutes."
)
def evaluate(
    ratings: Path | None, out: Path, people: int | None, quick: bool, **given: Any
) -> None:
    """Compare modes, and ways to answer a signal, on people whom no model has seen.

    A seed splits people into the server's, validation's and clients. A client holds all items or
    some, or its profile is encoded, bent by simulated noise and answered by each rule; its device
    ranks what it has. NDCG@10 and recall@20 are of what it liked and did not tell. Popularity,
    item-kNN and EASE stand beside. The same ratings and options give the same figures. Of a large
    log, --people takes a sample.

    Stopped by Ctrl-C or SIGTERM, it writes the figures that it has.

    \b
    Examples:
      askew-server evaluate
      askew-server evaluate --ratings ml-1m/ratings.dat --quick
      askew-server evaluate --ratings plays.parquet --people 5000
    """
    from threadpoolctl import threadpool_limits

    from askew_server.cli.progress import Steps, when_stopped
    from askew_server.evaluation.experiment import sampled
    from askew_server.evaluation.study import Protocol, Study

    # Without options, an answer comes within a minute of one core.
    small = {"seeds": (0,), "epsilons": (1.0, 4.0), "sizes": (2, 4, 8, 16)}
    chosen: dict[str, Any] = small if quick or not ratings else {}
    chosen |= {name: value for name, value in given.items() if value is not None}
    protocol = Protocol(**chosen)
    table, source = _ratings(ratings, times=protocol.held_out == "latest")
    if people is not None and people < table.n_people:
        source += f", a sample of {people:,} of {table.n_people:,} people"
        table = sampled(table, people)
    study = Study(table, protocol, source)
    with when_stopped(lambda: _stopped(study, out)):
        # On small matrices, more threads wait for each other: four times the CPU time, no faster.
        with threadpool_limits(1), Steps.shown() as steps:
            study.play(steps.step_of_all)
        _write(study, out)
    _show(study, out)


def _ratings(path: Path | None, *, times: bool) -> tuple[RatingTable, str]:
    """The ratings, and what they are."""
    from askew_server.cli.progress import Steps, when_stopped

    if path is None:
        from askew_server.demo.simulation import simulated_table

        return simulated_table(), _SIMULATED
    from askew_server.cli.training_data import show_rejects
    from askew_server.ratings import read_ratings

    with when_stopped(), Steps.shown() as steps:
        steps.step("reading ratings")
        table, rejects = read_ratings(path, times=times, progress=steps.of_total)
    show_rejects(rejects)
    return table, path.name


def _stopped(found: Study, out: Path) -> None:
    _write(found, out)
    click.echo(f"stopped: {len(found.cells)} cells are in {out}", err=True)


def _write(found: Study, out: Path) -> None:
    from askew_server.evaluation.report import as_csv

    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(as_csv(found.cells), encoding="utf-8")


def _show(found: Study, out: Path) -> None:
    from rich.console import Console

    from askew_server.evaluation.report import as_lines, held_lines, leak_lines

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a file has no edge to fold lines at
    console.print(_table(("nothing sent", "NDCG@10", "recall@20"), held_lines(found)))
    ks = (f"k={k}" for k in found.protocol.ks)
    of_k = f"at k={max(found.protocol.ks)} worse off"
    console.print(_table(("epsilon", "rule", "a rating", *ks, of_k, "better"), as_lines(found)))
    console.print(
        f"{found.source}: {found.n_people:,} people, {found.n_ratings:,} ratings. NDCG@10 of what "
        "people liked and did not tell, and its paired gain over the zero-information slate (none) "
        "of the same k. epsilon: between any two people; a rating: between two who differ in one. "
        "Worse off, better: than with that slate, by this one draw.",
        markup=False,
    )
    for text in leak_lines(found.leaks):
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
