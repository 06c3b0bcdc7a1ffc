"""The model: a truncated singular value decomposition that places items and people in one space.

    W      = weights of the ratings, (n_people, n_items), 0 where unrated, sparse
    W      ~ U S V^T, rank d
    item i   lies at row i of V, scaled so that the largest coordinate is `item_radius`
    person p lies at gain * sum_i W[p, i] * item_i / max(sum_i |W[p, i]|, weight_floor)

Ratings are centered on the middle of their scale, which every device knows, so that a profile can
be folded in from one person's ratings and public item positions alone (`askew.vectors.fold_in`).
The gain makes the median l1 distance between two training people 1: the unit of distance, and so of
epsilon. item_radius says how far items reach. Where they lie in a smaller ball than people, as by
default, the nearest item is close to the item of the largest inner product with the profile, which
is what the decomposition predicts to be liked most; the farther they reach, the more the nearest
item is one whose fans are like the person, popular or not.

The guarantee of the exchange covers the person who asks. It does not cover the people trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError, OutOfRange, ParameterError
from askew.model_card import MAX_GENRES, Catalog, Item, ModelCard
from askew.vectors import MAX_DIMENSION, FeatureSpace, RatingScale
from askew_server.ratings import ItemRow, RatingTable

SLATE_LIMIT = 64
_MEASURED_PAIRS = 20_000
_MEASURED_PEOPLE = 2_000


@dataclass(frozen=True)
class TrainingOptions:
    """Public parameters of the training; the model card repeats them.

    min_ratings: items with fewer are left out of the catalog. item_radius: largest coordinate of an
    item, in units of distance. Raises ParameterError for a value out of range.
    """

    dimension: int = 2
    min_ratings: int = 20
    item_radius: float = 0.5
    weight_floor: float = 8.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise ParameterError("dimension", self.dimension, f"from 1 to {MAX_DIMENSION}")
        if not 0 <= self.seed < 2**32:
            raise ParameterError("seed", self.seed, "from 0 to 4294967295")
        if self.min_ratings < 1:
            raise ParameterError("min_ratings", self.min_ratings, "at least 1")
        for name in ("item_radius", "weight_floor"):
            if not 0 < getattr(self, name) <= 64:
                raise ParameterError(name, getattr(self, name), "positive and at most 64")


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A trained model: all of it public."""

    card: ModelCard
    catalog: Catalog
    training: Mapping[str, int | float | str]


def train(
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    *,
    source: str,
    simulated: bool = False,
) -> ItemModel:
    """The model of a table of ratings. Deterministic for a seed.

    Raises DataError when too few people, items or ratings are left to make d dimensions, or when
    what they make is no space that a device would enter.
    """
    try:
        return _fit(table, rows, options, source, simulated)
    except OutOfRange as error:
        raise DataError(f"these ratings make no usable space: {error}") from None


def _fit(
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    source: str,
    simulated: bool,
) -> ItemModel:
    scale = _scale_of(table)
    kept = np.flatnonzero(
        np.bincount(table.item, minlength=len(table.item_keys)) >= options.min_ratings
    )
    weights = _weights(table, kept, scale)  # (n_people, n_items)
    d = options.dimension
    if min(weights.shape) <= d:
        raise DataError(
            f"{weights.shape[0]} people and {weights.shape[1]} items with at least "
            f"{options.min_ratings} ratings do not make {d} dimensions"
        )
    directions = _directions(weights, d, options.seed)  # (n_items, d)
    positions = (directions * (options.item_radius / np.abs(directions).max())).astype(np.float32)
    totals = np.maximum(abs(weights).sum(axis=1), options.weight_floor)
    people = (weights @ positions.astype(np.float64)) / totals[:, None]  # (n_people, d)
    rng = np.random.default_rng(options.seed)  # choices about public figures: protects nobody
    gain = 1.0 / _median_distance(people, rng)
    space = _space(people * gain, gain, options.weight_floor, scale, directions)
    items = tuple(_item(table.item_keys[i], rows) for i in kept)
    shared = _shared_slate(people * gain, positions, min(SLATE_LIMIT, len(items)), rng)
    catalog = Catalog(items, positions, shared)
    card = ModelCard(
        space=space,
        catalog_version=catalog.version,
        n_items=len(items),
        max_slate_size=min(SLATE_LIMIT, len(items)),
        source=source,
        simulated=simulated,
    )
    counts = {"people": weights.shape[0], "ratings": weights.nnz}
    return ItemModel(card, catalog, {**asdict(options), **counts})


def _scale_of(table: RatingTable) -> RatingScale:
    if not len(table):
        raise DataError("there are no ratings")
    lowest, highest = float(table.rating.min()), float(table.rating.max())
    if lowest == highest:
        raise DataError(f"every rating is {lowest:g}: there is no scale to learn from")
    return RatingScale(lowest, highest)


def _weights(table: RatingTable, kept: NDArray[np.intp], scale: RatingScale) -> csr_array:
    """Ratings of the kept items as weights in [-1, 1], sparse (n_people, n_kept)."""
    column = np.full(len(table.item_keys), -1, dtype=np.int64)
    column[kept] = np.arange(len(kept))
    use = column[table.item] >= 0
    middle, half = (scale.lowest + scale.highest) / 2, (scale.highest - scale.lowest) / 2
    values = (table.rating[use] - middle) / half
    place = (table.person[use], column[table.item[use]])
    return csr_array((values, place), shape=(table.n_people, len(kept)))


def _directions(weights: csr_array, dimension: int, seed: int) -> NDArray[np.float64]:
    """The first right singular vectors, (n_items, d)."""
    from sklearn.decomposition import TruncatedSVD

    decomposition = TruncatedSVD(dimension, n_iter=7, random_state=seed)
    directions: NDArray[np.float64] = decomposition.fit(weights).components_.T
    if not np.isfinite(directions).all() or not np.abs(directions).max() > 0:
        raise DataError("these ratings have no structure to learn from")
    return directions


def _median_distance(people: NDArray[np.float64], rng: np.random.Generator) -> float:
    left, right = rng.integers(len(people), size=(2, _MEASURED_PAIRS))
    apart = np.abs(people[left] - people[right]).sum(axis=1)[left != right]
    median = float(np.median(apart))
    if not median > 0:
        raise DataError("most people are alike in these ratings: there is no unit of distance")
    return median


def _space(
    people: NDArray[np.float64],
    gain: float,
    weight_floor: float,
    scale: RatingScale,
    directions: NDArray[np.float64],
) -> FeatureSpace:
    """The box that holds all but the outermost hundredth of people on each axis."""
    lower = np.floor(np.percentile(people, 0.5, axis=0) * 64) / 64
    upper = np.ceil(np.percentile(people, 99.5, axis=0) * 64) / 64
    return FeatureSpace(
        lower=tuple(map(float, lower)),
        upper=tuple(map(float, upper)),
        gain=gain,
        weight_floor=weight_floor,
        scale=scale,
        basis=hashlib.sha256(np.ascontiguousarray(directions, dtype="<f8").tobytes()).hexdigest(),
    )


def _item(key: str, rows: Mapping[str, ItemRow]) -> Item:
    row = rows.get(key)
    if row is None:
        return Item(_plain(f"item {key}"))
    return Item(_plain(row.title), row.year or None, tuple(map(_plain, row.genres[:MAX_GENRES])))


def _plain(text: str) -> str:
    """Text that every device accepts: a no-break space becomes a space, a zero width one goes."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable()) or "?"


def _shared_slate(
    people: NDArray[np.float64],
    positions: NDArray[np.float32],
    count: int,
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """Items in greedy order: each next one lowers the mean distance to people the most."""
    if len(people) > _MEASURED_PEOPLE:
        people = rng.choice(people, _MEASURED_PEOPLE, replace=False)
    far = np.zeros((len(people), len(positions)), dtype=np.float32)
    for axis in range(people.shape[1]):
        far += np.abs(people[:, axis : axis + 1] - positions[:, axis])
    best = np.full((len(people), 1), np.inf, dtype=np.float32)
    order: list[int] = []
    for _ in range(count):
        gains = np.minimum(far, best).mean(axis=0)
        gains[order] = np.inf
        order.append(int(gains.argmin()))
        best = np.minimum(best, far[:, order[-1:]])
    return tuple(order)
