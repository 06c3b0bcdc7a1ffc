"""The measure dh of any increasing callable h, known only by its values.

h may be steep at 0, bend and jump anywhere. `smooth_panels` finds panels of (0, reach) on each of
which h is a polynomial to rounding, or which are as narrow as a float allows; `increments` turns
the values of h at the nodes of such panels, or of parts of them, into weights of dh.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.placement.increasing import Increasing
from askew.placement.laplace_steps import legendre

Array = NDArray[np.float64]

_NODES = 20
_FINEST = 40  # panels of halving width toward 0
_WIDENING = 1.25  # of the panels beyond the unit, so that tails of a law are resolved as well
_SPLITS = 48
_MOST = 100_000  # a function full of corners is taken as it is from here on
_NARROW = 4e-14  # relative to the distance; narrower panels hold all of their increment at once
_CHECKED = np.array([0.0, 0.07, 0.37, 0.5, 0.93, 1.0])


def smooth_panels(h: Increasing, unit: float, reach: float) -> Array:
    """Ascending edges from 0 to reach. O(panels) calls of h on arrays."""
    wide = int(np.ceil(np.log(max(reach / unit, 1.0)) / np.log(_WIDENING)))
    steps = np.concatenate([2.0 ** np.arange(-_FINEST, 1), _WIDENING ** np.arange(1, wide)])
    whole = np.concatenate([[0.0], unit * steps[unit * steps < reach], [reach]])
    least = 1e-14 * (float(h(np.array([unit]))[0]) + abs(h.at_zero))
    cuts = np.empty(0)
    low, high = whole[1:-1], whole[2:]  # in the first panel all of h counts as one step
    for _ in range(_SPLITS):
        coarse = ~_fits(h, low, high, least) & (high - low > _NARROW * high)
        if not coarse.any() or len(cuts) > _MOST:
            break
        low, high = low[coarse], high[coarse]
        middle = low + (high - low) / 2
        cuts = np.concatenate([cuts, middle])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return _coarsened(h, whole, np.sort(cuts), least)


def _coarsened(h: Increasing, whole: Array, cuts: Array, least: float) -> Array:
    """The edges without the cuts that only led to a corner or a jump and are not at it."""
    for turn in range(_SPLITS):
        edges = np.sort(np.concatenate([whole, cuts]))
        at = np.searchsorted(edges, cuts)
        # No two neighbors in one turn, or the panel that replaces them goes unchecked.
        spare = _fits(h, edges[at - 1], edges[at + 1], least) & (at % 2 == turn % 2)
        cuts = cuts[~spare]
        if not spare.any() and turn % 2:
            break
    return np.sort(np.concatenate([whole, cuts]))


def _fits(h: Increasing, low: Array, high: Array, least: float) -> NDArray[np.bool_]:
    """Whether h is a polynomial on each panel; true as well where it overflows."""
    nodes, _ = legendre(_NODES)
    width = (high - low)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = h(low[:, None] + width * nodes) @ _interpolation().T
        rest = np.abs(fitted - h(low[:, None] + width * _CHECKED)).max(axis=1)
        # Relative to the lower end: the noise may fall as fast within the panel as h grows.
        return np.asarray(~(rest > 1e-12 * h(low) + least))


def increments(h: Increasing, edges: Array) -> tuple[Array, Array]:
    """Nodes t and weights of dh, both (n, p, q), for panels with edges (n, p + 1)."""
    nodes, weights = legendre(_NODES)
    width = np.diff(edges)
    t = edges[:, :-1, None] + width[:, :, None] * nodes
    found = (h(t) @ _derivative_matrix().T) * weights
    narrow = width <= _NARROW * edges[:, 1:]
    narrow |= edges[:, :-1] == 0
    found[narrow] = (np.diff(h(edges))[narrow])[:, None] * weights
    return t, found


@lru_cache(maxsize=1)
def _interpolation() -> Array:
    """Takes values at the nodes of [0, 1] to those of their polynomial at the checked places."""
    nodes, _ = legendre(_NODES)
    scales = _scales(nodes)
    matrix = 1 / scales / (_CHECKED[:, None] - nodes)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1)
def _derivative_matrix() -> Array:
    """Takes values at the nodes of [0, 1] to the derivative of the polynomial through them."""
    nodes, _ = legendre(_NODES)
    scales = _scales(nodes)
    matrix = scales[:, None] / scales / (nodes[:, None] - nodes + np.eye(_NODES))
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return np.asarray(matrix)


def _scales(nodes: Array) -> Array:
    """prod_{j != i} (x_i - x_j)."""
    return np.asarray((nodes[:, None] - nodes + np.eye(len(nodes))).prod(axis=1))
