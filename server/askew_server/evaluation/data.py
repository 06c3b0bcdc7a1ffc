"""Ratings to evaluate on: the embedded simulated ones, or a file."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from askew.errors import DataError
from askew_server.ratings import RatingTable, read_ratings
from askew_server.ratings.lines import Progress

_ITEM_NAMES = ("item", "movie")
_LARGEST = 1 << 31  # bytes, unpacked
_SAMPLE = 0  # the seed of a sample of people; those of a study deal them


def simulated_table() -> RatingTable:
    """The embedded films with simulated ratings."""
    from askew_server.demo.simulation import N_PEOPLE, films, simulate

    catalog = films()
    ratings = simulate(catalog, n_people=N_PEOPLE)
    keys = tuple(film.title for film in catalog)
    return RatingTable(ratings.person, ratings.item, ratings.rating, N_PEOPLE, keys)


def read_table(
    path: Path,
    progress: Progress | None = None,
    *,
    counts: float | None = None,
    times: bool = False,
) -> RatingTable:
    """Ratings of a file: any format of `askew_server.ratings`, or .npz with the arrays user, item
    (or movie), rating and, if known, timestamp. counts, times: as in `read_ratings`. Raises
    DataError.
    """
    if path.suffix == ".npz":
        table = _of_arrays(path)
        return table if counts is None else table.likes_of_counts(counts)
    table, _ = read_ratings(path, counts=counts, times=times, progress=progress)
    return table


def sampled(table: RatingTable, n_people: int) -> RatingTable:
    """The ratings of so many people, or of all where there are fewer: each as likely as any other,
    and the same ones each time. Items stay, also those that nobody of them rated.
    """
    drawn = np.zeros(table.n_people, dtype=np.bool_)
    drawn[np.random.default_rng(_SAMPLE).permutation(table.n_people)[:n_people]] = True
    kept, code = drawn[table.person], np.cumsum(drawn) - 1
    return replace(
        table,
        person=code[table.person[kept]],
        item=table.item[kept],
        rating=table.rating[kept],
        n_people=int(drawn.sum()),
        time=None if table.time is None else table.time[kept],
    )


def _of_arrays(path: Path) -> RatingTable:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _LARGEST:
                raise DataError(f"{path}: its arrays must be at most {_LARGEST} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            name = next((n for n in _ITEM_NAMES if n in arrays), "item")
            people, items, rating = (arrays[n] for n in ("user", name, "rating"))
            time = arrays.get("timestamp", None)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: no arrays user, item and rating: {error}") from None
    if not people.shape == items.shape == rating.shape == (len(rating),):
        raise DataError(f"{path}: user, item and rating must be equally long")
    if time is not None and time.shape != rating.shape:
        raise DataError(f"{path}: timestamp must be as long as rating")
    _, person = np.unique(people, return_inverse=True)
    keys, item = np.unique(items, return_inverse=True)
    names = tuple(map(str, keys.tolist()))
    return RatingTable(
        person.astype(np.int64),
        item.astype(np.int64),
        rating.astype(np.float64),
        int(person.max()) + 1,
        names,
        time=None if time is None else time.astype(np.float64),
    )
