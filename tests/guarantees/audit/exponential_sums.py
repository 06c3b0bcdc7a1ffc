"""Exact integrals of products of exponential and Laplace laws, to 100 digits.

Between the scores, the density and the distribution function of either law are sums of terms
c exp(p t) t^q with whole p and q >= 0, and sums, products and antiderivatives of such are such. So
every probability that noisy scores come in some order is a finite sum: nothing is sampled and no
step is approximated but the rounding of 120-digit decimals, which leaves far more than the 60
digits that `RESIDUAL` speaks of (the laws add to one to that many, which a test checks).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from math import factorial

DIGITS = Context(prec=120)
RESIDUAL = Fraction(1, 10**60)
Terms = dict[tuple[int, int], Decimal]  # (p, q): c stands for c exp(p t) t^q
ONE: Terms = {(0, 0): Decimal(1)}


@dataclass(frozen=True)
class Pieces:
    """A function of t: pieces[i] up to breaks[i], the last one beyond."""

    breaks: tuple[Decimal, ...]
    pieces: tuple[Terms, ...]

    def __mul__(self, other: Pieces) -> Pieces:
        """The product of two functions with the same breaks."""
        pairs = zip(self.pieces, other.pieces, strict=True)
        return Pieces(self.breaks, tuple(_product(a, b) for a, b in pairs))

    def tail(self) -> Pieces:
        """Its integral from t to infinity."""
        beyond, tails = Decimal(0), []
        ends = [*self.breaks, None]
        for i in reversed(range(len(self.pieces))):
            whole = _antiderivative(self.pieces[i])
            terms = {power: -c for power, c in whole.items()}
            constant = beyond + _value(whole, ends[i])
            terms[0, 0] = terms.get((0, 0), Decimal(0)) + constant
            tails.append(terms)
            beyond = constant - (_value(whole, ends[i - 1]) if i else Decimal(0))
        return Pieces(self.breaks, tuple(reversed(tails)))

    def integral(self) -> Decimal:
        """Over the whole line."""
        ends, total = [None, *self.breaks, None], Decimal(0)
        for i, terms in enumerate(self.pieces):
            whole = _antiderivative(terms)
            total += _value(whole, ends[i + 1]) - _value(whole, ends[i])
        return total


def _product(a: Terms, b: Terms) -> Terms:
    terms: Terms = defaultdict(Decimal)
    for (p, q), c in a.items():
        for (r, s), d in b.items():
            terms[p + r, q + s] += c * d
    return dict(terms)


def _antiderivative(terms: Terms) -> Terms:
    whole: Terms = defaultdict(Decimal)
    for (p, q), c in terms.items():
        if p == 0:
            whole[0, q + 1] += c / (q + 1)
            continue
        for i in range(q + 1):  # by parts, q times
            share = Decimal((-1) ** i * factorial(q) // factorial(q - i)) / Decimal(p) ** (i + 1)
            whole[p, q - i] += c * share
    return dict(whole)


def _value(terms: Terms, t: Decimal | None) -> Decimal:
    """At t; None is an infinity at which the function vanishes."""
    if t is None:
        return Decimal(0)
    values = (c * (p * t).exp() * (t**q if q else 1) for (p, q), c in terms.items())
    return sum(values, Decimal(0))


@dataclass(frozen=True)
class Noisy:
    """score + noise: its distribution function, survival function and density."""

    cdf: Pieces
    survival: Pieces
    density: Pieces


def noisy(family: str, score: Decimal, breaks: tuple[Decimal, ...]) -> Noisy:
    """score + Exponential(1) or Laplace(1); `score` is among the breaks."""
    up, down = (-score).exp(), score.exp()
    if family == "exponential":
        before: tuple[Terms, Terms, Terms] = ({}, ONE, {})
        fall = {(-1, 0): down}
        after: tuple[Terms, Terms, Terms] = ({**ONE, (-1, 0): -down}, fall, fall)
    else:
        rise = {(1, 0): up / 2}
        fall = {(-1, 0): down / 2}
        before = (rise, {**ONE, (1, 0): -up / 2}, rise)
        after = ({**ONE, (-1, 0): -down / 2}, fall, fall)
    edges = [end <= score for end in breaks] + [False]
    made = (
        Pieces(breaks, tuple(before[i] if early else after[i] for early in edges)) for i in range(3)
    )
    return Noisy(*made)


def product(factors: Iterable[Pieces], breaks: tuple[Decimal, ...]) -> Pieces:
    """Of any number of functions with these breaks."""
    one = Pieces(breaks, (ONE,) * (len(breaks) + 1))
    return reduce(Pieces.__mul__, factors, one)


def decimal(x: Fraction) -> Decimal:
    """To 120 digits."""
    with localcontext(DIGITS):
        return Decimal(x.numerator) / Decimal(x.denominator)


def fraction(x: Decimal) -> Fraction:
    """To 2**-400: a fraction whose denominator stays small."""
    with localcontext(DIGITS):
        return Fraction(int(x * (1 << 400)), 1 << 400)
