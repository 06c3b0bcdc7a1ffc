"""The k highest noisy scores of all items, exactly, from one draw a value and k more.

In a class of m items with equal scores the noises in descending order are Q(E1/m),
Q(E1/m + E2/(m-1)), ... (Renyi). Only classes whose best is among the k best of the classes can
have an item among the k highest, so the rest is a merge of few descending sequences.
"""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np

from askew.exact import Draws
from askew.mechanisms.contest import Contest
from askew.mechanisms.noise import NoiseFamily, Noisy, Uniform, compare, quantiles
from askew.mechanisms.tally import Tally
from askew.mechanisms.urn import items_of_groups
from askew.mechanisms.value_classes import ValueClasses, peel

ONE_PASS = 16  # from this k on, one pass is quicker than k choices


def highest(classes: ValueClasses, noise: NoiseFamily, k: int, draws: Draws) -> list[int]:
    """The classes of the k items with the highest noisy scores, highest first.

    Complexity: one draw a class, O(k log k) comparisons.
    """
    contest = Contest(noise, draws, classes.exact, winners=k)
    classes.enter(contest)
    waiting = contest.ranked()[::-1]
    chosen: list[int] = []
    while len(chosen) < k:
        best = waiting.pop()
        chosen.append(best.key)
        following = _next(best, draws)
        if following is not None:
            _insert(waiting, following, draws)
    return chosen


def peeled_gumbel(tally: Tally, rate: Fraction, k: int, draws: Draws) -> tuple[int, ...]:
    """The exponential mechanism without replacement, k times; item ids, best first.

    One Gumbel noise an item, in descending order of score, has the same law (Durfee, Rogers 2019,
    Lemma 4.2), and takes one pass instead of k.
    """
    if k < ONE_PASS:
        return peel(tally, rate, k, draws)
    groups = highest(ValueClasses(tally, rate), "gumbel", k, draws)
    return items_of_groups(groups, tally, draws)


def _next(best: Noisy, draws: Draws) -> Noisy | None:
    """The next highest item of the same class, if it has one."""
    left = int(best.links[-1][1]) - 1
    if left == 0:
        return None
    uniform = Uniform(int.from_bytes(draws.bits.read(8)))
    spacing, sure = _float_exponential(uniform)
    e = (
        best.e or _float_exponential(best.links[0][0])[0] / float(best.links[0][1])
    ) + spacing / left
    approximate = float(quantiles(best.family, np.array([log(e)]))[0]) + float(best.score)
    trusted = sure and best.slack < np.inf and e < 16.0
    slack = 2.0**-23 + 2.0**-46 * (abs(float(best.score)) + left) if trusted else np.inf
    links = [*best.links, (uniform, Fraction(left))]
    return Noisy(best.family, best.key, best.score, links, approximate, slack, e)


def _float_exponential(uniform: Uniform) -> tuple[float, bool]:
    """-ln U by float64, and whether its relative error is below 2**-28."""
    word = uniform.word >> (uniform.known - 64)
    return -log(min((word + 0.5) / 2**64, 1 - 2.0**-53)), 2**40 < word < 2**64 - 2**40


def _insert(waiting: list[Noisy], newcomer: Noisy, draws: Draws) -> None:
    """Binary insertion into a list sorted with the highest last."""
    low, high = 0, len(waiting)
    while low < high:
        middle = (low + high) // 2
        if compare(newcomer, waiting[middle], draws.bits) > 0:
            low = middle + 1
        else:
            high = middle
    waiting.insert(low, newcomer)
