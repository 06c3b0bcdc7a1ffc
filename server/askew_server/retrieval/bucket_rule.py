"""The rule `buckets` for the people of a prior: `askew.retrieval.buckets`.

A device that answers at other odds than the model's gets the same slates. They fit it a little
less, and its guarantee is the same, because a slate is post-processing.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from askew.encoder import Buckets
from askew.meanings import Meanings
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import BucketRule, labels_of, slates_of
from askew.retrieval.posterior import Prior
from askew_server.prior.people import PriorPeople


def bucket_rule_of(
    people: PriorPeople, prior: Prior, buckets: Buckets | Meanings, epsilon: Fraction, most: int
) -> BucketRule:
    """Slates of `most` items for these people at this epsilon. O(M) greedy choices.

    Slates that mean something are filled from the catalog of today for those who name them, however
    many catalogs ago that was decided: a signal that a device has stored stays right.
    """
    response = RandomizedResponse.for_epsilon(len(buckets), epsilon)
    label = people.named
    if label is None:
        label = labels_of(buckets, people.tastes.astype(np.float64))
    return BucketRule(prior.items[slates_of(label, prior.scores, response, most)])
