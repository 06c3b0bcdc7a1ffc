"""How much of one person of the prior an asker finds in an answer.

The asker knows a prior person's exact point, asks with it (no noise: the strongest signal about
that place) and looks for that person's own best item among the k results. `present`: how often it
is there. `removed`: how often it is there when the person is taken out of the prior, which is what
anyone could have known without them. The difference is the leak; the guarantee of the exchange does
not cover it, which is why a prior must be public, or released under a guarantee of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.retrieval.posterior import PosteriorRule, Prior, lattice_log_likelihood
from askew_server.evaluation.rules import Signals
from askew_server.evaluation.scene import Scene
from askew_server.taste.training.quality import Estimate, mean_of

_ASKED = 200


@dataclass(frozen=True)
class Leak:
    """How often a prior person's best item is in the answer for their point, and the paired
    difference that their being in the prior makes. epsilon: plain, as asked for. heaviest: mean
    posterior weight of the person.
    """

    epsilon: float
    k: int
    dimension: int
    present: Estimate
    removed: Estimate
    difference: Estimate
    heaviest: float


def leak(scene: Scene, signals: Signals, k: int) -> Leak:
    """The leak for some of the server's people, drawn by the scene's seed."""
    space, lattice = signals.space, signals.lattice
    points = scene.points(space, scene.server)
    prior = Prior(points, scene.served, scene.pool, np.ones(len(points)))
    rule = PosteriorRule(prior, scene.shared.tolist(), limit=len(prior))
    rng = np.random.default_rng([scene.seed, 6])
    asked = rng.permutation(len(points))[:_ASKED]
    found = np.zeros((2, len(asked)))
    weight = 0.0
    for column, person in enumerate(asked.tolist()):
        coordinates = np.rint(points[person] / lattice.step).astype(np.int64).tolist()
        logs = lattice_log_likelihood(lattice, coordinates, points)
        best = int(scene.served[:, person].argmax())
        weights = prior.posterior(logs)
        weight += weights[person] / len(asked)
        (present,) = rule.choose(weights, k)
        weights[person] = 0
        (removed,) = rule.choose(weights / weights.sum(), k)
        found[:, column] = best in present, best in removed
    difference = mean_of(found[0] - found[1])
    return Leak(
        signals.epsilon,
        k,
        space.dimension,
        mean_of(found[0]),
        mean_of(found[1]),
        difference,
        float(weight),
    )
