"""The whole protocol: seeds x truths x epsilons x rules x k, in one deterministic run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.rule_kind import RuleKind
from askew_server.evaluation import rules
from askew_server.evaluation.cells import Cell, Label, Run, cell_of
from askew_server.evaluation.channel import channel_bound
from askew_server.evaluation.guarantee import NO_SIGNAL, Guarantee, alike
from askew_server.evaluation.interests import PUBLISHED, BitLaw, interest_slates
from askew_server.evaluation.leak import Leak, leak
from askew_server.evaluation.parts import Findings, Keeper, NothingKept, Part
from askew_server.evaluation.protocol import Protocol
from askew_server.evaluation.rules import Signals
from askew_server.evaluation.scene import Dealt, Scene, Slates
from askew_server.evaluation.split import deal
from askew_server.ratings import RatingTable
from askew_server.training.quality import Outcome, outcome

_LEARNED_FOR = 5  # k of the directions: also good for 1 and 20
_LEAK_K = 5
Progress = Callable[[str, float], None]
"""Told what is being done, and the part of all that is done."""


@dataclass(frozen=True)
class Study:
    """What came out. by_dimension: cells of the posterior rule at other signal dimensions. whole:
    false where it was stopped, and cells or seeds are missing.
    """

    protocol: Protocol
    source: str
    n_people: int
    n_ratings: int
    cells: tuple[Cell, ...]
    by_dimension: tuple[Cell, ...]
    leaks: tuple[Leak, ...]
    whole: bool = True


def study(table: RatingTable, protocol: Protocol, source: str, progress: Progress) -> Study:
    """Run the protocol on a table of ratings. Deterministic.

    Raises DataError when there are too few people or items to split.
    """
    found = played(table, protocol, progress, NothingKept())
    return collected(found, table, protocol, source)


def parts_of(protocol: Protocol) -> tuple[Part, ...]:
    """All parts, in the order of the table."""
    return tuple(
        part
        for seed in protocol.seeds
        for truth in protocol.truths
        for part in (
            Part(seed, truth),
            *(Part(seed, truth, epsilon) for epsilon in protocol.epsilons),
            Part(seed, truth, published=True),
            Part(seed, truth, dimensions=True),
        )
    )


def played(
    table: RatingTable, protocol: Protocol, progress: Progress, kept: Keeper
) -> Iterator[Findings]:
    """What each part finds: now, or earlier, where it was kept. Raises DataError as `study`."""
    kind, least = protocol.held_out, protocol.min_ratings
    deals = lru_cache(1)(lambda seed: Dealt.of(deal(table, seed, least, kind), seed))
    benches = lru_cache(1)(lambda seed, truth: _Bench(Scene.of(deals(seed), truth), protocol))
    parts = parts_of(protocol)
    for done, part in enumerate(parts):
        found = kept.found(part)
        if found is None:
            progress(part.doing, done / len(parts))
            found = benches(part.seed, part.truth).play(part)
            kept.keep(part, found)
        yield found
    progress("done", 1.0)


def collected(
    found: Iterable[Findings], table: RatingTable, protocol: Protocol, source: str
) -> Study:
    """The study of all parts, or of those that there are."""
    found = list(found)
    tables: tuple[dict[Label, list[Run]], ...] = (defaultdict(list), defaultdict(list))
    for label, run in (each for findings in found for each in findings.runs):
        tables[label.dimension > 0][label].append(run)
    cells, by_dimension = (
        tuple(cell_of(label, runs) for label, runs in each.items()) for each in tables
    )
    return Study(
        protocol=protocol,
        source=source,
        n_people=table.n_people,
        n_ratings=len(table),
        cells=cells,
        by_dimension=by_dimension,
        leaks=tuple(leak for findings in found for leak in findings.leaks),
        whole=len(found) == len(parts_of(protocol)),
    )


class _Bench:
    """One scene, and what every rule is compared with in it."""

    def __init__(self, scene: Scene, protocol: Protocol) -> None:
        self.scene, self.protocol = scene, protocol
        self.found: list[tuple[Label, Run]] = []
        self._naive: Slates = {}
        self._bounds: dict[tuple[float, int], float] = {}
        self.ks = tuple(k for k in protocol.ks if k <= len(scene.shared))
        self.shared = rules.shared_slates(scene, (1, *self.ks))
        self.none = {k: self._got(slates).score for k, slates in self.shared.items()}
        self.single = self.none[1]

    def play(self, part: Part) -> Findings:
        """What one part of this scene finds."""
        self.found, self._naive, leaks = [], {}, list[Leak]()
        if part.dimensions:
            self.at_all_dimensions()
        elif part.published:
            self.as_published()
        elif part.epsilon is None:
            self.without_signals()
        else:
            leaks = self.with_signals(part.epsilon)
        return Findings(self.found, leaks)

    def without_signals(self) -> None:
        """The zero-information slate, and what there would be to get in the open."""
        if RuleKind.NONE in self.protocol.rules:
            shared = {k: self.shared[k] for k in self.ks}
            self._keep((RuleKind.NONE, 0.0), shared, NO_SIGNAL)
        own = self.scene.wanted.best_slates(len(self.scene.shared))
        self._keep((RuleKind.OPEN, 0.0), {k: own[:, :k] for k in self.ks}, NO_SIGNAL)

    def with_signals(self, epsilon: float) -> list[Leak]:
        """Every rule that reads signals, at one plain epsilon."""
        chosen, scene, ks = self.protocol.rules, self.scene, self.ks
        signals = self._signals(scene.dimension_for(epsilon), epsilon)
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
        self._keep_bits(BitLaw.for_epsilon(epsilon), epsilon)
        if RuleKind.POSTERIOR not in chosen:
            return []
        return [leak(scene, signals, min(_LEAK_K, len(scene.shared)))]

    def as_published(self) -> None:
        """Mechanisms of others with the parameters that they publish."""
        self._keep_bits(PUBLISHED, round(PUBLISHED.epsilon, 1))

    def _keep_bits(self, law: BitLaw, epsilon: float) -> None:
        if RuleKind.INTEREST_BITS in self.protocol.rules:
            slates = interest_slates(self.scene, law, self.ks)
            cost = alike(law.epsilon)
            self._keep((RuleKind.INTEREST_BITS, epsilon), slates, cost, law.interests)

    def at_all_dimensions(self) -> None:
        """The posterior rule at signal dimensions that need not suit the epsilon."""
        if RuleKind.POSTERIOR not in self.protocol.rules:
            return
        epsilon = self.protocol.dimension_epsilon
        for d in self.protocol.dimensions:
            signals = self._signals(d, epsilon)
            slates = rules.posterior_slates(self.scene, signals, self.ks)
            self._keep((RuleKind.POSTERIOR, epsilon, d), slates, signals.guarantee(), d)

    def _signals(self, dimension: int, epsilon: float) -> Signals:
        dimension = min(dimension, self.scene.dealt.vectors.shape[1])
        learned = self.protocol.learned
        space = self.scene.space(dimension, epsilon, _LEARNED_FOR, learned=learned)
        return Signals.drawn(self.scene, space, epsilon)

    def _got(self, slates: NDArray[np.int64]) -> Outcome:
        offered = self.scene.wanted.at(slates)
        return outcome(offered, slates, self.scene.dealt.clients.held_out)

    def _bound(self, epsilon: float, k: int) -> float:
        if not epsilon:
            return float("nan")
        if (epsilon, k) not in self._bounds:
            self._bounds[epsilon, k] = channel_bound(self.scene.wanted, epsilon, k)
        return self._bounds[epsilon, k]

    def _keep(
        self,
        what: tuple[RuleKind, float] | tuple[RuleKind, float, int],
        slates: Slates,
        cost: Guarantee,
        size: int = 0,
    ) -> None:
        """One run for each k, under the table's label."""
        split = self.scene.dealt.split
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
                bound=self._bound(what[1], k),
            )
            self.found.append((Label(self.scene.name, k, *what), run))
