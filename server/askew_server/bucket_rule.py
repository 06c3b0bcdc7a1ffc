"""The rule `buckets`: one slate for each bucket, made once, looked up for each signal.

The slates are chosen greedily for the prior's people, weighted by how likely they land in the
bucket under the model's own response: `askew_server.design.buckets`. A device that answers at other
odds gets the same slates: post-processing, a little less fitting.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Buckets
from askew.errors import OutOfRange, ParameterError
from askew.placement.posterior import Prior
from askew.randomized_response import RandomizedResponse
from askew.signal import Signal
from askew_server.design.buckets import labels_of, slates_of
from askew_server.prior_people import PriorPeople


class BucketRule:
    """Everything in it is public. orders: (M, most) item ids, best first."""

    def __init__(self, orders: NDArray[np.int64]) -> None:
        self._orders = orders

    @classmethod
    def of(
        cls, people: PriorPeople, prior: Prior, buckets: Buckets, epsilon: Fraction, most: int
    ) -> BucketRule:
        """Slates of `most` items for these people at this epsilon. O(M) greedy choices."""
        response = RandomizedResponse.for_epsilon(len(buckets), epsilon)
        label = labels_of(buckets, people.tastes.astype(np.float64))
        return cls(prior.items[slates_of(label, prior.scores, response, most)])

    def answer(self, signal: Signal, k: int) -> tuple[int, ...]:
        """Exactly k distinct item ids, ascending. Raises as `RetrievalRule.answer`."""
        n_buckets, most = self._orders.shape
        if not 1 <= k <= most:
            raise ParameterError("k", k, f"from 1 to {most}")
        response = signal.mechanism
        if not isinstance(response, RandomizedResponse) or response.buckets != n_buckets:
            raise OutOfRange("the mechanism of this signal", f"randomized response, {n_buckets}")
        return tuple(sorted(self._orders[signal.values[0], :k].tolist()))
