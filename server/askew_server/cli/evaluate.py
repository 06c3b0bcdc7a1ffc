"""The command `askew-server evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from askew.rule_kind import RuleKind

_OF_PLACES = ("items", "levels", "draws", "workers")
_OF_RATINGS = (
    "ratings",
    "truths",
    "epsilons",
    "dimensions",
    "min_ratings",
    "principal",
    "held_out",
)


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
@click.option(
    "--people",
    type=click.IntRange(1),
    help="Of ratings, a sample of so many; with --places, how many, 2000 by default.",
)
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
    ratings and options give the same figures. Of a large log, --people takes some thousands: every
    client is answered by all of the server's people.

    Stopped by Ctrl-C or SIGTERM, it writes the figures that it has; the same command goes on from
    there.

    \b
    Examples:
      askew-server evaluate
      askew-server evaluate --ratings ml-1m/ratings.dat --seeds 0,1,2
      askew-server evaluate --ratings plays.parquet --people 5000
      askew-server evaluate --places --quick
      askew-server evaluate --dear --ratings ml-1m/ratings.dat
    """
    _check(ctx, places=places)
    if dear:
        return _of_dear(ctx, ratings, out, given)
    if places:
        return _of_places(out, **given)
    from askew_server.cli.evaluate_ratings import evaluate_ratings

    given["rules"] = _rules(given["rules"])
    given = {name: value for name, value in given.items() if name not in _OF_PLACES}
    return evaluate_ratings(ratings, out, **given)


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
    chosen = {name: given[name] for name in (*_OF_PLACES, "people", "rules", "ks")}
    evaluate_places(out, quick=quick, seed=seeds[0] if seeds else None, **chosen)


def _rules(names: tuple[str, ...] | None) -> tuple[RuleKind, ...] | None:
    """Raises UsageError for a name that is no rule."""
    if wrong := sorted(set(names or ()) - set(RuleKind)):
        raise click.UsageError(f"--rules: {wrong[0]!r} is none of {', '.join(RuleKind)}")
    return None if names is None else tuple(RuleKind(name) for name in names)
