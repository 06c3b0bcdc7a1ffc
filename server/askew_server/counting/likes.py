"""What people like together, counted on an engine that has the ratings.

    G = sum over people of floor(2**24 / m) x x^T        exact integers, (n, n)

x is a person's likes in a public catalog of n items, m their number (`askew.mechanisms.covariance`
has the guarantee that G with noise has). Every engine gives the same integers. An engine on this
machine hands over each person's likes, and the driver pairs them by a product of sparse matrices:
sum of m**2 steps, some 8 ns each, and 12 bytes a like. Spark pairs where the ratings are, and the
driver holds items x items numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError, ParameterError
from askew.mechanisms.covariance import UNIT, Matrix
from askew_server.counting import statements
from askew_server.counting.bounding import bounding_secret, remarks, require_events
from askew_server.counting.contract import KEY_BYTES, Engine, LikesTask
from askew_server.counting.statements import DIALECTS, carried

COLUMNS = (("user", "item", "rating"), ("userId", "movieId", "rating"))
_ROWS = 512  # of G that are made at once, each as long as the catalog


def columns_of_ratings(engine: Engine, ratings: str) -> tuple[str, str, str]:
    """Return the names of the columns of person, item and rating: ("user", "item", "rating"), or
    else ("userId", "movieId", "rating"). Reads no rating. Raises DataError where neither are all
    there.
    """
    there = engine.columns(engine.table(ratings))
    for names in COLUMNS:
        if set(names) <= set(there):
            return names
    accepted = " or ".join(map(",".join, COLUMNS))
    raise DataError(f"{ratings}: it must have the columns {accepted}, of one type in all its files")


def require_likes(engine: Engine, task: LikesTask) -> list[str]:
    """Return sentences that an operator should know of keys that may match no rating; none where
    all is well. Reads no rating.

    Raises DataError for a table, a column or a type that cannot be counted, where no key can match,
    and where the engine does not take the catalog.
    """
    _names(engine, task)
    types = engine.columns(engine.table(task.events))
    keys = dict.fromkeys(task.keys, 1)
    warnings = remarks(task, keys, types[task.item_column], engine.dialect)
    counting = carried(statements.COUNT_PLACES, {}, engine.dialect)
    [[listed]] = engine.execute(counting, {"keys": "\n".join(task.keys)})
    if int(str(listed)) != len(task.keys):
        raise DataError(f"{engine.dialect} has another catalog than it was given")
    return warnings


def count_likes(engine: Engine, task: LikesTask, key: bytes) -> Matrix:
    """Return G of a task, (n, n) of int64 for n keys: private, the same on every engine that has
    the same ratings.

    key: of contribution bounding; with a cap it chooses which likes of a person count. Raises
    DataError, ParameterError as `count_top` does.
    """
    if len(key) != KEY_BYTES:
        raise ParameterError("the length of the bounding key", len(key), f"{KEY_BYTES} bytes")
    names, rated_in_text = _names(engine, task)
    statement = statements.likes(task, engine.dialect, rated_in_text=rated_in_text)
    asked = carried(statement, names, engine.dialect)
    parameters = {"keys": "\n".join(task.keys)}
    if task.max_items_per_unit is not None:
        parameters["secret"] = bounding_secret(key)
    rows = engine.execute(asked, parameters)
    if DIALECTS[engine.dialect].pairs_likes:
        return _of_pairs(rows, len(task.keys))
    return paired([str(likes) for [likes] in rows], len(task.keys))


def paired(people: Sequence[str], items: int) -> Matrix:
    """Return G (items, items) of int64: the sum over people of floor(2**24 / m) for each two of a
    person's m likes, also for a like with itself. people: for each person the places of their
    likes, from 0, in text with spaces between, "0 2", each place once.
    """
    likes = _numbers(" ".join(people))
    lengths = np.array([text.count(" ") + 1 for text in people], np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shape = len(people), items
    one = csr_array((np.ones(len(likes), np.int64), likes, ends), shape=shape)
    weights = csr_array((np.repeat(UNIT // lengths, lengths), likes, ends), shape=shape)
    by_item = one.T.tocsr()
    total = np.zeros((items, items), np.int64)
    for row in range(0, items, _ROWS):  # a product as a whole would be larger than G
        total[row : row + _ROWS] = (by_item[row : row + _ROWS] @ weights).toarray()
    return total


def _of_pairs(rows: Sequence[tuple[object, ...]], items: int) -> Matrix:
    # Of the upper triangle: an item's place, and in text the places of others, each with its sum.
    total = np.zeros((items, items), np.int64)
    for place, row in rows:
        others = _numbers(str(row)).reshape(-1, 2)
        total[int(str(place)), others[:, 0]] = others[:, 1]
        total[others[:, 0], int(str(place))] = others[:, 1]
    return total


def _numbers(text: str) -> NDArray[np.int64]:
    return np.fromstring(text, np.int64, sep=" ")


def _names(engine: Engine, task: LikesTask) -> tuple[dict[str, str], bool]:
    # The names of the statement, and whether ratings are text.
    names = require_events(engine, task)
    types, column = engine.columns(engine.table(task.events)), task.rating_column
    if column not in types:
        raise DataError(f"{task.events}: there is no column {column!r}")
    # Of a text file, where every column is text, ratings are read as numbers where they are.
    dialect = DIALECTS[engine.dialect]
    if not dialect.has_ratings(types[column]):
        typed = f"column {column!r} has the type {types[column]}"
        raise DataError(f"{task.events}: {typed}; ratings must be numbers")
    names["rating_column"] = dialect.named(column, types[column])
    return names, dialect.has_text(types[column])
