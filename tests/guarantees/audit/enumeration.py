"""The exact law of a mechanism, by following every branch of its exact random choices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import chain, combinations_with_replacement, permutations, product
from math import exp, inf, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.dp.composition import delta_of
from askew.dp.privacy import ADD_OR_REMOVE_ONE, NeighboringRelation, PrivacyLoss
from askew.mechanisms.weights import Classes, Draws
from askew.noise.randomness import ReplayBits

Counts = tuple[int, ...]
Law = dict[tuple[int, ...], Fraction]
Shares = dict[tuple[int, ...], tuple[list[int], list[Fraction]]]  # by the branches that lead there
Weights = Mapping[tuple[int, ...], float | Fraction]


class Tape(Draws):
    """Draws whose results are written down beforehand; beyond the end, the first branch."""

    def __init__(self, branches: list[int], known: Shares) -> None:
        super().__init__(ReplayBits(b""))
        self.known = known
        self.branches, self.position, self.probability = branches, 0, Fraction(1)
        self.widths: list[int] = []

    def branch(self, probabilities: list[Fraction]) -> int:
        """The next choice that is written down."""
        if self.position == len(self.branches):
            self.branches.append(0)
        branch = self.branches[self.position]
        self.position += 1
        self.widths.append(len(probabilities))
        self.probability *= probabilities[branch]
        return branch

    def below(self, limit: int) -> int:
        return self.branch([Fraction(1, limit)] * limit) if limit > 1 else 0

    def below_each(self, limits: Sequence[int] | NDArray[np.int64]) -> list[int]:
        return [self.below(int(limit)) for limit in limits]

    def choose(self, classes: Classes) -> int:
        """A choice that was reached before, by the same branches, has the same shares."""
        blocks = [part() for part in classes.table(200.0).parts]
        path = tuple(self.branches[: self.position])
        if path not in self.known:
            pairs = [(int(k), w) for c in blocks for k, w in zip(c.keys, c.logs, strict=True)]
            keys = [key for key, log_weight in pairs if log_weight > -inf]
            weights = [Fraction(sum(classes.enclose(key, 160)), 2) for key in keys]
            total = sum(weights)
            self.known[path] = keys, [weight / total for weight in weights]
        keys, shares = self.known[path]
        return keys[self.branch(shares)]


def law_of(run: Callable[[Draws], tuple[int, ...]]) -> Law:
    """Every output with its probability, by depth-first search over the branches."""
    law: Law = defaultdict(Fraction)
    branches: list[int] = []
    known: Shares = {}
    while True:
        tape = Tape(branches, known)
        outcome = run(tape)
        law[outcome] += tape.probability
        while branches and branches[-1] + 1 == tape.widths[len(branches) - 1]:
            branches.pop()
        if not branches:
            return dict(law)
        branches[-1] += 1


class HasLaw(Protocol):
    def __call__(self, counts: Counts) -> Law: ...


def vectors(d: int, highest: int = 3) -> Iterator[Counts]:
    return product(range(highest + 1), repeat=d)


def with_one_more(counts: Counts) -> Iterator[Counts]:
    """All count vectors with one unit more."""
    for change in product((0, 1), repeat=len(counts)):
        yield tuple(c + x for c, x in zip(counts, change, strict=True))


def with_one_replaced(counts: Counts) -> Iterator[Counts]:
    for change in product((-1, 0, 1), repeat=len(counts)):
        yield tuple(c + x for c, x in zip(counts, change, strict=True))


def neighbors_of(counts: Counts, relation: NeighboringRelation, most: int) -> Iterator[Counts]:
    """List those with one unit more, or another in a unit's place; it has at most `most` items."""
    steps = (0, 1) if relation is ADD_OR_REMOVE_ONE else (-1, 0, 1)
    for change in product(steps, repeat=len(counts)):
        other = tuple(c + x for c, x in zip(counts, change, strict=True))
        if max(change.count(1), change.count(-1)) <= most and min(other) >= 0:
            yield other


def lost(law: HasLaw, loss: PrivacyLoss, most: int) -> tuple[float, float]:
    """Return what is claimed, delta or else epsilon, and what is lost of it between any neighbors
    of {0,1,2}^3, in both orders.
    """
    pairs = [(a, b) for a in vectors(3, 2) for b in neighbors_of(a, loss.neighbors, most)]
    both = [(law(a), law(b)) for a, b in pairs] + [(law(b), law(a)) for a, b in pairs]
    epsilon = float(loss.epsilon)
    if delta_of(loss):
        return float(delta_of(loss)), max(excess(p, q, epsilon) for p, q in both)
    ratios = (mass / q.get(o, Fraction(1, 10**30)) for p, q in both for o, mass in p.items())
    return epsilon, log(max(ratios))


def by_symmetry(law: HasLaw, *, sets: bool) -> HasLaw:
    """The law of a mechanism that treats items alike, computed on sorted vectors only."""
    known: dict[Counts, Law] = {}

    def of(counts: Counts) -> Law:
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
        canonical = tuple(counts[i] for i in order)
        if canonical not in known:
            known[canonical] = law(canonical)
        renamed: Law = {}
        for outcome, p in known[canonical].items():
            items = tuple(order[i] if i >= 0 else i for i in outcome)
            name = tuple(sorted(items)) if sets else items
            renamed[name] = renamed[name] + p if name in renamed else p
        return renamed

    return of


def sorted_vectors(d: int, highest: int = 3) -> Iterator[Counts]:
    """One vector of each class of {0..highest}^d under renaming of the items."""
    return combinations_with_replacement(range(highest, -1, -1), d)


def worst_log_ratio(
    law: HasLaw, d: int, neighbors: Callable[[Counts], Iterable[Counts]], highest: int = 3
) -> Decimal:
    """The largest |ln P(o | h) - ln P(o | h')| over all h in {0..highest}^d, h' and outputs.

    Of h one of each class under renaming is enough, for a law that treats items alike: renaming h
    and h' renames the outputs. To 40 digits: floats only tell which ratios cannot be the largest.
    """
    worst, least = Fraction(1), 0.0
    for counts in sorted_vectors(d, highest):
        here = law(counts)
        for other in neighbors(counts):
            there = law(other)
            for outcome, p in here.items():
                q = there[outcome]
                rough = abs(log(p) - log(q))
                if rough > least:
                    least = max(least, rough - 1e-9)
                    worst = max(worst, p / q, q / p)
    with localcontext(prec=60):
        return (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()


def worst_excess(law: HasLaw, d: int, epsilon: float, most: int, highest: int = 3) -> float:
    """The least delta for which neighbors are (epsilon, delta)-close, both ways.

    Neighbors: one unit more, which changes at most `most` counts, of all h in {0..highest}^d.
    """
    pairs = [
        (counts, other)
        for counts in vectors(d, highest)
        for other in with_one_more(counts)
        if sum(other) - sum(counts) <= most
    ]
    laws = {
        counts: {outcome: float(p) for outcome, p in law(counts).items()}
        for counts in {*chain.from_iterable(pairs)}
    }
    both = chain.from_iterable(map(permutations, pairs))
    return max(excess(laws[one], laws[other], epsilon) for one, other in both)


def excess(p: Weights, q: Weights, epsilon: float) -> float:
    """The hockey-stick divergence: sum over outputs of what P has beyond e^epsilon Q."""
    bound = exp(epsilon)
    return sum(max(float(a) - bound * float(q.get(o, 0)), 0.0) for o, a in p.items())
