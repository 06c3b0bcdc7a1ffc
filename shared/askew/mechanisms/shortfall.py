"""How far below the k-th item a selected one can be, from public parameters alone.

A selection *misses by* g when it holds an item whose count is at least g below the k-th highest.
`chance_of_miss` bounds the probability of that for every count vector at once; `error_bound` is
the largest shortfall that stays likely. No count is read. A mechanism names its bound by its
property `shortfall`. These are the bounds and their proofs.

    symbols     d items, m = d - k of them outside the top k;  r noise units per unit of count;
                a = r g;  q = exp(-a);  counts relative to the k-th: the top k are at 0 or above

The worst vector, for all that peel and all that add one noise to each item: the top k at 0, all
others at -g. For, with the noise fixed, a miss means that some item at -g or below beats a k-th
(or, in a round, a first) among the rest; it stays one when an item of the rest is lowered or handed
over to the others, and when one of the others is raised to -g. So these are exact, attained there:

    peeling, Gumbel noise     P(no miss) = product over n = 1..k of n / (n + m q)
    one noise for each item   P(no miss) = E[F(T + a)^m],  T the least of k draws, F the law of one

A limited domain has at most kbar candidates, so d = min(kbar, d); its stop can only end a list
before it misses. That bound is reached in the limit of high counts.

    permute-and-flip, peeled  P(no miss) >= product over n = 1..k of 1 - m q / (n + 1)

since in a round with n items of the top k left, one of the others is looked at before all of them
with probability at most 1 / (n + 1), and taken, if looked at, with probability at most q.

    joint, rate r             P(miss) <= W / (1 + W),    W = (d! / (d - k)! - k!) q
    pnf-joint                 P(miss) <= W / 2

Every sequence that misses has a loss of at least g, the true ranking has 0, and so many sequences
are no permutation of the top k. In permute-and-flip each is looked at before the true ranking with
probability 1/2, and then taken with probability at most q.

    canonical, Gumbel noise   P(miss) = W / (1 + W), W the larger of
        (C(d,k) - 1) exp(-r gamma g) / exp(r (1 - gamma) g)       (clipped: / 1)
        (C(d,k) - 1 - k) exp(-r gamma g) / min over c = 0..g-1 of
            exp(r (1 - gamma) c) + k exp(-r gamma c)              (unclipped only)

Proof. A subset S other than the top k T has, by its lowest item, the j-th outside T, at y_j <= 0,
and by its first missing rank s, the weight w_s exp(r gamma y_j), w_s = exp(-r (1 - gamma) x_s); T
has exp(-r (1 - gamma) y_1), or 1 if clipped. W, what misses over what does not, is linear over
linear in w, so largest where the w are 0 up to a rank and 1 from there on. That is the same problem
with a smaller k and the same m, where C(k+j-1, k-1), the number of S with a j-th lowest, grows by
(k+j)/k with k: faster for those that miss, whose j is higher. So all w are 1: the top k at 0. Items
that miss are worst at -g. Of the others outside T only the first can be better kept than let miss:
any other would leave the upper sum for the lower one. It is at -c, c < g, if it does not miss, and
such subsets with it as their lowest are k; those with a lower j-th, none that does not miss.

Checked against exact enumeration in the tests. Float64, rounded up by one part in 10^9.
Complexity: O(k), O(1) for joint and canonical, times the logarithm of the answer.

The canonical mechanism needs logarithms of binomial coefficients and of sums of runs of them:

    ln C(n, r) = r ln(n / r) + s ln(n / s) + (1/2) ln(n / (2 pi r s)) + c(n) - c(r) - c(s)

with s = n - r and c(x) = ln x! - (x ln x - x + (1/2) ln(2 pi x)), Stirling's remainder. The two
large terms are positive, so nothing is lost: the error is below 2**-48 (ln C(n, r) + 40).
(Differences of ln x! would be off by 1e-9 already at d = 1,000,000.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, floor, inf, lgamma, log, log1p, pi
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import PrivacyLoss
from askew.errors import ParameterError
from askew.mechanisms.tally import Counts, check_positive_int, check_probability
from askew.noise.randomness import RandomBits

Floats = NDArray[np.float64]
_TABLE = np.array(
    [0.0] + [lgamma(x + 1) - (x * log(x) - x + log(2 * pi * x) / 2) for x in range(1, 16)]
)
# A run whose log-ratio is smaller is summed by moments, a larger one by difference.
_NARROW = 0.02
LOG_ERROR = 2.0**-41  # relative to ln C + 40, of `log_runs`


def log_binomials(n: Floats, r: Floats) -> Floats:
    """Return ln C(n, r) elementwise, for whole numbers 0 <= r <= n held as float64."""
    n, r = np.broadcast_arrays(n, r)
    r = np.minimum(r, n - r)  # so that 1 - r / n does not cancel
    s = n - r
    inner = r > 0
    n, r, s = np.where(inner, n, 2.0), np.where(inner, r, 1.0), np.where(inner, s, 1.0)
    logs = -s * np.log1p(-r / n) + r * np.log(n / r) + np.log(n / (2 * pi * r * s)) / 2
    logs += _remainder(n) - _remainder(r) - _remainder(s)
    return np.where(inner, logs, 0.0)


def _remainder(x: Floats) -> Floats:
    # By a table below 16 and four terms of Stirling's series above: the fifth is below 2e-14.
    inverse = 1 / np.maximum(x, 16.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    if not len(x) or float(x.min()) >= 16:
        return series
    return np.where(x < 16, _TABLE[np.minimum(x, 15).astype(np.int64)], series)


def log_runs(high: Floats, low: Floats, r: Floats) -> Floats:
    """Return ln of C(high, r) - C(low, r), which is C(low, r-1) + ... + C(high-1, r-1); r >= 1.

    high > low >= -1 and high >= r, whole numbers held as float64. With R = C(low, r) / C(high, r)
    it is ln C(high, r) + ln(1 - R), and ln R = sum of ln(1 - r / j) over j = low + 1 .. high. Where
    ln R is small, the sum is taken by its central moments (exactly one term for a run of one);
    elsewhere as the difference of the two logarithms. Error below LOG_ERROR (ln C + 40).
    """
    high, low, r = np.broadcast_arrays(high, low, r)
    whole = log_binomials(high, r)
    size, center = high - low, (high + low + 1) / 2
    inside = low >= r
    ratio = np.where(inside, r / center, 0.5)
    narrow = inside & (size * ratio < _NARROW)
    log_ratio = np.full(whole.shape, -np.inf)
    log_ratio[narrow] = _by_moments(size[narrow], center[narrow], r[narrow])
    wide = inside & ~narrow
    if wide.any():
        log_ratio[wide] = log_binomials(low[wide], r[wide]) - whole[wide]
    runs: Floats = whole + np.log(-np.expm1(log_ratio))
    return runs


def _by_moments(size: Floats, center: Floats, r: Floats) -> Floats:
    # The sum of g(j) = ln(1 - r / j) over `size` consecutive j around `center`:
    # size g + g'' size (size^2 - 1) / 24 + g'''' size (size^2 - 1) (3 size^2 - 7) / 5760 + ...;
    # with size r / center < 0.02 the rest is below 1e-12 of the sum.
    second = 1 / center**2 - 1 / (center - r) ** 2
    fourth = 6 / center**4 - 6 / (center - r) ** 4
    square = size * size
    moments = second * (square - 1) / 24 + fourth * (square - 1) * (3 * square - 7) / 5760
    return size * (np.log1p(-r / center) + moments)


_CELLS = 1 << 14


@dataclass(frozen=True)
class Worst:
    """k items of the top and m others; noise units per unit of count."""

    k: int
    m: int
    rate: float


@dataclass(frozen=True)
class Shortfall:
    """The bound of a mechanism: P(a miss by `gap`) <= formula(worst, gap), for every count vector.

    rate: noise units per unit of count. depth: how many items a limited domain looks at, None
    where all of the catalog take part.
    """

    formula: Callable[[Worst, int], float]
    rate: Fraction
    depth: int | None = None


def peeled(worst: Worst, gap: int) -> float:
    """Return P(miss) of peeling with Gumbel noise, that an item `gap` or more below the k-th is
    selected, met by the worst vector: 1 - product of n / (n + m exp(-rate gap)) over n = 1..k.
    """
    others = worst.m * exp(-worst.rate * gap)
    return -expm1(-float(np.log1p(others / np.arange(1, worst.k + 1)).sum()))


def flipped(worst: Worst, gap: int) -> float:
    """Return a bound on P(miss) of permute-and-flip, peeled: 1 - product of 1 - m q / (n + 1) over
    n = 1..k, q = exp(-rate gap); 1 where m q is 2 or more. Loose where misses are likely.
    """
    others = worst.m * exp(-worst.rate * gap)
    if others >= 2:
        return 1.0
    return -expm1(float(np.log1p(-others / np.arange(2, worst.k + 2)).sum()))


def joint(worst: Worst, gap: int) -> float:
    """Return a bound on P(miss) of the joint mechanism, proved, and larger than necessary: W / (W +
    1), with W = (d! / (d - k)! - k!) exp(-rate gap), d = k + m.
    """
    return _of_odds(_log_sequences(worst, gap))


def joint_flipped(worst: Worst, gap: int) -> float:
    """Return a bound on P(miss) of permute-and-flip over sequences, larger than necessary: W / 2
    with the W of `joint`, at most e / 2.
    """
    return exp(min(_log_sequences(worst, gap), 1.0)) / 2


def _log_sequences(worst: Worst, gap: int) -> float:
    # ln W of the joint mechanisms.
    return lgamma(worst.k + 1) + _log_subsets(worst, 1) - worst.rate * gap


def canonical(worst: Worst, gap: int, gamma: float, *, clipped: bool) -> float:
    """Return the probability that `Canonical` with Gumbel noise selects an item `gap` or more below
    the k-th, on the worst vector; its gamma above 0.
    """
    up, down = worst.rate * (1 - gamma), worst.rate * gamma
    odds = _log_subsets(worst, 1) - down * gap - (0.0 if clipped else up * gap)
    if not clipped and worst.m > 1:
        best = log(gamma * worst.k / (1 - gamma)) / worst.rate if gamma < 1 else inf
        places = {min(max(round_(min(best, gap)), 0), gap - 1) for round_ in (floor, ceil)}
        kept = min(float(np.logaddexp(up * c, log(worst.k) - down * c)) for c in places)
        odds = max(odds, _log_subsets(worst, 1 + worst.k) - down * gap - kept)
    return _of_odds(odds)


def _log_subsets(worst: Worst, left_out: int) -> float:
    whole = float(log_binomials(np.array([worst.k + worst.m + 0.0]), np.array([worst.k + 0.0]))[0])
    return whole + log1p(-left_out * exp(-whole))


def _of_odds(log_odds: float) -> float:
    return exp(-float(np.logaddexp(0.0, -log_odds)))


def one_shot(worst: Worst, gap: int, noise: Literal["exponential", "laplace"]) -> float:
    """Return the probability that one noise for each item selects one `gap` or more below the k-th
    on the worst vector: 1 - E[F(T + a)^m], from above.

    T is in cells of equal probability, each taken at its lower edge. What is averaged rises with T,
    within 0 and 1, so the error is below 1 / 2**14.
    """
    # The edge with i cells below it: P(one draw is lower) = 1 - (1 - i / cells)^(1 / k).
    below = -np.expm1(np.log1p(-np.arange(_CELLS) / _CELLS) / worst.k)
    with np.errstate(divide="ignore"):
        if noise == "exponential":
            survival = np.exp(np.log1p(-below) - worst.rate * gap)
        else:
            edges = np.where(below < 0.5, np.log(2 * below), -np.log(2 * (1 - below)))
            tail = np.exp(-np.abs(edges + worst.rate * gap)) / 2
            survival = np.where(edges + worst.rate * gap < 0, 1 - tail, tail)
        kept = np.log1p(-survival) * worst.m
    return -float(np.expm1(kept).mean())


CHANCE = Fraction(95, 100)
_ROOM = 1 + 1e-9
_FARTHEST = 1 << 62


class Selector(Protocol):
    """A mechanism with its public parameters: safe to print."""

    @property
    def k(self) -> int:
        """Return how many items the mechanism selects, at most."""

    @property
    def shortfall(self) -> Shortfall | None:
        """Return the Shortfall, which bounds a miss by any gap; None where its noise has none."""

    def privacy_loss(self) -> PrivacyLoss:
        """Return the privacy loss of one call of `select`."""

    def select(self, counts: Counts, *, bits: RandomBits = ...) -> tuple[int, ...]:
        """Return at most k different item ids, the places of their counts, from 0."""


def error_bound(mechanism: Selector, n_items: int | None = None, chance: Fraction = CHANCE) -> int:
    """Return the least M such that, for every count vector, with at least this chance, 95 % by
    default, no selected item is more than M below the k-th highest count; 0 where all items are
    selected. Arguments and errors: `chance_of_miss`; also ParameterError where M would pass 2**62.
    """
    check_probability("chance", chance)
    miss = _bound_of(mechanism, n_items)
    high = 1
    while miss(high) > 1 - chance:
        high *= 2
        if high > _FARTHEST:
            got = f"{float(_shortfall_of(mechanism).rate):.3g}"
            raise ParameterError("epsilon", got, "large enough that counts matter at all")
    low = high // 2  # misses too often, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if miss(middle) > 1 - chance else (low, middle)
    return high - 1


def chance_of_miss(mechanism: Selector, gap: int, n_items: int | None = None) -> float:
    """Return an upper bound, whatever the counts, of the probability that a selected item is `gap`
    or more below the k-th highest count; 0.0 where there are at most k items.

    n_items: how many items there are, which is public; None where the domain is unknown, for
    limited domains only. Raises ParameterError for a gap below 1, for noise that has no formula
    here, and, but for limited domains, for fewer than k items.
    """
    check_positive_int("gap", gap)
    return _bound_of(mechanism, n_items)(gap)


def _bound_of(mechanism: Selector, n_items: int | None) -> Callable[[int], float]:
    bound = _shortfall_of(mechanism)
    k, d = mechanism.k, n_items
    if bound.depth is not None:
        d = bound.depth if d is None else min(bound.depth, d)
    elif d is None or d < k:
        raise ParameterError("the number of items", d, f"at least k, {k}")
    if d <= k:
        return lambda _: 0.0
    worst = Worst(k, d - k, float(bound.rate))
    return lambda gap: min(1.0, bound.formula(worst, gap) * _ROOM)


def _shortfall_of(mechanism: Selector) -> Shortfall:
    bound: Shortfall | None = getattr(mechanism, "shortfall", None)  # a baseline may name none
    if bound is None:
        name = type(mechanism).__name__
        raise ParameterError("mechanism", name, "one whose noise has a bound here")
    return bound
