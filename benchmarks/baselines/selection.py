"""Top-k selection as the papers state it, with numpy's floats. counts: (d,). Returns item ids.

Where a paper's text and its proof differ, the proof is followed. All for add-or-remove-one.
"""

from __future__ import annotations

from math import ceil, lgamma, log

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Random = np.random.Generator


def one_shot(counts: Counts, k: int, epsilon: float, rng: Random) -> list[int]:
    """Select by Gumbel noise of epsilon / k on each count: the exponential mechanism peeled.

    Source: Durfee, Rogers 2019, Lemma 4.2; CDP_PEEL of Gillenwater et al. 2022.
    """
    noisy = counts * (epsilon / k) + rng.gumbel(size=len(counts))
    best = np.argpartition(-noisy, k - 1)[:k]
    return _listed(best[np.argsort(-noisy[best])])


def permute_and_flip(counts: Counts, k: int, epsilon: float, rng: Random) -> list[int]:
    """Select in k rounds of exponential noise of epsilon / k. Source: McKenna, Sheldon 2020."""
    left = counts * (epsilon / k)
    chosen = []
    for _ in range(k):
        chosen.append(int(np.argmax(left + rng.exponential(size=len(left)))))
        left[chosen[-1]] = -np.inf
    return chosen


def joint(counts: Counts, k: int, epsilon: float, rng: Random) -> list[int]:
    """Draw a sequence s with probability ~ exp(-epsilon L / 2), L the largest x_r - count(s_r).

    Sorts all d k losses and counts the sequences of each. Of equal losses the lower ranks come
    first, so that what rank r may hold is always a part of what rank r + 1 may.
    Source: Gillenwater, Joseph, Muñoz Medina, Ribero 2022.
    """
    ranked, x = _ranked(counts)
    loss = (x[:k, None] - x[None, :]).ravel()
    rank, item = np.divmod(np.arange(k * len(x)), len(x))
    order = np.lexsort((item, -rank, loss))
    loss, rank, item = loss[order], rank[order], item[order]
    # Rank r may hold item + 1 items now, of which r are taken by the ranks before it.
    choices = np.maximum(item + 1 - rank, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(choices)
        steps = np.where(choices > 1, logs - np.log(choices - 1), 0.0)
    whole = np.cumsum(choices == 1) == k  # every rank has a choice
    sequences = np.where(whole, np.cumsum(steps) - logs, -np.inf)
    at = int(np.argmax(sequences - epsilon * loss / 2 + rng.gumbel(size=len(loss))))
    open_to = np.bincount(rank[: at + 1], minlength=k)
    taken = {int(item[at])}
    places = []
    for r in range(k):
        place = int(item[at])
        while r != rank[at] and place in taken:
            place = int(rng.integers(open_to[r]))
        taken.add(place)
        places.append(place)
    return _listed(ranked[places])


def fast_joint(
    counts: Counts, k: int, epsilon: float, rng: Random, tau: int | None = None
) -> list[int]:
    """Draw as `joint` does, with losses cut at tau: by default beyond what is lost with probability
    1 - 2^-10.

    Its cost grows with k tau, so with k^2 / epsilon. Source: Wu, Zhang 2024; the last step draws
    without replacement, as the text says and the published code does not.
    """
    d = len(counts)
    sequences = lgamma(d + 1) - lgamma(d - k + 1)
    tau = ceil(2 / epsilon * (sequences + 10 * log(2))) if tau is None else tau
    ranked, x = _ranked(counts)
    ranks, losses = np.arange(k)[:, None], np.arange(tau)
    # Items that rank r may hold for a loss of at most e: (k, tau).
    reach = np.searchsorted(-x, (losses - x[:k, None]).ravel(), side="right").reshape(k, tau)
    before = np.column_stack([np.zeros(k, np.int64), reach[:, :-1]])
    with np.errstate(divide="ignore"):
        upto = np.log(np.maximum(reach - ranks, 0))
        below = np.log(np.maximum(before - ranks, 0))
        classes = _above(below) + np.log(reach - before) + _behind(upto)
        classes[:, 0] = -np.inf
        classes[0, 0] = upto[:, 0].sum()  # nothing is lost: one class, of all ranks
        others = np.log(d - reach[:, -1:])
    beyond = _above(upto[:, -1:]) + others + _behind(np.log(d - ranks))
    weights = np.hstack([classes - epsilon * losses / 2, beyond - epsilon * tau / 2])
    at = int(np.argmax(weights + rng.gumbel(size=weights.shape)))
    return _listed(ranked[_member(*divmod(at, tau + 1), reach, d, rng)])


def _above(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the sum of the rows before it."""
    return np.vstack([np.zeros((1, logs.shape[1])), np.cumsum(logs, axis=0)[:-1]])


def _behind(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the sum of the rows after it."""
    return _above(logs[::-1])[::-1]


def _member(first: int, loss: int, reach: NDArray[np.int64], d: int, rng: Random) -> list[int]:
    """A uniform sequence of places that loses so much, at this rank first."""
    k, tau = reach.shape
    least = reach[:, loss - 1] if loss else np.zeros(k, np.int64)
    most = reach[:, loss] if loss < tau else np.full(k, d)
    places: list[int] = []
    for rank in range(k):
        low = int(least[rank]) if rank == first and loss else 0
        high = int(least[rank] if rank < first and loss else most[rank])
        place = int(rng.integers(low, high))
        while place in places:
            place = int(rng.integers(low, high))
        places.append(place)
    return places


def canonical(counts: Counts, k: int, epsilon: float, rng: Random) -> list[int]:
    """Draw a set of k with probability ~ exp(-epsilon L), L = (M - m) / 2: M the highest count
    outside, m the lowest inside; L = 0 for the k highest. Scans all classes (h, t): the h highest
    are in, the next is not, and the lowest that is in has rank t.

    Source: Shekelyan, Loukides 2022, Algorithm 1 with gamma = 1/2 and Gumbel noise.
    """
    ranked, x = _ranked(counts)
    d = len(x)
    t = np.arange(k, d)  # ranks from 0
    best, found = float(rng.gumbel()), (k, k - 1)
    sizes = np.zeros(d - k)
    for h in range(k - 1, -1, -1):
        if h < k - 1:
            with np.errstate(divide="ignore"):
                sizes = sizes + np.log(t - h - 1) - log(k - h - 1)
        scores = -epsilon * (x[h] - x[t]) / 2 + sizes + rng.gumbel(size=d - k)
        at = int(np.argmax(scores))
        if scores[at] > best:
            best, found = float(scores[at]), (h, int(t[at]))
    h, last = found
    if h == k:
        return _listed(np.sort(ranked[:k]))
    middle = h + 1 + rng.choice(last - h - 1, k - h - 1, replace=False)
    return _listed(np.sort(ranked[np.concatenate([np.arange(h), middle, [last]]).astype(int)]))


def limited_domain(
    counts: Counts, k: int, epsilon: float, rng: Random, domain: tuple[int, float]
) -> list[int]:
    """Select of the kbar highest those with a noisy count above a noisy threshold; k at most,
    ranked.

    domain: kbar and delta.

    Source: Durfee, Rogers 2019, Algorithm 1 with Gumbel noise; epsilon is per round.
    """
    (kbar, delta), (ranked, x) = domain, _ranked(counts)
    after = float(x[kbar]) if len(x) > kbar else 0.0
    threshold = epsilon * (after + 1) + log(kbar / delta) + rng.gumbel()
    noisy = epsilon * x[:kbar] + rng.gumbel(size=len(x[:kbar]))
    best = np.argsort(-noisy)[:k]
    return _listed(ranked[best[noisy[best] > threshold]])


def _ranked(counts: Counts) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Items by count, highest first, ties to the lower id; and their counts."""
    ranked = np.argsort(-counts, kind="stable")
    return ranked, counts[ranked]


def _listed(items: NDArray[np.intp]) -> list[int]:
    found: list[int] = items.tolist()
    return found
