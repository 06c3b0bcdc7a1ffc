"""One item at a time: k rounds of the Lipschitz mechanism, each on the items that are left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.dp.privacy import BoundedRange, ConcentratedDP, NeighboringRelation, PureDP
from askew.errors import ParameterError
from askew.mechanisms.noise import Contest, NoiseFamily, check_family
from askew.mechanisms.parameters import check_scored, rate_of, tally_for
from askew.mechanisms.shortfall import Shortfall, flipped, peeled
from askew.mechanisms.tally import Scores, Tally
from askew.mechanisms.value_classes import ValueClasses, items_of_groups, peeled_gumbel
from askew.noise.exact import Draws
from askew.noise.randomness import RandomBits


@dataclass(frozen=True, kw_only=True)
class Peeling:
    """k rounds, each selecting one of the items left with epsilon / k; item ids in rank order.

        round j: argmax over the items left of epsilon * count_i / k + Z_ij

    Privacy unit: one person's whole history. Guarantee: pure epsilon-DP, by k adaptive rounds of
    the Lipschitz mechanism with kappa = 1 (half the rate where counts move both ways). With Gumbel
    noise every round is bounded-range, so the same run is also (epsilon^2 / (8 k))-zCDP:
    `concentrated_loss`.

    select(counts): counts (d,), d >= k. Raises ParameterError.
    Complexity: O(d) or one sort, then one pass over the distinct values within about 50 / rate of
    the highest and O(k log k) comparisons (Gumbel; k passes where k is small), or k passes over all
    of them (other families).
    Source: McSherry, Talwar 2007; Durfee, Rogers 2019 (one-shot Gumbel is the same law; bounded
    range); Cesar, Rogers 2021 (zCDP).
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    noise: NoiseFamily = "gumbel"
    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        check_scored(self)
        check_family(self.noise)

    @property
    def rate(self) -> Fraction:
        """Noise units per unit of score."""
        return rate_of(self) / self.k

    @property
    def shortfall(self) -> Shortfall | None:
        """By its noise, Gumbel or exponential; none for others."""
        formula = {"gumbel": peeled, "exponential": flipped}.get(self.noise)
        return None if formula is None else Shortfall(formula, self.rate)

    def privacy_loss(self) -> PureDP:
        """epsilon for all k rounds."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """k bounded-range rounds, for Gumbel noise. Raises ParameterError for others."""
        if self.noise != "gumbel":
            limit = "gumbel: other families are not bounded-range; charge the pure epsilon"
            raise ParameterError("noise", self.noise, limit)
        return BoundedRange(Fraction(self.epsilon) / self.k, self.k, Fraction(0), self.neighbors)

    def concentrated_loss(self) -> ConcentratedDP:
        """k rounds of (epsilon / k)^2 / 8, as `ranged_loss`."""
        return ConcentratedDP(self.k * self.ranged_loss().epsilon ** 2 / 8, self.neighbors)

    def select(self, counts: Scores, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, best first."""
        return self.draw(tally_for(self, counts), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        if self.noise == "gumbel":
            return peeled_gumbel(tally, self.rate, self.k, draws)
        classes = ValueClasses(tally, self.rate)
        groups = []
        for _ in range(self.k):
            contest = Contest(self.noise, draws, classes.exact)
            classes.enter(contest)
            groups.append(contest.ranked()[0].key)
            classes.remove(groups[-1])
        return items_of_groups(groups, tally, draws)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip:
    """Permute-and-flip for one item, or peeled for k: `Peeling` with exponential noise.

    Flipping a coin of probability exp(-rate * gap) for the items in random order has the law of
    the argmax under exponential noise (Ding et al. 2021). Privacy unit, guarantee (pure
    epsilon-DP), shapes, errors and complexity: `Peeling`. Source: McKenna, Sheldon 2020.
    """

    epsilon: Fraction | int
    neighbors: NeighboringRelation
    k: int = 1
    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        check_scored(self)

    @property
    def shortfall(self) -> Shortfall | None:
        """That of its peeling."""
        return self._peeling().shortfall

    def privacy_loss(self) -> PureDP:
        """epsilon for all k rounds."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def select(self, counts: Scores, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, best first."""
        return self.draw(tally_for(self, counts), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        return self._peeling().draw(tally, draws)

    def _peeling(self) -> Peeling:
        return Peeling(noise="exponential", **vars(self))
