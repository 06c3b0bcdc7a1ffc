"""The Lipschitz mechanism and its named forms; those of k rounds are in `peeling`.

    name                      noise          selects
    exponential mechanism     gumbel         one item, P(i) ~ exp(rate * score_i)
    permute-and-flip          exponential    one item, never worse than the exponential mechanism
    report noisy max          laplace        one item
    Peeling                   any            k items in rank order, k rounds of epsilon / k
    OneShot                   any            a set of k items, one draw of noise, kappa = k

Source: Shekelyan, Loukides 2022 (unification); McSherry, Talwar 2007 (exponential mechanism);
McKenna, Sheldon 2020 (permute-and-flip); Qiao, Su, Zhang 2021 (one-shot Laplace).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from askew.dp.privacy import NeighboringRelation, PureDP
from askew.mechanisms.noise import NoiseFamily, check_family
from askew.mechanisms.parameters import check_positive, check_scored, rate_of, tally_for
from askew.mechanisms.shortfall import EXPONENTIAL, Shortfall, one_shot
from askew.mechanisms.tally import Scores, Tally
from askew.mechanisms.value_classes import ValueClasses, highest, items_of_groups, peeled_gumbel
from askew.noise.exact import Draws
from askew.noise.randomness import RandomBits


@dataclass(frozen=True, kw_only=True)
class Lipschitz:
    """The k items with the highest noisy scores, as a sorted tuple of item ids.

        noisy score of item i = epsilon * x_i / kappa + Z_i,    Z_i independent, of one family
        x_i = count_i                        counts, ADD_OR_REMOVE_ONE
        x_i = count_i / 2                    counts, REPLACE_ONE
        x_i = score_i / (2 * linf_sensitivity)    scores that may move both ways

    Privacy unit: one person's whole history. A unit changes each count by at most 1, or each score
    by at most `linf_sensitivity`; scores are taken to move both ways unless `monotone` is set.
    Under REPLACE_ONE the neighbor has another unit instead, and scores that move both ways may move
    by twice what one that comes would move them: state that (see `Scored.linf_sensitivity`).
    Guarantee: (epsilon * k / kappa)-DP, pure, with no slack; kappa = k unless given.

    Proof. Fix the noise of the items outside a set S of size k, let T be the highest of their noisy
    scores. S is selected iff Z_i > T - score_i for all i in S, with probability the product of k
    survival functions. Between neighbors, T and the score of i move within an interval of width
    epsilon / kappa (both by steps in [0, epsilon / kappa], the same way, where counts move one way;
    by at most half of it, either way, otherwise), so each argument moves by at most
    epsilon / kappa, and the logarithm of each factor, being 1-Lipschitz, by no more.

    select(counts): counts (d,), integers or, in a list, Fractions; d >= k. Raises ParameterError.
    Complexity: O(d) or one sort, then one uniform for each distinct value, O(k log k) after that.
    Source: Shekelyan, Loukides 2022, Definition 2.1 and Theorem 4.1 (the set only, not its order).
    """

    epsilon: Fraction | int
    neighbors: NeighboringRelation
    k: int = 1
    noise: NoiseFamily = "gumbel"
    kappa: Fraction | int | None = None
    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        check_scored(self)
        check_family(self.noise)
        if self.kappa is not None:
            check_positive("kappa", self.kappa)

    @classmethod
    def exponential_mechanism(
        cls, epsilon: Fraction | int, neighbors: NeighboringRelation
    ) -> Lipschitz:
        """One item, with probability proportional to exp(rate * count)."""
        return cls(epsilon=epsilon, neighbors=neighbors, noise="gumbel")

    @classmethod
    def permute_and_flip(cls, epsilon: Fraction | int, neighbors: NeighboringRelation) -> Lipschitz:
        """One item by exponential noise; its expected error is never above the former's."""
        return cls(epsilon=epsilon, neighbors=neighbors, noise="exponential")

    @classmethod
    def report_noisy_max(cls, epsilon: Fraction | int, neighbors: NeighboringRelation) -> Lipschitz:
        """One item by Laplace noise."""
        return cls(epsilon=epsilon, neighbors=neighbors, noise="laplace")

    @property
    def rate(self) -> Fraction:
        """Noise units per unit of score."""
        return rate_of(self) / Fraction(self.k if self.kappa is None else self.kappa)

    def privacy_loss(self) -> PureDP:
        """epsilon * k / kappa, which is epsilon unless kappa was given."""
        kappa = Fraction(self.k if self.kappa is None else self.kappa)
        return PureDP(Fraction(self.epsilon) * self.k / kappa, self.neighbors)

    def select(self, counts: Scores, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, ascending; the order of their scores is not released."""
        return self.draw(tally_for(self, counts), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        if self.noise == "gumbel":
            return tuple(sorted(peeled_gumbel(tally, self.rate, self.k, draws)))
        groups = highest(ValueClasses(tally, self.rate), self.noise, self.k, draws)
        return tuple(sorted(items_of_groups(groups, tally, draws)))


@dataclass(frozen=True, kw_only=True)
class OneShot:
    """The k highest of all noisy scores at one stroke, as a set: `Lipschitz` with kappa = k.

        noisy score of item i = epsilon * count_i / k + Z_i     (half of it under REPLACE_ONE)

    Privacy unit, guarantee (pure epsilon-DP), proof, shapes, errors and complexity: `Lipschitz`.
    With Gumbel noise the set has the law of the exponential mechanism peeled.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    noise: NoiseFamily = "exponential"
    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        check_scored(self)
        check_family(self.noise)

    @property
    def shortfall(self) -> Shortfall | None:
        """That of one noise for each item; none for other noise than exponential."""
        if self.noise != "exponential":
            return None
        return Shortfall(partial(one_shot, law=EXPONENTIAL), rate_of(self) / self.k)

    def privacy_loss(self) -> PureDP:
        """epsilon for the whole set."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def select(self, counts: Scores, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, ascending."""
        return self.draw(tally_for(self, counts), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        return Lipschitz(**vars(self)).draw(tally, draws)
