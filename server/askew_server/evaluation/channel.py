"""What no mechanism can exceed: a bound on every channel of a plain epsilon with slates of k items.

A channel answers person t (of weight w_t, to whom item i is worth s_ti >= 0) with the slate S_y
with probability Q(y | t), Q(y | t) <= E Q(y | t') for all t, t', E = exp(epsilon). For *any*
thresholds a_t, b_t >= 0,

    sum_t w_t sum_y Q(y | t) max_{i in S_y} s_ti  <=  max over u in {1 / E, 1} of
        (1 - u) sum_t w_t a_t  +  u (sum_t w_t b_t + the k largest of G_i),
    G_i = sum_t w_t ((E - 1) (s_ti - a_t)+ + (s_ti - b_t)+).

Proof. Let c_y = min_t Q(y | t) and u = sum_y c_y, which lies in [1 / E, 1]. What person t has
beyond, e_y = Q(y | t) - c_y, is at most (E - 1) c_y and sums to 1 - u. A slate's worth v_y is at
most a_t + (v_y - a_t)+, so sum_y e_y v_y <= a_t (1 - u) + (E - 1) sum_y c_y (v_y - a_t)+, and
likewise sum_y c_y v_y <= b_t u + sum_y c_y (v_y - b_t)+. The positive part of a slate's best item
is at most the sum over its items, so both sums together are at most sum_y c_y sum_{i in S_y} G_i,
which is at most u times the k largest. All is linear in u. (It is the dual of a linear program, in
which slates are fractional; for k = 1 that program is the best channel itself.)

What it bounds: the mean over *these* people, in expectation over the noise, of whatever is done by
a server that knows each of their scores exactly, the asker's identity alone being hidden. Servers
know less, so the truth lies below; with few people it is far below, because a server that knows
everybody has slates for each of them. No bound for another k, epsilon, or people.

Thresholds are sought by conditional gradients: the program's x is how often items are in slates,
where a_t and b_t are what person t gets last. Whatever they are, the bound holds.
Shapes: n people, p items. Complexity: O(n p) a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.retrieval.cover import cover
from askew_server.evaluation.group_scores import GroupScores, Scores
from askew_server.training.pool import pool_of

_STEPS, _SLOW = 40, 200  # step s goes 2 / (s + _SLOW) of the way
_WIDTHS, _SHARES = (1, 2, 4, 8, 12), (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
_CHECKED = 10  # steps between two looks at the mean thresholds
_STARTED = 512  # people by whom the start is chosen
_HARDLY = 1 - 1e-6
Array = NDArray[np.float64]


class Certificate(NamedTuple):
    """A bound; the end u at which it is reached, and the k items of the largest G."""

    bound: float
    end: float
    items: NDArray[np.int64]


def certificate(scores: Scores, weights: Array, odds: float, k: int, at: Array) -> Certificate:
    """The bound of the thresholds at = (a, b), (2, n), for scores (n, p) and odds E. Proved above,
    for any thresholds; rounding is below 1e-5 of it.
    """
    return _certified(_beyond(scores, weights, odds, at), weights, odds, k, at)


def _beyond(scores: Scores, weights: Array, odds: float, at: Array) -> Array:
    """G of these people, (p,)."""
    beyond, below = (np.maximum(scores - each[:, None].astype(np.float32), 0) for each in at)
    found: Array = (odds - 1) * (weights @ beyond) + weights @ below
    return found


def _certified(worth: Array, weights: Array, odds: float, k: int, at: Array) -> Certificate:
    """The certificate of G."""
    items = np.argsort(-worth, kind="stable")[:k]
    rest, base = at @ weights
    ends = {u: float((1 - u) * rest + u * (base + worth[items].sum())) for u in (1 / odds, 1.0)}
    end = max(ends, key=lambda u: ends[u])
    return Certificate(ends[end], end, items)


def channel_bound(scores: GroupScores, epsilon: float, k: int) -> float:
    """A bound on the mean over people of what they get, scores below 0 counting as 0.

    Raises ParameterError unless epsilon > 0 and 1 <= k <= p.
    """
    if not epsilon > 0:
        raise ParameterError("epsilon", epsilon, "above 0")
    if not 1 <= k <= scores.n_items:
        raise ParameterError("k", k, f"from 1 to the number of items, {scores.n_items}")
    weights, odds = np.full(len(scores), 1 / len(scores)), math.exp(epsilon)
    pool = pool_of(scores.favorites(), k)  # where thresholds are sought; they hold for all items
    found = _sought(np.maximum(scores.of_items(pool), 0), weights, odds, k)
    least = float(scores.best().mean())  # everybody's own best
    worths = [np.zeros(scores.n_items) for _ in found]
    for rows, part in scores.parts():
        for total, at in zip(worths, found, strict=True):
            np.add(total, _beyond(np.maximum(part, 0), weights[rows], odds, at[:, rows]), out=total)
    ends = zip(worths, found, strict=True)
    return min(least, *(_certified(worth, weights, odds, k, at).bound for worth, at in ends))


def _sought(scores: Scores, weights: Array, odds: float, k: int) -> list[Array]:
    """Good thresholds: the best of all steps, and of their means."""
    search = _Search(scores)
    shown = search.start(odds, k)
    total = np.zeros((2, len(scores)))
    steps, means = list[tuple[float, Array]](), list[tuple[float, Array]]()
    for step in range(1, _STEPS + 1):
        at = search.thresholds(shown, odds)
        found = certificate(scores, weights, odds, k, at)
        steps.append((found.bound, at))
        total += step * at
        if step % _CHECKED == 0:
            mean = total / (step * (step + 1) / 2)
            means.append((certificate(scores, weights, odds, k, mean).bound, mean))
        shown = shown.toward(found, 2 / (step + _SLOW))
    return [min(each, key=lambda pair: pair[0])[1] for each in (steps, means)]


@dataclass(frozen=True, eq=False)
class _Shown:
    """A point of the program: items, how often each is in a slate, (p,), and u."""

    often: Array = field(repr=False)
    u: float

    def toward(self, found: Certificate, part: float) -> _Shown:
        """Part of the way to the slate and the end of a certificate."""
        often = (1 - part) * self.often
        often[found.items] += part * found.end
        return _Shown(often, (1 - part) * self.u + part * found.end)


class _Search:
    """People's items, best first: order and worth, (n, p)."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._order = np.argsort(-scores, axis=1, kind="stable")
        self._worth = np.take_along_axis(scores, self._order, axis=1)

    def thresholds(self, shown: _Shown, odds: float) -> Array:
        """What each person gets last of (1 - u) / (E - 1), and of u, of their best: (2, n)."""
        reached = np.cumsum(shown.often[self._order], axis=1)
        dealt = ((1 - shown.u) / (odds - 1), shown.u)
        last = reached.shape[1] - 1
        places = [np.minimum((reached < _HARDLY * part).sum(axis=1), last) for part in dealt]
        rows = np.arange(len(reached))
        return np.array([self._worth[rows, place] for place in places], dtype=np.float64)

    def start(self, odds: float, k: int) -> _Shown:
        """Of some ways to show the items of a cover of everybody alike, the one worth most."""
        some = np.ascontiguousarray(self._scores[:_STARTED].T)
        n_items = len(some)
        alike = np.ones(some.shape[1], dtype=np.float32)
        chosen = cover(some, alike, min(n_items, _WIDTHS[-1] * k))
        starts = []
        for wide in sorted({min(n_items, width * k) for width in _WIDTHS}):
            for share in _SHARES:
                often, u = np.zeros(n_items), odds**-share
                often[chosen[:wide]] = u * k / wide
                starts.append(_Shown(often, u))
        return max(starts, key=lambda shown: self._value(shown, odds))

    def _value(self, shown: _Shown, odds: float) -> float:
        """What the program gives some of the people, in sum."""
        order, worth = self._order[:_STARTED], self._worth[:_STARTED]
        reached, value = np.cumsum(shown.often[order], axis=1), 0.0
        for part, times in (((1 - shown.u) / (odds - 1), odds - 1), (shown.u, 1.0)):
            dealt = np.diff(np.minimum(reached, part), axis=1, prepend=0.0)
            value += times * float((dealt * worth).sum())
        return value
