"""The laws of the mechanisms that see only the rows of an engine."""

from __future__ import annotations

from guarantees.audit.contests import on_the_tape
from guarantees.audit.enumeration import Counts, HasLaw, Law, by_symmetry, law_of

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

    return by_symmetry(law, sets=False)
