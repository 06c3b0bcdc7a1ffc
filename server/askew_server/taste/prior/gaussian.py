"""A prior under differential privacy: a Gaussian of tastes, and how often each item was seen.

Privacy unit: one person's whole history. Neighboring relation: add or remove one person.
Guarantee: pure epsilon-DP of the release, `PriorPlan.loss`, given the item vectors, the scale and
the list of items, exactly: the counts are integers, the noise is the two-sided geometric law of
`askew.noise.lattice`. Everything made of the release is free.

Released, each part with its share of epsilon (they add up), G = 2**16 grid steps a unit:

    part      each person adds                                         l1_sensitivity D, in steps
    count     1                                                        1
    mean      u clipped to length 1, truncated to the grid             sqrt(D) G
    moments   u_i u_j for i <= j < q, u_i^2 for i >= q, truncated      (q + 1) / 2 G
    seen      1 for each of at most S seen items                       S

    noise     inverse rate ceil(D / share), so epsilon = D ln(1 + 1 / rate) < share

Truncation only shrinks, and one step more pays for the rounding of floats. The l1 norm of the
moments: sum_{i<=j<q} |u_i u_j| = (|u|_1^2 + |u|_2^2) / 2 over the first q coordinates, which is at
most (q + 1) / 2 |u|_2^2, and the rest adds |u|_2^2 of the others. The length 1 is fixed in advance:
factors have orthonormal columns, so that |sum of v_i|^2 <= n and a taste is never longer. Which S
items count is decided by a public order of the items, and which ratings make a profile by
`factors.snapshot`: by a person's own history alone.

What it is given. Where vectors, scale and items were fixed in advance, by a model that none of
these people is in (`item_vectors.FixedVectors`), the release hides each person without a condition.
Where they are learned from the same people, one person more changes everybody's tastes: the sums
then moved by up to 20 times their sensitivity in trials, and epsilon compares only such people as
would give the same vectors. The card says which. Never covered: the model's space, rule, number of
buckets, figures and shared slate. Source: Dwork et al. 2006 (sums with noise); the parts are ours.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from askew.dp.privacy import ADD_OR_REMOVE_ONE, PureDP
from askew.errors import DataError, ParameterError
from askew.noise.lattice import TwoSidedGeometric
from askew.noise.randomness import RandomBits
from askew_server.taste.training.factors import Tastes

GRID = 1 << 16
SHARES = {"count": 1, "mean": 5, "moments": 8, "seen": 6}  # twentieths of epsilon
_MIXED = 8  # coordinates whose covariances are fitted, not only their variances
_SEEN_ITEMS = 64
_AT_ONCE = 1 << 22  # chances of having seen something: 32 MiB
_VERSION = 2  # 1 told tastes in which one person changed what counted of others


@dataclass(frozen=True)
class PriorPlan:
    """What is released, from public parameters alone. Raises ParameterError out of range."""

    epsilon: Fraction
    dimension: int
    n_items: int

    def __post_init__(self) -> None:
        if not Fraction(1, 100) <= self.epsilon <= 100:
            raise ParameterError("epsilon", self.epsilon, "from 1/100 to 100")

    @property
    def loss(self) -> PureDP:
        """What it costs."""
        return PureDP(self.epsilon, ADD_OR_REMOVE_ONE)

    @property
    def mixed(self) -> int:
        """q, the coordinates with covariances."""
        return min(_MIXED, self.dimension)

    @property
    def sensitivities(self) -> dict[str, int]:
        """D of each part, rounded up."""
        return {
            "count": 1,
            "mean": math.isqrt(self.dimension * GRID**2) + 2,
            "moments": math.ceil(Fraction(self.mixed + 1, 2) * GRID) + 1,
            "seen": _SEEN_ITEMS,
        }

    def inverse_rate(self, part: str) -> int:
        """The noise of a part, in its steps."""
        share = self.epsilon * Fraction(SHARES[part], sum(SHARES.values()))
        return math.ceil(self.sensitivities[part] / share)

    @property
    def digest(self) -> bytes:
        """SHA-256 of all that decides what is released, but for the people."""
        text = repr((_VERSION, self.epsilon, self.dimension, self.n_items, _SEEN_ITEMS))
        return sha256(text.encode()).digest()

    def release(self, tastes: Tastes, bits: RandomBits) -> bytes:
        """The noisy counts as JSON; pay before calling. O(people D q + items)."""
        exact = _sums(self, tastes)
        noisy = {}
        for part, counts in exact.items():
            law = TwoSidedGeometric.with_constant_work(self.inverse_rate(part))
            noisy[part] = (counts + law.draw(len(counts), bits)).tolist()
        return json.dumps({"kind": "prior", "version": _VERSION, **noisy}).encode()


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """What the release says. mean (D,), covariance (D, D), seen_rates (n_items,). Public."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    seen_rates: NDArray[np.float64]

    @classmethod
    def of_release(cls, plan: PriorPlan, payload: bytes) -> GaussianPrior:
        """Post-processing of a release. Raises DataError for a payload of another plan."""
        try:
            parts = {name: np.array(json.loads(payload)[name], dtype=np.float64) for name in SHARES}
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"not a release of a prior: {error}") from None
        shapes = {name: (size,) for name, size in _sizes(plan).items()}
        if {name: part.shape for name, part in parts.items()} != shapes:
            raise DataError("this release of a prior was made for another model")
        count = max(float(parts["count"][0]), 1.0)
        mean = parts["mean"] / (GRID * count)
        moments = _symmetric(plan, parts["moments"] / (GRID * count))
        covariance = _nearest_positive(moments - _known(plan, np.outer(mean, mean)))
        floor = 2 * plan.inverse_rate("seen")  # below twice the noise's scale it is mostly noise
        rates = np.where(parts["seen"] > floor, parts["seen"] / count, 0.0)
        return cls(mean, covariance, np.clip(rates, 0.0, 1.0))

    def people(self, count: int, seed: int) -> tuple[NDArray[np.float32], csr_array]:
        """Made-up people: tastes (count, D) and what they have seen. The seed is public."""
        rng = np.random.default_rng([seed, 7])
        values, axes = np.linalg.eigh(self.covariance)
        spread = axes * np.sqrt(np.maximum(values, 0))
        tastes = self.mean + rng.standard_normal((count, len(self.mean))) @ spread.T
        step = max(_AT_ONCE // len(self.seen_rates), 1)
        sizes = (min(step, count - start) for start in range(0, count, step))
        seen = [csr_array(self._seen(size, rng).astype(np.float64)) for size in sizes]
        return tastes.astype(np.float32), csr_array(vstack(seen, format="csr"))

    def _seen(self, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        seen: NDArray[np.bool_] = rng.random((count, len(self.seen_rates))) < self.seen_rates
        return seen


def _sizes(plan: PriorPlan) -> dict[str, int]:
    q = plan.mixed
    moments = q * (q + 1) // 2 + plan.dimension - q
    return {"count": 1, "mean": plan.dimension, "moments": moments, "seen": plan.n_items}


def _sums(plan: PriorPlan, tastes: Tastes) -> dict[str, NDArray[np.int64]]:
    vectors, q = tastes.vectors, plan.mixed
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    clipped = vectors / np.maximum(length, 1.0)
    upper = np.triu_indices(q)
    pairs = clipped[:, upper[0]] * clipped[:, upper[1]]
    squares = clipped[:, q:] ** 2
    grid = (np.trunc(each * GRID).astype(np.int64) for each in (clipped, pairs, squares))
    mean, mixed, alone = (each.sum(axis=0) for each in grid)
    counts = np.array([len(vectors)], dtype=np.int64)
    seen = _bounded_counts(tastes.people.seen)
    return {"count": counts, "mean": mean, "moments": np.append(mixed, alone), "seen": seen}


def _bounded_counts(seen: csr_array) -> NDArray[np.int64]:
    """How many people have seen each item, each person counting for at most S items."""
    order = np.random.default_rng(0).permutation(seen.shape[1])  # public, the same for everybody
    where = seen.tocoo()
    by_person = np.lexsort((order[where.col], where.row))
    row, column = where.row[by_person], where.col[by_person]
    first = np.searchsorted(row, np.arange(seen.shape[0]))
    counted = np.arange(len(row)) - first[row] < _SEEN_ITEMS
    return np.bincount(column[counted], minlength=seen.shape[1]).astype(np.int64)


def _symmetric(plan: PriorPlan, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    q = plan.mixed
    upper = np.triu_indices(q)
    full = np.diag(np.append(np.zeros(q), moments[len(upper[0]) :]))
    full[upper] = moments[: len(upper[0])]
    full[upper[1], upper[0]] = moments[: len(upper[0])]
    return full


def _known(plan: PriorPlan, outer: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entries of a matrix that the release has."""
    known = np.diag(np.diag(outer))
    known[: plan.mixed, : plan.mixed] = outer[: plan.mixed, : plan.mixed]
    return known


def _nearest_positive(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    values, axes = np.linalg.eigh(matrix)
    positive: NDArray[np.float64] = (axes * np.maximum(values, 0)) @ axes.T
    return positive
