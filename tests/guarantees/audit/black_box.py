"""What draws of a production object show of its loss, when nobody looks inside.

A fair coin picks one of two neighboring inputs, a guess names it by the output. Of an epsilon-DP
mechanism no guess is right more often than e**epsilon / (1 + e**epsilon), whatever the rule, so the
right ones are binomial at most. The rule is learned from draws of its own and frozen.

Rates of false alarm and of power are computed, not simulated: `FALSE_ALARM` is exact up to the
steps of the binomial law, and `power` is a lower bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binom

FALSE_ALARM = 1e-10
"""Of each look at fresh draws: 1,000 looks in each of 10,000 runs would raise one in a thousand."""
LEAK = 1.2
"""How many times its claim a mechanism must lose for its power to be stated."""
TRAINING = 0.35  # of the draws
LEAKS = (1.1, 1.2, 1.5, 2.0, 4.0)  # that are bet on

Draw = Callable[[int], Sequence[Hashable]]
Weights = Mapping[Hashable, float]  # of outputs: how often each was seen, or its probability
Rule = dict[Hashable, bool]  # whether an output names the first input; others are not guessed on


class Verdict(NamedTuple):
    """p_value: of so many right guesses, if the claim held.

    at_least: the loss, but for FALSE_ALARM.
    """

    guesses: int
    right: int
    p_value: float
    at_least: float

    @property
    def guilty(self) -> bool:
        """Whether the claim is refuted."""
        return self.p_value < FALSE_ALARM


def most_right(epsilon: float) -> float:
    """How often a guess may be right."""
    return 1 / (1 + exp(-epsilon))


def rule_from(first: Weights, second: Weights, epsilon: float) -> Rule:
    """The outputs, surest first, as far as they speak most against the claim."""
    pairs = {each: (first.get(each, 0), second.get(each, 0)) for each in {**first, **second}}
    surest = sorted(pairs, key=lambda each: -(max(pairs[each]) + 1) / (min(pairs[each]) + 1))
    bound = most_right(epsilon)
    right, guesses, kept, best = 0.0, 0.0, 0, -inf
    for place, each in enumerate(surest):
        right, guesses = right + max(pairs[each]), guesses + sum(pairs[each])
        score = (right - guesses * bound) / sqrt(guesses)
        if score > best:
            best, kept = score, place + 1
    return {each: pairs[each][0] >= pairs[each][1] for each in surest[:kept]}


def played(rule: Rule, first: Draw, second: Draw, draws: int) -> tuple[int, int]:
    """Guesses, and right ones, where a fair coin picks the input of every draw."""
    ones = int(np.random.default_rng().binomial(draws, 0.5))
    said = [rule[each] for each in first(ones) if each in rule]
    denied = [not rule[each] for each in second(draws - ones) if each in rule]
    return len(said) + len(denied), sum(said) + sum(denied)


def audit_pure(first: Draw, second: Draw, epsilon: float, draws: int) -> Verdict:
    """Whether `draws` outputs of two neighbors refute epsilon, and the loss that they prove."""
    training = int(TRAINING * draws / 2)
    rule = rule_from(Counter(first(training)), Counter(second(training)), epsilon)
    return judged(rule, first, second, epsilon, draws - 2 * training)


def judged(rule: Rule, first: Draw, second: Draw, epsilon: float, draws: int) -> Verdict:
    """The same by a rule that saw none of these draws."""
    guesses, right = played(rule, first, second, draws)
    p = float(binom.sf(right - 1, guesses, most_right(epsilon)))
    least = float(beta.ppf(FALSE_ALARM, right, guesses - right + 1)) if right else 0.0
    return Verdict(guesses, right, p, log(least / (1 - least)) if 0 < least < 1 else -inf)


def delta_at_least(first: Draw, second: Draw, epsilon: float, draws: int) -> float:
    """Clopper and Pearson's bound on P(S | first) - e**epsilon P(S | second), S learned apart.

    Of draws // 2 outputs of each neighbor; it is above the true delta with FALSE_ALARM at most.
    """
    training = int(TRAINING * draws / 2)
    test = draws // 2 - training
    ones, others = Counter(first(training)), Counter(second(training))
    factor = exp(epsilon)
    inside = {
        each
        for each, count in ones.items()
        if count - factor * others[each] > 3 * sqrt(count + factor**2 * others[each])
    }
    hits = sum(each in inside for each in first(test))
    stray = sum(each in inside for each in second(test))
    low = float(beta.ppf(FALSE_ALARM / 2, hits, test - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - FALSE_ALARM / 2, stray + 1, test - stray)) if stray < test else 1.0
    return low - factor * high


class Wager:
    """Bets on leaks of several sizes: its mean wealth is an e-value at all times.

    A bet on `leak` multiplies by the odds of its law over those of the claim. If the claim holds,
    no bet gains on average, so the wealth ever passes 1 / FALSE_ALARM with FALSE_ALARM at most.
    """

    def __init__(self, epsilon: float) -> None:
        claimed, bets = most_right(epsilon), np.array([most_right(epsilon * x) for x in LEAKS])
        self._right, self._wrong = np.log(bets / claimed), np.log((1 - bets) / (1 - claimed))
        self._wealth = np.zeros(len(LEAKS))

    def see(self, guesses: int, right: int) -> None:
        """New guesses, by a rule that did not see them."""
        self._wealth += right * self._right + (guesses - right) * self._wrong

    @property
    def log_e_value(self) -> float:
        """The logarithm of the mean wealth."""
        return float(np.logaddexp.reduce(self._wealth) - log(len(LEAKS)))


def stops_after(
    first: Draw, second: Draw, epsilon: float, most: int, batch: int = 400
) -> int | None:
    """The draws after which the claim is refuted, or None if `most` do not.

    The rule is learned anew from all that was seen whenever that has doubled. Half a batch is drawn
    from each input: a bet's mean gain on the pair is a product x y, which is at most the square of
    (x + y) / 2, the gain by a fair coin.
    """
    wager, half = Wager(epsilon), batch // 2
    ones, others = Counter(first(half)), Counter(second(half))
    rule, learned_from = rule_from(ones, others, epsilon), batch
    for seen in range(2 * batch, most + 1, batch):
        new, other = Counter(first(half)), Counter(second(half))
        guesses = sum(new[each] + other[each] for each in rule)
        wager.see(guesses, sum((new if mine else other)[each] for each, mine in rule.items()))
        if wager.log_e_value > -log(FALSE_ALARM):
            return seen
        ones, others = ones + new, others + other
        if seen >= 2 * learned_from:
            rule, learned_from = rule_from(ones, others, epsilon), seen
    return None


def wager_power(epsilon: float, share: float, right: float, draws: int) -> float:
    """At least how often a wager is won within so many draws, by a rule that is known before, if a
    share of the outputs is guessed on, and guesses are right that often: by the bet on LEAK alone.
    """
    guesses = int(binom.ppf(1e-6, draws, share))
    claimed, bet = most_right(epsilon), most_right(LEAK * epsilon)
    gain, rest = log(bet / claimed), log((1 - bet) / (1 - claimed))
    needed = (log(len(LEAKS) / FALSE_ALARM) - guesses * rest) / (gain - rest)
    return max(0.0, float(binom.sf(needed, guesses, right)) - 1e-6)


def delta_power(epsilon: float, claimed: float, hit: float, stray: float, draws: int) -> float:
    """At least how often `delta_at_least` is above a claim, if the set that it learned is hit by
    the first input with one probability and by the second with the other.
    """
    test = draws // 2 - int(TRAINING * draws / 2)
    for missed in (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1):
        hits, strays = binom.ppf(missed, test, hit), binom.isf(missed, test, stray)
        low = beta.ppf(FALSE_ALARM / 2, hits, test - hits + 1)
        high = beta.isf(FALSE_ALARM / 2, strays + 1, test - strays)
        if low - exp(epsilon) * high > claimed:
            return 1 - 2 * missed
    return 0.0


class Auditor(NamedTuple):
    """How it looks, how often it accuses the innocent, and how surely it sees the guilty."""

    name: str
    false_alarm: str
    guilty: str
    power: float


def auditors() -> list[Auditor]:
    """Each, at the sizes that production objects are audited at; all of it computed.

    Goodness of fit is not among them: its power differs by mechanism, and stands beside each.
    """
    leak, draws = most_right(2 * LEAK), 40_000
    look = f"{FALSE_ALARM:g} a look"
    return [
        Auditor("exact enumeration", "none", "any loss beyond the claim", 1.0),
        Auditor(
            "guesses, a fixed number of draws",
            look,
            f"{LEAK} times epsilon 2, {draws:,} draws of which half tell",
            power(2.0, 0.5, leak, draws),
        ),
        Auditor(
            "guesses, as a wager that stops early",
            f"{look}, however often it is looked at",
            f"{LEAK} times epsilon 2, within {draws:,} draws of which half tell",
            wager_power(2.0, 0.5, leak, draws),
        ),
        Auditor(
            "delta, by Clopper and Pearson",
            look,
            f"delta .1 for .05, {draws:,} draws",
            delta_power(1.0, 0.05, 0.1, 0.0, draws),
        ),
    ]


def power(epsilon: float, share: float, right: float, draws: int) -> float:
    """At least how often the claim is refuted, if a share of the outputs is guessed on, and the
    guesses are right that often.
    """
    return power_of_rule(epsilon, share, right, draws - 2 * int(TRAINING * draws / 2))


def power_of_rule(epsilon: float, share: float, right: float, draws: int) -> float:
    """The same of a rule that is known before."""
    guesses = int(binom.ppf(1e-6, draws, share))
    needed = int(binom.isf(FALSE_ALARM, guesses, most_right(epsilon))) + 1
    return max(0.0, float(binom.sf(needed - 1, guesses, right)) - 1e-6)
