"""Noise families, and the exact argmax of scores under them.

A family is given by Z = Q(E), where E is a standard exponential and Q decreasing, so that
P(Z <= Q(e)) = exp(-e). The largest of m independent draws is Q(E / m) (3.3h in the design notes:
U**(1/m) underflows, E / m does not), and the next largest Q(E / m + E' / (m - 1)) by Renyi's
representation of order statistics; so one draw stands for a whole class of m outcomes.

    exponential    -ln(1 - exp(-e))             hazard rate 1
    gumbel         -ln e                        hazard rate below 1
    laplace        -ln(2 (1 - exp(-e))) for e < ln 2, else ln 2 - e

Each has a survival function whose logarithm is 1-Lipschitz, which is all that the Lipschitz
mechanism asks (Shekelyan, Loukides 2022, Definition 2.1; the sign of the Laplace quantile
printed there is corrected).

Exactness. A score's noise is a real number known by the bits of its uniforms. Float64 ranks the
scores; those that it cannot tell apart from the winner are compared by integer enclosures, with as
many more bits as it takes.

A `Contest` finds the highest of many classes' noisy maxima without drawing all of them. One draw
stands for a class of equal scores, and one for a group of classes: the least of the
group's exponentials, E / size, with the highest of its scores, is above all that the group can
reach. Only a group whose bound beats the winner is opened. Then, given the least exponential, it
falls to each of the group's outcomes alike, and the others, exponentials having no memory, exceed
it by fresh ones. So the law is that of drawing everything, and hardly anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from askew.dp.intervals import exp_minus, ln2, log_ratio
from askew.errors import ParameterError
from askew.mechanisms.weights import Draws
from askew.noise.randomness import RandomBits

NoiseFamily = Literal["exponential", "gumbel", "laplace"]
FAMILIES: tuple[NoiseFamily, ...] = get_args(NoiseFamily)
Floats = NDArray[np.float64]
Link = tuple["LazyUniform", Fraction]
_LN2 = float(np.log(2))


def check_family(noise: str) -> None:
    """Raise ParameterError unless noise is "exponential", "gumbel" or "laplace"."""
    if noise not in FAMILIES:
        raise ParameterError("noise", noise, "one of " + ", ".join(FAMILIES))


def quantiles(family: NoiseFamily, log_e: Floats) -> Floats:
    """Return Q(e), with P(noise <= Q(e)) = exp(-e), from ln e, elementwise: -ln e for "gumbel". No
    underflow for ln e far below -700.

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
    return np.where(e < _LN2, upper - _LN2, _LN2 - e)


@dataclass(repr=False)
class LazyUniform:
    """A uniform real in [0, 1), as many bits of it as anybody has asked for."""

    word: int
    length: int = 64

    def extend(self, bits: RandomBits) -> None:
        """Read 64 bits more of this uniform."""
        self.word = (self.word << 64) | int.from_bytes(bits.read(8))
        self.length += 64

    def exponential(self, precision: int) -> tuple[int, int | None]:
        """Return integers (below, above) of -ln U * 2**precision, for a precision of at least 28;
        None above while every bit of U is zero.
        """
        whole = 1 << self.length
        low = max(0, log_ratio(whole, self.word + 1, precision)[0])
        return low, log_ratio(whole, self.word, precision)[1] if self.word else None


@dataclass(repr=False)
class Noisy:
    """score + Q(E_1 / m_1 + E_2 / m_2 + ...), comparable exactly.

    approximate is its float64 value, wrong by at most `slack` (infinite slack: no idea).
    """

    family: NoiseFamily
    key: int
    score: Fraction
    links: list[tuple[LazyUniform, Fraction]]
    approximate: float
    slack: float

    def bounds(self, precision: int) -> tuple[int | None, int | None]:
        """Return integers (below, above) of the value times 2**precision; None where unbounded."""
        work = (
            precision
            + 64
            + max((m.numerator * m.denominator).bit_length() for _, m in self.links)
            + 1
        )
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
        """Read 64 bits more of every uniform."""
        for uniform, _ in self.links:
            uniform.extend(bits)


def _quantile(family: NoiseFamily, e: int | None, p: int) -> tuple[int, int] | None:
    # Integers below and above Q(e / 2**p) * 2**p; None where Q is infinite (e = 0), or e is
    # unbounded (None) and Q has no bound there.
    if e is None:
        return (0, 0) if family == "exponential" else None
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
    return upper[0] - ln2(p) - 2, upper[1] - ln2(p)


def compare(a: Noisy, b: Noisy, bits: RandomBits) -> int:
    """Return 1 if a is above b, -1 if below, and read more bits of both until that is sure;
    equality has probability zero.
    """
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
    """Return the noisy values sorted from the highest to the lowest, exactly."""

    def order(a: Noisy, b: Noisy) -> int:
        return compare(b, a, bits)

    return sorted(noisy, key=cmp_to_key(order))


Exact = Callable[[int], tuple[Fraction, Fraction | int]]
Open = Callable[[int, Link], list[Noisy]]
# Of Q where e is in [2**-24, 17]: |dQ / d ln e| is at most 18, and ln e is within 2**-29.
_STEEPEST = 18.0
_UNSURE = _STEEPEST * 2.0**-29


class Contest:
    """The `winners` highest of many classes, seen block by block.

    exact(key) gives a class's exact score and multiplicity.
    """

    def __init__(self, family: NoiseFamily, draws: Draws, exact: Exact, winners: int = 1) -> None:
        self.family, self.draws, self.exact, self.winners = family, draws, exact, winners
        nothing = np.zeros(0)
        self._kept = nothing, nothing, nothing.astype(np.int64), nothing.astype(np.uint64)
        self._exact: dict[int, Noisy] = {}  # by its place among the kept
        self._bounds: list[tuple[Noisy, Open]] = []

    def enter(
        self, keys: NDArray[np.int64], scores: Floats, log_sizes: Floats, log_error: float = 0.0
    ) -> None:
        """Draw one maximum for each class, and keep those that may be among the winners. All arrays
        (n,); scores within 2**-50 relative.

        log_error bounds the error of log_sizes.
        """
        words, *noisy = self._draw(scores, log_sizes, log_error)
        values, slack, all_keys, all_words = (
            np.concatenate(pair) for pair in zip(self._kept, (*noisy, keys, words), strict=True)
        )
        near = values + slack >= _nth_largest(values - slack, self.winners)
        self._kept = values[near], slack[near], all_keys[near], all_words[near]

    def enter_groups(  # noqa: PLR0913, PLR0917
        self,
        keys: NDArray[np.int64],
        scores: Floats,
        log_sizes: Floats,
        log_error: float | Floats,
        exact: Exact,
        opened: Open,
    ) -> None:
        """Draw a bound for each group of classes; after the classes that are entered themselves, of
        which there are as many as winners.

        keys, scores (the highest of each group), log_sizes, log_error: (n,), as in `enter`.
        exact(key): the exact score, and how many outcomes the group holds. opened(key, link): its
        classes, where the least of its exponentials is `link`.
        """
        words, values, slack = self._draw(scores, log_sizes, log_error)
        least = _nth_largest(self._kept[0] - self._kept[1], self.winners)
        for i in np.flatnonzero(values + slack >= least).tolist():
            key, word = int(keys[i]), int(words[i])
            score, size = exact(key)
            links = [(LazyUniform(word), Fraction(size))]
            bound = Noisy(self.family, key, score, links, float(values[i]), float(slack[i]))
            self._bounds.append((bound, opened))

    def _draw(
        self, scores: Floats, log_sizes: Floats, log_error: float | Floats
    ) -> tuple[NDArray[np.uint64], Floats, Floats]:
        # Words of 64 bits, the noisy scores that they make, and how wrong these may be.
        words = self.draws.words(len(scores))
        u = (words.astype(np.float64) + 0.5) * 2.0**-64
        e = -np.log(np.minimum(u, 1 - 2.0**-53))
        values = quantiles(self.family, np.log(e) - log_sizes) + scores
        slack = _UNSURE + _STEEPEST * log_error + 2.0**-46 * (np.abs(scores) + log_sizes)
        # Beyond these e the float value says too little; such a class is looked at exactly.
        slack[(e < 2.0**-24) | (e > 16.0)] = np.inf
        return words, values, slack

    def ranked(self) -> list[int]:
        """Return the keys of the winners, highest first, and perhaps of some behind them; all keys
        where fewer were entered.
        """
        order = self._order()
        if not self._bounds:
            keys: list[int] = self._kept[2][order].tolist()
            return keys
        ranked = [self._noisy(place) for place in order[: self.winners].tolist()]
        for bound, opened in self._bounds:
            if compare(ranked[self.winners - 1], bound, self.draws.bits) < 0:
                among = opened(bound.key, bound.links[0])
                ranked = descending([*ranked, *among], self.draws.bits)
        return [noisy.key for noisy in ranked]

    def _order(self) -> NDArray[np.intp]:
        # Highest first: by floats, but for runs that they cannot tell apart.
        values, slack, *_ = self._kept
        order = np.argsort(-values - slack)
        least = np.minimum.accumulate((values - slack)[order])
        cuts = np.flatnonzero((values + slack)[order][1:] < least[:-1]) + 1
        starts, ends = np.append(0, cuts), np.append(cuts, len(order))
        for run in np.flatnonzero(ends - starts > 1).tolist():
            place = slice(starts[run], ends[run])
            alike = {id(self._noisy(spot)): spot for spot in order[place].tolist()}
            noisy = descending([*map(self._noisy, alike.values())], self.draws.bits)
            order[place] = [alike[id(score)] for score in noisy]
        return order

    def members(self, keys: list[int], link: Link) -> list[Noisy]:
        """Return a noisy score for each of these keys, the classes of a group that is opened, in
        their order, given the least of its exponentials.
        """
        exact = ((key, *self.exact(key)) for key in keys)
        classes = [(key, score, int(size)) for key, score, size in exact]  # none has part of one
        mark, drawn = self.draws.below(sum(size for _, _, size in classes)), []
        for key, score, size in classes:
            links = [link]
            if not 0 <= mark < size:  # it is not the heir of the least
                word = int.from_bytes(self.draws.bits.read(8))
                links.append((LazyUniform(word), Fraction(size)))
            mark -= size
            drawn.append(Noisy(self.family, key, score, links, 0.0, np.inf))
        return drawn

    def _noisy(self, place: int) -> Noisy:
        # Always the same object, since its bits are read as they are asked.
        if place not in self._exact:
            values, slack, keys, words = (column[place] for column in self._kept)
            score, size = self.exact(int(keys))
            links = [(LazyUniform(int(words)), Fraction(size))]
            noisy = Noisy(self.family, int(keys), score, links, float(values), float(slack))
            self._exact[place] = noisy
        return self._exact[place]


def _nth_largest(values: Floats, n: int) -> float:
    if len(values) < n:
        return -np.inf
    return float(np.partition(values, len(values) - n)[len(values) - n])
