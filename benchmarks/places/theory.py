"""Lines against theory: the mean disutility of an answer, summed over the exact law.

Items are dense (500 a unit of noise), a person stands off the lattice, and every signal that the
lattice's law can send is answered by the production rule and weighed by its probability; only the
sum is thinned, to 64 lattice points a unit of noise, which changes it by less than .1 %. The
result must be the closed form of the optimal offsets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.placement import Disutility
from askew.protocol.cards import MetricRuleKind
from askew.protocol.signal import Signal
from askew.spaces.axes import Axis, AxisSpace
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.index import MetricIndex

_DENSE = 500  # items a unit of distance; epsilon is 1
_FAR = 36.0  # units of distance; beyond, the law has less than 1e-15
_EVERY = 16  # lattice points
_OFF = 0.2113  # of a person from a round value


def on_line(h: Disutility, k: int) -> float:
    """Return the mean disutility at epsilon 1, on a line so long that its ends do not matter."""
    axis = Axis("post", "km", 0.0, 4 * _FAR, scale=1.0)
    return mean_disutility(axis, h, k, 2 * _FAR + _OFF)


def mean_disutility(axis: Axis, h: Disutility, k: int, person: float) -> float:
    """Return what the codebook's k items cost a person in expectation over the noise."""
    space, lattice = AxisSpace((axis,)), LatticeLaplace.for_epsilon(Fraction(1))
    items = np.linspace(axis.low, axis.high, int(_DENSE * float(axis.size)), endpoint=False)
    rule = near_rule_of(MetricRuleKind.CODEBOOK, MetricIndex(space, items[:, None]), disutility=h)
    around = round(person / lattice.step)
    moves = np.arange(-int(_FAR / lattice.step), int(_FAR / lattice.step), _EVERY)
    # The law is the same everywhere: the signal moves one way, or the person the other.
    people = (person - moves * lattice.step).astype(np.float64)[:, None]
    weights = np.exp(log_likelihood(lattice, [around], people))
    sent = around + moves
    best = np.empty(len(sent))
    for row, z in enumerate(sent.tolist()):
        away = np.abs(items[rule.choose(Signal(space.version, lattice, (z,)), k)] - person)
        best[row] = away.min()
    return float(weights @ h(best) / weights.sum())


def log_likelihood(
    lattice: LatticeLaplace, coordinates: Sequence[int], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln P(coordinates | point) for points (m, d), shape (m,), by the exact law.

    With q = inverse_rate, r = q / (q + 1) and a coordinate at u / step = j + t:

        P(Z = z) = ((1 - t) r**|z - j| + t r**|z - j - 1|) / (2 q + 1)

    where nothing cancels and nothing underflows. Coordinates are independent, so logarithms add; at
    the end of the wire's width a coordinate stands for the whole tail, 1 / (1 - r) = q + 1 times as
    likely.
    """
    q = lattice.inverse_rate
    z = np.array(coordinates, dtype=np.float64)  # (d,); 32-bit integers are exact
    place = points / lattice.step  # exact: the step is a power of two
    below = np.floor(place)
    fraction = place - below
    above = z > below
    steps = np.where(above, z - below - 1.0, below - z)
    # (1 - t) + t r = 1 - t / (q + 1), and (1 - t) r + t = 1 - (1 - t) / (q + 1)
    blend = np.log1p(-np.where(above, 1.0 - fraction, fraction) / (q + 1))
    logs: NDArray[np.float64] = (blend - steps * math.log1p(1 / q)).sum(axis=1)
    ends = sum(abs(each) == COORDINATE_LIMIT for each in coordinates)
    return logs - len(coordinates) * math.log(2 * q + 1) + ends * math.log(q + 1)
