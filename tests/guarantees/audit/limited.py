"""The laws of the mechanisms that see only the rows of an engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from guarantees.audit.contests import on_the_tape
from guarantees.audit.definitions import rows
from guarantees.audit.enumeration import Counts, HasLaw, Law, law_of

from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.limited_domain import top_of_rows
from askew.mechanisms.weights import Draws

Limited = LimitedDomain | LaplaceLimitedDomain


def exact_law(mechanism: Limited) -> HasLaw:
    """What the code does; -1 stands for the stop."""

    def law(counts: Counts) -> Law:
        items = range(len(counts))

        def run(draws: Draws) -> tuple[int, ...]:
            made = mechanism.draw(*top_of_rows(items, counts, mechanism.kbar), draws)
            return (*made, -1) if made.stopped else tuple(made)

        with on_the_tape():
            return law_of(run)

    return by_rows(law)


def by_rows(law: Callable[[Counts], Law]) -> HasLaw:
    """A law that depends on the counts in order and on nothing else, computed on those only."""
    known: dict[Counts, Law] = {}

    def of(counts: Counts) -> Law:
        order = rows(counts)
        ranked = tuple(counts[i] for i in order)
        if ranked not in known:
            known[ranked] = law(ranked)
        renamed: Law = defaultdict(Fraction)
        for outcome, p in known[ranked].items():
            renamed[tuple(order[i] if i >= 0 else -1 for i in outcome)] += p
        return renamed

    return of
