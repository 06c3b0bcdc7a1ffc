"""What each rule is worth on ratings: seeds x epsilons x rules x k, in one deterministic run.

Every client sends one noisy signal, gets a slate of every k from it, and picks.

none       the zero-information slate. Everybody's is the same; no signal.
naive      what everybody would write first: the k best items for the taste that the signal decodes
           to, whoever has seen what
offsets    product grids of optimal offsets, as served (`askew.retrieval.OffsetRule`)
codebook   the same with codebooks
posterior  the server's people weighted by the signal's law (`askew.retrieval.posterior`)
buckets    randomized response; encoder and slates by `askew_server.taste.training.buckets`, the
           number of buckets chosen on validation
open       in the open, one's own best items: what there is to get; no signal

Epsilons are plain, between any two people, for all of them: a mechanism whose promise grows with
distance takes its own parameter from the diameter of its space.

The leak: how much of one person of the prior an asker finds in an answer. The asker knows a prior
person's exact point, asks with it (no noise: the strongest signal about that place) and looks for
that person's own best item among the k results. The guarantee of the exchange does not cover this,
which is why a prior must be public, or released under a guarantee of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.protocol.utility_table import RuleKind
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import PosteriorRule, Prior, lattice_log_likelihood
from askew.retrieval.rules import OffsetRule
from askew.spaces.vectors import FeatureSpace
from askew_server.evaluation.experiment import (
    HELD_OUTS,
    Experiment,
    GroupScores,
    HeldOut,
    Outcome,
    PeopleGains,
    coverage_of,
    deal,
    outcome,
)
from askew_server.ratings import RatingTable
from askew_server.taste.measures import Estimate, mean_of, ratio_of
from askew_server.taste.model.held_out import lattice_signals, response_signals
from askew_server.taste.training.buckets import (
    SIZES,
    BucketDesign,
    design_buckets,
    response_value,
)

# In the order of the table; `open` is there to compare with, always.
RULES = (
    RuleKind.NONE,
    RuleKind.NAIVE,
    RuleKind.OFFSETS,
    RuleKind.CODEBOOK,
    RuleKind.POSTERIOR,
    RuleKind.BUCKETS,
)
_LEARNED_FOR = 5  # k of the directions: also good for 1 and 20
_LEAK_K, _LEAK_PEOPLE = 5, 200
Progress = Callable[[str, float], None]
"""Told what is being done, and the part of all that is done."""
Slates = dict[int, NDArray[np.int64]]
"""For each k item ids (n, k)."""


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
        if self.held_out not in HELD_OUTS:
            raise ParameterError("held_out", self.held_out, f"among {', '.join(HELD_OUTS)}")
        if not all(1 <= k <= 64 for k in self.ks):
            raise ParameterError("k", self.ks, "from 1 to 64")
        if not all(1 / 64 <= epsilon <= 16 for epsilon in self.epsilons):
            raise ParameterError("epsilons", self.epsilons, "from 1/64 to 16")


@dataclass(frozen=True)
class Guarantee:
    """What one signal costs its sender; None throughout where none is sent.

    epsilon: plain, between any two people: the currency in which mechanisms are compared.
    per_rating: between two people who differ in one rating. per_distance: the mechanism's own
    parameter where its promise grows with distance, and None where every pair is protected alike.
    """

    epsilon: float | None = None
    per_rating: float | None = None
    per_distance: float | None = None


NO_SIGNAL = Guarantee()


@dataclass(frozen=True)
class Label:
    """What a cell is about. epsilon: plain; 0 where no signal is sent."""

    k: int
    rule: RuleKind
    epsilon: float = 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, what there was to get, and what the slate of no
    signal gives, (n,) each. picked: the catalog's items that were picked and new.
    """

    got: Outcome
    possible: NDArray[np.float64] = field(repr=False)
    none: NDArray[np.float64] = field(repr=False)
    picked: NDArray[np.int64] = field(repr=False)
    guarantee: Guarantee
    size: int


@dataclass(frozen=True)
class StudyCell:
    """One cell. ratio: score of the picks over that of everybody's own best. over_none: the paired
    difference of ratios to the zero-information slate of the same k. gains: the same, person by
    person, for the one draw that each has. coverage: of the picks of all people of all seeds, over
    the whole catalog, rare items and all. size: signal dimensions, or buckets, and guarantee: of
    the first seed.
    """

    label: Label
    guarantee: Guarantee
    size: int
    n_clients: int
    ratio: Estimate
    over_none: Estimate
    gains: PeopleGains
    hit: Estimate
    recall: Estimate
    ndcg: Estimate
    coverage: float

    @classmethod
    def of(cls, label: Label, runs: Sequence[Run], n_catalog: int) -> StudyCell:
        """The cell of some seeds. Clients of all seeds count alike; people who are clients in
        several seeds make the errors a little too small.
        """
        got = np.concatenate([run.got.score for run in runs])
        possible = np.concatenate([run.possible for run in runs])
        none = np.concatenate([run.none for run in runs])
        hit, recall, ndcg = (
            mean_of(np.concatenate([getattr(run.got, name) for run in runs]))
            for name in ("hit", "recall", "ndcg")
        )
        return cls(
            label=label,
            guarantee=runs[0].guarantee,
            size=runs[0].size,
            n_clients=len(got),
            ratio=ratio_of(got, possible),
            over_none=ratio_of(got - none, possible),
            gains=PeopleGains.of(got, none, possible),
            hit=hit,
            recall=recall,
            ndcg=ndcg,
            coverage=coverage_of(np.concatenate([run.picked for run in runs]), n_catalog),
        )


@dataclass(frozen=True)
class Leak:
    """How often a prior person's best item is in the answer for their point; how often it is there
    when the person is taken out of the prior, which is what anyone could have known without them;
    and the paired difference. epsilon: plain, as asked for.
    """

    epsilon: float
    present: Estimate
    removed: Estimate
    difference: Estimate


class Study:
    """Ratings under a protocol, and what was found so far. Deterministic."""

    def __init__(self, table: RatingTable, protocol: Protocol, source: str) -> None:
        self.protocol, self.source = protocol, source
        self.n_people, self.n_ratings, self.leaks = table.n_people, len(table), list[Leak]()
        self._table = table
        self._runs: dict[Label, list[Run]] = defaultdict(list)

    @property
    def cells(self) -> list[StudyCell]:
        """What was found, by epsilon; within it as it was played."""
        found = sorted(self._runs.items(), key=lambda each: each[0].epsilon)
        return [StudyCell.of(label, runs, len(self._table.item_keys)) for label, runs in found]

    def play(self, progress: Progress) -> None:
        """Each seed without signals, then at each epsilon. What is stopped in between keeps all
        that was found. Raises DataError when there are too few people or items to split.
        """
        protocol, steps = self.protocol, (None, *self.protocol.epsilons)
        total = len(protocol.seeds) * len(steps)
        for at, seed in enumerate(protocol.seeds):
            progress(f"seed {seed}: no signal", at * len(steps) / total)
            split = deal(self._table, seed, protocol.min_ratings, protocol.held_out)
            experiment = Experiment.of(split, seed)
            played = _Trial(experiment, protocol)
            for n, epsilon in enumerate(steps):
                if epsilon is not None:
                    progress(f"seed {seed}, epsilon {epsilon:g}", (at * len(steps) + n) / total)
                runs, leaks = played.without_signals() if epsilon is None else played.at(epsilon)
                for label, run in runs:
                    self._runs[label].append(run)
                self.leaks += leaks
        progress("done", 1.0)


_Found = tuple[list[tuple[Label, Run]], list[Leak]]


class _Trial:
    """One experiment, and the slate that every rule is compared with in it."""

    def __init__(self, experiment: Experiment, protocol: Protocol) -> None:
        self.experiment, self.protocol = experiment, protocol
        self.ks = [k for k in protocol.ks if k <= len(experiment.shared)]
        n = len(experiment.clients)
        self.shared = {k: np.tile(experiment.shared[:k], (n, 1)) for k in self.ks}
        self.none = {k: self._got(slates).score for k, slates in self.shared.items()}

    def without_signals(self) -> _Found:
        """The zero-information slate, and what there would be to get in the open."""
        own = self.experiment.wanted.best_slates(len(self.experiment.shared))
        slates = {RuleKind.NONE: self.shared, RuleKind.OPEN: {k: own[:, :k] for k in self.ks}}
        asked = (*self.protocol.rules, RuleKind.OPEN)
        return [
            run
            for rule, each in slates.items()
            if rule in asked
            for run in self._runs(rule, 0.0, each, NO_SIGNAL, 0)
        ], []

    def at(self, epsilon: float) -> _Found:
        """Every rule that reads signals, at one plain epsilon."""
        experiment, ks = self.experiment, self.ks
        dimension = experiment.dimension_for(epsilon)
        space = experiment.space(dimension, epsilon, _LEARNED_FOR, learned=True)
        signals = Signals.drawn(experiment, space, epsilon)
        makers: dict[RuleKind, Callable[[], Slates]] = {
            RuleKind.NAIVE: lambda: naive_slates(experiment, signals, ks),
            RuleKind.OFFSETS: lambda: offset_slates(experiment, signals, ks, RuleKind.OFFSETS),
            RuleKind.CODEBOOK: lambda: offset_slates(experiment, signals, ks, RuleKind.CODEBOOK),
            RuleKind.POSTERIOR: lambda: posterior_slates(experiment, signals, ks),
        }
        runs: list[tuple[Label, Run]] = []
        for rule in (rule for rule in makers if rule in self.protocol.rules):
            runs += self._runs(rule, epsilon, makers[rule](), signals.guarantee(), dimension)
        alike = Guarantee(epsilon, epsilon)
        for k in ks if RuleKind.BUCKETS in self.protocol.rules else ():
            size, slates = bucket_slates(experiment, epsilon, k, self.protocol.sizes)
            runs += self._runs(RuleKind.BUCKETS, epsilon, slates, alike, size)
        weighs = RuleKind.POSTERIOR in self.protocol.rules
        return runs, [leak(experiment, signals)] if weighs else []

    def _got(self, slates: NDArray[np.int64]) -> Outcome:
        scores = self.experiment.wanted.at(slates)
        return outcome(scores, slates, self.experiment.clients.held_out)

    def _runs(
        self, rule: RuleKind, epsilon: float, slates: Slates, cost: Guarantee, size: int
    ) -> Iterable[tuple[Label, Run]]:
        """One run for each k."""
        codes, possible = self.experiment.split.item_codes, self.experiment.possible
        for k, rows in slates.items():
            got = self._got(rows)
            run = Run(got, possible, self.none[k], codes[got.picked], cost, size)
            yield Label(k, rule, epsilon), run


@dataclass(frozen=True, eq=False)
class Signals:
    """Clients' signals in one space: coordinates (n, d), in lattice steps. epsilon: plain, as asked
    for; the lattice's, times the diameter, is at most that, by under 0.1 %.
    """

    space: FeatureSpace
    epsilon: float
    lattice: LatticeLaplace
    coordinates: NDArray[np.int64] = field(repr=False)

    @classmethod
    def drawn(cls, experiment: Experiment, space: FeatureSpace, epsilon: float) -> Signals:
        """One signal of each client, simulated, of this plain epsilon."""
        lattice = LatticeLaplace.for_epsilon(Fraction(epsilon) / space.diameter)
        rng = np.random.default_rng([experiment.seed, 4])
        points = experiment.points(space, experiment.clients)
        return cls(space, epsilon, lattice, lattice_signals(lattice, points, rng))

    def guarantee(self) -> Guarantee:
        """What one of them costs its sender."""
        loss = self.lattice.privacy_loss(self.space.encoder.reach())
        per_rating = float(loss.epsilon_per_rating)
        return Guarantee(float(loss.epsilon), per_rating, float(self.lattice.epsilon))


def naive_slates(experiment: Experiment, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `naive`."""
    points = (signals.coordinates * signals.lattice.step).astype(np.float64)
    tastes = signals.space.encoder.decode(points)
    best = GroupScores.expected(tastes, experiment.scoring).best_slates(max(ks))
    return {k: best[:, :k] for k in ks}


def offset_slates(
    experiment: Experiment, signals: Signals, ks: Sequence[int], kind: RuleKind
) -> Slates:
    """The rules `offsets` and `codebook`, as they serve."""
    rule = OffsetRule(signals.space.encoder, experiment.scoring, kind)
    version, lattice = signals.space.version, signals.lattice
    each = [Signal(version, lattice, tuple(row)) for row in signals.coordinates.tolist()]
    return {k: np.array([rule.answer(signal, k) for signal in each]) for k in ks}


def posterior_slates(experiment: Experiment, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `posterior`, the whole prior being weighed: for each signal k items chosen greedily,
    or the zero-information slate where that is better.
    """
    prior, rule = _weighed(experiment, signals.space)
    slates: dict[int, list[NDArray[np.int64]]] = {k: [] for k in ks}
    for sent in signals.coordinates.tolist():
        logs = lattice_log_likelihood(signals.lattice, sent, prior.points)
        for k, rows in zip(ks, rule.choose(prior.posterior(logs), *ks), strict=True):
            slates[k].append(prior.items[rows])
    return {k: np.array(found) for k, found in slates.items()}


def bucket_slates(
    experiment: Experiment, epsilon: float, k: int, sizes: Sequence[int]
) -> tuple[int, Slates]:
    """The rule `buckets`: how many there are, and the slates."""
    rng = np.random.default_rng([experiment.seed, 5])
    response, design = best_design(experiment, epsilon, k, sizes)
    own = labels_of(design.buckets, experiment.clients.tastes.vectors)
    sent = response_signals(response, own, rng)
    return response.buckets, {k: experiment.pool[design.slates][sent]}


def best_design(
    experiment: Experiment, epsilon: float, k: int, sizes: Sequence[int]
) -> tuple[RandomizedResponse, BucketDesign]:
    """The design whose number of buckets did best for validation's people."""
    tastes, known = experiment.server.tastes.vectors, experiment.validation.tastes.vectors
    designs = []
    for size in sizes:
        response = RandomizedResponse.for_epsilon(size, Fraction(epsilon))
        design = design_buckets(tastes, experiment.served, response, k, seed=experiment.seed)
        offered = experiment.validated.of_items(experiment.pool[design.slates])  # (n, M, k)
        served = np.maximum(offered.max(axis=2), 0).astype(np.float64)
        value = response_value(labels_of(design.buckets, known), served, response)
        designs.append((value, response, design))
    _, response, design = max(designs, key=lambda each: each[0])
    return response, design


def leak(experiment: Experiment, signals: Signals) -> Leak:
    """The leak for some of the server's people, drawn by the experiment's seed."""
    (prior, rule), lattice = _weighed(experiment, signals.space), signals.lattice
    k = min(_LEAK_K, len(experiment.shared))
    rng = np.random.default_rng([experiment.seed, 6])
    asked = rng.permutation(len(prior))[:_LEAK_PEOPLE]
    found = np.zeros((2, len(asked)))
    for column, person in enumerate(asked.tolist()):
        coordinates = np.rint(prior.points[person] / lattice.step).astype(np.int64).tolist()
        weights = prior.posterior(lattice_log_likelihood(lattice, coordinates, prior.points))
        best = int(experiment.served[:, person].argmax())
        (present,) = rule.choose(weights, k)
        weights[person] = 0
        (removed,) = rule.choose(weights / weights.sum(), k)
        found[:, column] = best in present, best in removed
    difference = mean_of(found[0] - found[1])
    return Leak(signals.epsilon, mean_of(found[0]), mean_of(found[1]), difference)


def _weighed(experiment: Experiment, space: FeatureSpace) -> tuple[Prior, PosteriorRule]:
    points = experiment.points(space, experiment.server)
    prior = Prior(points, experiment.served, experiment.pool, np.ones(len(points)))
    return prior, PosteriorRule(prior, experiment.shared.tolist(), limit=len(prior))
