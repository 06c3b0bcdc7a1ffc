"""The study of places: grounds x items x levels x k x rules x crowds x densities, deterministic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from multiprocessing import get_context
from typing import Final

from askew.errors import ParameterError
from askew.rule_kind import MetricRuleKind
from askew_server.collections.model import Towns
from askew_server.evaluation.places.agreement import Agreement
from askew_server.evaluation.places.axis import LINE, RING, Road
from askew_server.evaluation.places.bench import FEW, POSTERIOR, RULES, Asked, Bench
from askew_server.evaluation.places.cells import PlaceCell
from askew_server.evaluation.places.country import Country
from askew_server.evaluation.places.ground import CROWDS, Ground
from askew_server.evaluation.places.market import Market

# Four times within 20, 5 and 1 km: log 4 over the distance, rounded down.
LEVELS: Final = {
    "county": Fraction(693, 10_000),
    "town": Fraction(277, 1000),
    "district": Fraction(1386, 1000),
}
MOST = 64
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class PlacesProtocol:
    """What is compared. items, levels: on the map; axis_items, axis_levels: on line and ring.
    people: of each crowd; draws: signals of each of them. few_ks: for the bare `posterior`, `remap`
    and the rule that knows of kinds; beside_ks: for people in the country, and a density with half
    of its towns. filters: shares of items that pass one. Raises ParameterError for an empty or
    invalid list.
    """

    items: tuple[int, ...] = (1_000, 10_000, 100_000)
    axis_items: tuple[int, ...] = (1_000,)
    levels: tuple[str, ...] = tuple(LEVELS)
    axis_levels: tuple[str, ...] = ("town",)
    ks: tuple[int, ...] = (1, 5, 20, 64)
    rules: tuple[str, ...] = RULES
    people: int = 2_000
    draws: int = 5
    seed: int = 0
    few_ks: tuple[int, ...] = (5, 20)
    beside_ks: tuple[int, ...] = (20,)
    filters: tuple[float, ...] = (0.5, 0.2, 0.05)

    def __post_init__(self) -> None:
        for name in ("items", "levels", "ks", "rules"):
            given = getattr(self, name)
            if not given or len(set(given)) != len(given):
                raise ParameterError(name, given, "one or more, all different")
        for name, known in (("levels", tuple(LEVELS)), ("rules", RULES)):
            if not set(getattr(self, name)) <= set(known):
                raise ParameterError(name, getattr(self, name), f"among {', '.join(known)}")
        if not all(1 <= k <= MOST for k in self.ks):
            raise ParameterError("k", self.ks, f"from 1 to {MOST}")
        if not all(max(self.ks) <= n <= 10_000_000 for n in (*self.items, *self.axis_items)):
            raise ParameterError("items", self.items, "from the largest k to 10,000,000")
        if not (self.people >= 2 and self.draws >= 1):
            raise ParameterError("people", (self.people, self.draws), "at least 2, and 1 draw each")
        if not (all(0 < s < 1 for s in self.filters) and sum(self.filters) < 1):
            raise ParameterError("filters", self.filters, "positive, and less than 1 together")


@dataclass(frozen=True)
class PlacesStudy:
    """What came out. whole: false where it was stopped, and cells are missing."""

    protocol: PlacesProtocol
    source: str
    cells: tuple[PlaceCell, ...]
    agreements: tuple[Agreement, ...] = ()
    whole: bool = True


@dataclass(frozen=True)
class Part:
    """What is found in one go: a ground, a number of items and a level."""

    ground: Callable[[PlacesProtocol, Towns], Ground]
    items: int
    level: str


def studied(
    protocol: PlacesProtocol, towns: Towns, progress: Progress, workers: int = 1
) -> Iterator[tuple[PlaceCell, ...]]:
    """The cells of each part, in order, whatever the number of processes."""
    parts = parts_of(protocol)
    if workers > 1:
        yield from _in_processes(protocol, towns, progress, workers)
    else:
        for done, part in enumerate(parts):

            def told(doing: str, share: float, before: int = done, at: Part = part) -> None:
                progress(f"{at.items:,} items, {at.level}, {doing}", (before + share) / len(parts))

            yield cells_of(protocol, towns, part, told)
    progress("done", 1.0)


def cells_of(
    protocol: PlacesProtocol, towns: Towns, part: Part, told: Progress
) -> tuple[PlaceCell, ...]:
    """The cells of one part. Deterministic, and dependent on no other part."""
    ground, epsilon = part.ground(protocol, towns), LEVELS[part.level]
    signals = {crowd: ground.signals(epsilon, crowd, protocol.draws) for crowd in CROWDS}
    market = Market.of(ground, part.items, protocol.filters)
    bench = Bench(market, part.level, signals, protocol.draws, told)
    return tuple(bench.cells(questions_of(protocol)))


def parts_of(protocol: PlacesProtocol) -> list[Part]:
    """The largest last, so that what is told of progress is never too hopeful."""
    axes = product((_line, _ring), protocol.axis_items, protocol.axis_levels)
    map_parts = product((_country,), protocol.items, protocol.levels)
    return [Part(*each) for each in (*axes, *map_parts)]


def _in_processes(
    protocol: PlacesProtocol, towns: Towns, progress: Progress, workers: int
) -> Iterator[tuple[PlaceCell, ...]]:
    parts = parts_of(protocol)
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        found = [pool.submit(_alone, protocol, towns, part) for part in parts]
        for done, (part, each) in enumerate(zip(parts, found, strict=True)):
            progress(f"{part.items:,} items, {part.level}", done / len(parts))
            yield each.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(protocol: PlacesProtocol, towns: Towns, part: Part) -> tuple[PlaceCell, ...]:
    """In a process of its own, which has no threads to spare."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return cells_of(protocol, towns, part, lambda _, __: None)


def _country(protocol: PlacesProtocol, towns: Towns) -> Ground:
    return Country.of(towns, protocol.people, protocol.seed)


def _line(protocol: PlacesProtocol, _: Towns) -> Ground:
    return Road.of(LINE, protocol.people, protocol.seed)


def _ring(protocol: PlacesProtocol, _: Towns) -> Ground:
    return Road.of(RING, protocol.people, protocol.seed)


def questions_of(protocol: PlacesProtocol) -> tuple[Asked, ...]:
    """Everybody; at fewer k, people in the country, and with half of the towns."""
    few = [rule for rule in protocol.rules if rule in FEW]
    most = [rule for rule in protocol.rules if rule not in FEW]
    few_ks = [k for k in protocol.ks if k in protocol.few_ks]
    beside = [k for k in protocol.ks if k in protocol.beside_ks]
    bare = [rule for rule in protocol.rules if rule in {POSTERIOR, MetricRuleKind.REMAP}]
    return (
        Asked("all", "towns", most, protocol.ks),
        Asked("all", "towns", few, few_ks or protocol.ks),
        Asked("rural", "towns", most, beside),
        Asked("all", "half of them", bare, beside),
    )
