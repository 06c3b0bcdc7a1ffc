"""The rules under comparison, played for many clients at once: one noisy signal each, slates for
every k from it.

none       the zero-information slate. Everybody's is the same; no signal.
naive      what privacy costs without a choice: the best item for the taste that the signal decodes
           to, k = 1 whatever k is asked.
offsets    product grids of optimal offsets, as served (`askew.retrieval.OffsetRule`)
codebook   the same with codebooks
posterior  the server's people weighted by the signal's law (`askew.retrieval.posterior`)
open       in the open, one's own best items: what there is to get
buckets    randomized response; encoder and slates by `askew_server.training.buckets`, the number of
           buckets chosen on validation
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.randomized_response import RandomizedResponse
from askew.retrieval import OffsetRule
from askew.retrieval.buckets import labels_of
from askew.retrieval.likelihood import lattice_log_likelihood
from askew.retrieval.posterior import PosteriorRule, Prior
from askew.rule_kind import RuleKind
from askew.signal import Signal
from askew.vectors import FeatureSpace
from askew_server.evaluation.guarantee import Guarantee
from askew_server.evaluation.scene import Scene, Slates
from askew_server.training.buckets import (
    BucketDesign,
    design_buckets,
    response_value,
)
from askew_server.training.simulated_noise import lattice_signals, response_signals

# In the order of the table; `open` is there to compare with, always.
RULES = (
    RuleKind.NONE,
    RuleKind.NAIVE,
    RuleKind.OFFSETS,
    RuleKind.CODEBOOK,
    RuleKind.POSTERIOR,
    RuleKind.BUCKETS,
)


@dataclass(frozen=True, eq=False)
class Signals:
    """Clients' signals in one space: coordinates (n, d), in lattice steps."""

    space: FeatureSpace
    lattice: Lattice
    coordinates: NDArray[np.int64] = field(repr=False)

    @classmethod
    def drawn(cls, scene: Scene, space: FeatureSpace, epsilon: float) -> Signals:
        """One signal of each client, simulated."""
        lattice = Lattice.for_epsilon(Fraction(epsilon))
        rng = np.random.default_rng([scene.dealt.seed, 4])
        points = scene.points(space, scene.dealt.clients)
        return cls(space, lattice, lattice_signals(lattice, points, rng))

    def guarantee(self) -> Guarantee:
        """What one of them costs its sender."""
        loss = self.lattice.privacy_loss(self.space.encoder.reach())
        per_distance = float(self.lattice.epsilon)
        return Guarantee(per_distance, float(loss.epsilon_per_rating), float(loss.epsilon))

    def each(self) -> list[Signal]:
        """The signals one by one, as the server meets them."""
        version = self.space.version
        rows = self.coordinates.tolist()
        return [Signal(version, self.lattice, tuple(row)) for row in rows]


def shared_slates(scene: Scene, ks: Sequence[int]) -> Slates:
    """The rule `none`."""
    n = len(scene.dealt.clients)
    return {k: np.tile(scene.shared[:k], (n, 1)) for k in ks}


def naive_slates(scene: Scene, signals: Signals) -> NDArray[np.int64]:
    """The rule `naive`, (n, 1)."""
    points = signals.coordinates * signals.lattice.step
    expected = scene.truth.of_tastes(signals.space.encoder.decode(points.astype(np.float64)))
    best: NDArray[np.int64] = expected.argmax(axis=1)[:, None]
    return best


def offset_slates(scene: Scene, signals: Signals, ks: Sequence[int], kind: RuleKind) -> Slates:
    """The rules `offsets` and `codebook`: the best free item of each probe, nearest probe first."""
    encoder = signals.space.encoder
    rule = OffsetRule(encoder, scene.dealt.vectors, kind)
    return {
        k: np.array([_filled(scene, encoder.decode(rule.probes(s, k)), k) for s in signals.each()])
        for k in ks
    }


def posterior_slates(scene: Scene, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `posterior`, the whole prior being looked at."""
    people = scene.points(signals.space, scene.dealt.server)
    prior = Prior(people, scene.served, scene.pool, np.ones(len(people)))
    rule = PosteriorRule(prior, scene.shared.tolist(), limit=len(prior))
    slates: dict[int, list[NDArray[np.int64]]] = {k: [] for k in ks}
    for coordinates in signals.coordinates.tolist():
        logs = lattice_log_likelihood(signals.lattice, coordinates, prior.points)
        weights = prior.posterior(logs)
        for k, rows in zip(ks, rule.choose(weights, *ks), strict=True):
            slates[k].append(prior.items[rows])
    return {k: np.array(found) for k, found in slates.items()}


def bucket_slates(scene: Scene, epsilon: float, k: int, sizes: Sequence[int]) -> tuple[int, Slates]:
    """The rule `buckets`: how many there are, and the slates."""
    rng = np.random.default_rng([scene.dealt.seed, 5])
    response, design = best_design(scene, epsilon, k, sizes)
    own = labels_of(design.buckets, scene.dealt.clients.tastes.vectors)
    sent = response_signals(response, own, rng)
    return response.buckets, {k: scene.pool[design.slates][sent]}


def best_design(
    scene: Scene, epsilon: float, k: int, sizes: Sequence[int]
) -> tuple[RandomizedResponse, BucketDesign]:
    """The design whose number of buckets did best for validation's people."""
    tastes = scene.dealt.server.tastes.vectors
    known = scene.dealt.validation.tastes.vectors
    designs = []
    for size in sizes:
        response = RandomizedResponse.for_epsilon(size, Fraction(epsilon))
        design = design_buckets(tastes, scene.served, response, k, seed=scene.dealt.seed)
        offered = scene.validated[:, scene.pool[design.slates]].max(axis=2)  # (n, M)
        label = labels_of(design.buckets, known)
        value = response_value(label, np.maximum(offered, 0).astype(np.float64), response)
        designs.append((value, response, design))
    _, response, design = max(designs, key=lambda each: each[0])
    return response, design


def _filled(scene: Scene, tastes: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Exactly k items, as `OffsetRule.answer` fills them, under any truth."""
    expected = scene.truth.of_tastes(tastes)
    chosen = np.empty(k, dtype=np.int64)
    for number in range(k):
        row = expected[number % len(expected)]
        chosen[number] = row.argmax()
        expected[:, chosen[number]] = -np.inf
    return chosen
