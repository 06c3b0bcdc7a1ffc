"""Vectors that are kept as codes are the numbers that the codes say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import Malformed
from askew.spaces.item_codes import CodedVectors, decode, encode, held_vectors, rounded, scales_of

N = (1 << 16) + 3  # more than are made at once


@pytest.fixture(params=[4, 5])
def pair(request: pytest.FixtureRequest) -> tuple[CodedVectors, NDArray[np.float32]]:
    """The same vectors as codes and as numbers."""
    vectors = np.random.default_rng(2).normal(size=(N, request.param)).astype(np.float32)
    scales = scales_of(vectors)
    plain = rounded(vectors, scales)
    return CodedVectors(encode(plain, scales), scales), plain


def test_rows_are_the_same_however_they_are_named(
    pair: tuple[CodedVectors, NDArray[np.float32]],
) -> None:
    coded, plain = pair
    assert (coded.shape, len(coded), coded.ndim, coded.dtype) == (plain.shape, N, 2, plain.dtype)
    for rows in (3, [5, 2, 5], [], slice(2, 9), np.array([N - 1, 0])):
        assert np.array_equal(coded[rows], plain[rows])
    assert np.array_equal(np.asarray(coded), plain)
    assert (coded.min(initial=0), coded.max(initial=0)) == (plain.min(), plain.max())


def test_products_are_those_of_the_numbers(
    pair: tuple[CodedVectors, NDArray[np.float32]],
) -> None:
    """Planted bug: the last vectors, fewer than are made at once, left out."""
    coded, plain = pair
    taste = np.arange(1.0, 1 + plain.shape[1])
    assert np.allclose(coded @ taste, plain @ taste, rtol=1e-12)
    directions = np.ones((plain.shape[1], 2), np.float32)
    assert np.allclose(coded @ directions, plain @ directions, rtol=1e-5, atol=1e-5)


def test_boosts_are_of_their_own_vectors_and_may_be_taken_twice(
    pair: tuple[CodedVectors, NDArray[np.float32]],
) -> None:
    coded, plain = pair
    boosts = np.random.default_rng(3).uniform(1, 2, (N, 1)).astype(np.float32)
    boosted = coded * boosts
    assert np.array_equal(np.asarray(boosted), plain * boosts)
    for rows in (3, [5, 2, 5], slice(N - 2, N)):
        assert np.array_equal(boosted[rows], (plain * boosts)[rows])
    assert np.array_equal(np.asarray(boosted * boosts), plain * (boosts * boosts))


@pytest.mark.parametrize("data", [b"", bytes(5), bytes(7), b"\x00\x00\x10\x00\x00\x00"])
def test_codes_of_another_size_are_refused_as_they_are_where_all_are_made(data: bytes) -> None:
    scales = np.ones(5, np.float32)
    for reading in (decode, held_vectors):
        with pytest.raises(Malformed):
            reading(data, scales, 2)
