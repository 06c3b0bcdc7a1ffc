"""One number of items on a ground, and what answers are worth to people who are somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew_server.evaluation.places.cells import PlaceRun
from askew_server.evaluation.places.ground import Array, Crowd, Ground
from askew_server.retrieval.near import MetricIndex

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Market:
    """Items (n, d), one kind each (n,). A person wants the nearest of all items or, behind a
    filter, the nearest of one kind; shares: of all items, one for each kind that a filter asks for.
    """

    ground: Ground
    items: Array = field(repr=False)
    kind: Ids = field(repr=False)
    shares: tuple[float, ...]

    @classmethod
    def of(cls, ground: Ground, n: int, shares: tuple[float, ...]) -> Market:
        """n items; kinds are dealt at random, and what the shares leave is one more kind."""
        rng = np.random.default_rng([ground.seed, n])
        odds = np.array([*shares, 1.0 - sum(shares)])
        return cls(ground, ground.items(n), rng.choice(len(odds), n, p=odds), shares)

    @cached_property
    def index(self) -> MetricIndex:
        """What rules look items up in."""
        return MetricIndex(self.ground.space, self.items)

    def run(self, crowd: Crowd, answers: Iterable[Ids]) -> PlaceRun:
        """What answers are worth: one a draw, those of one person together."""
        people = self._points(self.ground.crowds[crowd])
        nearest = self._nearest(crowd)
        best: list[Array] = []
        size = 0
        answers = list(answers)
        draws = len(answers) // len(people)
        for number, items in enumerate(answers):
            best.append(self._best(people[number // draws], items))
            size += len(items)
        extra = np.array(best).reshape(len(people), draws, -1) - nearest[:, None, :]
        extra[np.isinf(extra)] = np.nan
        filtered = {share: extra[:, :, 1 + i] for i, share in enumerate(self.shares)}
        return PlaceRun(extra[:, :, 0], filtered, size / len(answers))

    def _best(self, person: Array, items: Ids) -> Array:
        """How far the best item is: of all, and of each kind that a filter asks for."""
        away = self._apart(self._item_points[items], person)
        found = np.full(1 + len(self.shares), np.inf)
        found[0] = away.min()
        kinds = self.kind[items]
        for kind in range(len(self.shares)):
            found[1 + kind] = away[kinds == kind].min(initial=np.inf)
        return found

    def _nearest(self, crowd: Crowd) -> Array:
        """The same of the truly nearest items of each person, (people, 1 + filters)."""
        places = self.ground.crowds[crowd]
        points = self._points(places)
        groups = [np.arange(len(self.items))]
        groups += [np.flatnonzero(self.kind == kind) for kind in range(len(self.shares))]
        columns = []
        for group in groups:
            index = MetricIndex(self.ground.space, self.items[group])
            own = group[index.nearest(index.frame.grid(places))[:, 0]]
            columns.append(self._apart(self._item_points[own], points))
        return np.column_stack(columns)

    @cached_property
    def _item_points(self) -> Array:
        return self._points(self.items)

    def _points(self, coordinates: Array) -> Array:
        frame = self.index.frame
        return frame.tree(frame.grid(coordinates))

    def _apart(self, a: Array, b: Array) -> Array:
        """On a map the chord: at 50 km 13 cm less than the way along the ground."""
        frame = self.index.frame
        away = np.abs(a - b)
        if frame.rings.any():
            away = np.where(frame.rings, np.minimum(away, frame.extent - away), away)
        found: Array = np.linalg.norm(away, ord=frame.norm, axis=-1)
        return found
