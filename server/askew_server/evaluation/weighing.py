"""Slates for people weighted by how likely they sent a signal, whatever the signal's law."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.retrieval.posterior import PosteriorRule, Prior
from askew_server.evaluation.scene import Scene, Slates


def weighed_slates(
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
