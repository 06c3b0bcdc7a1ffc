"""What each mode and each rule is worth on ratings: seeds x epsilons x rules x k, deterministic.

Nothing is sent, and a device ranks what it holds:

local        all items; `cached N` the first N of what would be shown to anybody
popularity, popular-200, item-kNN, EASE
             plain recommenders (`askew_server.taste.baselines`)

Every client sends one noisy signal, gets a slate of every k from it, and ranks that:

none         the zero-information slate. Everybody's is the same; no signal.
naive        what everybody would write first: the k best items for the taste that the signal
             decodes to, whoever has seen what
offsets      product grids of optimal offsets, as served (`askew.retrieval.rules.OffsetRule`)
codebook     the same with codebooks
posterior    the server's people weighted by the signal's law (`askew.retrieval.posterior`)
buckets      randomized response, in expectation over its lies; the number of buckets chosen on
             validation

Epsilons are plain, between any two people, for all of them: a mechanism whose promise grows with
distance takes its own parameter from the diameter of its space.

The leak: how much of one person of the prior an asker finds in an answer. The asker knows a prior
person's exact point, asks with it (no noise: the strongest signal about that place) and looks for
that person's own best item among the k results. The guarantee of the exchange does not cover this,
which is why a prior must be public, or released under a guarantee of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.utility_table import RuleKind
from askew.retrieval.posterior import PosteriorRule, lattice_log_likelihood
from askew_server.evaluation.experiment import HELD_OUTS, Experiment, HeldOut
from askew_server.ratings import RatingTable
from askew_server.taste.baselines import met_by_baselines, most_liked
from askew_server.taste.measures import Estimate, Gains, Met, mean_of
from askew_server.taste.model.held_out import Groups, by_point, lattice_signals
from askew_server.taste.model.rule_choice import RuleQuestion, designs, point_rule
from askew_server.taste.model.utility_table import SHARED, order_for_everybody
from askew_server.taste.training.buckets import SIZES

# In the order of the table.
RULES = (
    RuleKind.NONE,
    RuleKind.NAIVE,
    RuleKind.OFFSETS,
    RuleKind.CODEBOOK,
    RuleKind.POSTERIOR,
    RuleKind.BUCKETS,
)
_MADE_FOR = 5  # k of the directions: also good for 1 and 20
_LEAK_K, _LEAK_PEOPLE = 5, 200
Progress = Callable[[str, float], None]
"""Told what is being done, and the part of all that is done."""


@dataclass(frozen=True)
class Protocol:
    """What is compared. epsilons: plain, between any two people. sizes: numbers of buckets that
    validation chooses from. held_out: which part of each person's ratings.
    Raises ParameterError for an empty or invalid list.
    """

    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)
    ks: tuple[int, ...] = (1, 5, 20)
    seeds: tuple[int, ...] = (0, 1, 2)
    sizes: tuple[int, ...] = SIZES
    min_ratings: int = 20
    held_out: HeldOut = "random"

    def __post_init__(self) -> None:
        for name in ("epsilons", "ks", "seeds", "sizes"):
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
    """What a cell is about. k: 0 where nothing is asked; epsilon: plain, or 0 of no signal."""

    rule: str
    k: int = 0
    epsilon: float = 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, and what the slate of no signal gives them.
    size: signal dimensions, or buckets.
    """

    got: Met
    none: Met
    guarantee: Guarantee = NO_SIGNAL
    size: int = 0


@dataclass(frozen=True)
class StudyCell:
    """One cell. gain: the paired difference of NDCG@10 to the zero-information slate of the same k.
    worse, better: how many people have less or more of it, by the one draw that each has, or for
    buckets in expectation. size and guarantee: of the first seed.
    """

    label: Label
    guarantee: Guarantee
    size: int
    n_clients: int
    ndcg: Estimate
    recall: Estimate
    gain: Estimate
    worse: int
    better: int

    @classmethod
    def of(cls, label: Label, runs: Sequence[Run]) -> StudyCell:
        """The cell of some seeds. Clients of all seeds count alike; people who are clients in
        several seeds make the errors a little too small.
        """
        ndcg, recall, none = (
            np.concatenate(parts)
            for parts in (
                [run.got.ndcg for run in runs],
                [run.got.recall for run in runs],
                [run.none.ndcg for run in runs],
            )
        )
        gain: Gains = ndcg - none
        return cls(
            label=label,
            guarantee=runs[0].guarantee,
            size=runs[0].size,
            n_clients=len(ndcg),
            ndcg=mean_of(ndcg),
            recall=mean_of(recall),
            gain=mean_of(gain),
            worse=int((gain < 0).sum()),
            better=int((gain > 0).sum()),
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
        return [StudyCell.of(label, runs) for label, runs in found]

    def play(self, progress: Progress) -> None:
        """Each seed without signals, then at each epsilon. What is stopped in between keeps all
        that was found. Raises DataError when there are too few people or items to split.
        """
        protocol, steps = self.protocol, (None, *self.protocol.epsilons)
        total = len(protocol.seeds) * len(steps)
        for at, seed in enumerate(protocol.seeds):
            progress(f"seed {seed}: no signal", at * len(steps) / total)
            dealt = Experiment.of(self._table, seed, protocol.min_ratings, protocol.held_out)
            shared = dealt.draft.catalog.shared_slate
            none = {k: dealt.clients.served(shared[:k]) for k in protocol.ks if k <= len(shared)}
            for label, run in _without_signals(dealt, none):
                self._runs[label].append(run)
            for n, epsilon in enumerate(protocol.epsilons, start=1):
                progress(f"seed {seed}, epsilon {epsilon:g}", (at * len(steps) + n) / total)
                here = dealt.for_signals(epsilon, _MADE_FOR)
                runs, found = _at(here, epsilon, none, protocol), leak(here, epsilon)
                for label, run in runs:
                    self._runs[label].append(run)
                self.leaks.append(found)
        progress("done", 1.0)


_Found = Iterator[tuple[Label, Run]]


def _without_signals(here: Experiment, none: Mapping[int, Met]) -> _Found:
    """Modes and recommenders that send nothing, and the zero-information slate of each k."""
    draft, clients = here.draft, here.clients
    order = order_for_everybody(draft.tastes, draft.catalog, draft.held, draft.told.options.seed)
    likes = draft.told.people.likes
    plain = met_by_baselines(likes, here.validation.profiles, clients.profiles)
    popular = {"popular-200": clients.cached(most_liked(likes))}
    cached = {f"cached {n}": clients.cached(order[:n]) for n in SHARED if n <= len(order)}
    for name, met in (plain | popular | {"local": clients.local} | cached).items():
        yield Label(name), Run(met, met)
    for k, met in none.items():
        yield Label(RuleKind.NONE, k), Run(met, met)


def _at(
    here: Experiment, epsilon: float, none: Mapping[int, Met], protocol: Protocol
) -> list[tuple[Label, Run]]:
    """Every rule that reads signals, at one plain epsilon."""
    groups, reach = here.groups(), here.encoder.reach()
    lattice = LatticeLaplace.for_epsilon(Fraction(epsilon) / reach.diameter)
    loss = lattice.privacy_loss(reach)
    cost = Guarantee(float(loss.epsilon), float(loss.epsilon_per_rating), float(lattice.epsilon))
    found: list[tuple[Label, Run]] = []
    for kind in (kind for kind in RULES if kind.reads == "point"):
        met = points_met(here, groups, kind, lattice, list(none))
        found += [
            (Label(kind, k, epsilon), Run(met[k], none[k], cost, here.encoder.dimension))
            for k in none
        ]
    alike = Guarantee(epsilon, epsilon)
    for k in none:
        size, got = buckets_met(here, groups, epsilon, k, protocol.sizes)
        found.append((Label(RuleKind.BUCKETS, k, epsilon), Run(got, none[k], alike, size)))
    return found


def points_met(
    here: Experiment, groups: Groups, kind: RuleKind, lattice: LatticeLaplace, ks: Sequence[int]
) -> Mapping[int, Met]:
    """What clients get by one noisy point each, the same for every rule."""
    rng = np.random.default_rng([here.draft.told.options.seed, 4])
    if kind is RuleKind.NAIVE:
        signals = lattice_signals(lattice, here.clients.points, rng)
        slates = naive_slates(here, signals * lattice.step, max(ks))
        return {k: here.clients.served_each(slates[:, :k]) for k in ks}
    rule = point_rule(kind, here.encoder, here.draft.catalog, groups.prior, held=groups.held)
    return by_point(here.clients, rule, groups.prior, lattice, ks, rng=rng)


def naive_slates(here: Experiment, points: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """For each noisy point (n, d) the k best items, beyond those held, for the taste that it
    decodes to, best first, (n, k).
    """
    scoring, held = here.draft.catalog.scoring, here.draft.held
    tastes = here.encoder.decode(points.astype(np.float64))
    slates = np.empty((len(points), k), dtype=np.int64)
    for row, taste in enumerate(tastes):
        slates[row] = held + np.argsort(-(scoring[held:] @ taste), kind="stable")[:k]
    return slates


def buckets_met(
    here: Experiment, groups: Groups, epsilon: float, k: int, sizes: Sequence[int]
) -> tuple[int, Met]:
    """What clients get by buckets in expectation, of the number that is best for validation."""
    assert groups.people is not None and groups.prior is not None  # noqa: PT018, S101
    question = RuleQuestion(Fraction(epsilon), k, (), here.draft.told.options.seed)
    made = designs(question, groups.people, groups.prior, here.draft.catalog, sizes)
    best = max(made, key=lambda each: float(each.met(here.validation).ndcg.sum()))
    return len(best.buckets), best.met(here.clients)


def leak(here: Experiment, epsilon: float) -> Leak:
    """The leak for some of the server's people, drawn by the experiment's seed."""
    draft, people = here.draft, here.server
    prior = people.prior(draft.catalog, draft.held)
    rule = PosteriorRule(prior, draft.catalog.shared_slate, limit=len(prior))
    lattice = LatticeLaplace.for_epsilon(Fraction(epsilon) / here.encoder.reach().diameter)
    k = min(_LEAK_K, len(draft.catalog.shared_slate))
    rng = np.random.default_rng([draft.told.options.seed, 6])
    asked = rng.permutation(len(prior))[:_LEAK_PEOPLE]
    found = np.zeros((2, len(asked)))
    for column, person in enumerate(asked.tolist()):
        coordinates = np.rint(prior.points[person] / lattice.step).astype(np.int64).tolist()
        weights = prior.posterior(lattice_log_likelihood(lattice, coordinates, prior.points))
        best = int(prior.scores[:, person].argmax())
        (present,) = rule.choose(weights, k)
        weights[person] = 0
        (removed,) = rule.choose(weights / weights.sum(), k)
        found[:, column] = best in present, best in removed
    difference = mean_of(found[0] - found[1])
    return Leak(epsilon, mean_of(found[0]), mean_of(found[1]), difference)
