"""Which ratings are likes: by the scale that they were read on, or by their own range."""

from __future__ import annotations

from askew.errors import DataError
from askew.vectors import RatingScale
from askew_server.ratings import RatingTable

_FEWEST_LIKES = 0.02  # of ratings; of those that people give, a third to a half are likes


def scale_of(table: RatingTable, like_from: float | None = None) -> RatingScale:
    """The scale of a table; by default the upper quarter of it is a like.

    Raises DataError where the ratings have no range, or hardly any is a like by default: then they
    are no ratings as people give them, and what is a like must be said.
    """
    if table.scale is not None:
        return table.scale
    if not len(table):
        raise DataError("there are no ratings")
    lowest, highest = float(table.rating.min()), float(table.rating.max())
    if lowest == highest:
        raise DataError(
            f"every rating is {lowest:g}: there is no scale to learn from; with `train --counts` "
            "each of them is a like"
        )
    if like_from is not None:
        return RatingScale(lowest, highest, like_from)
    scale = RatingScale.between(lowest, highest)
    share = float((table.rating >= scale.like_from).mean())
    if share < _FEWEST_LIKES:
        raise DataError(
            f"of ratings from {lowest:g} to {highest:g}, {share:.2%} are {scale.like_from:g} or "
            "more, in the upper quarter: `train --counts` reads counts, such as plays, and "
            "`train --like-from` says which ratings are likes"
        )
    return scale
