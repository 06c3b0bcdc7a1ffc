"""OpenDP's mechanisms, where it is installed: `pip install -r requirements-peers.lock`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

INSTALLED = find_spec("opendp") is not None
MISSING = "opendp is not installed: no row of its own (pip install -r requirements-peers.lock)"


def top_k(counts: NDArray[Any], k: int, epsilon: float) -> Callable[[], list[int]]:
    """Return a call of OpenDP's noisy top k: permute-and-flip peeled, by exact arithmetic."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i32"))
    made = dp.m.make_noisy_top_k(
        domain, dp.linf_distance(T="i32"), dp.max_divergence(), k, k / epsilon
    )
    data = counts.tolist()

    def run() -> list[int]:
        return list(made(data))

    return run


def noise(values: list[int], scale: float) -> Callable[[], object]:
    """Return a call that adds OpenDP's discrete Laplace noise to each of these integers."""
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T="i32"))
    made = dp.m.make_laplace(domain, dp.l1_distance(T="i32"), scale)
    return lambda: made(values)


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp
