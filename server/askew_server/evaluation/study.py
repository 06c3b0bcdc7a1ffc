"""The whole protocol: seeds x epsilons x rules x k, in one deterministic run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.protocol.rule_kind import RuleKind
from askew_server.evaluation import rules
from askew_server.evaluation.leak import Leak, leak
from askew_server.evaluation.rules import NO_SIGNAL, RULES, Guarantee, Signals, alike
from askew_server.evaluation.scene import Scene, Slates
from askew_server.evaluation.split import HELD_OUTS, HeldOut, deal
from askew_server.ratings import RatingTable
from askew_server.taste.training.buckets import SIZES
from askew_server.taste.training.quality import (
    Estimate,
    Gains,
    Outcome,
    coverage_of,
    gains_of,
    gap_of,
    gini_of,
    mean_of,
    outcome,
    ratio_of,
)

Array = NDArray[np.float64]
_LEARNED_FOR = 5  # k of the directions: also good for 1 and 20
_LEAK_K = 5
Progress = Callable[[str, float], None]
"""Told what is being done, and the part of all that is done."""


@dataclass(frozen=True)
class Protocol:
    """What is compared. epsilons: plain, between any two people. sizes: numbers of buckets that
    validation chooses from. held_out: which fifth of each person's ratings.
    Raises ParameterError for an empty or invalid list.
    """

    rules: tuple[RuleKind, ...] = RULES
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    ks: tuple[int, ...] = (1, 5, 20)
    seeds: tuple[int, ...] = (0, 1, 2)
    sizes: tuple[int, ...] = SIZES
    min_ratings: int = 20
    held_out: HeldOut = "random"

    def __post_init__(self) -> None:
        for name in ("rules", "epsilons", "ks", "seeds", "sizes"):
            given = getattr(self, name)
            if not given or len(set(given)) != len(given):
                raise ParameterError(name, given, "one or more, all different")
        if not set(self.rules) <= set(RULES):
            raise ParameterError("rules", self.rules, f"among {', '.join(RULES)}")
        if self.held_out not in HELD_OUTS:
            raise ParameterError("held_out", self.held_out, f"among {', '.join(HELD_OUTS)}")
        if not all(1 <= k <= 64 for k in self.ks):
            raise ParameterError("k", self.ks, "from 1 to 64")
        if not all(1 / 64 <= epsilon <= 16 for epsilon in self.epsilons):
            raise ParameterError("epsilons", self.epsilons, "from 1/64 to 16")


@dataclass(frozen=True)
class Label:
    """What a cell is about. epsilon: plain, between any two people, whatever the mechanism; 0 where
    no signal is sent.
    """

    k: int
    rule: RuleKind
    epsilon: float


@dataclass(frozen=True)
class Cell:
    """One cell. ratio: score of the picks over that of everybody's own best. gap: 0 for the best
    single item for all, 1 for one's own best. over_none, over_naive: paired differences of ratios
    to the zero-information slate and to `naive` of the same k. gains: over the zero-information
    slate, person by person, for the one draw that each has. coverage, gini: of the picks of all
    people of all seeds, over the whole catalog, rare items and all. size: signal dimensions, or
    buckets, and guarantee: of the first seed.
    """

    label: Label
    guarantee: Guarantee
    size: int
    n_clients: int
    ratio: Estimate
    gap: Estimate
    over_none: Estimate
    over_naive: Estimate
    gains: Gains
    hit: Estimate
    recall: Estimate
    ndcg: Estimate
    coverage: float
    gini: float


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, and what there was to get, (n,) each.

    picked: the catalog's items that were picked and new, one a person who had one. n_items: of
    the whole catalog.
    """

    got: Outcome
    picked: NDArray[np.int64] = field(repr=False)
    possible: Array = field(repr=False)
    single: Array = field(repr=False)  # the best single item for everybody
    none: Array = field(repr=False)
    naive: Array | None = field(repr=False)
    n_items: int
    guarantee: Guarantee
    size: int


def cell_of(label: Label, runs: Iterable[Run]) -> Cell:
    """The cell of some seeds. Clients of all seeds count alike; people who are clients in several
    seeds make the errors a little too small.
    """
    runs = list(runs)
    got = np.concatenate([run.got.score for run in runs])
    possible = np.concatenate([run.possible for run in runs])
    none = np.concatenate([run.none for run in runs])
    naive = np.concatenate(
        [np.full(len(run.possible), np.nan) if run.naive is None else run.naive for run in runs]
    )
    picked, catalog = np.concatenate([run.picked for run in runs]), runs[0].n_items
    return Cell(
        label=label,
        guarantee=runs[0].guarantee,
        size=runs[0].size,
        n_clients=len(got),
        ratio=ratio_of(got, possible),
        gap=gap_of(got, possible, np.concatenate([run.single for run in runs])),
        over_none=ratio_of(got - none, possible),
        over_naive=ratio_of(got - naive, possible),
        gains=gains_of(got, none, possible),
        coverage=coverage_of(picked, catalog),
        gini=gini_of(picked, catalog),
        **{
            name: mean_of(np.concatenate([getattr(run.got, name) for run in runs]))
            for name in ("hit", "recall", "ndcg")
        },
    )


@dataclass(frozen=True)
class Findings:
    """What one seed found, or one epsilon of it, in the order in which it was found."""

    runs: Sequence[tuple[Label, Run]] = field(repr=False)
    leaks: Sequence[Leak] = ()


@dataclass(frozen=True)
class Study:
    """What came out. whole: false where it was stopped, and cells are missing."""

    protocol: Protocol
    source: str
    n_people: int
    n_ratings: int
    cells: tuple[Cell, ...]
    leaks: tuple[Leak, ...]
    whole: bool = True


def played(table: RatingTable, protocol: Protocol, progress: Progress) -> Iterator[Findings]:
    """What each seed finds without signals, then at each epsilon. Deterministic.

    Raises DataError when there are too few people or items to split.
    """
    steps = (None, *protocol.epsilons)
    total = len(protocol.seeds) * len(steps)
    for at, seed in enumerate(protocol.seeds):
        progress(f"seed {seed}: no signal", at * len(steps) / total)
        scene = Scene.of(deal(table, seed, protocol.min_ratings, protocol.held_out), seed)
        bench = _Bench(scene, protocol)
        for n, epsilon in enumerate(steps):
            if epsilon is not None:
                progress(f"seed {seed}, epsilon {epsilon:g}", (at * len(steps) + n) / total)
            yield bench.play(epsilon)
    progress("done", 1.0)


def collected(
    found: Iterable[Findings], table: RatingTable, protocol: Protocol, source: str
) -> Study:
    """The study of all findings, or of those that there are."""
    found = list(found)
    runs: dict[Label, list[Run]] = defaultdict(list)
    for label, run in (each for findings in found for each in findings.runs):
        runs[label].append(run)
    return Study(
        protocol=protocol,
        source=source,
        n_people=table.n_people,
        n_ratings=len(table),
        cells=tuple(cell_of(label, each) for label, each in runs.items()),
        leaks=tuple(leak for findings in found for leak in findings.leaks),
        whole=len(found) == len(protocol.seeds) * (1 + len(protocol.epsilons)),
    )


class _Bench:
    """One scene, and what every rule is compared with in it."""

    def __init__(self, scene: Scene, protocol: Protocol) -> None:
        self.scene, self.protocol = scene, protocol
        self.found: list[tuple[Label, Run]] = []
        self._naive: Slates = {}
        self.ks = tuple(k for k in protocol.ks if k <= len(scene.shared))
        self.shared = rules.shared_slates(scene, (1, *self.ks))
        self.none = {k: self._got(slates).score for k, slates in self.shared.items()}
        self.single = self.none[1]

    def play(self, epsilon: float | None) -> Findings:
        """What is found without signals, or at one plain epsilon."""
        self.found, self._naive = [], {}
        leaks = self.without_signals() if epsilon is None else self.with_signals(epsilon)
        return Findings(self.found, leaks)

    def without_signals(self) -> list[Leak]:
        """The zero-information slate, and what there would be to get in the open."""
        if RuleKind.NONE in self.protocol.rules:
            shared = {k: self.shared[k] for k in self.ks}
            self._keep((RuleKind.NONE, 0.0), shared, NO_SIGNAL)
        own = self.scene.wanted.best_slates(len(self.scene.shared))
        self._keep((RuleKind.OPEN, 0.0), {k: own[:, :k] for k in self.ks}, NO_SIGNAL)
        return []

    def with_signals(self, epsilon: float) -> list[Leak]:
        """Every rule that reads signals, at one plain epsilon."""
        chosen, scene, ks = self.protocol.rules, self.scene, self.ks
        signals = self._signals(epsilon)
        self._naive = rules.naive_slates(scene, signals, ks)
        played: dict[RuleKind, Slates] = {}
        if RuleKind.NAIVE in chosen:
            played[RuleKind.NAIVE] = self._naive
        for kind in (RuleKind.OFFSETS, RuleKind.CODEBOOK):
            if kind in chosen:
                played[kind] = rules.offset_slates(scene, signals, ks, kind)
        if RuleKind.POSTERIOR in chosen:
            played[RuleKind.POSTERIOR] = rules.posterior_slates(scene, signals, ks)
        for rule, slates in played.items():
            d = signals.space.dimension
            self._keep((rule, epsilon), slates, signals.guarantee(), d)
        for k in ks if RuleKind.BUCKETS in chosen else ():
            size, slates = rules.bucket_slates(scene, epsilon, k, self.protocol.sizes)
            self._keep((RuleKind.BUCKETS, epsilon), slates, alike(epsilon), size)
        if RuleKind.POSTERIOR not in chosen:
            return []
        return [leak(scene, signals, min(_LEAK_K, len(scene.shared)))]

    def _signals(self, epsilon: float) -> Signals:
        dimension = self.scene.dimension_for(epsilon)
        space = self.scene.space(dimension, epsilon, _LEARNED_FOR, learned=True)
        return Signals.drawn(self.scene, space, epsilon)

    def _got(self, slates: NDArray[np.int64]) -> Outcome:
        return outcome(self.scene.wanted.at(slates), slates, self.scene.clients.held_out)

    def _keep(
        self, what: tuple[RuleKind, float], slates: Slates, cost: Guarantee, size: int = 0
    ) -> None:
        """One run for each k, under the table's label."""
        split = self.scene.split
        for k, rows in slates.items():
            got = self._got(rows)
            run = Run(
                got=got,
                picked=split.item_codes[got.picked],
                possible=self.scene.possible,
                single=self.single,
                none=self.none[k],
                naive=self._got(self._naive[k]).score if k in self._naive else None,
                n_items=split.n_catalog,
                guarantee=cost,
                size=size,
            )
            self.found.append((Label(k, *what), run))
