"""The Lipschitz mechanism, its named forms, and two baselines: noise on the score of each item.

    name                      noise          selects
    exponential mechanism     gumbel         one item, P(i) ~ exp(rate * score_i)
    permute-and-flip          exponential    one item, never worse than the exponential mechanism
    report noisy max          laplace        one item
    OneShot                   any            a set of k items, one draw of noise, kappa = k
    Peeling                   any            k items in rank order, k rounds of epsilon / k
    PermuteAndFlip            exponential    the same
    ConcentratedPeeling       gumbel         the same, its rounds composed by zCDP
    LaplaceCounts             laplace        k items in rank order; epsilon whatever k

The last two are baselines of the papers; neither is the best choice for counts.
Source: Shekelyan, Loukides 2022 (unification); McSherry, Talwar 2007 (exponential mechanism);
McKenna, Sheldon 2020 (permute-and-flip); Qiao, Su, Zhang 2021 (one-shot Laplace).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from askew.dp.composition import epsilon_per_round
from askew.dp.privacy import (
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
    check_neighbors,
)
from askew.errors import ParameterError
from askew.mechanisms.contest import Contest, NoiseFamily, check_family
from askew.mechanisms.shortfall import Shortfall, flipped, one_shot, peeled
from askew.mechanisms.tally import (
    Counted,
    Counts,
    Scored,
    Tally,
    check_positive,
    check_positive_int,
    check_probability,
    one_way,
    rate_of,
)
from askew.mechanisms.value_classes import ValueClasses, highest, items_of_groups, peeled_gumbel
from askew.mechanisms.weights import Draws
from askew.noise.randomness import KERNEL, RandomBits


@dataclass(frozen=True, kw_only=True)
class Lipschitz(Scored):
    """The k items with the highest noisy scores, as a sorted tuple of item ids.

        noisy score of item i = epsilon * x_i / kappa + Z_i,    Z_i independent, of one family
        x_i = count_i                        counts, ADD_OR_REMOVE_ONE
        x_i = count_i / 2                    counts, REPLACE_ONE
        x_i = score_i / (2 * linf_sensitivity)    scores that may move both ways

    Privacy unit: one person's whole history. A unit changes each count by at most 1, or each score
    by at most `linf_sensitivity`; scores are taken to move both ways unless `monotone` is set.
    Under REPLACE_ONE the neighbor has another unit instead, and scores that move both ways may move
    by twice what one that comes would move them: state that (see `Scored`).
    Guarantee: (epsilon * k / kappa)-DP, pure, with no slack; kappa = k unless given.

    Proof. Fix the noise of the items outside a set S of size k, let T be the highest of their noisy
    scores. S is selected iff Z_i > T - score_i for all i in S, with probability the product of k
    survival functions. Between neighbors, T and the score of i move within an interval of width
    epsilon / kappa (both by steps in [0, epsilon / kappa], the same way, where counts move one way;
    by at most half of it, either way, otherwise), so each argument moves by at most
    epsilon / kappa, and the logarithm of each factor, being 1-Lipschitz, by no more.

    select(counts): counts (d,), integers or, in a list, Fractions; d >= k. Raises ParameterError.
    Complexity: O(d), one uniform for each item that is not too low to matter, O(k log k).
    Source: Shekelyan, Loukides 2022, Definition 2.1 and Theorem 4.1 (the set only, not its order).
    """

    k: int = 1
    noise: NoiseFamily = "gumbel"
    kappa: Fraction | int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_family(self.noise)
        if self.kappa is not None:
            check_positive("kappa", self.kappa)

    @property
    def rate(self) -> Fraction:
        """Return `rate_of(self)` / kappa, where kappa is k unless given: the factor of a score
        before unit noise is added.
        """
        return rate_of(self) / Fraction(self.k if self.kappa is None else self.kappa)

    def privacy_loss(self) -> PureDP:
        """Return the PureDP of epsilon * k / kappa, which is epsilon unless kappa was given."""
        kappa = Fraction(self.k if self.kappa is None else self.kappa)
        return PureDP(Fraction(self.epsilon) * self.k / kappa, self.neighbors)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, ascending."""
        if self.noise == "gumbel":
            return tuple(sorted(peeled_gumbel(tally, self.rate, self.k, draws)))
        return tuple(sorted(highest(tally, self.rate, self.noise, self.k, draws)))


@dataclass(frozen=True, kw_only=True)
class OneShot(Lipschitz):
    """The k highest of all noisy scores at one stroke, as a set: `Lipschitz` with kappa = k.

        noisy score of item i = epsilon * count_i / k + Z_i     (half of it under REPLACE_ONE)

    Privacy unit, guarantee (pure epsilon-DP), proof, shapes, errors and complexity: `Lipschitz`.
    With Gumbel noise the set has the law of the exponential mechanism peeled.
    """

    noise: NoiseFamily = "exponential"
    kappa: None = field(default=None, init=False, repr=False)

    @property
    def shortfall(self) -> Shortfall | None:
        """Return Shortfall(`one_shot` of "exponential", rate); None for other noise."""
        if self.noise != "exponential":
            return None
        return Shortfall(partial(one_shot, noise="exponential"), self.rate)


@dataclass(frozen=True, kw_only=True)
class Peeling(Scored):
    """k rounds, each selecting one of the items left with epsilon / k; item ids in rank order.

        round j: argmax over the items left of epsilon * count_i / k + Z_ij

    Privacy unit: one person's whole history. Guarantee: pure epsilon-DP, by k adaptive rounds of
    the Lipschitz mechanism with kappa = 1 (half the rate where counts move both ways). With Gumbel
    noise every round is bounded-range, so the same run is also (epsilon^2 / (8 k))-zCDP.

    select(counts): counts (d,), d >= k. Raises ParameterError.
    Complexity: with Gumbel noise and k >= 4, O(d), one uniform number for each item within about
    (25 + 2 ln d) / rate of the k-th, and O(k log k); else one sort and k passes over the distinct
    values.
    Source: McSherry, Talwar 2007; Durfee, Rogers 2019 (one-shot Gumbel is the same law; bounded
    range); Cesar, Rogers 2021 (zCDP).
    """

    noise: NoiseFamily = "gumbel"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_family(self.noise)

    @property
    def rate(self) -> Fraction:
        """Return `rate_of(self)` / k, the factor of a score before unit noise is added."""
        return rate_of(self) / self.k

    @property
    def shortfall(self) -> Shortfall | None:
        """Return Shortfall(`peeled`, rate) for "gumbel", Shortfall(`flipped`, rate) for
        "exponential", None for other noise.
        """
        formula = {"gumbel": peeled, "exponential": flipped}.get(self.noise)
        return None if formula is None else Shortfall(formula, self.rate)

    def ranged_loss(self) -> BoundedRange:
        """Return the BoundedRange of k rounds of epsilon / k, delta 0. Raises ParameterError for
        noise other than "gumbel".
        """
        if self.noise != "gumbel":
            limit = "gumbel: other families are not bounded-range; charge the pure epsilon"
            raise ParameterError("noise", self.noise, limit)
        return BoundedRange(Fraction(self.epsilon) / self.k, self.k, Fraction(0), self.neighbors)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, best first."""
        if self.noise == "gumbel":
            return peeled_gumbel(tally, self.rate, self.k, draws)
        classes = ValueClasses(tally, self.rate)
        groups = []
        for _ in range(self.k):
            contest = Contest(self.noise, draws, classes.exact)
            classes.enter(contest)
            groups.append(contest.ranked()[0])
            classes.remove(groups[-1])
        return items_of_groups(groups, tally, draws)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Peeling):
    """Permute-and-flip for one item, or peeled for k: `Peeling` with exponential noise.

    Flipping a coin of probability exp(-rate * gap) for the items in random order has the law of
    the argmax under exponential noise (Ding et al. 2021). Privacy unit, guarantee (pure
    epsilon-DP), shapes, errors and complexity: `Peeling`. Source: McKenna, Sheldon 2020.
    """

    k: int = 1
    noise: NoiseFamily = field(default="exponential", init=False, repr=False)


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
        check_positive_int("k", self.k)
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)
        check_neighbors(self.neighbors)

    @property
    def epsilon_per_round(self) -> Fraction:
        """Return epsilon of a round, `askew.dp.composition.epsilon_per_round` of epsilon, k and
        delta: epsilon / k or more, rounded down.
        """
        return epsilon_per_round(Fraction(self.epsilon), self.k, self.delta)

    @property
    def shortfall(self) -> Shortfall | None:
        """Return Shortfall(`peeled`, epsilon_per_round)."""
        return self._peeling().shortfall

    def privacy_loss(self) -> ApproximateDP:
        """Return the ApproximateDP (epsilon, delta), under its neighbors."""
        return ApproximateDP(Fraction(self.epsilon), self.delta, self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """Return the BoundedRange of k rounds of `epsilon_per_round`, with delta 0."""
        return self._peeling().ranged_loss()

    def select(self, counts: Counts, *, bits: RandomBits = KERNEL) -> tuple[int, ...]:
        """Return k item ids, best first. counts: one an item, at the place of its id."""
        return self._peeling().select(counts, bits=bits)

    def _peeling(self) -> Peeling:
        return Peeling(k=self.k, epsilon=self.epsilon_per_round * self.k, neighbors=self.neighbors)


@dataclass(frozen=True, kw_only=True)
class LaplaceCounts(Counted):
    """The k highest counts after Laplace noise on each: ranked item ids.

        noisy count = count + Laplace(scale = l1_sensitivity / epsilon)

    Privacy unit: one person's whole history, changing counts by at most `l1_sensitivity` in all
    (2 max_items_per_unit under REPLACE_ONE). Guarantee: pure epsilon-DP; the order of the noisy
    counts is post-processing. Its comparisons of real-valued noise are exact.
    Complexity: `OneShot`. Source: Dwork, McSherry, Nissim, Smith 2006.
    """

    max_items_per_unit: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive_int("max_items_per_unit", self.max_items_per_unit)

    @property
    def l1_sensitivity(self) -> int:
        """Return max_items_per_unit, or twice that under REPLACE_ONE."""
        return self.max_items_per_unit * (1 if one_way(self.neighbors) else 2)

    @property
    def rate(self) -> Fraction:
        """Return epsilon / l1_sensitivity: a person counted more is so many units of noise."""
        return Fraction(self.epsilon) / self.l1_sensitivity

    @property
    def shortfall(self) -> Shortfall:
        """Return Shortfall(`one_shot` of "laplace", rate)."""
        return Shortfall(partial(one_shot, noise="laplace"), self.rate)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, best first."""
        return highest(tally, self.rate, "laplace", self.k, draws)
