"""The unrestricted setup (appendix A.4): results that are no positions of people.

People live in a metric space, results in any set, and OPT says which result is best for whom. A
person at u who is given OPT(v) loses at most h(distance(u, v)), which is what this setup asks of
the disutility. The server asks OPT at its probes signal + a_i; the nearest probe v is at distance
min_i |X - a_i|, so the expected disutility is at most the cost of the placement (Theorem 25), for
every OPT. It is often far less: OPT may be constant over many probes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import Placement

Array = NDArray[np.float64]
Result = TypeVar("Result", bound=Hashable)
Found_co = TypeVar("Found_co", bound=Hashable, covariant=True)


class Index(Protocol[Found_co]):
    """Anything that finds the best result for a position, an item index say."""

    def best(self, position: Array) -> Found_co:
        """OPT(position)."""
        ...


def results_for(
    signal: Array, placement: Placement, opt: Callable[[Array], Result] | Index[Result]
) -> tuple[Result, ...]:
    """The distinct results of OPT at the k probes around a signal (d,), at most k, nearest the
    signal first. Depends on the signal alone.
    """
    found = opt if callable(opt) else opt.best
    probes = probes_around(signal, placement)
    order = np.argsort(np.abs(probes - signal).sum(axis=1), kind="stable")
    return tuple(dict.fromkeys(found(probes[row]) for row in order))


def probes_around(signal: Array, placement: Placement) -> Array:
    """signal + offsets: (d,) + (k, d) -> (k, d); on the line offsets come as (k,)."""
    return signal + placement.offsets.reshape(-1, len(signal))


def expected_disutility(
    person: Array,
    draws: Iterable[Array],
    placement: Placement,
    opt: Callable[[Array], Result] | Index[Result],
    disutility: Callable[[Array, Result], float],
) -> float:
    """The mean, over draws of the noise (d,), of what the person's best result costs them."""

    def losses() -> Iterator[float]:
        for draw in draws:
            results = results_for(person + draw, placement, opt)
            yield min(disutility(person, result) for result in results)

    return float(np.mean(list(losses())))
