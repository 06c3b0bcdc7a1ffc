"""Two rules that need no optimization: approximations with a name and a measured price.

`paper_quantiles`: appendix A.3 of Goel et al., for K = (k + 1) / 2: the offsets are where |Y| has
survival 1 - i / K, i = 0..K-1, with both signs. Under Laplace noise its cost is at most
(e (1 + ln K) + 1) / (K epsilon), and the logarithm is real.
`root_density_rule`: quantiles i / (k + 1) of the law whose density is prop. to sqrt(f): exact for
Laplace noise at odd k and h(t) = t, asymptotically optimal for every f (Zador, Bennett); for
h ~ t**r the density is f ** (1 / (1 + r)). `centered` takes the levels (i - 1/2) / k instead, which
the literature prefers on bounded intervals and which lose here.

Cost over optimum, measured for h(t) = t (tests hold them):

| rule | noise | k = 3 | 5 | 9 | 19 | 99 | 199 |
|---|---|---|---|---|---|---|---|
| paper | Laplace | 1.172 | 1.273 | 1.400 | 1.573 | 1.976 | 2.149 |
| paper | Gaussian | 1.128 | 1.181 | 1.239 | 1.311 | 1.466 | 1.530 |
| root density | Laplace | 1 | 1 | 1 | 1 | 1 | 1 |
| root density | Gaussian | 1.005 | 1.003 | 1.002 | 1.001 | 1.000 | 1.000 |
| centered | Gaussian | 1.084 | 1.060 | 1.038 | 1.020 | 1.004 | 1.002 |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.answer import Certificate, Placement, check_k
from askew.placement.cells import Cells
from askew.placement.disutility import Disutility, Identity
from askew.placement.mixtures import LaplaceMixture
from askew.placement.noise import Gaussian, Laplace, LineNoise, LogConcave

Array = NDArray[np.float64]

_GRID = 4001


def paper_quantiles(noise: LogConcave | Laplace, k: int, h: Disutility | None = None) -> Placement:
    """The rule of appendix A.3, odd k only, and what it costs under h (default h(t) = t)."""
    check_k(k)
    if k % 2 == 0:
        raise ParameterError("k", k, "odd for the quantile rule")
    i = np.arange(1, (k + 1) // 2)
    survival = 1 - i / ((k + 1) / 2)
    if isinstance(noise, Laplace):
        outward = -np.log(survival) / noise.epsilon
    else:
        outward = -noise.ppf(survival / 2)
    offsets = np.concatenate([-outward[::-1], [0.0], outward])
    return _measured(noise, h or Identity(), offsets, "quantile rule of appendix A.3")


def root_density_rule(
    noise: LogConcave, k: int, h: Disutility | None = None, *, centered: bool = False
) -> Placement:
    """Quantiles of the law of density prop. to sqrt(f), and what they cost under h."""
    check_k(k)
    offsets = root_density_quantiles(noise, k, centered=centered)
    return _measured(noise, h or Identity(), offsets, "quantiles of the root of the density")


def root_density_quantiles(
    noise: LogConcave, k: int, power: float = 0.5, *, centered: bool = False
) -> Array:
    """The quantiles i / (k + 1) of the law of density prop. to f ** power, symmetric."""
    i = np.arange(k // 2)
    q = (i + 0.5) / k if centered else (i + 1) / (k + 1)
    if isinstance(noise, Gaussian):
        negative = noise.ppf(q) / np.sqrt(power)
    else:
        negative = _tabulated(noise, q, power)
    middle = [0.0] if k % 2 else []
    return np.concatenate([negative, middle, -negative[::-1]])


def _tabulated(noise: LogConcave, q: Array, power: float) -> Array:
    # Twice as far as the noise itself goes: the root of the density has heavier tails.
    x = np.linspace(2 * float(noise.ppf(np.array([1e-12]))[0]), 0.0, _GRID)
    density = noise.pdf(x) ** power
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    kept = np.concatenate([[True], np.diff(below) > 0])
    return np.asarray(np.interp(q, below[kept] / below[-1] / 2, x[kept]))


def _measured(noise: LineNoise | Laplace, h: Disutility, offsets: Array, method: str) -> Placement:
    law = LaplaceMixture((1.0,), (noise.epsilon,)) if isinstance(noise, Laplace) else noise
    cells = Cells.of(law, h)
    sides = cells.whole_line(offsets)
    residual = float(np.abs(cells.gradient(offsets, sides).value).max())
    certificate = Certificate(0.0, residual, "an approximation; no bound is computed")
    return Placement(offsets, cells.cost(offsets, sides), method, certificate)
