"""Item vectors at 4 bits: what survives the trip, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from askew.errors import Malformed, OutOfRange
from askew.local_model import MAX_SCALE, decode_vectors, encode_vectors

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
MODELS = arrays(np.float32, SHAPES, elements=st.floats(-1024, 1024, width=32))


@given(MODELS)
def test_no_coordinate_moves_by_more_than_half_a_step(vectors: np.ndarray) -> None:
    scales, codes = encode_vectors(vectors)
    decoded = decode_vectors(scales, codes, len(vectors))
    assert decoded.shape == vectors.shape
    assert (np.abs(decoded - vectors) <= 0.5001 * scales + 1e-37).all()


@given(MODELS)
def test_what_was_decoded_is_encoded_as_it_came(vectors: np.ndarray) -> None:
    """A device can therefore check an answer against its own catalog by equality."""
    first = encode_vectors(vectors)
    again = encode_vectors(vectors.copy())
    assert first[1] == again[1]
    assert first[0].tobytes() == again[0].tobytes()


def test_the_ends_of_a_scale_are_met_and_a_dimension_of_zeros_stays_zero() -> None:
    vectors = np.array([[7.5, 0], [-7.5, 0], [0.5, 0]], dtype=np.float32)
    scales, codes = encode_vectors(vectors)
    assert scales.tolist() == [1.0, 0.0]
    assert decode_vectors(scales, codes, 3).tolist() == vectors.tolist()


def test_codes_are_packed_low_half_first_and_an_odd_one_leaves_the_high_half_empty() -> None:
    # Steps -7.5, -6.5, 7.5 are codes 0, 1, 15.
    assert encode_vectors(np.array([[-7.5], [-6.5], [7.5]], np.float32))[1] == bytes([0x10, 0x0F])


def test_twenty_items_of_thirty_two_dimensions_fit_in_600_bytes_with_ids() -> None:
    scales, codes = encode_vectors(np.ones((20, 32), dtype=np.float32))
    assert len(codes) == 20 * 16
    assert 4 * 20 + len(codes) + 4 * len(scales) <= 528


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, -1.0, 2 * MAX_SCALE])
def test_a_scale_that_could_make_nonsense_is_refused(scale: float) -> None:
    with pytest.raises(OutOfRange, match="a scale of a local model"):
        decode_vectors(np.array([1.0, scale], np.float32), b"\x00\x00", 2)


@pytest.mark.parametrize("codes", [b"", b"\0", b"\0\0\0"])
def test_codes_of_another_size_are_refused(codes: bytes) -> None:
    with pytest.raises(Malformed, match="4-bit codes of 3 items in 1 dimensions"):
        decode_vectors(np.ones(1, np.float32), codes, 3)


def test_a_full_half_after_the_last_code_is_refused() -> None:
    with pytest.raises(Malformed, match="something else"):
        decode_vectors(np.ones(1, np.float32), b"\x00\x10", 3)


@given(st.binary(min_size=8, max_size=8), st.floats(0, MAX_SCALE, width=32))
def test_any_codes_of_the_right_size_decode_to_finite_numbers(codes: bytes, scale: float) -> None:
    decoded = decode_vectors(np.full(4, scale, np.float32), codes, 4)
    assert np.isfinite(decoded).all()
    assert (np.abs(decoded) <= 7.5 * scale).all()
