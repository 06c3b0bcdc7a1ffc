"""A private model: all that is published of it is a function of one noisy matrix and public things.

    inputs    the noisy matrix (`askew.mechanisms.covariance`), the keys and words of a public
              catalog, and `PrivateParameters`
    items     by noisy row sums, vectors and boosts by symmetric EASE of the matrix
    the rest  by simulated people alone: codes, space, shared slate, figures, counts

so the model is as private as the matrix, (epsilon, delta) for a person's whole history, and its
making costs nothing more. Nothing here has a way to a rating of a real person. Who is simulated
likes what they have seen: real people's seen items are nowhere.

The same inputs make the same model, byte for byte: seeds are public. A figure says what a mode
gives *simulated* people whom nothing was chosen by; the card says so. What a mode gives real people
the model cannot say, and measuring it on them is a use of their ratings that the guarantee does
not cover.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from askew.errors import ParameterError
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste.model.item_model import ItemModel, Step, train
from askew_server.taste.training.imported_vectors import as_ratings
from askew_server.taste.training.item_vectors import ImportedVectors
from askew_server.taste.training.options import in_words
from askew_server.taste.training.private import (
    Copula,
    KeptItems,
    Noisy,
    PrivateParameters,
    factors_of,
    kept_items,
    penalty_of,
    rank_by_likes,
)

PEOPLE = 6000
"""Simulated people, by whom a space is fitted and modes are measured."""


def private_model(
    noisy: Noisy,
    keys: tuple[str, ...],
    rows: Mapping[str, ItemRow],
    parameters: PrivateParameters,
    *,
    step: Step = lambda _: None,
) -> ItemModel:
    """Return the model of a noisy matrix, whose place i is the item keys[i]. step: as in
    `item_model.train`. Deterministic.

    Raises ParameterError where matrix and keys do not fit, and DataError, by the noisy matrix
    alone, where too little rises above the noise.
    """
    _check(noisy, keys)
    step("item vectors")
    kept = kept_items(noisy, parameters)
    factors = factors_of(kept, parameters)
    step("simulated people")
    likes, table = _simulate(kept, keys, parameters)
    options = replace(
        parameters.training,
        penalty=penalty_of(likes),
        ranking_dimension=factors.vectors.shape[1],
        neighbors=0,
        min_ratings=1,
        like_from=None,
    )
    vectors, boosts = factors.vectors.astype(np.float32), factors.boosts.astype(np.float32)
    return train(
        table,
        rows,
        options,
        source=source_of(kept, parameters),
        simulated=True,
        vectors=ImportedVectors(table.item_keys, vectors, parameters.scale, boosts),
        step=step,
    )


def simulated_table(
    noisy: Noisy, keys: tuple[str, ...], parameters: PrivateParameters
) -> RatingTable:
    """Return ratings of the 6,000 simulated people that a model of this matrix is fitted to, of the
    items that are kept: each like as the highest rating of the scale. Raises as `private_model`.
    """
    _check(noisy, keys)
    return _simulate(kept_items(noisy, parameters), keys, parameters)[1]


def popularity_list(noisy: Noisy, keys: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the keys of the `count` items with the largest noisy row sums, the largest first; all
    where there are fewer. The list costs nothing beside the matrix.
    """
    _check(noisy, keys)
    return tuple([keys[place] for place in rank_by_likes(noisy)[:count].tolist()])


def source_of(kept: KeptItems, parameters: PrivateParameters, *, updated: bool = False) -> str:
    """Return the words with which a card says where a private model comes from: about how many
    people, with which epsilon and delta. updated: its space is of an earlier matrix, of the same
    people perhaps.
    """
    promise = f"epsilon {float(parameters.epsilon):g}, delta {float(parameters.delta):g}"
    people = f"of the likes of {in_words(round(kept.people))} people ({promise}"
    if updated:
        return (
            f"another noisy matrix {people} more, for all that a person likes); the space and all"
            " else are of people SIMULATED from it and from those before"
        )
    return (
        f"one noisy matrix {people} for all that a person likes); figures and all else are of "
        "people SIMULATED from it"
    )


def _simulate(
    kept: KeptItems, keys: tuple[str, ...], parameters: PrivateParameters
) -> tuple[csr_array, RatingTable]:
    rng = np.random.default_rng([parameters.training.seed, 19])  # made-up people: protects nobody
    likes = Copula.of(kept, parameters).sample(PEOPLE, rng)
    kept_keys = tuple([keys[place] for place in kept.places.tolist()])
    pairs = np.column_stack(likes.nonzero()).astype(np.int64)
    return likes, as_ratings(pairs, kept_keys, parameters.scale)


def _check(noisy: Noisy, keys: tuple[str, ...]) -> None:
    if noisy.dtype != np.int64 or noisy.shape != (len(keys), len(keys)):
        limit = f"64-bit integers, one row and one column for each of {len(keys)} items"
        raise ParameterError("noisy", f"{noisy.dtype} of shape {noisy.shape}", limit)
