"""People who all hold some items already, and what the rules then see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.retrieval.cover import cover, gains
from askew_server.evaluation.group_scores import GroupScores, Items, Scores
from askew_server.evaluation.scene import SLATE_LIMIT, Scene
from askew_server.training.pool import pool_of
from askew_server.training.quality import Outcome, outcome

StarterName = Literal["for anybody", "most rated"]


@dataclass(frozen=True, eq=False)
class Holding:
    """A scene where everybody holds some items. others: the same scene as the rules see it: pool,
    zero-information order and scores of the other items, every score being what the item adds.
    """

    scene: Scene
    held: Items = field(repr=False)
    others: Scene

    def got(self, slates: Items) -> Outcome:
        """What clients get from what they hold and these slates (n, k)."""
        clients = self.scene.dealt.clients
        had = np.concatenate([np.tile(self.held, (len(clients), 1)), slates], axis=1)
        return outcome(self.scene.wanted.at(had), had, clients.held_out)


def holding(scene: Scene, held: Items) -> Holding:
    """A scene and what its rules see where everybody holds these items."""
    added = _added(scene.truth.scores(scene.dealt.server), held)
    others = np.setdiff1d(np.arange(added.n_items), held)
    depth = min(SLATE_LIMIT, len(others))
    pool = others[pool_of(added.among(others).favorites(), depth)]
    served = np.ascontiguousarray(np.maximum(added.of_items(pool), 0).T)
    seen_by_rules = replace(
        scene,
        pool=pool,
        served=served,
        shared=_for_anybody(pool, served, depth),
        validated=_added(scene.validated, held),
    )
    return Holding(scene, held, seen_by_rules)


def starter_items(scene: Scene, held: int, starter: StarterName) -> Items:
    """What everybody holds: the first items of the zero-information order, and the most rated where
    the pool has no more, or the most rated alone. Raises ParameterError for more than there are.
    """
    counts = np.diff(scene.dealt.trained_on.tocsc().indptr)
    rated: Items = np.argsort(-counts, kind="stable")
    if not 0 <= held <= len(rated):
        raise ParameterError("held", held, f"from 0 to the number of items, {len(rated)}")
    if starter == "for anybody" and held:
        first = _for_anybody(scene.pool, scene.served, min(held, len(scene.pool)))
        rated = np.concatenate([first, rated[~np.isin(rated, first)]])
    return rated[:held]


def _for_anybody(pool: Items, served: NDArray[np.float32], count: int) -> Items:
    """The zero-information order of a pool (p,) for people's scores (p, m), its first (count,)."""
    alike = np.full(served.shape[1], 1 / served.shape[1], dtype=np.float32)
    first: Items = pool[cover(served, alike, count)]
    return first


def _added(scores: GroupScores, held: Items) -> GroupScores:
    """What items add to the held ones; -1 for what is seen or held."""

    def made(rows: slice, items: Items) -> Scores:
        best = np.maximum(scores.made(rows, held).max(axis=1, initial=0), 0)
        found = scores.made(rows, items)
        added = gains(found.T, best).T
        added[found < 0] = -1
        added[:, np.isin(items, held)] = -1
        return added

    return replace(scores, made=made)
