"""The rule `buckets` for the people of a prior: `askew.retrieval.buckets`.

A device chooses its own odds, so there are slates for a range of them, made before the first
question: the odds that the model was trained for, and EPSILONS around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from askew.meanings import Meanings
from askew.model_card import Catalog, ModelCard
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import BucketRule, bucket_rule, labels_of
from askew.retrieval.posterior import Prior
from askew.taste_buckets import Buckets
from askew_server.prior.people import PriorPeople

EPSILONS = tuple(map(Fraction, ("1/2", "1", "2", "3", "4", "6", "8")))


def bucket_rule_of(
    people: PriorPeople,
    prior: Prior,
    buckets: Buckets | Meanings,
    epsilon: Fraction,
    shared: Sequence[int],
) -> BucketRule:
    """Slates for these people, at this epsilon and others. shared: the zero-information order.

    Slates that mean something are filled from the catalog of today for those who name them, however
    many catalogs ago that was decided: a signal that a device has stored stays right.
    """
    label = people.named
    if label is None:
        label = labels_of(buckets, people.tastes.astype(np.float64))
    epsilons = sorted({epsilon, *EPSILONS})
    odds = (RandomizedResponse.for_epsilon(len(buckets), each).odds for each in epsilons)
    return bucket_rule(prior, label, len(buckets), shared, odds)


def served_slates(
    card: ModelCard, catalog: Catalog, people: PriorPeople | None, prior: Prior | None
) -> BucketRule | None:
    """What a card's buckets are answered by, where there are people to choose slates for."""
    if people is None or prior is None or card.space.buckets is None:
        return None
    epsilon, shared = Fraction(card.rule.epsilon), catalog.shared_slate
    return bucket_rule_of(people, prior, card.space.buckets, epsilon, shared)
