"""Baselines: what the papers compare with. Each is private; none is the best choice for counts.

Permute-and-flip peeling, the third baseline, is `PermuteAndFlip`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from askew.dp.composition import epsilon_per_round
from askew.dp.privacy import (
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    NeighboringRelation,
    PureDP,
)
from askew.mechanisms.parameters import (
    check_k,
    check_neighbors,
    check_positive,
    check_positive_int,
    check_probability,
    one_way,
)
from askew.mechanisms.peeling import Peeling
from askew.mechanisms.shortfall import LAPLACE, Shortfall, one_shot
from askew.mechanisms.tally import Counts, Tally, tally
from askew.mechanisms.value_classes import ValueClasses, highest, items_of_groups
from askew.noise.exact import Draws
from askew.noise.randomness import RandomBits


@dataclass(frozen=True, kw_only=True)
class ConcentratedPeeling:
    """The exponential mechanism peeled, its rounds composed by zCDP: ranked item ids.

        epsilon' = epsilon per round: the largest whose k epsilon'^2 / 8 of zCDP is (epsilon,
        delta)-DP by `concentrated_epsilon`, rounded down; epsilon / k at least

    Privacy unit: one person's whole history. Guarantee: (epsilon, delta)-DP, exact law.
    Proof: a bounded-range round of epsilon' is (epsilon'^2 / 8)-zCDP, and k of them add. The
    paper's Algorithm 3 takes a Gumbel scale of k / epsilon', which contradicts its own lemma; the
    scale is 1 / epsilon'. Its conversion is rho + 2 sqrt(rho ln(1/delta)), which gives less.
    Complexity: `Peeling`. Source: Durfee, Rogers 2019; Gillenwater et al. 2022, corrected; the
    conversion by Canonne, Kamath, Steinke 2020.
    """

    k: int
    epsilon: Fraction | int
    delta: Fraction
    neighbors: NeighboringRelation

    def __post_init__(self) -> None:
        check_k(self.k)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_neighbors(self.neighbors)

    @property
    def epsilon_per_round(self) -> Fraction:
        """epsilon', rounded down. See `askew.dp.composition.epsilon_per_round`."""
        return epsilon_per_round(Fraction(self.epsilon), self.k, self.delta)

    @property
    def shortfall(self) -> Shortfall | None:
        """That of its peeling."""
        return self._peeling().shortfall

    def privacy_loss(self) -> ApproximateDP:
        """(epsilon, delta)."""
        return ApproximateDP(Fraction(self.epsilon), self.delta, self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """k bounded-range rounds of epsilon'."""
        return self._peeling().ranged_loss()

    def concentrated_loss(self) -> ConcentratedDP:
        """k epsilon'^2 / 8."""
        return self._peeling().concentrated_loss()

    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, best first."""
        return self._peeling().select(counts, bits=bits)

    def _peeling(self) -> Peeling:
        return Peeling(k=self.k, epsilon=self.epsilon_per_round * self.k, neighbors=self.neighbors)


@dataclass(frozen=True, kw_only=True)
class LaplaceCounts:
    """The k highest counts after Laplace noise on each: ranked item ids.

        noisy count = count + Laplace(scale = l1_sensitivity / epsilon)

    Privacy unit: one person's whole history, changing counts by at most `l1_sensitivity` in all
    (2 max_items_per_unit under REPLACE_ONE). Guarantee: pure epsilon-DP; the order of the noisy
    counts is post-processing. Its comparisons of real-valued noise are exact.
    Complexity: `OneShot`. Source: Dwork, McSherry, Nissim, Smith 2006.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    max_items_per_unit: int

    def __post_init__(self) -> None:
        check_k(self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)
        check_positive_int("max_items_per_unit", self.max_items_per_unit)

    @property
    def l1_sensitivity(self) -> int:
        """How much one unit can change all counts together."""
        return self.max_items_per_unit * (1 if one_way(self.neighbors) else 2)

    @property
    def rate(self) -> Fraction:
        """Noise units per unit of count."""
        return Fraction(self.epsilon) / self.l1_sensitivity

    @property
    def shortfall(self) -> Shortfall:
        """That of one noise for each item."""
        return Shortfall(partial(one_shot, law=LAPLACE), self.rate)

    def privacy_loss(self) -> PureDP:
        """epsilon, whatever k."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, best first."""
        return self.draw(tally(counts, self.k), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        classes = ValueClasses(tally, self.rate)
        return items_of_groups(highest(classes, "laplace", self.k, draws), tally, draws)
