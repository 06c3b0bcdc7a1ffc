"""Bits that are the same in every run, a chi-square test on them, and every exported mechanism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import shake_256
from typing import Any

from scipy.stats import chi2

from askew import mechanisms
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.noise.randomness import RandomBits


class ShakeBits(RandomBits):
    """The output of SHAKE-256 on a name: endless, uniform, repeatable. For tests."""

    def __init__(self, name: str) -> None:
        self._name, self._block, self._ahead = name, 0, b""

    def read(self, count: int) -> bytes:
        while len(self._ahead) < count:
            seed = f"{self._name}/{self._block}".encode()
            self._ahead += shake_256(seed).digest(1 << 14)
            self._block += 1
        piece, self._ahead = self._ahead[:count], self._ahead[count:]
        return piece


def p_value(draw: Callable[[], str], expected: Mapping[str, float], draws: int) -> float:
    """Chi-square p of `draws` outcomes against known probabilities; all others are one cell."""
    seen = Counter(draw() for _ in range(draws))
    cells = [(seen[outcome], p * draws) for outcome, p in expected.items()]
    rest = draws - sum(count for count, _ in cells), draws - sum(mean for _, mean in cells)
    large = [cell for cell in cells if cell[1] >= 8]
    small = [cell for cell in cells if cell[1] < 8] + [rest]
    pooled = sum(count for count, _ in small), sum(mean for _, mean in small)
    if pooled[1] >= 1:
        large.append(pooled)
    elif pooled[0] > 20:
        return 0.0
    statistic = sum((count - mean) ** 2 / mean for count, mean in large)
    return float(chi2.sf(statistic, len(large) - 1)) if len(large) > 1 else 1.0


MECHANISMS = [name for name in mechanisms.__all__ if name != "Selection"]
LIMITED = [name for name in MECHANISMS if hasattr(getattr(mechanisms, name), "select_from_top")]


def built(name: str, k: int = 2, **changed: Any) -> Any:
    """Return an exported mechanism by its name, at epsilon 1 unless it is `changed`."""
    delta, beside = {"delta": Fraction(1, 100)}, dict[str, dict[str, Any]]()
    beside["ConcentratedPeeling"] = delta
    beside["LaplaceCounts"] = {"max_items_per_unit": 2}
    beside["LaplaceLimitedDomain"] = {"kbar": k + 1, "max_items_per_unit": 2, **delta}
    beside["LimitedDomain"] = {"kbar": k + 1, **delta}
    arguments = {"k": k, "epsilon": 1, "neighbors": ADD_OR_REMOVE_ONE, **beside.get(name, {})}
    return getattr(mechanisms, name)(**arguments | changed)
