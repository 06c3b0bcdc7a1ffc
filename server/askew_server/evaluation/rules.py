"""The rules under comparison, played for many clients at once: one noisy signal each, slates for
every k from it.

none       the zero-information slate. Everybody's is the same; no signal.
naive      what everybody would write first: the k best items for the taste that the signal decodes
           to, whoever has seen what
offsets    product grids of optimal offsets, as served (`askew.retrieval.OffsetRule`)
codebook   the same with codebooks
posterior  the server's people weighted by the signal's law (`askew.retrieval.posterior`)
open       in the open, one's own best items: what there is to get
buckets    randomized response; encoder and slates by `askew_server.training.buckets`, the number of
           buckets chosen on validation
interest-bits  one-hot levels of interest, bit by bit (`askew_server.evaluation.interests`)

Epsilons are plain, between any two people, for all of them: a mechanism whose promise grows with
distance takes its own parameter from the diameter of its space.
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
from askew.rule_kind import RuleKind
from askew.signal import Signal
from askew.vectors import FeatureSpace
from askew_server.evaluation.guarantee import Guarantee
from askew_server.evaluation.scene import Scene, Slates
from askew_server.evaluation.weighing import weighed_slates
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
    RuleKind.INTEREST_BITS,
)


@dataclass(frozen=True, eq=False)
class Signals:
    """Clients' signals in one space: coordinates (n, d), in lattice steps. epsilon: plain, as asked
    for; the lattice's, times the diameter, is at most that, by under 0.1 %.
    """

    space: FeatureSpace
    epsilon: float
    lattice: Lattice
    coordinates: NDArray[np.int64] = field(repr=False)

    @classmethod
    def drawn(cls, scene: Scene, space: FeatureSpace, epsilon: float) -> Signals:
        """One signal of each client, simulated, of this plain epsilon."""
        lattice = Lattice.for_epsilon(Fraction(epsilon) / space.diameter)
        rng = np.random.default_rng([scene.dealt.seed, 4])
        points = scene.points(space, scene.dealt.clients)
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
    n = len(scene.dealt.clients)
    return {k: np.tile(scene.shared[:k], (n, 1)) for k in ks}


def naive_slates(scene: Scene, signals: Signals, ks: Sequence[int]) -> Slates:
    """The rule `naive`."""
    points = signals.coordinates * signals.lattice.step
    expected = scene.truth.of_tastes(signals.space.encoder.decode(points.astype(np.float64)))
    best = expected.best_slates(max(ks))
    return {k: best[:, :k] for k in ks}


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
    sent = signals.coordinates.tolist()
    logs = (lattice_log_likelihood(signals.lattice, each, people) for each in sent)
    return weighed_slates(scene, people, logs, ks)


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
        offered = scene.validated.of_items(scene.pool[design.slates]).max(axis=2)  # (n, M)
        label = labels_of(design.buckets, known)
        value = response_value(label, np.maximum(offered, 0).astype(np.float64), response)
        designs.append((value, response, design))
    _, response, design = max(designs, key=lambda each: each[0])
    return response, design


def _filled(scene: Scene, tastes: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Exactly k items, as `OffsetRule.answer` fills them, under any truth."""
    expected = scene.truth.of_tastes(tastes).of_items(np.arange(len(scene.dealt.vectors)))
    chosen = np.empty(k, dtype=np.int64)
    for number in range(k):
        row = expected[number % len(expected)]
        chosen[number] = row.argmax()
        expected[:, chosen[number]] = -np.inf
    return chosen
