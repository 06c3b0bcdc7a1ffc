"""Item vectors at 4 bits a number, and boosts at 8: all that anybody stores of an item's score.

    number = (code - 8) * scale_j,    code in 0..15, scale_j of the space, one a ranking dimension
    boost  = 2**((code - 192) / 8),   code in 0..255

Training rounds vectors and boosts to such numbers before it makes anything of them, so a device and
its server rank by the very same ones. Codes of a vector are packed two to a byte, the first in the
low half; an odd one out leaves the high half 0. Every code is a number, so hostile ones decode to
finite numbers too. Both directions are deterministic: equal vectors make equal bytes.

A device keeps `CodedVectors`: the codes, an eighth of the numbers, which it decodes where it needs
them.

Shapes: n items, D ranking dimensions, W = ceil(D / 2) bytes an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from askew.errors import Malformed, OutOfRange

MAX_SCALE = 64.0  # so that a number is at most 512
_ZERO, _TOP = 8, 15
_AT_ONCE = 1 << 14  # vectors: they are eight times as large as their codes, and wider on the way
_BOOST_ZERO, _BOOST_STEPS = 192, 8
Codes = NDArray[np.uint8]
Vectors = NDArray[np.float32]

# By whole powers and a table, so that no machine's own power function decides about a bit.
_EIGHTHS = np.array(
    [
        1.0,
        1.0905077326652577,
        1.189207115002721,
        1.2968395546510096,
        1.414213562373095,
        1.5422108254079407,
        1.681792830507429,
        1.8340080864093424,
    ]
)
_PLACES = np.arange(256) - _BOOST_ZERO
_BOOSTS = np.ldexp(_EIGHTHS[_PLACES % _BOOST_STEPS], _PLACES // _BOOST_STEPS).astype(np.float32)


def scales_of(vectors: Vectors) -> Vectors:
    """Return the scales (D,) whose code 15 is the largest number of these vectors (n, D), in size,
    so a seventh of it; at least 2**-40 and at most 64.
    """
    # Finer ones round better on average and cut the vectors of the items that win: on ratings
    # tried, they lost.
    largest = np.abs(vectors).max(axis=0) / np.float32(_TOP - _ZERO)
    scales: Vectors = np.clip(largest, 2.0**-40, MAX_SCALE).astype(np.float32)
    return scales


def rounded(vectors: Vectors, scales: Vectors) -> Vectors:
    """Return the nearest vectors (n, D) that codes at these scales (D,) can say: whole multiples of
    a scale, -8 to 7 of them; a half goes to the even one.
    """
    return _numbers(_steps(vectors, scales), scales)


def encode(vectors: Vectors, scales: Vectors) -> Codes:
    """Return codes (n, W) of vectors (n, D): number / scale + 8, two a byte, the first in the low
    half. Raises OutOfRange unless they say them exactly.
    """
    packed: Codes = np.empty((len(vectors), (len(scales) + 1) // 2), dtype=np.uint8)
    for start in range(0, len(vectors), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        codes = _steps(vectors[part], scales)
        if not (_numbers(codes, scales) == vectors[part]).all():
            raise OutOfRange("an item vector", "one that 4-bit codes of its space can say")
        packed[part] = codes[:, ::2]
        packed[part, : len(scales) // 2] |= codes[:, 1::2] << 4
    return packed


def decode(data: bytes, scales: Vectors, n: int) -> Vectors:
    """Return the vectors (n, D), float32, of codes. Raises Malformed as `check_codes`."""
    return numbers_of(check_codes(data, len(scales), n), scales)


def check_codes(data: bytes, D: int, n: int) -> Codes:  # noqa: N803 - as in the formulas
    """Return the codes (n, W), uint8, of n vectors of D numbers, two a byte, W = ceil(D / 2).
    Raises Malformed for another size, and where an odd D leaves half a byte that is not 0.
    """
    width = (D + 1) // 2
    if len(data) != n * width:
        raise Malformed(f"expected 4-bit codes of {n} items in {D} dimensions")
    codes: Codes = np.frombuffer(data, dtype=np.uint8).reshape(n, width)
    if D % 2 and (codes[:, -1] >> 4).any():
        raise Malformed("the codes of an item end in something else")
    return codes


def numbers_of(codes: Codes, scales: Vectors) -> Vectors:
    """Return the vectors (..., D) of checked codes (..., W): (code - 8) * scale."""
    pairs = np.stack([codes & 15, codes >> 4], axis=-1)
    every = pairs.reshape(*codes.shape[:-1], 2 * codes.shape[-1])
    return _numbers(every[..., : len(scales)], scales)


def check_scales(scales: Vectors) -> None:
    """Raise OutOfRange unless all scales are above 0 and at most 64; NaN is not."""
    if not ((scales > 0) & (scales <= MAX_SCALE)).all():  # NaN is not
        raise OutOfRange("a scale of item vectors", f"positive and at most {MAX_SCALE:g}")


def rounded_boosts(boosts: Vectors) -> Vectors:
    """Return the nearest boosts that codes can say, by their logarithms, float32: powers of
    2**(1/8) from 2**-24 to 2**7.875, which is also what is beyond them.
    """
    nearest: Vectors = _BOOSTS[_boost_codes(boosts)]
    return nearest


def encode_boosts(boosts: Vectors) -> bytes:
    """Return one byte for each boost, 192 + 8 log2(boost), so 192 for 1. Raises OutOfRange unless
    codes can say them exactly.
    """
    codes = _boost_codes(boosts)
    if not (_BOOSTS[codes] == boosts).all():
        raise OutOfRange("a boost", "an eighth root of a power of two")
    return codes.tobytes()


def decode_boosts(data: bytes) -> Vectors:
    """Return the boosts (n,), float32, of n bytes: 2**((byte - 192) / 8); every byte stands for
    one.
    """
    boosts: Vectors = _BOOSTS[np.frombuffer(data, dtype=np.uint8)]
    return boosts


def _steps(vectors: Vectors, scales: Vectors) -> Codes:
    steps = np.rint(vectors.astype(np.float64) / scales) + _ZERO
    codes: Codes = np.minimum(np.maximum(steps, 0), _TOP).astype(np.uint8)
    return codes


def _numbers(codes: Codes, scales: Vectors) -> Vectors:
    numbers: Vectors = codes.astype(np.float32)  # in place from here on: they may be large
    numbers -= np.float32(_ZERO)
    numbers *= scales.astype(np.float32)
    return numbers


def _boost_codes(boosts: Vectors) -> Codes:
    steps = np.rint(np.log2(boosts.astype(np.float64)) * _BOOST_STEPS) + _BOOST_ZERO
    codes: Codes = np.minimum(np.maximum(steps, 0), 255).astype(np.uint8)
    return codes


_ROWS = 1 << 16  # items


class CodedVectors:
    """Vectors (n, D) float32 by their codes (n, W) and scales (D,), each times its boost.

    An array in what devices ask of one: rows, products, and all of it for what asks for more.
    """

    dtype, ndim = np.dtype(np.float32), 2

    def __init__(self, codes: Codes, scales: Vectors, boosts: Vectors | None = None) -> None:
        self._codes, self._scales, self._boosts = codes, scales, boosts

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, D)."""
        return len(self._codes), len(self._scales)

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, rows: int | slice | Sequence[int] | NDArray[np.integer]) -> Vectors:
        """Return the vectors of these rows, times their boosts, as a float32 array."""
        numbers = numbers_of(self._codes[rows], self._scales)
        if self._boosts is not None:
            numbers *= self._boosts[rows, None]
        return numbers

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all vectors (n, D) as an array; no copy is kept."""
        return np.asarray(self[:], dtype)

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        """Return the product with (D,) or (D, d), computed some rows at a time; (n,) or (n, d)."""
        return np.concatenate([part @ other for part in self._parts()])

    def __mul__(self, boosts: Vectors) -> CodedVectors:
        """Return the vectors times their boosts, (n, 1)."""
        before = np.float32(1) if self._boosts is None else self._boosts
        return CodedVectors(self._codes, self._scales, before * boosts[:, 0])

    def joined(self, vectors: Vectors) -> CodedVectors:
        """Return these vectors, without boosts, and others (m, D) behind them. Raises OutOfRange
        unless codes at these scales can say them exactly.
        """
        return CodedVectors(
            np.concatenate([self._codes, encode(vectors, self._scales)]), self._scales
        )

    def min(self, initial: float) -> np.float32:
        """Return the least of all numbers and `initial`."""
        parts = (part.min(initial=initial) for part in self._parts())
        return np.float32(min(parts, default=initial))

    def max(self, initial: float) -> np.float32:
        """Return the largest of all numbers and `initial`."""
        parts = (part.max(initial=initial) for part in self._parts())
        return np.float32(max(parts, default=initial))

    def _parts(self) -> Iterator[Vectors]:
        return (self[at : at + _ROWS] for at in range(0, len(self), _ROWS))


def coded_vectors(data: bytes, scales: Vectors, n: int) -> Vectors:
    """Return CodedVectors (n, D), which a catalog takes for an array. Raises Malformed as
    `check_codes`.
    """
    return cast("Vectors", CodedVectors(check_codes(data, len(scales), n), scales))


def joined_vectors(before: Vectors, more: Vectors) -> Vectors:
    """Return vectors (n, D), and others (m, D) behind them; as codes where the first are, and then
    OutOfRange is raised as by `CodedVectors.joined`.
    """
    if isinstance(before, CodedVectors):
        return cast("Vectors", before.joined(more))
    return np.concatenate([before, more])
