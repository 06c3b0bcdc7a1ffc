"""Noise families, and the exact argmax of scores under them.

A family is given by Z = Q(E), where E is a standard exponential and Q decreasing, so that
P(Z <= Q(e)) = exp(-e). The largest of m independent draws is Q(E / m) (3.3h in the design notes:
U**(1/m) underflows, E / m does not), and the next largest Q(E / m + E' / (m - 1)) by Renyi's
representation of order statistics; so one draw stands for a whole class of m outcomes.

    exponential    -ln(1 - exp(-e))             hazard rate 1
    gumbel         -ln e                        hazard rate below 1
    laplace        -ln(2 (1 - exp(-e))) for e < ln 2, else ln 2 - e
    logistic       -ln(exp(e) - 1)
    half-logistic  ln(1 + exp(-e)) - ln(1 - exp(-e))

Each has a survival function whose logarithm is 1-Lipschitz, which is all that the Lipschitz
mechanism asks (Shekelyan, Loukides 2022, Definition 2.1; the signs of the Laplace and logistic
quantiles printed there are corrected).

Exactness. A score's noise is a real number known by the bits of its uniforms. Float64 ranks the
scores; those that it cannot tell apart from the winner are compared by integer enclosures, with as
many more bits as it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.enclosure import exp_minus, ln2, log_ratio
from askew.errors import ParameterError
from askew.randomness import RandomBits

NoiseFamily = Literal["exponential", "gumbel", "laplace", "logistic", "half-logistic"]
FAMILIES: tuple[NoiseFamily, ...] = (
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "half-logistic",
)
Floats = NDArray[np.float64]
Link = tuple["Uniform", Fraction]
_LN2 = float(np.log(2))


def check_family(noise: str) -> None:
    """Raises ParameterError unless `noise` names a family."""
    if noise not in FAMILIES:
        raise ParameterError("noise", noise, "one of " + ", ".join(FAMILIES))


def quantiles(family: NoiseFamily, log_e: Floats) -> Floats:
    """Q(e) from ln e, without underflow for ln e far below -700.

    |dQ / d ln e| is at most max(1, e + 1) in every family, so an error in ln e stays small.
    """
    if family == "gumbel":
        return -log_e
    e = np.exp(log_e)
    # -ln(1 - exp(-e)) = -ln e - ln((1 - exp(-e)) / e), whose last part is e / 2 for tiny e
    tiny = e < 2.0**-30
    safe = np.where(tiny, 1.0, e)
    upper = np.where(tiny, -log_e + e / 2, -np.log(-np.expm1(-safe)))
    if family == "exponential":
        return upper
    if family == "half-logistic":
        return np.log1p(np.exp(-e)) + upper
    if family == "logistic":
        return upper - e
    return np.where(e < _LN2, upper - _LN2, _LN2 - e)


@dataclass(repr=False)
class Uniform:
    """A uniform real in [0, 1), as many bits of it as anybody has asked for."""

    word: int
    known: int = 64

    def extend(self, bits: RandomBits) -> None:
        """Read 64 bits more."""
        self.word = (self.word << 64) | int.from_bytes(bits.read(8))
        self.known += 64

    def exponential(self, precision: int) -> tuple[int, int | None]:
        """Bounds of -ln U; no upper bound while every known bit of U is zero."""
        whole = 1 << self.known
        low = max(0, log_ratio(whole, self.word + 1, precision)[0])
        return low, log_ratio(whole, self.word, precision)[1] if self.word else None


@dataclass(repr=False)
class Noisy:
    """score + Q(E_1 / m_1 + E_2 / m_2 + ...), comparable exactly.

    approximate is its float64 value, wrong by at most `slack` (infinite slack: no idea). e is the
    float64 sum of the links where somebody computed it.
    """

    family: NoiseFamily
    key: int
    score: Fraction
    links: list[tuple[Uniform, Fraction]]
    approximate: float
    slack: float
    e: float = 0.0

    def bounds(self, precision: int) -> tuple[int | None, int | None]:
        """Enclosure of the value times 2**precision; None where it is unbounded."""
        work = precision + 64 + max(_bits(m) for _, m in self.links)
        low: int = 0
        high: int | None = 0
        for uniform, m in self.links:
            least, most = uniform.exponential(work)
            low += least * m.denominator // m.numerator
            unbounded = high is None or most is None
            high = None if unbounded else high - (-most * m.denominator // m.numerator)  # type: ignore[operator]
        offset = (self.score * (1 << work)).__floor__()
        down, up = _quantile(self.family, high, work), _quantile(self.family, low, work)
        drop = work - precision
        return (
            None if down is None else (offset + down[0]) >> drop,
            None if up is None else ((offset + up[1]) >> drop) + 2,
        )

    def extend(self, bits: RandomBits) -> None:
        """Know more of every uniform."""
        for uniform, _ in self.links:
            uniform.extend(bits)


def _bits(m: Fraction) -> int:
    return m.numerator.bit_length() + m.denominator.bit_length()


def _quantile(family: NoiseFamily, e: int | None, p: int) -> tuple[int, int] | None:
    """Enclosure of Q(e / 2**p) * 2**p; None where Q is infinite (e = 0) or e is unbounded."""
    if e is None:
        return (0, 0) if family in ("exponential", "half-logistic") else None
    if e <= 0:
        return None
    one = 1 << p
    if family == "gumbel":
        return log_ratio(one, e, p)
    if family == "laplace" and e > ln2(p):
        return ln2(p) - e, ln2(p) + 2 - e
    low, high = exp_minus(e, p)
    high = min(high, one - 1)
    upper = log_ratio(one, one - low, p)[0], log_ratio(one, one - high, p)[1]
    if family == "exponential":
        return upper
    if family == "laplace":
        return upper[0] - ln2(p) - 2, upper[1] - ln2(p)
    if family == "logistic":
        return upper[0] - e, upper[1] - e
    more = log_ratio(one + low, one, p)[0], log_ratio(one + high, one, p)[1]
    return upper[0] + more[0], upper[1] + more[1]


def compare(a: Noisy, b: Noisy, bits: RandomBits) -> int:
    """1 if a is above b, -1 if below; equality has probability zero."""
    difference = a.approximate - b.approximate
    if abs(difference) > a.slack + b.slack:
        return 1 if difference > 0 else -1
    precision = 64
    while True:
        (a_low, a_high), (b_low, b_high) = a.bounds(precision), b.bounds(precision)
        if a_low is not None and b_high is not None and a_low > b_high:
            return 1
        if b_low is not None and a_high is not None and b_low > a_high:
            return -1
        a.extend(bits)
        b.extend(bits)
        precision += 64


def descending(noisy: list[Noisy], bits: RandomBits) -> list[Noisy]:
    """Sorted from the highest to the lowest, exactly."""

    def order(a: Noisy, b: Noisy) -> int:
        return compare(b, a, bits)

    return sorted(noisy, key=cmp_to_key(order))
