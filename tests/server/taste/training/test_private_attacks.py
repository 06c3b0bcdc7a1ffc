"""Two private trainings, with a person and without: what their difference gives back of the person.

Whoever compares has both models, unrounded, and tries the attacks that give back most of what a
person likes where nothing is private (`test_disclosure`). Noise is drawn anew for each training, so
the difference is mostly of the noise: what an attack finds of somebody who was added, it finds of
somebody who was not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray
from server.taste.noisy_log import ITEMS, LAW, PARAMETERS, exact, likes

from askew.mechanisms.covariance import Matrix, covariance
from askew_server.taste.private import fit_shrunk_factors, items_above_noise

NEWCOMERS = range(40)
ERRORS = 4  # of a mean difference of pairs
Noise = Callable[[Matrix, str], Matrix]
Scores = NDArray[np.float64]


def private(matrix: Matrix, name: str) -> Matrix:
    return LAW.perturb(matrix, bits=ShakeBits(name))


def repeated(matrix: Matrix, _: str) -> Matrix:
    """Planted: the same noise in each training."""
    return LAW.perturb(matrix, bits=ShakeBits("always"))


def none(matrix: Matrix, _: str) -> Matrix:
    """Planted: no noise at all."""
    return matrix


def liked(newcomer: int) -> list[int]:
    """What somebody likes who has a few likes: places."""
    rows, lengths = likes(), np.diff(likes().indptr)
    person = np.flatnonzero((lengths >= 5) & (lengths <= 15))[newcomer]
    return list(map(int, rows[[person]].indices))


def factors(matrix: Matrix) -> tuple[Scores, Scores]:
    """Vectors and boosts of all items, 0 and 1 where they are not kept."""
    kept = items_above_noise(matrix, PARAMETERS)
    places, fitted = kept.places, fit_shrunk_factors(kept, PARAMETERS)
    vectors, boosts = np.zeros((ITEMS, fitted.vectors.shape[1])), np.ones(ITEMS)
    vectors[places], boosts[places] = fitted.vectors, fitted.boosts
    return vectors, boosts


def given_back(before: Matrix, after: Matrix, likes_of: list[int]) -> dict[str, float]:
    """The part of somebody's likes among as many items, by each attack."""
    (first, dull), (second, bright) = factors(before), factors(after)
    scores = second @ second.T - first @ first.T
    axes = np.linalg.eigh(scores)[1]
    marks = {
        "scores": [axes[:, -1], -axes[:, -1], axes[:, 0], -axes[:, 0]],
        "lengths": [np.linalg.norm(scores, axis=1), np.diag(scores), -np.diag(scores)],
        "boosts": [np.log(bright / dull), np.log(dull / bright)],
        "row sums": [(after - before).sum(axis=1).astype(np.float64)],
        "matrix": [np.linalg.eigh((after - before).astype(np.float64))[1][:, -1]],
    }
    return {
        name: max(len({*np.argsort(-mark)[: len(likes_of)]} & {*likes_of}) for mark in versions)
        / len(likes_of)
        for name, versions in marks.items()
    }


@cache
def attacked(noise: Noise, added: bool) -> dict[str, Scores]:
    """What attacks find of each newcomer, who was added or was not."""
    results: dict[str, list[float]] = {}
    for newcomer in NEWCOMERS:
        likes_of = liked(newcomer)
        more = covariance([likes_of] if added else [], ITEMS)
        before, after = noise(exact(), f"b{newcomer}"), noise(exact() + more, f"a{newcomer}")
        for name, part in given_back(before, after, likes_of).items():
            results.setdefault(name, []).append(part)
    return {name: np.array(parts) for name, parts in results.items()}


@pytest.mark.thin
@pytest.mark.parametrize("attack", ["scores", "lengths", "boosts", "row sums", "matrix"])
def test_attacks_find_as_much_of_who_was_not_there(attack: str) -> None:
    """Of 40 people, paired by the noise. At epsilon 1 the matrix itself leaves them little."""
    gained = attacked(private, True)[attack] - attacked(private, False)[attack]
    assert gained.mean() <= ERRORS * gained.std() / np.sqrt(len(gained)) + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("noise", [none, repeated])
def test_the_same_attacks_find_who_was_there_without_fresh_noise(noise: Noise) -> None:
    """Their power, by the matrix and by the model alone. Planted bugs: no noise; noise that starts
    anew with each training.
    """
    means = {name: parts.mean() for name, parts in attacked(noise, True).items()}
    assert means["row sums"] > 0.9
    assert means["boosts"] > 0.5 > 4 * attacked(private, True)["boosts"].mean()
