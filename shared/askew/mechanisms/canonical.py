"""The canonical Lipschitz mechanism: a k-subset at one stroke, without composition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb, exp

from askew.dp.privacy import (
    BoundedRange,
    ConcentratedDP,
    NeighboringRelation,
    PureDP,
    exact_rational,
)
from askew.errors import ParameterError
from askew.mechanisms.canonical_classes import TOP, CanonicalClasses, Cell, Loss
from askew.mechanisms.noise import Contest, NoiseFamily, check_family
from askew.mechanisms.parameters import check_k, check_neighbors, check_positive, halved
from askew.mechanisms.shortfall import Shortfall, canonical
from askew.mechanisms.tally import Counts, Quality, Tally, tally
from askew.mechanisms.value_classes import subset
from askew.noise.exact import Draws, log_total
from askew.noise.randomness import RandomBits


@dataclass(frozen=True, kw_only=True)
class Canonical:
    """A set of k items, the more probable the fewer units must change to make it the top k.

        noisy score of a subset S = -rate * L(S) + Z_S,    Z_S independent, of one family
        L(S) = (1 - gamma) M(S) - gamma m(S)
        M(S) = highest count outside S,    m(S) = lowest count inside S
        rate = epsilon (ADD_OR_REMOVE_ONE),    epsilon / 2 (REPLACE_ONE)

    `clipped=True` is the paper's form: the top k itself is scored as if M were m, that is with
    M = max(M, m) for every S. `clipped=False`, the default, scores the top k by the M that it has.
    The guarantee is the same; the top k gains a factor exp(rate (1 - gamma) (x_[k] - x_[k+1])) in
    weight and so needs 1.6 to 1.9 times less epsilon for the same probability on real counts.

    Privacy unit: one person's whole history, changing each count by at most 1.
    Guarantee: pure epsilon-DP, no slack; with Gumbel noise also (epsilon^2 / 8)-zCDP.

    Proof, for either form. A maximum or a minimum of counts moves by at most 1 between neighbors,
    and the way the counts move. Adding one unit: M and m each rise by 0..1, so L changes by a step
    in [-gamma, 1 - gamma], an interval of width 1, for every S; max(M, m) is a maximum of counts
    too. Replacing one: L changes by a step in [-1, 1], of width 2, and the rate is half. So a
    common shift apart, all scores move by at most rate * width / 2 either way, and the threshold
    that S must beat moves against its score by at most rate * width = epsilon; ln P(Z > z) is
    1-Lipschitz in z; hence ln P(S is selected) moves by at most epsilon. Nothing in this needs the
    clip: it only lowers the weight of the top k.

    gamma: 1/2 weighs both errors alike; 1 looks at the lowest count inside only and costs O(d).
    select(counts): counts (d,), integers, d >= k. Returns item ids, ascending. d = k: all items.
    Raises ParameterError. Complexity: O(d) or one sort, then one pass over the classes that matter,
    at most k times the number of distinct values, in O(d + k) memory.
    Source: Shekelyan, Loukides 2022, Algorithms 1 and 2 as corrected in `canonical_classes`; the
    unclipped form is Askew's.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    gamma: Fraction | int = Fraction(1, 2)
    noise: NoiseFamily = "gumbel"
    clipped: bool = False

    def __post_init__(self) -> None:
        check_k(self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)
        check_family(self.noise)
        if not 0 <= exact_rational("gamma", self.gamma) <= 1:
            raise ParameterError("gamma", self.gamma, "from 0 to 1")

    @property
    def rate(self) -> Fraction:
        """Noise units per unit of loss."""
        return halved(self.epsilon, self.neighbors)

    @property
    def shortfall(self) -> Shortfall | None:
        """`canonical` of `askew.mechanisms.shortfall`; none for other noise than Gumbel's."""
        if self.noise != "gumbel" or not self.gamma:
            return None
        formula = partial(canonical, gamma=float(self.gamma), clipped=self.clipped)
        return Shortfall(formula, self.rate)

    def privacy_loss(self) -> PureDP:
        """epsilon for the whole set."""
        return PureDP(Fraction(self.epsilon), self.neighbors)

    def ranged_loss(self) -> BoundedRange:
        """One bounded-range round, for Gumbel noise. Raises ParameterError for others."""
        if self.noise != "gumbel":
            limit = "gumbel: other families are not bounded-range; charge the pure epsilon"
            raise ParameterError("noise", self.noise, limit)
        return BoundedRange(Fraction(self.epsilon), 1, Fraction(0), self.neighbors)

    def concentrated_loss(self) -> ConcentratedDP:
        """epsilon^2 / 8, as `ranged_loss`."""
        return ConcentratedDP(self.ranged_loss().epsilon ** 2 / 8, self.neighbors)

    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]:
        """The selected item ids, ascending."""
        return self.draw(tally(counts, self.k), Draws(bits))

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """As `select`, from a tally and a source of exact draws."""
        classes = self._classes(tally)
        if self.noise == "gumbel":
            key = draws.choose(classes)
        else:
            contest = Contest(self.noise, draws, classes.exact)
            classes.enter(contest)
            key = contest.ranked()[0].key
        places = range(self.k) if key == TOP else _member(classes.cell(key), self.k, draws)
        return tuple(sorted(tally.items_at([*places])))

    def _classes(self, tally: Tally, *splits: int) -> CanonicalClasses:
        gamma = Fraction(self.gamma)
        return CanonicalClasses(tally, Loss(self.k, gamma, self.rate, self.clipped), splits)

    def probability_of_top(self, counts: Counts) -> float:
        """The probability of the k highest ranks, ties to the lower id; error below 1e-9 of it.

        Under a tie at rank k it is that of one of several equally good sets. Private: it describes
        the counts. Gumbel noise only; raises ParameterError for others.
        """
        self._needs_gumbel()
        classes = self._classes(tally(counts, self.k))
        return exp(-log_total(classes.table(60.0)))

    def probability_of(self, quality: Quality, counts: Counts) -> float:
        """The probability of TOP, GREAT, GOOD or another `Quality`; as `probability_of_top`."""
        self._needs_gumbel()
        must, within = quality.ranks(self.k)
        classes = self._classes(tally(counts, self.k), within)
        inside = classes.log_inside(min(must, self.k), within)
        return exp(inside - log_total(classes.table(60.0)))

    def class_probabilities(self, counts: Counts) -> Iterator[tuple[Cell | None, float]]:
        """Every class that matters (None: the top k) with its probability; Gumbel noise only."""
        self._needs_gumbel()
        classes = self._classes(tally(counts, self.k))
        table = classes.table(60.0)
        total = log_total(table)
        for part in table.parts:
            block = part()
            for key, log_weight in zip(block.keys.tolist(), block.logs.tolist(), strict=True):
                cell = None if key == TOP else classes.cell(key)
                yield cell, exp(log_weight - total)

    def _needs_gumbel(self) -> None:
        if self.noise != "gumbel":
            raise ParameterError(
                "noise", self.noise, "gumbel, whose probabilities are closed forms"
            )


def _member(cell: Cell, k: int, draws: Draws) -> list[int]:
    """The ranks, from 0, of a uniform subset of a class."""
    skip = 0 if cell.h is None else cell.h + 1  # ranks 1..h are in, h + 1 is out
    left = k if cell.h is None else k - cell.h
    lowest = _lowest_rank(cell, skip, left, draws)
    free = lowest - 1 - skip
    inside = [] if cell.h is None else [*range(cell.h)]
    return [*inside, *(skip + place for place in subset(free, left - 1, draws)), lowest - 1]


def _lowest_rank(cell: Cell, skip: int, left: int, draws: Draws) -> int:
    """t in first..last with probability proportional to C(t - 1 - skip, left - 1)."""
    if cell.first == cell.last:
        return cell.first
    before = comb(max(cell.first - 1 - skip, 0), left)
    mark = before + draws.below(comb(cell.last - skip, left) - before)
    low, high = cell.first, cell.last  # the least t with C(t - skip, left) > mark
    while low < high:
        middle = (low + high) // 2
        if comb(middle - skip, left) > mark:
            high = middle
        else:
            low = middle + 1
    return low
