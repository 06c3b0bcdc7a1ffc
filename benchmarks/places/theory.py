"""Lines and rings against theory: the mean disutility of an answer, summed over the exact law.

Items are dense (500 a unit of noise), a person stands off the lattice, and every signal that the
lattice's law can send is answered by the production rule and weighed by its probability; only the
sum is thinned, to 64 lattice points a unit of noise, which changes it by less than .1 %. On a line
the result must be the closed form of the optimal offsets; on a ring no mechanism with two results
does better than the optimum of appendix A.2 of Goel et al., and ours uses other noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from askew.noise.lattice import LatticeLaplace
from askew.placement import Disutility, Identity, Laplace, Power, place
from askew.placement.ring import place_on_ring
from askew.protocol.rule_kind import MetricRuleKind
from askew.protocol.signal import Signal
from askew.retrieval.posterior import lattice_log_likelihood
from askew.spaces.axes import Axis, AxisSpace
from askew_server.retrieval.near import MetricIndex, near_rule_of

DISUTILITIES: Final[dict[str, Disutility]] = {
    "t": Identity(),
    "t^2": Power(2.0),
    "sqrt t": Power(0.5),
}
KS: Final = (1, 2, 5, 8, 20)
_DENSE = 500  # items a unit of distance; epsilon is 1
_FAR = 36.0  # units of distance; beyond, the law has less than 1e-15
_EVERY = 16  # lattice points
_OFF = 0.2113  # of a person from a round value


@dataclass(frozen=True)
class Agreement:
    """ground: line or ring. found: mean disutility. theory: the closed form of a line, or the least
    that any mechanism reaches on a ring, in the same unit.
    """

    ground: str
    disutility: str
    k: int
    found: float
    theory: float

    @property
    def ratio(self) -> float:
        """Of the two."""
        return self.found / self.theory


def agreements() -> Iterator[Agreement]:
    """A line for each disutility and k, and rings of two sizes for k = 2."""
    for name, h in DISUTILITIES.items():
        for k in KS:
            yield on_line(name, h, k)
    for size in (4.0, 12.0):
        yield on_ring(size)


def on_line(name: str, h: Disutility, k: int) -> Agreement:
    """Epsilon 1, on a line so long that its ends do not matter."""
    axis = Axis("post", "km", 0.0, 4 * _FAR, wraps=False, scale=1.0)
    found = mean_disutility(axis, h, k, 2 * _FAR + _OFF)
    return Agreement("line", name, k, found, place(Laplace(1.0), h, k).cost)


def on_ring(size: float) -> Agreement:
    """Epsilon 1, two results."""
    axis = Axis("direction", "turn", 0.0, size, wraps=True, scale=1.0)
    found = mean_disutility(axis, Identity(), 2, size / 2 + _OFF)
    return Agreement(f"ring of {size:g}", "t", 2, found, place_on_ring(1.0, 2, size).cost)


def mean_disutility(axis: Axis, h: Disutility, k: int, person: float) -> float:
    """What the codebook's k items cost a person in expectation over the noise."""
    space, lattice = AxisSpace((axis,)), LatticeLaplace.for_epsilon(Fraction(1))
    items = np.linspace(axis.low, axis.high, int(_DENSE * float(axis.size)), endpoint=False)
    rule = near_rule_of(MetricRuleKind.CODEBOOK, MetricIndex(space, items[:, None]), disutility=h)
    around = round(person / lattice.step)
    moves = np.arange(-int(_FAR / lattice.step), int(_FAR / lattice.step), _EVERY)
    # The law is the same everywhere: the signal moves one way, or the person the other.
    people = (person - moves * lattice.step).astype(np.float64)[:, None]
    weights = np.exp(lattice_log_likelihood(lattice, [around], people))
    total = axis.steps(lattice)
    sent = (around + moves) % total if axis.wraps else around + moves
    best = np.empty(len(sent))
    for row, z in enumerate(sent.tolist()):
        away = np.abs(items[rule.choose(Signal(space.version, lattice, (z,)), k)] - person)
        best[row] = (np.minimum(away, float(axis.size) - away) if axis.wraps else away).min()
    return float(weights @ h(best) / weights.sum())
