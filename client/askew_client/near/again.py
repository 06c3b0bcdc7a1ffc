"""The same answer by other wishes: ranked anew on the device, from what it has. Pure.

There is no second question, so wishes may change as often as the person likes, and nobody hears.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace

from askew.catalog.listing import Attribute, Listing
from askew.catalog.title_key import title_key
from askew_client.near.pick import judged, missing, stars
from askew_client.near.wishes import Wishes
from askew_client.views.near import NearAnswer
from askew_client.views.rated import Rated


def by_other_wishes(
    answer: NearAnswer,
    attributes: Sequence[Attribute],
    wishes: Wishes,
    ratings: Sequence[Rated],
    now: datetime.datetime,
) -> NearAnswer:
    """The results of an answer in another order. attributes: of its collection."""
    before = answer.results
    listings = [
        Listing(n, each.title, each.coordinates, tuple(value for _, value in each.values))
        for n, each in enumerate(before)
    ]
    own = {title_key(rated.label): stars(rated.rating) for rated in ratings}
    distances = [each.distance for each in before]
    order = judged(listings, attributes, distances, wishes, own, now)
    results = tuple(
        replace(before[each.index], rank=rank, passes=each.passes, picked=rank == 1 and each.passes)
        for rank, each in enumerate(order, 1)
    )
    return replace(
        answer,
        results=results,
        none_passes=not any(each.passes for each in results),
        missing=missing(attributes, wishes),
    )
