"""The rules under comparison, played for many clients at once: one noisy signal each, slates for
every k from it.

none       the zero-information slate. Everybody's is the same; no signal.
naive      what everybody would write first: the k best items for the taste that the signal decodes
           to, whoever has seen what
offsets    product grids of optimal offsets, as served (`askew.retrieval.OffsetRule`)
codebook   the same with codebooks
posterior  the server's people weighted by the signal's law (`askew.retrieval.posterior`)
open       in the open, one's own best items: what there is to get
buckets    randomized response; encoder and slates by `askew_server.taste.training.buckets`, the
number of
           buckets chosen on validation

Epsilons are plain, between any two people, for all of them: a mechanism whose promise grows with
distance takes its own parameter from the diameter of its space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.rule_kind import RuleKind
from askew.protocol.signal import Signal
from askew.retrieval import OffsetRule
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import PosteriorRule, Prior, lattice_log_likelihood
from askew.spaces.vectors import FeatureSpace
from askew_server.evaluation.scene import Scene, Slates, expected_of
from askew_server.taste.training.buckets import (
    BucketDesign,
    design_buckets,
    response_value,
)
from askew_server.taste.training.simulated_noise import lattice_signals, response_signals

# In the order of the table; `open` is there to compare with, always.
RULES = (
    RuleKind.NONE,
    RuleKind.NAIVE,
    RuleKind.OFFSETS,
    RuleKind.CODEBOOK,
    RuleKind.POSTERIOR,
    RuleKind.BUCKETS,
)


@dataclass(frozen=True)
class Guarantee:
    """What one signal costs its sender; None throughout where none is sent.

    epsilon: plain, between any two people: the currency in which mechanisms are compared.
    per_rating: between two people who differ in one rating. per_distance: the mechanism's own
    parameter where its promise grows with distance, and None where every pair is protected alike.
    """

    epsilon: float | None
    per_rating: float | None
    per_distance: float | None


NO_SIGNAL = Guarantee(None, None, None)


def alike(epsilon: float) -> Guarantee:
    """Of a mechanism that protects every pair alike, who differ in one rating or in all."""
    return Guarantee(epsilon, epsilon, None)


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
    def drawn(cls, scene: Scene, space: FeatureSpace, epsilon: float) -> Signals:
        """One signal of each client, simulated, of this plain epsilon."""
        lattice = LatticeLaplace.for_epsilon(Fraction(epsilon) / space.diameter)
        rng = np.random.default_rng([scene.seed, 4])
        points = scene.points(space, scene.clients)
        return cls(space, epsilon, lattice, lattice_signals(lattice, points, rng))

    def guarantee(self) -> Guarantee:
        """What one of them costs its sender."""
        loss = self.lattice.privacy_loss(self.space.encoder.reach())
        per_rating = float(loss.epsilon_per_rating)
        return Guarantee(float(loss.epsilon), per_rating, float(self.lattice.epsilon))

    def each(self) -> list[Signal]:
        """The signals one by one, as the server meets them."""
        version = self.space.version
        rows = self.coordinates.tolist()
        return [Signal(version, self.lattice, tuple(row)) for row in rows]


def shared_slates(scene: Scene, ks: Sequence[int]) -> Slates:
    """The rule `none`."""
    n = len(scene.clients)
    return {k: np.tile(scene.shared[:k], (n, 1)) for k in ks}


def naive_slates(scene: Scene, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `naive`."""
    points = signals.coordinates * signals.lattice.step
    expected = expected_of(signals.space.encoder.decode(points.astype(np.float64)), scene.vectors)
    best = expected.best_slates(max(ks))
    return {k: best[:, :k] for k in ks}


def offset_slates(scene: Scene, signals: Signals, ks: Sequence[int], kind: RuleKind) -> Slates:
    """The rules `offsets` and `codebook`, as they serve."""
    rule = OffsetRule(signals.space.encoder, scene.vectors, kind)
    return {k: np.array([rule.answer(signal, k) for signal in signals.each()]) for k in ks}


def posterior_slates(scene: Scene, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `posterior`, the whole prior being looked at."""
    people = scene.points(signals.space, scene.server)
    sent = signals.coordinates.tolist()
    logs = (lattice_log_likelihood(signals.lattice, each, people) for each in sent)
    return _weighed(scene, people, logs, ks)


def bucket_slates(scene: Scene, epsilon: float, k: int, sizes: Sequence[int]) -> tuple[int, Slates]:
    """The rule `buckets`: how many there are, and the slates."""
    rng = np.random.default_rng([scene.seed, 5])
    response, design = best_design(scene, epsilon, k, sizes)
    own = labels_of(design.buckets, scene.clients.tastes.vectors)
    sent = response_signals(response, own, rng)
    return response.buckets, {k: scene.pool[design.slates][sent]}


def best_design(
    scene: Scene, epsilon: float, k: int, sizes: Sequence[int]
) -> tuple[RandomizedResponse, BucketDesign]:
    """The design whose number of buckets did best for validation's people."""
    tastes = scene.server.tastes.vectors
    known = scene.validation.tastes.vectors
    designs = []
    for size in sizes:
        response = RandomizedResponse.for_epsilon(size, Fraction(epsilon))
        design = design_buckets(tastes, scene.served, response, k, seed=scene.seed)
        offered = scene.validated.of_items(scene.pool[design.slates]).max(axis=2)  # (n, M)
        label = labels_of(design.buckets, known)
        value = response_value(label, np.maximum(offered, 0).astype(np.float64), response)
        designs.append((value, response, design))
    _, response, design = max(designs, key=lambda each: each[0])
    return response, design


def _weighed(
    scene: Scene,
    points: NDArray[np.float64],
    logs: Iterable[NDArray[np.float64]],
    ks: Sequence[int],
) -> Slates:
    """For each signal, by its log-likelihood given each of the server's people (m,): k items chosen
    greedily, or the zero-information slate where that is better for them. points: (m, d).
    """
    prior = Prior(points, scene.served, scene.pool, np.ones(len(points)))
    rule = PosteriorRule(prior, scene.shared.tolist(), limit=len(prior))
    slates: dict[int, list[NDArray[np.int64]]] = {k: [] for k in ks}
    for each in logs:
        for k, rows in zip(ks, rule.choose(prior.posterior(each), *ks), strict=True):
            slates[k].append(prior.items[rows])
    return {k: np.array(found) for k, found in slates.items()}
