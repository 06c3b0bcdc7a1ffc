"""What the mechanisms are, written from their definitions: every outcome, its score, its noise.

Nothing here knows of classes, ranks or binomials; all subsets and sequences are listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

from guarantees.audit.enumeration import Counts, HasLaw, Law
from guarantees.audit.exponential_sums import DIGITS, decimal, fraction, noisy, product

Scores = Mapping[tuple[int, ...], Fraction]


def winner(family: str, scores: Scores) -> Law:
    """P(outcome has the highest noisy score)."""
    sizes = Counter(scores.values())
    shares = of_one(family, tuple(sorted(sizes.items())))
    return {outcome: shares[score] for outcome, score in scores.items()}


@cache
def of_one(family: str, sizes: tuple[tuple[Fraction, int], ...]) -> dict[Fraction, Fraction]:
    """For `size` outcomes of every score: the probability that one of them wins."""
    lead = max(score for score, _ in sizes)
    with localcontext(DIGITS):
        if family == "gumbel":
            weights = {score: decimal(score - lead).exp() for score, _ in sizes}
            total = sum(weights[score] * size for score, size in sizes)
            return {score: fraction(weight / total) for score, weight in weights.items()}
        breaks = tuple(sorted({decimal(score - lead) for score, _ in sizes}))
        laws = {score: noisy(family, decimal(score - lead), breaks) for score, _ in sizes}
        found = {}
        for mine, _ in sizes:
            others = [
                laws[score].cdf for score, size in sizes for _ in range(size - (score == mine))
            ]
            wins = product(others, breaks) * laws[mine].density
            found[mine] = fraction(wins.integral())
        return found


@cache
def ranking(
    family: str, scores: tuple[Fraction, ...], length: int
) -> dict[tuple[int, ...], Fraction]:
    """P(the `length` highest noisy scores are those of these places, highest first)."""
    with localcontext(DIGITS):
        lead = max(scores)
        places = [decimal(score - lead) for score in scores]
        breaks = tuple(sorted(set(places)))
        laws = [noisy(family, place, breaks) for place in places]
        found = {}
        for order in permutations(range(len(scores)), min(length, len(scores))):
            above = product([], breaks)  # P(the ones before are in order and above t)
            for place in order[:-1]:
                above = (above * laws[place].density).tail()
            rest = [laws[place].cdf for place in range(len(scores)) if place not in order]
            last = product(rest, breaks) * laws[order[-1]].density
            found[order] = fraction((above * last).integral())
        return found


def one_shot(family: str, rate: Fraction, k: int) -> HasLaw:
    """The set of the k highest noisy scores, from the highest score outside it."""

    def law(counts: Counts) -> Law:
        with localcontext(DIGITS):
            lead = max(counts)
            places = [decimal(rate * (count - lead)) for count in counts]
            breaks = tuple(sorted(set(places)))
            laws = [noisy(family, place, breaks) for place in places]
            found: Law = {}
            for inside in combinations(range(len(counts)), k):
                outside = [i for i in range(len(counts)) if i not in inside]
                beaten = product([laws[i].survival for i in inside], breaks)
                total = Decimal(0)
                for highest in outside:
                    below = [laws[i].cdf for i in outside if i != highest]
                    part = product([beaten, *below, laws[highest].density], breaks)
                    total += part.integral()
                found[inside] = fraction(total) if outside else Fraction(1)
            return found

    return law


def peeled(family: str, rate: Fraction, k: int) -> HasLaw:
    """k winners, one after the other, each among the items that are left."""

    def law(counts: Counts) -> Law:
        found: Law = {(): Fraction(1)}
        for _ in range(k):
            longer: Law = defaultdict(Fraction)
            for chosen, p in found.items():
                left: dict[tuple[int, ...], Fraction] = {
                    (i,): rate * c for i, c in enumerate(counts) if i not in chosen
                }
                for outcome, q in winner(family, left).items():
                    longer[*chosen, *outcome] += p * q
            found = longer
        return dict(found)

    return law


def canonical(family: str, rate: Fraction, k: int, gamma: Fraction, *, clipped: bool) -> HasLaw:
    """argmax over subsets of -rate ((1 - gamma) M - gamma m), plus noise."""

    def law(counts: Counts) -> Law:
        scores: dict[tuple[int, ...], Fraction] = {}
        for inside in combinations(range(len(counts)), k):
            outside = [count for i, count in enumerate(counts) if i not in inside]
            lowest = min(counts[i] for i in inside)
            highest = max(outside, default=lowest)
            highest = max(highest, lowest) if clipped else highest
            scores[inside] = -rate * ((1 - gamma) * highest - gamma * lowest)
        return winner(family, scores)

    return law


def joint(family: str, rate: Fraction, k: int) -> HasLaw:
    """argmax over sequences of -rate * largest shortfall, plus noise."""

    def law(counts: Counts) -> Law:
        top = sorted(counts, reverse=True)
        scores: dict[tuple[int, ...], Fraction] = {}
        for items in permutations(range(len(counts)), k):
            loss = max(top[r] - counts[i] for r, i in enumerate(items))
            scores[items] = -rate * loss
        return winner(family, scores)

    return law


def rows(counts: Sequence[int]) -> list[int]:
    """Items by count, highest first, ties to the lower id."""
    return sorted(range(len(counts)), key=lambda i: (-counts[i], i))


def limited_domain(
    counts: Counts, *, k: int, kbar: int, epsilon: Fraction, stop: Fraction, domain: str
) -> Law:
    """Algorithms 1 and 5: rounds of the exponential mechanism until -1, the stop, is drawn.

    stop: how many items of count c + 1 the stop is worth.
    """
    cutoff, domain_items = _domain(counts, kbar, domain)
    found: Law = {}
    open_: Law = {(): Fraction(1)}
    for _ in range(k):
        longer: Law = {}
        for chosen, p in open_.items():
            left = [i for i in domain_items if i not in chosen]
            with localcontext(DIGITS):
                weights = {i: decimal(epsilon * (counts[i] - cutoff - 1)).exp() for i in left}
                total = sum(weights.values(), decimal(stop))
                longer |= {(*chosen, i): p * fraction(w / total) for i, w in weights.items()}
                found[*chosen, -1] = p * fraction(decimal(stop) / total)
        open_ = longer
    return found | open_


def laplace_domain(counts: Counts, k: int, kbar: int, rate: Fraction, threshold: Fraction) -> Law:
    """Algorithm 4: the noisy order of the positive items and the stop, cut at the stop or at k."""
    cutoff, items = _domain(counts, kbar, "positive")
    scores = [rate * (counts[i] - cutoff - 1) for i in items] + [threshold]
    names, found = [*items, -1], defaultdict[tuple[int, ...], Fraction](Fraction)
    for order, p in ranking("laplace", tuple(scores), k).items():
        outcome = tuple(names[place] for place in order)
        found[outcome[: outcome.index(-1) + 1] if -1 in outcome else outcome] += p
    return dict(found)


def _domain(counts: Counts, kbar: int, domain: str) -> tuple[int, list[int]]:
    """The next count, and the items that may be selected."""
    items = rows(counts)
    cutoff = counts[items[kbar]] if len(items) > kbar else 0
    least = {"top": 0, "positive": 1, "strict": cutoff + 1}[domain]
    return cutoff, [i for i in items[:kbar] if counts[i] >= least]
