"""The baseline `interest-bits`: how Firefox's New Tab tells a server what somebody likes.

A person has a level in each of n interests; a level is one of L bits, one-hot, and every bit is
sent through a coin of its own:

    P(1 | bit is 1) = p,    P(1 | bit is 0) = q < p

Privacy unit: one draw, of all interests; for every pair of people. Two people differ at most in
every interest, and there in two bits, so that the ratio of two probabilities is at most

    ((p / q) ((1 - q) / (1 - p)))**n,    epsilon = n ln(p (1 - q) / (q (1 - p))),

which is reached. Firefox's source has three levels and draws anew each day; published are p = .806
and q = .030 for 6 interests: 29.4 a draw. One rating can move every level, so per rating it is the
same epsilon. For another epsilon, p = 1 - q: in bits of information about an even level, within
.2 % of the best p at every epsilon from 1 to 29.4.

Interests here are clusters of items (k-means of the directions of their vectors, weighted by likes)
and levels are thirds of the server's people by <taste, center of the cluster>, which served better
than shares of likes. The server weighs its people by the exact law of the bits to a power that
validation chooses (few people share all the levels), and hedges as `posterior` does.
Shapes: n people, I interests, L levels, bits (n, I, L). Complexity: O(m I) a signal.
Source: the New Tab's FeatureModel.sys.mjs; RAPPOR, Erlingsson, Pihur, Korolova 2014.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew_server.evaluation.scene import Dealt, Scene, Slates
from askew_server.evaluation.truths import Group
from askew_server.evaluation.weighing import weighed_slates
from askew_server.training.quality import served_by

INTERESTS, LEVELS = 6, 3
POWERS = (1.0, 0.5, 0.25)
_VALIDATED = 200  # people on whom the power is chosen
Array = NDArray[np.float64]
Levels = NDArray[np.int64]


@dataclass(frozen=True)
class BitLaw:
    """p: of keeping a 1. q: of setting a 0. interests: how many levels are told."""

    p: float
    q: float
    interests: int = INTERESTS

    @classmethod
    def for_epsilon(cls, epsilon: float, interests: int = INTERESTS) -> BitLaw:
        """The symmetric law of this plain epsilon."""
        p = 1 / (1 + math.exp(-epsilon / (2 * interests)))
        return cls(p, 1 - p, interests)

    @property
    def epsilon(self) -> float:
        """Of one draw, between any two people."""
        return self.interests * math.log(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def draw(self, levels: Levels, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Noisy bits of people at these levels (n, I), (n, I, L). Simulated: it protects nobody."""
        own = levels[:, :, None] == np.arange(LEVELS)
        sent: NDArray[np.bool_] = rng.random(own.shape) < np.where(own, self.p, self.q)
        return sent

    def log_likelihood(self, bits: NDArray[np.bool_], levels: Levels) -> Array:
        """ln P(bits | levels) for one signal (I, L) and people at these levels (m, I), (m,)."""
        ones, zeros = math.log(self.p / self.q), math.log((1 - self.p) / (1 - self.q))
        nobody = np.where(bits, math.log(self.q), math.log1p(-self.q)).sum()
        own = np.where(bits, ones, zeros)  # what a level's own bit adds
        found: Array = nobody + own[np.arange(len(bits)), levels].sum(axis=1)
        return found


PUBLISHED = BitLaw(0.806, 0.030)


@dataclass(frozen=True, eq=False)
class Interests:
    """centers: of the clusters, (I, D). limits: of the levels, (I, L - 1). Public."""

    centers: Array = field(repr=False)
    limits: Array = field(repr=False)

    @classmethod
    def of(cls, dealt: Dealt) -> Interests:
        """The interests of the server's people."""
        from sklearn.cluster import KMeans

        size = np.linalg.norm(dealt.vectors, axis=1, keepdims=True)
        weight = np.asarray(dealt.server.tastes.people.likes.sum(axis=0)).ravel()
        found = KMeans(INTERESTS, n_init=3, random_state=dealt.seed).fit(
            dealt.vectors / np.maximum(size, 1e-12), sample_weight=weight
        )
        centers = found.cluster_centers_.astype(np.float64)
        thirds = np.arange(1, LEVELS) / LEVELS
        return cls(centers, np.quantile(dealt.server.tastes.vectors @ centers.T, thirds, axis=0).T)

    def levels(self, group: Group) -> Levels:
        """The levels of people, (n, I)."""
        interest = group.tastes.vectors @ self.centers.T
        levels: Levels = (interest[:, :, None] > self.limits).sum(axis=2).astype(np.int64)
        return levels


def interest_slates(scene: Scene, law: BitLaw, ks: Sequence[int]) -> Slates:
    """The rule `interest-bits`."""
    dealt, interests = scene.dealt, Interests.of(scene.dealt)
    people = interests.levels(dealt.server)
    rng = np.random.default_rng([dealt.seed, 7])
    known = law.draw(interests.levels(dealt.validation)[:_VALIDATED], rng)

    def answered(bits: NDArray[np.bool_], ks: Sequence[int], power: float) -> Slates:
        logs = (power * law.log_likelihood(each, people) for each in bits)
        return weighed_slates(scene, people.astype(np.float64), logs, ks)

    tried = {power: answered(known, ks, power) for power in POWERS}
    validated = scene.validated.first(len(known))

    def best(k: int) -> float:
        return max(POWERS, key=lambda power: served_by(validated.at(tried[power][k])).mean())

    sent = law.draw(interests.levels(dealt.clients), rng)
    return {k: answered(sent, [k], best(k))[k] for k in ks}
