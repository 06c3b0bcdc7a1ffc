"""Vectors of another model: read, turned into ours, with histories of likes for them.

Vectors in a file: the rows of a table of numbers, with or without the keys of what they are of.

    npz           arrays `vectors` (n, D) and optionally `keys` (n,), text or whole numbers
    safetensors   tensors `vectors` (n, D) and optionally `keys` (n,), whole numbers
    parquet       columns `vector`, lists of D numbers, and optionally `key`

Data only: nothing here is ever executed. A file that is no such thing, is too large, or holds
anything but finite numbers is a DataError with one line of reason.

From anybody's item vectors to vectors that a device can fold likes in with.

A device knows item vectors w_i and its person's likes S, and nothing else of the model that made
them. It ranks item j by <sum of w_i over S, w_j>, up to a factor. Two things that fit most models:

    sum      w_i = v_i: a person is the sum of what they like.
    ridge    w_i = (V^T V + m I)^(-1/2) v_i, with m the mean eigenvalue of V^T V. Then
             <sum w_i, w_j> = <u, v_j>,  u = (V^T V + m I)^-1 sum of v_i over S,
             so a person is folded into the given vectors by ridge regression on what they like,
             as models that factorize a table fold people in, and popular directions count less.

Ranks do not depend on the length unit of V: vectors are divided by their largest coordinate first,
so that any geometry of dot products is within a device's limits. A rotation would change no score,
and was tried before rounding to 4 bits: along principal axes the ratio was lower or the same
(docs/training.md), so coordinates stay where they are: the square root is the symmetric one.
Complexity: O(n D^2). Source: fold-in, Hu, Koren, Volinsky 2008, with all weights equal.

Histories of likes, SIMULATED from vectors: a space and its ranks are fitted to people's likes,
and vectors come without any.

    user vectors given    u one of them, the score of item i is s_i = <u, v_i> in the given geometry
    none given            u = w_a, the vector of one item a, drawn with odds |w_a|^2, and
                          s_i = <u, w_i> as devices score
    length                n log-uniform from 20 to 150, at most half of the items
    likes                 n items without replacement, the next one i with odds
                          exp(s_i / (0.3 * the standard deviation of s)): Gumbel top-n

Long vectors are those of much liked items in most models, hence the odds. On MovieLens 1M, with
vectors of ALS, BPR and SVD, the first row's histories gave spaces nearest to those of real people
among three temperatures, and the second row's among twelve ways to draw (docs/training.md).
numpy's generator: this is simulation, and it protects nobody.

Given vectors beside their items, as training wants them: by key, with histories as ratings.
"""

from __future__ import annotations

import glob
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.limits import MAX_RANKING_DIMENSION
from askew.spaces.vectors import RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.ratings.fields import BadField, key, key_order

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


LARGEST = 1 << 32  # bytes, unpacked
_VECTORS, _KEYS = "vectors", "keys"
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Checked vectors (n, D), finite, not all zero; keys where the file has them, each once."""

    numbers: Numbers = field(repr=False)
    keys: tuple[str, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """The number n of vectors."""
        return len(self.numbers)


def read_vectors(path: Path) -> Vectors:
    """The vectors of a file. Raises DataError."""
    readers = {".npz": _npz, ".safetensors": _safetensors, ".parquet": _parquet}
    reader = readers.get(path.suffix)
    if reader is None:
        raise DataError(f"{path}: its name must end in .npz, .safetensors or .parquet")
    arrays = reader(path)
    if _VECTORS not in arrays:
        raise DataError(f"{path}: there are no {_VECTORS} in it, see `askew-server import --help`")
    keys = _checked_keys(path, arrays[_KEYS]) if _KEYS in arrays else None
    numbers = _checked_numbers(path, arrays[_VECTORS], keys)
    if keys is not None and len(keys) != len(numbers):
        raise DataError(f"{path}: {len(keys):,} keys for {len(numbers):,} vectors")
    return Vectors(numbers, keys)


def _checked_numbers(path: Path, numbers: NDArray[Any], keys: tuple[str, ...] | None) -> Numbers:
    if numbers.dtype.kind != "f":
        raise DataError(f"{path}: vectors must be floating-point numbers, not {numbers.dtype}")
    if numbers.ndim != 2 or len(numbers) < 2:
        raise DataError(f"{path}: vectors must be a table of 2 rows or more, not {numbers.shape}")
    if not 1 <= numbers.shape[1] <= MAX_RANKING_DIMENSION:
        raise DataError(
            f"{path}: vectors of {numbers.shape[1]} numbers, and devices hold 1 to "
            f"{MAX_RANKING_DIMENSION}: keep the first principal axes of all of them, for example"
        )
    wide = numbers.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(wide).all(axis=1))
    if bad.size:
        name = f"row {bad[0] + 1}" if keys is None else f"of {keys[bad[0]]!r}"
        raise DataError(f"{path}: {bad.size:,} vectors are not finite, the first is {name}")
    if not wide.any():
        raise DataError(f"{path}: all vectors are zero")
    return wide


def _checked_keys(path: Path, keys: NDArray[Any]) -> tuple[str, ...]:
    if keys.ndim != 1 or keys.dtype.kind not in "iuTUO":
        raise DataError(f"{path}: keys must be one text or whole number a vector")
    if missing := [row for row, key in enumerate(keys.tolist(), 1) if key is None]:
        raise DataError(f"{path}: the vector in row {missing[0]} has no key")
    texts = tuple(str(key) for key in keys.tolist())
    if len(set(texts)) < len(texts):
        [(again, times)] = Counter(texts).most_common(1)
        raise DataError(f"{path}: the key {again!r} is there {times:,} times")
    return texts


def _npz(path: Path) -> Mapping[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > LARGEST:
                raise DataError(f"{path}: its arrays must be at most {LARGEST:,} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in (_VECTORS, _KEYS) if name in arrays}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as npz: {error}") from None


def _safetensors(path: Path) -> Mapping[str, NDArray[Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: must be at most {LARGEST:,} bytes")
        with safe_open(path, framework="numpy") as tensors:
            names = [name for name in (_VECTORS, _KEYS) if name in tensors.keys()]  # noqa: SIM118
            return {name: tensors.get_tensor(name) for name in names}
    except (OSError, SafetensorError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read as safetensors: {error}") from None


def _parquet(path: Path) -> Mapping[str, NDArray[Any]]:
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")  # in the order of the file
            return _columns(path, connection)
    except (duckdb.Error, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read as parquet: {reason}") from None


def _columns(path: Path, connection: DuckDBPyConnection) -> Mapping[str, NDArray[Any]]:
    # A name is a pattern to duckdb, and folders such as "user=3" would become columns.
    file = [glob.escape(str(path.resolve()))]
    source = "FROM read_parquet(?, hive_partitioning = false)"
    names = [
        name for name, *_ in connection.execute(f"DESCRIBE SELECT * {source}", file).fetchall()
    ]
    if "vector" not in names:
        return {}
    lengths = connection.execute(f"SELECT len(vector) AS n {source}", file).fetchnumpy()["n"]
    sizes = np.ma.filled(np.ma.asarray(lengths), 0)  # a null is no vector
    if not sizes.size or sizes.min() != sizes.max():
        raise DataError(f"{path}: its vectors must be one or more, all of one length")
    if 8 * sizes.sum() > LARGEST:
        raise DataError(f"{path}: its vectors must be at most {LARGEST:,} bytes")
    flat = f"SELECT unnest(CAST(vector AS DOUBLE[])) AS x {source}"
    column = connection.execute(flat, file).fetchnumpy()["x"]
    numbers = np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)
    found = {_VECTORS: numbers.reshape(len(sizes), -1)}
    if "key" in names:
        keys = connection.execute(f"SELECT CAST(key AS VARCHAR) {source}", file).fetchall()
        found[_KEYS] = np.array([key for (key,) in keys], dtype=object)
    return found


class FoldIn(StrEnum):
    """How a person's likes become a taste."""

    RIDGE = "ridge"
    SUM = "sum"


def for_devices(vectors: NDArray[np.float64], fold_in: FoldIn) -> NDArray[np.float32]:
    """The vectors (n, D) that devices get, at most 1 in size."""
    scaled = vectors / np.abs(vectors).max()
    if fold_in is FoldIn.SUM:
        narrow: NDArray[np.float32] = scaled.astype(np.float32)
        return narrow
    values, axes = np.linalg.eigh(scaled.T @ scaled)
    kept = np.maximum(values, 0.0)
    whitened: NDArray[np.float64] = scaled @ (axes / np.sqrt(kept + kept.mean())) @ axes.T
    return whitened.astype(np.float32)


MADE_UP = 2000  # people, where no user vectors are given
MOST_PEOPLE = 4000
_SHORTEST, _LONGEST = 20, 150
_SOFTNESS = 0.3  # in standard deviations of a person's scores
_AT_ONCE = 1 << 23  # scores in memory
Pairs = NDArray[np.int64]


def of_people(
    people: NDArray[np.float64], vectors: NDArray[np.float64], rng: np.random.Generator
) -> Pairs:
    """Likes (n, 2) of person and item, of at most MOST_PEOPLE of people (m, D), by chance."""
    if len(people) > MOST_PEOPLE:
        people = people[np.sort(rng.choice(len(people), MOST_PEOPLE, replace=False))]
    # Scores far beyond one another's reach are no numbers any more, so both get a unit.
    return _likes(people / (np.abs(people).max() or 1.0), vectors / np.abs(vectors).max(), rng)


def made_up(folded: NDArray[np.float32], rng: np.random.Generator) -> Pairs:
    """Likes (n, 2) of MADE_UP people who are like one item each; folded: as devices have them."""
    items = folded.astype(np.float64)
    weights = (items**2).sum(axis=1)
    anchors = rng.choice(len(items), MADE_UP, p=weights / weights.sum())
    return _likes(items[anchors], items, rng)


def _likes(
    people: NDArray[np.float64], items: NDArray[np.float64], rng: np.random.Generator
) -> Pairs:
    longest = max(min(_LONGEST, len(items) // 2), 1)
    shortest = min(_SHORTEST, longest)
    logs = rng.uniform(np.log(shortest), np.log(longest + 1), len(people))
    lengths = np.minimum(np.exp(logs).astype(np.int64), longest)
    step = max(_AT_ONCE // len(items), 1)
    parts = [
        _drawn(people[start : start + step], items, longest, rng)
        for start in range(0, len(people), step)
    ]
    liked = np.concatenate(parts)  # (m, longest), the likeliest first
    kept = np.arange(longest) < lengths[:, None]
    return np.column_stack([np.nonzero(kept)[0], liked[kept]])


def _drawn(
    people: NDArray[np.float64],
    items: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> Pairs:
    """So many items each, (m, count), in the order in which they were drawn."""
    scores = people @ items.T
    spread = np.maximum(scores.std(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    keys = scores / (_SOFTNESS * spread) + rng.gumbel(size=scores.shape)
    first = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(keys, first, axis=1), axis=1, kind="stable")
    drawn: Pairs = np.take_along_axis(first, order, axis=1).astype(np.int64)
    return drawn


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
