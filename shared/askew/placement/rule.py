"""`place`: the best placement known here for a noise law, a disutility and k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from askew.errors import ParameterError
from askew.placement.codebook import Progress
from askew.placement.laplace_line import place_on_laplace_line
from askew.placement.many_dimensions import place_in_space
from askew.placement.noise import Laplace, LaplaceMixture, LineNoise, LogConcave, Norm
from askew.placement.problem import Disutility, Identity, Placement, check_k, disutility_of


def place(  # noqa: PLR0913
    noise: Laplace | LineNoise,
    disutility: Disutility | Callable[..., Any] | None = None,
    k: int = 1,
    *,
    disutility_metric: Norm | None = None,
    on_demand: bool = True,
    progress: Progress | None = None,
) -> Placement:
    """The best k offsets known here, of least expected disutility, and how they were found.

    | noise | how |
    |---|---|
    | Laplace on the line | closed forms and a recurrence, exact for any increasing h |
    | Gaussian, Logistic, Uniform, Symmetric | Newton or shooting, exact; global where h jumps |
    | LaplaceMixture, OnGrid | global dynamic program and Newton, with a lower bound |
    | Laplace in d >= 2 dimensions | the best of codebook, product grid, cross |

    disutility: h, default h(t) = t; any increasing callable will do. disutility_metric: the norm of
    the distance t in d >= 2, default that of the noise. on_demand: fit a codebook that is not
    shipped (seconds), progress being called with the part that is done; without, a shipped one of
    fewer points or a grid stands in, so that a server answers at once.
    Raises InfiniteCost where no offsets have a finite cost, ParameterError for other arguments.
    """
    check_k(k)
    if disutility_metric not in {None, "l1", "l2"}:
        raise ParameterError("disutility_metric", disutility_metric, '"l1" or "l2"')
    h = Identity() if disutility is None else disutility_of(disutility)
    if isinstance(noise, Laplace):
        if noise.dimension == 1:
            return place_on_laplace_line(noise.epsilon, h, k)
        norm = disutility_metric or noise.metric
        return place_in_space(noise, h, k, norm=norm, on_demand=on_demand, progress=progress)
    return _place_on_line(noise, h, k)


def _place_on_line(noise: LineNoise, h: Disutility, k: int) -> Placement:
    # Imported where needed: these need scipy, which a device does not have.
    from askew.placement.log_concave import place_log_concave
    from askew.placement.search import place_anywhere

    if isinstance(noise, LogConcave):
        return place_log_concave(noise, h, k)
    if isinstance(noise, LaplaceMixture) and len(set(noise.epsilons)) == 1:
        return place_on_laplace_line(noise.epsilons[0], h, k)
    if isinstance(noise, LineNoise):
        return place_anywhere(noise, h, k)
    raise ParameterError("noise", noise, "a noise law of askew.placement")
