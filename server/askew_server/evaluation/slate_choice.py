"""Slates whose vectors devices hold: how many of them, chosen by people kept aside.

What a number of slates gives is reckoned, not drawn: the mean over people and over every lie of the
response.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of, slates_of
from askew_server.evaluation.group_scores import GroupScores
from askew_server.prior.people import PriorPeople, names_of
from askew_server.training.buckets import SIZES, response_value
from askew_server.training.meanings import design_slates, meanings_of


@dataclass(frozen=True)
class SlateQuestion:
    """What slates are for. epsilon: of any two people. k: items a slate. sizes: numbers of slates
    to choose from.
    """

    epsilon: Fraction
    k: int
    seed: int
    sizes: tuple[int, ...] = SIZES

    def response(self, slates: int) -> RandomizedResponse:
        """The randomized response over so many slates."""
        return RandomizedResponse.for_epsilon(slates, self.epsilon)


@dataclass(frozen=True, eq=False)
class SlateChoice:
    """Slates for people kept aside: what they mean, the items (M, k) that fill them, and the slate
    that each of those people names (n,).
    """

    meanings: Meanings
    items: NDArray[np.int64] = field(repr=False)
    named: NDArray[np.int64] = field(repr=False)


def best_slates(
    question: SlateQuestion,
    catalog: Catalog,
    people: PriorPeople,
    tastes: NDArray[np.float64],
    scores: GroupScores,
) -> SlateChoice:
    """The slates for these people of the prior whose number suits those of tastes (n, D) and these
    scores best.
    """
    prior, found = people.prior(catalog), []
    known = people.tastes.astype(np.float64)
    for size in (size for size in question.sizes if size <= len(people)):
        response, k = question.response(size), question.k
        design = design_slates(known, prior.scores, response, k, seed=question.seed)
        meant = prior.items[design.slates]
        meanings = meanings_of(catalog, meant)
        own = names_of(meanings, known, people.seen, catalog)
        items = prior.items[slates_of(own, prior.scores, response, k)]
        named = labels_of(meanings, tastes, scores.of_items(meant) < 0)
        worth = np.maximum(scores.of_items(items).max(axis=2), 0).astype(np.float64)
        value = response_value(named, worth, response)
        found.append((value, SlateChoice(meanings, items, named)))
    _, best = max(found, key=lambda each: each[0])
    return best
