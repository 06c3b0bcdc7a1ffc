"""Item vectors at 4 bits and boosts at 8: what survives the trip, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from askew.catalog.catalog import Catalog, ItemColumns
from askew.catalog.item import Item
from askew.errors import Malformed, OutOfRange
from askew.spaces.item_codes import (
    MAX_SCALE,
    CodedVectors,
    check_scales,
    coded_vectors,
    decode,
    decode_boosts,
    encode,
    encode_boosts,
    rounded,
    rounded_boosts,
    scales_of,
)

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
VECTORS = arrays(np.float32, SHAPES, elements=st.floats(-256, 256, width=16))
ONES = np.ones(1, np.float32)


@given(VECTORS)
def test_what_is_rounded_survives_to_the_bit_and_nothing_is_as_it_was(vectors: np.ndarray) -> None:
    """So a device can check an answer against what it holds by equality, and 0 stays 0."""
    scales = scales_of(vectors)
    near = rounded(vectors, scales)
    assert (np.abs(near - vectors) <= 0.5001 * scales).all()  # of a step
    codes = encode(near, scales)
    assert decode(codes.tobytes(), scales, len(near)).tobytes() == near.tobytes()
    assert rounded(near, scales).tobytes() == near.tobytes()
    assert (near[vectors == 0] == 0).all()


def test_codes_are_packed_low_half_first_and_each_item_begins_a_byte() -> None:
    # Numbers -8, -7, 7 are codes 0, 1, 15; a dimension of one leaves every high half empty.
    column = np.array([[-8.0], [-7.0], [7.0]], np.float32)
    assert encode(column, ONES).tobytes() == bytes([0x00, 0x01, 0x0F])
    row = np.array([[-8.0, -7.0, 7.0]], np.float32)
    assert encode(row, np.ones(3, np.float32)).tobytes() == bytes([0x10, 0x0F])


@pytest.mark.parametrize("number", [0.5, 8.0, np.nan])
def test_a_vector_that_codes_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(OutOfRange, match="4-bit codes of its space"), np.errstate(invalid="ignore"):
        encode(np.array([[number]], np.float32), ONES)


@pytest.mark.parametrize("scale", [np.nan, 0.0, 2 * MAX_SCALE])
def test_a_scale_that_could_make_nonsense_is_refused(scale: float) -> None:
    with pytest.raises(OutOfRange, match="a scale of item vectors"):
        check_scales(np.array([1.0, scale], np.float32))


def test_no_rows_have_the_ends_that_a_caller_names() -> None:
    nothing = CodedVectors(np.empty((0, 1), np.uint8), ONES)
    assert nothing.min(initial=0) == 0
    assert nothing.max(initial=1) == 1


def test_every_byte_is_a_boost_and_comes_back() -> None:
    every = bytes(range(256))
    boosts = decode_boosts(every)
    assert (np.diff(boosts) > 0).all()
    assert encode_boosts(boosts) == every
    assert boosts[192] == 1.0
    np.testing.assert_allclose(boosts, 2.0 ** ((np.arange(256) - 192) / 8), rtol=1e-7)


def test_powers_of_two_are_boosts_as_they_are_and_others_the_nearest() -> None:
    """Boosts are inverse roots of classes of likes, which are powers of four."""
    assert rounded_boosts(np.array([1, 0.5, 2.0**-10], np.float32)).tolist() == [1, 0.5, 2.0**-10]
    near = rounded_boosts(np.array([0.7, 3.0], np.float32))
    np.testing.assert_allclose(near, [0.7, 3.0], rtol=2 ** (1 / 16) - 1)
    with pytest.raises(OutOfRange, match="an eighth root"):
        encode_boosts(np.array([0.7], np.float32))


N = (1 << 16) + 3  # more than are made at once


@pytest.mark.parametrize("d", [4, 5])
def test_rows_products_and_boosts_are_those_of_the_numbers(d: int) -> None:
    """Planted bug: the last vectors, fewer than are made at once, left out."""
    vectors = np.random.default_rng(2).normal(size=(N, d)).astype(np.float32)
    scales = scales_of(vectors)
    plain = rounded(vectors, scales)
    coded = CodedVectors(encode(plain, scales), scales)
    assert (coded.shape, coded.ndim, coded.dtype) == (plain.shape, 2, plain.dtype)
    for rows in (3, [5, 2, 5], [], slice(2, 9), np.array([N - 1, 0])):
        assert np.array_equal(coded[rows], plain[rows])
    assert (coded.min(initial=0), coded.max(initial=0)) == (plain.min(), plain.max())
    taste = np.arange(1.0, 1 + d)
    assert np.allclose(coded @ taste, plain @ taste, rtol=1e-12)
    directions = np.ones((d, 2), np.float32)
    assert np.allclose(coded @ directions, plain @ directions, rtol=1e-5, atol=1e-5)
    boosts = np.random.default_rng(3).uniform(1, 2, (N, 1)).astype(np.float32)
    boosted = coded * boosts
    assert np.array_equal(np.asarray(boosted), plain * boosts)
    for rows in (3, [5, 2, 5], slice(N - 2, N)):
        assert np.array_equal(boosted[rows], (plain * boosts)[rows])
    assert np.array_equal(np.asarray(boosted * boosts), plain * (boosts * boosts))


def test_a_joined_catalog_is_the_whole_one() -> None:
    """Planted bugs: the boosts of what is held for what was received; received items in front."""
    rng = np.random.default_rng(4)
    items = tuple([Item(f"Item {at}", 1900 + at, ("drama",) * (at % 2)) for at in range(10)])
    vectors = rng.normal(size=(10, 5)).astype(np.float32)
    scales = scales_of(vectors)
    plain = rounded(vectors, scales)
    boosts = rng.uniform(1, 2, 10).astype(np.float32)
    coded = coded_vectors(encode(plain[:7], scales).tobytes(), scales, 7)
    held = Catalog(ItemColumns.of(items[:7]), coded, boosts[:7], (2, 0))
    catalog = held.joined(Catalog(items[7:], plain[7:], boosts[7:], ()))
    whole = Catalog(items, plain, boosts, (2, 0))
    assert (len(catalog), catalog.version) == (10, whole.version)
    assert np.array_equal(np.asarray(catalog.scoring), whole.scoring)


@pytest.mark.parametrize("data", [bytes(5), b"\x00\x00\x10\x00\x00\x00"])
def test_codes_of_another_size_are_refused_as_they_are_where_all_are_made(data: bytes) -> None:
    scales = np.ones(5, np.float32)
    for reading in (decode, coded_vectors):
        with pytest.raises(Malformed):
            reading(data, scales, 2)
