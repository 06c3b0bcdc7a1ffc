"""The joint mechanisms: a whole ranking of k items at one stroke."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from askew.dp.privacy import BoundedRange
from askew.mechanisms.contest import Contest
from askew.mechanisms.joint_classes import ALL, JointClasses, SequenceLosses, enter_by_loss
from askew.mechanisms.shortfall import Shortfall, joint, joint_flipped
from askew.mechanisms.tally import Counted, Tally, halved
from askew.mechanisms.value_classes import Urn, items_of_the_highest
from askew.mechanisms.weights import Draws


class SequenceMechanism(Counted):
    """A mechanism over the sequences of k items, by the loss L of `Joint`."""

    @property
    def rate(self) -> Fraction:
        """Return the factor of L(s) in the exponent of a weight: epsilon / 2, or / 4 under
        REPLACE_ONE; twice that at k = 1, where the loss is a count and a shift.
        """
        rate = halved(self.epsilon, self.neighbors)
        return rate if self.k == 1 else rate / 2


@dataclass(frozen=True, kw_only=True)
class Joint(SequenceMechanism):
    """A sequence of k items by the exponential mechanism over all sequences.

        P(s) ~ exp(-rate * L(s)),    L(s) = max over r of (h_r - count of s_r)
        rate = epsilon / 2 (ADD_OR_REMOVE_ONE),    epsilon / 4 (REPLACE_ONE);    twice that at k = 1

    h_0 >= h_1 >= ... are the counts in order.

    Privacy unit: one person's whole history, changing each count by at most 1.
    Guarantee: pure epsilon-DP, no slack; also (epsilon^2 / 8)-zCDP (bounded range).
    Proof: h_r and a count move by at most 1, the same way under ADD_OR_REMOVE_ONE, so their
    difference moves by at most 1 (2 under REPLACE_ONE), either way, and so does the maximum; the
    exponential mechanism at half of epsilon per step of loss is epsilon-DP. (The loss does move
    both ways, so the monotone rate epsilon would leak up to 1.46 epsilon: a test shows it.) At
    k = 1, L = h_0 - count, and h_0, the same for all items, falls out; what is left are scores that
    move like counts: one way, by at most 1.

    select(counts): counts (d,), integers, d >= k. Item ids in rank order, never repeated; any k,
    counts below 2**61. Raises ParameterError.
    Complexity: O(d) or one sort, then at most k times the number of distinct counts within
    (ln(d!/(d-k)!) + 64) / rate of the top ones, whatever epsilon; of these only such as lie between
    losses that can matter, told by O(k log d) for each of few losses. Items of pools with a
    fourth of all left are found by O(1) tries each. O(d) memory.
    Source: Gillenwater, Joseph, Munoz, Ribero 2022; the mixture over steps is Askew's.
    """

    @property
    def shortfall(self) -> Shortfall:
        """Return Shortfall(`joint`, rate)."""
        return Shortfall(joint, self.rate)

    def ranged_loss(self) -> BoundedRange:
        """Return the BoundedRange of one round of epsilon, delta 0."""
        return BoundedRange(Fraction(self.epsilon), 1, Fraction(0), self.neighbors)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, best first."""
        losses = SequenceLosses(tally, self.k)
        classes = JointClasses(losses, self.rate)
        key = draws.choose(classes)
        everyone = np.full(self.k, len(tally))
        sizes = everyone if key == ALL else losses.choices(key)
        return items_of_the_highest(sizes, tally, draws)


@dataclass(frozen=True, kw_only=True)
class PNFJoint(SequenceMechanism):
    """As `Joint`, with exponential noise: permute-and-flip over all sequences.

        argmax over s of -rate * L(s) + Z_s,    Z_s independent, standard exponential

    Loss, rate, privacy unit, shapes and errors: `Joint`. Guarantee: pure epsilon-DP; not
    bounded-range, so it composes at its pure epsilon. Its expected loss is never above Joint's.
    Proof: the Lipschitz mechanism (`Lipschitz`, k = 1) over sequences, whose scores move by at most
    epsilon / 2 either way; at k = 1, `PermuteAndFlip`.

    Complexity and memory: `Joint`. The largest noise of the N(e) - N(e-1) sequences of one loss is
    drawn at once, in the log domain, so no count overflows; that of all losses too large to win
    with probability above exp(-40) is bounded by one draw more.
    Source: Gillenwater et al. 2022, whose code stops where ln N exceeds 709.
    """

    @property
    def shortfall(self) -> Shortfall:
        """Return Shortfall(`joint_flipped`, rate)."""
        return Shortfall(joint_flipped, self.rate)

    def draw(self, tally: Tally, draws: Draws) -> tuple[int, ...]:
        """Return k item ids of a tally, best first."""
        losses = SequenceLosses(tally, self.k)

        def exact(e: int) -> tuple[Fraction, int]:
            return -self.rate * e, losses.count(e) - losses.count(e - 1)

        contest = Contest("exponential", draws, exact)
        enter_by_loss(losses, self.rate, contest)
        return tally.items_at(_of_loss(losses, contest.ranked()[0], draws))


def _of_loss(losses: SequenceLosses, e: int, draws: Draws) -> list[int]:
    # The ranks, from 0, of a uniform sequence of loss exactly e. Position j is the first at which
    # the shortfall is e: the positions before it have t_r(e-1) - r choices, it has those with
    # shortfall e, the ones after it t_r(e) - r. At e = 0 the first has none before it, so that all
    # but its own product are 0.
    before, now = losses.choices(e - 1).tolist(), losses.choices(e).tolist()
    after = [1]
    for r in range(losses.k - 1, 0, -1):
        after.append(after[-1] * (now[r] - r))
    after.reverse()
    head, sizes = 1, []
    for r in range(losses.k):
        sizes.append(head * (now[r] - before[r]) * after[r])
        head *= before[r] - r
    mark, first = draws.below(sum(sizes)), 0
    while mark >= sizes[first]:
        mark -= sizes[first]
        first += 1
    urn = Urn()
    ranks = urn.take_each(before[:first], draws)
    ranks.append(urn.take_fresh(before[first], now[first], draws))
    return ranks + urn.take_each(now[first + 1 :], draws)
