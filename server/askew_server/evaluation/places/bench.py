"""All rules in one market at one level: the same people, the same draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from askew.rule_kind import MetricRuleKind
from askew.signal import Signal
from askew_server.evaluation.places.cells import PlaceCell, PlaceLabel, PlaceRun, cell_of
from askew_server.evaluation.places.ground import Crowd, Known
from askew_server.evaluation.places.market import Market
from askew_server.retrieval.near import Density, Kinds, NearRule, near_rule_of, served_rule_of

# What a server of the rule `posterior` answers: its own set, the codebook's or the nearest items,
# whichever is best for the people it expects.
SERVED: Final = "served"
BY_KIND: Final = "by kind"  # the same for a collection whose items are of kinds
NEAREST, CODEBOOK, POSTERIOR = (
    MetricRuleKind.NEAREST,
    MetricRuleKind.CODEBOOK,
    MetricRuleKind.POSTERIOR,
)
KNOWING: Final[tuple[str, ...]] = (POSTERIOR, MetricRuleKind.REMAP, SERVED, BY_KIND)
FEW: Final[tuple[str, ...]] = (POSTERIOR, MetricRuleKind.REMAP, BY_KIND)
RULES: Final[tuple[str, ...]] = (*MetricRuleKind, SERVED, BY_KIND)
# As many items as they need, whatever k is asked.
OWN_SIZE: Final[Mapping[str, int]] = {
    MetricRuleKind.ONE: 1,
    MetricRuleKind.AREA: 0,
    MetricRuleKind.CELL: 0,
}
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
        """Each rule with each k that makes a difference to it."""
        return [
            (rule, k)
            for rule in self.rules
            for k in ([OWN_SIZE[rule]] if rule in OWN_SIZE else self.ks)
        ]


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
            _, nearest = self._run(each, NEAREST, max(k, 1))
            _, codebook = self._run(each, CODEBOOK, max(k, 1))
            yield cell_of(label, run, nearest, codebook)

    def _run(self, asked: Asked, rule: str, k: int) -> tuple[PlaceLabel, PlaceRun]:
        """Now, or as it was found before."""
        label = self._label(asked, rule, k)
        if label not in self._runs:
            chosen = self._rule(rule, asked.known)
            signals = self.signals[asked.crowd][:: self.draws if k > _MANY else 1]
            answers = (chosen.choose(signal, max(k, 1)) for signal in signals)
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
            kinds = Kinds(index, self.market.kind.astype(np.int32))
            return served_rule_of(POSTERIOR, index, density, kinds)
        return near_rule_of(MetricRuleKind(rule), index, density)

    def _density(self, known: Known) -> Density:
        if known not in self._densities:
            ground = self.market.ground
            self._densities[known] = Density.of_towns(
                self.market.index.frame, ground.densities[known]
            )
        return self._densities[known]
