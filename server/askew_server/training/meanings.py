"""Slates whose vectors devices hold, for k-ary randomized response: Lloyd's iteration over slates.

    P(b | own slate b) and P(b' | b) of the response, l(p) the slate that person p names
    value = mean_p sum_b P(b | l(p)) max_{i in slate_b} s_ip

    who names a slate   l(p) is the slate whose best item is worth the most to p, of what they have
                        not seen: what the device of p would name (`askew.meanings`)
    what a slate holds  the greedy choice for people weighted by P(b | l(p)): those who name it and,
                        more lightly, those who land there by chance

alternately from several first guesses, until nothing changes, keeping the best. Nothing is fitted
in between, so a device does exactly what the design says. Everything here is learned from the
people given: they must be people who may be known.

Shapes: m people, p pool items, M slates of k. Source: slates as codewords after Lloyd 1982.
Complexity: a few rounds of M greedy choices for each first guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import slates_of
from askew_server.training.buckets import first_labels, response_value

_STARTS = 4
_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class SlateDesign:
    """For each slate its pool rows in greedy order, (M, k), by which people name it.

    value: what it achieves on the people it was learned from, in units of score.
    """

    slates: NDArray[np.int64] = field(repr=False)
    value: float


def design_slates(
    tastes: NDArray[np.float64],
    scores: NDArray[np.float32],
    response: RandomizedResponse,
    k: int,
    *,
    seed: int,
) -> SlateDesign:
    """The design for people of tastes (m, D) and scores (p, m) of a pool, 0 for what they have
    seen, all alike in weight.

    Raises ParameterError for fewer people than slates, or k beyond the pool.
    """
    if len(tastes) < response.buckets:
        raise ParameterError("slates", response.buckets, f"at most the people, {len(tastes)}")
    seeds = [(seed + start) % 2**32 for start in range(_STARTS)]
    starts = (first_labels(tastes, response.buckets, each) for each in seeds)
    found = (_improved(label, scores, response, k) for label in starts)
    return max(found, key=lambda design: design.value)


def meanings_of(catalog: Catalog, slates: NDArray[np.int64]) -> Meanings:
    """What slates of item ids (M, k) mean: the vectors and boosts of their items."""
    return Meanings(catalog.vectors[slates], catalog.boosts[slates])


def served(scores: NDArray[np.float32], slates: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each slate of pool rows (M, k) is worth to people with scores (p, m), (m, M)."""
    best: NDArray[np.float64] = np.stack([scores[rows].max(axis=0) for rows in slates], axis=1)
    return best.astype(np.float64)


def _improved(
    label: NDArray[np.int64], scores: NDArray[np.float32], response: RandomizedResponse, k: int
) -> SlateDesign:
    """The best of some rounds from these names (m,) on."""
    rounds = []
    for _ in range(_ROUNDS):
        slates = slates_of(label, scores, response, k)
        worth = served(scores, slates)
        before, label = label, worth.argmax(axis=1)
        rounds.append(SlateDesign(slates, response_value(label, worth, response)))
        if np.array_equal(before, label):
            break
    return max(rounds, key=lambda design: design.value)
