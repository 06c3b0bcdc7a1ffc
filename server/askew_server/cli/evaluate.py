"""The command `askew-server evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from askew.rule_kind import RuleKind
from askew_server.cli.progress import Steps, shown_share, when_stopped

if TYPE_CHECKING:
    from rich.table import Table

    from askew_server.evaluation.parts import Findings
    from askew_server.evaluation.protocol import Protocol
    from askew_server.evaluation.study import Study

_WIDE = 120
_OF_PLACES = ("items", "levels", "people", "draws", "workers")
_OF_RATINGS = (
    "ratings",
    "truths",
    "epsilons",
    "dimensions",
    "min_ratings",
    "principal",
    "held_out",
)
SIMULATED = "the embedded films with SIMULATED ratings"


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
    help="Ratings: a file, a folder of them, or .npz with user, item, rating; default: simulated.",
)
@click.option(
    "--out",
    default="evaluation",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for cells.csv, study.json and pictures.",
)
@click.option("--quick", is_flag=True, help="One seed, two epsilons, no signal dimensions.")
@click.option("--seeds", type=_List(int), help="Such as 0,1,2.")
@click.option("--truths", type=_List(str), help="Among next,long-tail,rating.")
@click.option(
    "--rules",
    type=_List(str),
    help="Among none,naive,offsets,codebook,posterior,buckets,interest-bits; of places, among "
    "codebook,items,posterior,nearest,remap,one,area,cell,served,by kind.",
)
@click.option("--epsilons", type=_List(float), help="Between any two people, such as 1,2,4,8.")
@click.option("-k", "--k", "ks", type=_List(int), help="Such as 1,5,20.")
@click.option("--dimensions", type=_List(int), help="Signal dimensions, such as 1,2,4,8.")
@click.option("--min-ratings", default=20, show_default=True, help="Leave out rarer items.")
@click.option(
    "--held-out",
    type=click.Choice(["random", "latest"]),
    default="random",
    show_default=True,
    help="Which fifth of each person's ratings; latest needs their times.",
)
@click.option("--principal", is_flag=True, help="Signal along principal axes, nothing learned.")
@click.option("--places", is_flag=True, help="The rules of maps, lines and rings, in a country.")
@click.option("--dear", is_flag=True, help="Slates named by their vectors, as for large payloads.")
@click.option("--items", type=_List(int), help="With --places, such as 1000,10000,100000.")
@click.option("--levels", type=_List(str), help="With --places, among county,town,district.")
@click.option("--people", type=int, help="With --places, 2000 by default.")
@click.option("--draws", type=int, help="With --places, signals of each person, 5 by default.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="With --places, processes.",
)
@click.pass_context
def evaluate(
    ctx: click.Context, /, ratings: Path | None, out: Path, places: bool, dear: bool, **given: Any
) -> None:
    """Compare the ways to answer a signal, always beside the slate that knows nothing.

    With --places: the rules of maps, lines and rings, beside the items nearest to the signal, in a
    country of real towns with SIMULATED items and people.

    With --dear: items whose payloads only replies bring, where devices name a slate by the vectors
    of all slates; beside the linear encoder, and after the catalog has changed.

    A seed splits people into the server's, validation's and clients. Each client's profile is
    encoded, bent by simulated noise and answered by each rule; the client picks. The same
    ratings and options give the same figures.

    Stopped by Ctrl-C or SIGTERM, it writes the figures that it has; the same command goes on from
    there.

    \b
    Examples:
      askew-server evaluate
      askew-server evaluate --ratings ml-1m/ratings.dat --seeds 0,1,2
      askew-server evaluate --places --quick
      askew-server evaluate --dear --ratings ml-1m/ratings.dat
    """
    _check(ctx, places=places)
    if dear:
        return _of_dear(ctx, ratings, out, given)
    if places:
        return _of_places(out, **given)
    given["rules"] = _rules(given["rules"])
    given = {name: value for name, value in given.items() if name not in _OF_PLACES}
    return _of_ratings(ratings, out, **given)


def _check(ctx: click.Context, *, places: bool) -> None:
    """Raises UsageError for an option of the other study."""
    for name in _OF_RATINGS if places else _OF_PLACES:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            goes = "does not go" if places else "goes only"
            raise click.UsageError(f"--{option} {goes} with --places")


def _of_dear(ctx: click.Context, ratings: Path | None, out: Path, given: dict[str, Any]) -> None:
    """Raises UsageError for an option of the other studies."""
    from askew_server.cli.evaluate_dear import evaluate_dear

    taken = ("quick", "seeds", "truths", "epsilons", "ks", "min_ratings")
    for name in {*given, "places"} - set(taken):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --dear")
    evaluate_dear(ratings, out, **{name: given[name] for name in taken})


def _of_places(out: Path, *, quick: bool, seeds: tuple[int, ...] | None, **given: Any) -> None:
    from askew_server.cli.evaluate_places import evaluate_places

    if seeds is not None and len(seeds) != 1:
        raise click.UsageError("--places takes one seed")
    chosen = {name: given[name] for name in (*_OF_PLACES, "rules", "ks")}
    evaluate_places(out, quick=quick, seed=seeds[0] if seeds else None, **chosen)


def _rules(names: tuple[str, ...] | None) -> tuple[RuleKind, ...] | None:
    """Raises UsageError for a name that is no rule."""
    if wrong := sorted(set(names or ()) - set(RuleKind)):
        raise click.UsageError(f"--rules: {wrong[0]!r} is none of {', '.join(RuleKind)}")
    return None if names is None else tuple(RuleKind(name) for name in names)


def _of_ratings(ratings: Path | None, out: Path, **given: Any) -> None:
    from threadpoolctl import threadpool_limits

    from askew_server.evaluation.data import read_table, simulated_table
    from askew_server.evaluation.parts import KeptParts, identity_of
    from askew_server.evaluation.study import collected, played

    protocol = _protocol(simulated=ratings is None, **given)
    with Steps.shown() as steps:
        steps.step("reading ratings")
        times = protocol.held_out == "latest"
        table = (
            simulated_table()
            if ratings is None
            else read_table(ratings, steps.of_total, times=times)
        )
    source = SIMULATED if ratings is None else ratings.name
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
