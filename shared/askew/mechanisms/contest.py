"""The highest of many classes' noisy maxima, exactly, without drawing all of them.

One draw stands for a class of equal scores, and one for a group of classes: the least of the
group's exponentials, E / size, with the highest of its scores, is above all that the group can
reach. Only a group whose bound beats the winner is opened. Then, given the least exponential, it
falls to each of the group's outcomes alike, and the others, exponentials having no memory, exceed
it by fresh ones. So the law is that of drawing everything, and hardly anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.exact import Draws
from askew.mechanisms.noise import (
    Floats,
    Link,
    NoiseFamily,
    Noisy,
    Uniform,
    compare,
    descending,
    quantiles,
)

Exact = Callable[[int], tuple[Fraction, int]]
Open = Callable[[int, Link], list[Noisy]]
# Of Q where e is in [2**-24, 17]: |dQ / d ln e| is at most 18, and ln e is within 2**-29.
_STEEPEST = 18.0
_UNSURE = _STEEPEST * 2.0**-29


@dataclass(frozen=True, repr=False)
class Groups:
    """Groups of classes. keys, scores (the highest of each), log_sizes: (n,), as `Contest.enter`.

    exact(key): the exact score, and how many outcomes the group holds. opened(key, link): its
    classes, given the least of its exponentials.
    """

    keys: NDArray[np.int64]
    scores: Floats
    log_sizes: Floats
    log_error: float | Floats
    exact: Exact
    opened: Open


class Contest:
    """The `winners` highest of many classes, seen chunk by chunk.

    exact(key) gives a class's exact score and multiplicity.
    """

    def __init__(self, family: NoiseFamily, draws: Draws, exact: Exact, winners: int = 1) -> None:
        self.family, self.draws, self.exact, self.winners = family, draws, exact, winners
        self._kept: list[tuple[float, float, int, int]] = []
        self._bounds: list[tuple[Noisy, Open]] = []

    def enter(
        self, keys: NDArray[np.int64], scores: Floats, log_sizes: Floats, log_error: float = 0.0
    ) -> None:
        """Draw one maximum for each class. All arrays (n,); scores within 2**-50 relative.

        log_error bounds the error of log_sizes.
        """
        words, values, slack = self._draw(scores, log_sizes, log_error)
        best = max(_nth_largest(values - slack, self.winners), self._least())
        for i in np.flatnonzero(values + slack >= best).tolist():
            self._kept.append((float(values[i]), float(slack[i]), int(keys[i]), int(words[i])))
        self._forget()

    def enter_groups(self, groups: Groups) -> None:
        """Draw a bound for each group of classes; after the classes that are entered themselves."""
        if self.winners != 1:
            raise ValueError("groups are bounded for one winner only")
        words, values, slack = self._draw(groups.scores, groups.log_sizes, groups.log_error)
        for i in np.flatnonzero(values + slack >= self._least()).tolist():
            key, word = int(groups.keys[i]), int(words[i])
            score, size = groups.exact(key)
            links = [(Uniform(word), Fraction(size))]
            bound = Noisy(self.family, key, score, links, float(values[i]), float(slack[i]))
            self._bounds.append((bound, groups.opened))

    def _draw(
        self, scores: Floats, log_sizes: Floats, log_error: float | Floats
    ) -> tuple[NDArray[np.uint64], Floats, Floats]:
        """Uniform words, the noisy scores that they make, and how wrong these may be."""
        words = self.draws.bits.words(len(scores))
        u = (words.astype(np.float64) + 0.5) * 2.0**-64
        e = -np.log(np.minimum(u, 1 - 2.0**-53))
        values = quantiles(self.family, np.log(e) - log_sizes) + scores
        slack = _UNSURE + _STEEPEST * log_error + 2.0**-46 * (np.abs(scores) + log_sizes)
        # Beyond these e the float value says too little; such a class is looked at exactly.
        slack[(e < 2.0**-24) | (e > 16.0)] = np.inf
        return words, values, slack

    def _least(self) -> float:
        """No class below this can be among the winners."""
        floor = sorted((value - slack for value, slack, _, _ in self._kept), reverse=True)
        return floor[self.winners - 1] if len(floor) >= self.winners else -np.inf

    def _forget(self) -> None:
        least = self._least()
        self._kept = [entry for entry in self._kept if entry[0] + entry[1] >= least]

    def ranked(self) -> list[Noisy]:
        """The winners, and those that float64 could not tell from them, highest first."""
        ranked = descending([self._noisy(*entry) for entry in self._kept], self.draws.bits)
        for bound, opened in self._bounds:
            if compare(ranked[0], bound, self.draws.bits) < 0:
                among = opened(bound.key, bound.links[0])
                ranked = descending([ranked[0], *among], self.draws.bits)
        return ranked

    def members(self, keys: list[int], link: Link) -> list[Noisy]:
        """The classes of a group that is opened, given the least of its exponentials."""
        classes = [(key, *self.exact(key)) for key in keys]
        mark, drawn = self.draws.below(sum(size for _, _, size in classes)), []
        for key, score, size in classes:
            links = [link]
            if not 0 <= mark < size:  # it is not the heir of the least
                word = int.from_bytes(self.draws.bits.read(8))
                links.append((Uniform(word), Fraction(size)))
            mark -= size
            drawn.append(Noisy(self.family, key, score, links, 0.0, np.inf))
        return drawn

    def _noisy(self, value: float, slack: float, key: int, word: int) -> Noisy:
        score, size = self.exact(key)
        links = [(Uniform(word), Fraction(size))]
        return Noisy(self.family, key, score, links, value, slack)


def _nth_largest(values: Floats, n: int) -> float:
    if len(values) < n:
        return -np.inf
    return float(np.partition(values, len(values) - n)[len(values) - n])
