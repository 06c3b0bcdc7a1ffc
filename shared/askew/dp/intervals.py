"""Enclosures of exp and log by integers: what lets a draw be exact without exact reals.

Numbers are fixed-point: an integer v at precision p stands for v / 2**p. Every function returns
integers low <= true value * 2**p <= high with high - low <= 4. All arithmetic is on Python's
integers; the only rounding is `>>` and `//`, which round down and lose less than one unit each.
Each function works with enough guard bits that all its units together are below one unit of the
result; the count is in a comment beside it.
"""

from __future__ import annotations

import math
from functools import lru_cache

_GUARD = 32


@lru_cache(maxsize=64)
def ln2(precision: int) -> int:
    """Return floor(ln 2 * 2**precision), or one less.

    18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749). Each series has fewer than `precision`
    terms, each off by at most one unit, so the sum is off by fewer than 28 * precision < 2**31.
    """
    scale = precision + _GUARD + 1
    total = sum(c * _artanh_inverse(n, scale) for c, n in ((18, 26), (-2, 4801), (8, 8749)))
    return total >> (_GUARD + 1)


def _artanh_inverse(n: int, scale: int) -> int:
    power, total, odd = (1 << scale) // n, 0, 1
    while power:
        total += power // odd
        power //= n * n
        odd += 2
    return total


def exp_minus(x: int, precision: int) -> tuple[int, int]:
    """Return integers (low, high) around exp(-x / 2**precision) * 2**precision, at most 4 apart,
    for an int x >= 0.
    """
    if x.bit_length() > precision + precision.bit_length():
        return 0, 1  # exp(-x) < 2**-precision
    value = _exp_minus(x << _GUARD, precision + _GUARD) >> _GUARD
    return max(value - 1, 0), min(value + 2, 1 << precision)


def _exp_minus(x: int, scale: int) -> int:
    # exp(-x / 2**scale), off by less than 2**(_GUARD - 2) units.
    halvings = math.isqrt(scale) // 2 + 4
    work = scale + halvings  # squaring doubles an error; the extra bits pay for it
    base = ln2(work + x.bit_length())  # multiplied by n < 2**x.bit_length()
    n, rest = divmod((x << halvings) << x.bit_length(), base)
    y = rest >> (x.bit_length() + halvings)
    term, total, i = 1 << work, 1 << work, 1
    while term:
        term = (term * y >> work) // i
        total += -term if i & 1 else term
        i += 1
    # Fewer than 2**9 terms, each off by at most 2 units, and 2 units for y: below 2**11. Every
    # squaring doubles the error and adds one: below 2**(halvings + 12) in all, 2**12 at `scale`.
    for _ in range(halvings):
        total = total * total >> work
    return total >> (halvings + n)


def log_ratio(numerator: int, denominator: int, precision: int) -> tuple[int, int]:
    """Return integers (low, high), 3 apart, around ln(numerator / denominator) * 2**precision, of
    positive integers and a precision of at least 28; either sign.

    With 2**e the power of two that brings the ratio to m in [1, 2) or so, and y a float near ln m:
    ln ratio = e ln 2 + y + ln(m exp(-y)), whose last logarithm is tiny and taken by its series.
    """
    work = precision + _GUARD
    e = numerator.bit_length() - denominator.bit_length() - 1
    shift = work - e
    m = (numerator << shift) // denominator if shift >= 0 else numerator // (denominator << -shift)
    y = max(0, int(math.log(m >> (work - 60)) * 2**50) - int(60 * math.log(2) * 2**50)) << (
        work - 50
    )
    near_one = m * _exp_minus(y, work) >> work
    log = y + _log_near_one(near_one, work)
    # m, exp, the product and the series together are off by fewer than 2**20 units, and e ln 2
    # by e units at 64 bits more.
    value = (log + (e * ln2(work + 64) >> 64)) >> _GUARD
    return value - 1, value + 2


def _log_near_one(t: int, work: int) -> int:
    # ln(t) = 2 artanh((t - 1) / (t + 1)) for t within 2**-20 of one.
    one = 1 << work
    s = ((t - one) << work) // (t + one)
    square = s * s >> work
    total, power, odd = 0, s, 1
    while power not in (0, -1):
        total += power // odd
        power = power * square >> work
        odd += 2
    return 2 * total
