"""The study of places: grounds x items x levels x k x rules x crowds x densities, deterministic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from multiprocessing import get_context
from typing import Final

import numpy as np
from benchmarks.places.grounds import (
    CROWDS,
    LINE,
    Array,
    Country,
    Crowd,
    Ground,
    Known,
    Market,
    PlaceRun,
    Road,
)
from benchmarks.places.theory import Agreement
from benchmarks.ratios import ratio_of

from askew.errors import ParameterError
from askew.protocol.metric_card import MetricRuleKind
from askew.protocol.signal import Signal
from askew_server.collections.model import Towns
from askew_server.retrieval.near.answers import near_rule_of, served_rule_of
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.rules import NearRule
from askew_server.retrieval.near.wants import Wants
from askew_server.taste.measures import Estimate, mean_of


@dataclass(frozen=True)
class PlaceLabel:
    """What a cell is about. ground: map or line. epsilon: per unit of distance, on a map the
    straight-line kilometer.  crowd: who asks. density:
    what the rule knows of where people are; empty where it knows nothing.
    """

    ground: str
    items: int
    level: str
    epsilon: float
    k: int
    rule: str
    crowd: str = "all"
    density: str = ""


@dataclass(frozen=True)
class Filtered:
    """Of items that pass a filter: kilometers beyond the nearest of them where one is in the
    slate, and the share of questions where none is.
    """

    share: float
    extra: Estimate
    none: Estimate


@dataclass(frozen=True)
class PlaceCell:
    """One cell. extra: mean kilometers beyond the nearest item. ratio: to the extra of `nearest`,
    over_nearest, over_codebook: differences to them in km, all by the same people and draws.
    """

    label: PlaceLabel
    n_people: int
    size: float
    extra: Estimate
    ratio: Estimate
    over_nearest: Estimate
    over_codebook: Estimate
    filtered: tuple[Filtered, ...]


def cell_of(label: PlaceLabel, run: PlaceRun, nearest: PlaceRun, codebook: PlaceRun) -> PlaceCell:
    """The cell of a run beside its baselines. Draws of one person are averaged first, so that the
    errors are those of people.
    """
    mine, theirs, probes = (by_person(each.extra) for each in (run, nearest, codebook))
    return PlaceCell(
        label=label,
        n_people=len(mine),
        size=run.size,
        extra=mean_of(mine),
        ratio=ratio_of(mine, theirs),
        over_nearest=mean_of(mine - theirs),
        over_codebook=mean_of(mine - probes),
        filtered=tuple(_filtered(share, extra) for share, extra in run.filtered.items()),
    )


def by_person(extra: Array) -> Array:
    """The mean of each person's draws, (n,)."""
    means: Array = extra.mean(axis=1)
    return means


def _filtered(share: float, extra: Array) -> Filtered:
    """Of people with at least one answer that has an item which passes."""
    passed = ~np.isnan(extra)
    some = passed.any(axis=1)
    known = np.where(passed, extra, 0.0)[some].sum(axis=1) / passed[some].sum(axis=1)
    return Filtered(share, mean_of(known), mean_of(1.0 - passed.mean(axis=1)))


# What a server of the rule `posterior` answers: its own set, the codebook's or the nearest items,
# whichever is best for the people it expects.
SERVED: Final = "served"
BY_KIND: Final = "by kind"  # the same for a collection whose items are of kinds
NEAREST, CODEBOOK, POSTERIOR = (
    MetricRuleKind.NEAREST,
    MetricRuleKind.CODEBOOK,
    MetricRuleKind.POSTERIOR,
)
KNOWING: Final[tuple[str, ...]] = (POSTERIOR, SERVED, BY_KIND)
FEW: Final[tuple[str, ...]] = (POSTERIOR, BY_KIND)
RULES: Final[tuple[str, ...]] = (*MetricRuleKind, SERVED, BY_KIND)
_MANY = 20
Told = Callable[[str, float], None]


@dataclass(frozen=True)
class Asked:
    """Who asks, what the server knows of people, and which rules answer with which k."""

    crowd: Crowd
    known: Known
    rules: Sequence[str]
    ks: Sequence[int]

    def pairs(self) -> list[tuple[str, int]]:
        """Each rule with each k."""
        return [(rule, k) for rule in self.rules for k in self.ks]


@dataclass
class Bench:
    """A market, the signals of its people at one level, and what rules were found to be worth.

    draws: signals of each person, of which large k, where errors are small, read the first alone.
    """

    market: Market
    level: str
    signals: Mapping[Crowd, Sequence[Signal]] = field(repr=False)
    draws: int
    told: Told
    _runs: dict[PlaceLabel, PlaceRun] = field(default_factory=dict, repr=False)
    _rules: dict[tuple[str, Known], NearRule] = field(default_factory=dict, repr=False)
    _densities: dict[Known, Density] = field(default_factory=dict, repr=False)

    def cells(self, asked: Sequence[Asked]) -> Iterator[PlaceCell]:
        """A cell for each rule and k of each of these."""
        work = [(each, rule, k) for each in asked for rule, k in each.pairs()]
        for done, (each, rule, k) in enumerate(work):
            self.told(f"{rule}, k = {k}, {each.crowd}, {each.known}", done / len(work))
            label, run = self._run(each, rule, k)
            _, nearest = self._run(each, NEAREST, k)
            _, codebook = self._run(each, CODEBOOK, k)
            yield cell_of(label, run, nearest, codebook)

    def _run(self, asked: Asked, rule: str, k: int) -> tuple[PlaceLabel, PlaceRun]:
        """Now, or as it was found before."""
        label = self._label(asked, rule, k)
        if label not in self._runs:
            chosen = self._rule(rule, asked.known)
            signals = self.signals[asked.crowd][:: self.draws if k > _MANY else 1]
            answers = (chosen.choose(signal, k) for signal in signals)
            self._runs[label] = self.market.run(asked.crowd, answers)
        return label, self._runs[label]

    def _label(self, asked: Asked, rule: str, k: int) -> PlaceLabel:
        epsilon = self.market.index.frame.epsilon(self.signals[asked.crowd][0])
        known = asked.known if rule in KNOWING else ""
        name, n = self.market.ground.name, len(self.market.items)
        return PlaceLabel(name, n, self.level, epsilon, k, rule, asked.crowd, known)

    def _rule(self, rule: str, known: Known) -> NearRule:
        """Made once, as on a server."""
        if (rule, known) not in self._rules:
            self._rules[rule, known] = self._made(rule, known)
        return self._rules[rule, known]

    def _made(self, rule: str, known: Known) -> NearRule:
        index = self.market.index
        density = self._density(known) if rule in KNOWING else None
        if rule == SERVED:
            return served_rule_of(POSTERIOR, index, density)
        if rule == BY_KIND:
            wants = Wants(index, self.market.wants, {"kind": self.market.kinds})
            return served_rule_of(POSTERIOR, index, density, wants)
        return near_rule_of(MetricRuleKind(rule), index, density)

    def _density(self, known: Known) -> Density:
        if known not in self._densities:
            frame, towns = self.market.index.frame, self.market.ground.densities[known]
            self._densities[known] = Density.of_towns(frame, towns, self.market.items)
        return self._densities[known]


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
    """What is compared. items, levels: on the map; axis_items, axis_levels: on the line.
    people: of each crowd; draws: signals of each of them. few_ks: for the bare `posterior` and
    the rule that knows of kinds; beside_ks: for people in the country, and a density with half
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
    axes = product((_line,), protocol.axis_items, protocol.axis_levels)
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


def questions_of(protocol: PlacesProtocol) -> tuple[Asked, ...]:
    """Everybody; at fewer k, people in the country, and with half of the towns."""
    few = [rule for rule in protocol.rules if rule in FEW]
    most = [rule for rule in protocol.rules if rule not in FEW]
    few_ks = [k for k in protocol.ks if k in protocol.few_ks]
    beside = [k for k in protocol.ks if k in protocol.beside_ks]
    bare = [rule for rule in protocol.rules if rule == POSTERIOR]
    return (
        Asked("all", "towns", most, protocol.ks),
        Asked("all", "towns", few, few_ks or protocol.ks),
        Asked("rural", "towns", most, beside),
        Asked("all", "half of them", bare, beside),
    )
