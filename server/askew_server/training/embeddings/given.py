"""Given vectors beside their items, as training wants them: by key, with histories as ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.vectors import RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.ratings.fields import BadField, key, key_order
from askew_server.training.embeddings.reading import Vectors


@dataclass(frozen=True, eq=False)
class GivenItems:
    """Items by key, in the order that catalogs have, with their vectors (n, D) as given.

    without: how many rows of the items have no vector, and are left out.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float64] = field(repr=False)
    without: int = 0


def given_items(vectors: Vectors, rows: Mapping[str, ItemRow], n_rejected: int = 0) -> GivenItems:
    """Vectors matched with rows of items: by key, or where there are no keys, row by row.

    n_rejected: rows of the file of items that could not be used. Raises DataError where a vector
    has no row, or where rows without keys cannot be matched for certain.
    """
    keys = vectors.keys
    if keys is None:
        if len(vectors) != len(rows) or n_rejected:
            raise DataError(
                f"{len(vectors):,} vectors without keys do not fit {len(rows):,} usable rows of "
                f"items, {n_rejected:,} left out: give the vectors `keys`"
            )
        keys = tuple(rows)
    unknown = [each for each in keys if each not in rows]
    if unknown:
        raise DataError(
            f"{len(unknown):,} of {len(keys):,} vectors have no row among the items; the first "
            f"is of {_shown(unknown[0])}"
        )
    order = sorted(range(len(keys)), key=lambda at: key_order(keys[at]))
    named = tuple(keys[at] for at in order)
    return GivenItems(named, vectors.numbers[order], len(rows) - len(keys))


def check_people(people: Vectors, items: GivenItems) -> None:
    """Raises DataError for user vectors of another geometry than the items'."""
    wanted, found = items.vectors.shape[1], people.numbers.shape[1]
    if wanted != found:
        raise DataError(f"user vectors have {found} numbers, item vectors {wanted}")


def as_ratings(likes: NDArray[np.int64], items: GivenItems, scale: RatingScale) -> RatingTable:
    """Pairs (n, 2) of person and item as ratings, each the highest of the scale."""
    person, item = likes.T
    highest = np.full(len(likes), scale.highest)
    return RatingTable(person, item, highest, int(person.max()) + 1, items.keys)


def _shown(text: str) -> str:
    try:
        return repr(key("item", text))
    except BadField:
        return "a key that no file of items can have"
