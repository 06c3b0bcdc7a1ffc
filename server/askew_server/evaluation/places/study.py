"""The study of places: grounds x items x levels x k x rules x crowds x densities, deterministic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from askew.errors import ParameterError
from askew_server.collections.model import Towns
from askew_server.evaluation.places.agreement import Agreement
from askew_server.evaluation.places.axis import LINE, RING, Road
from askew_server.evaluation.places.bench import KNOWING, RULES, Asked, Bench
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
    """What is compared. items: on the map; axis_items: on the line and the ring. people: of each
    crowd; draws: signals of each of them. beside_ks: where people in the country, and a density
    with half of its towns, are looked at as well. filters: shares of items that pass one. Raises
    ParameterError for an empty or invalid list.
    """

    items: tuple[int, ...] = (1_000, 10_000, 100_000)
    axis_items: tuple[int, ...] = (1_000,)
    levels: tuple[str, ...] = tuple(LEVELS)
    ks: tuple[int, ...] = (1, 5, 10, 20, 32, 64)
    rules: tuple[str, ...] = RULES
    people: int = 2_000
    draws: int = 5
    seed: int = 0
    beside_ks: tuple[int, ...] = (5, 20)
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


def studied(
    protocol: PlacesProtocol, towns: Towns, progress: Progress
) -> Iterator[tuple[PlaceCell, ...]]:
    """The cells, those of one ground, number of items and level together."""
    parts = [(g, n, at) for g, n in grounds_of(protocol, towns) for at in protocol.levels]
    for done, (ground, n, level) in enumerate(parts):

        def told(doing: str, part: float, before: int = done, n: int = n, at: str = level) -> None:
            progress(f"{n:,} items, {at}, {doing}", (before + part) / len(parts))

        signals = {c: ground.signals(LEVELS[level], c, protocol.draws) for c in CROWDS}
        bench = Bench(Market.of(ground, n, protocol.filters), level, signals, told)
        yield tuple(bench.cells(questions_of(protocol)))
    progress("done", 1.0)


def grounds_of(protocol: PlacesProtocol, towns: Towns) -> Iterator[tuple[Ground, int]]:
    """A country around the towns, a line and a ring, with each number of items."""
    people, seed = protocol.people, protocol.seed
    country = Country.of(towns, people, seed)
    yield from ((country, n) for n in protocol.items)
    for axis in (LINE, RING):
        road = Road.of(axis, people, seed)
        yield from ((road, n) for n in protocol.axis_items)


def questions_of(protocol: PlacesProtocol) -> tuple[Asked, ...]:
    """Everybody by every rule; at fewer k, people in the country, and with half of the towns."""
    knowing = [rule for rule in protocol.rules if rule in KNOWING]
    beside = [k for k in protocol.ks if k in protocol.beside_ks]
    return (
        Asked("all", "towns", protocol.rules, protocol.ks),
        Asked("rural", "towns", protocol.rules, beside),
        Asked("all", "half of them", knowing, beside),
    )
