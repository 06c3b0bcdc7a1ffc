"""A plan in words and numbers: what is shown before anything is spent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from askew.mechanisms import LaplaceCounts, LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.accuracy import CHANCE, Bounded
from askew.mechanisms.parameters import ln
from askew.privacy import ADD_OR_REMOVE_ONE, BoundedRange
from askew.release import PRIVACY_UNIT
from askew_server.ledger import Dataset
from askew_server.release.plan import ReleasePlan


def plan_in_words(
    plan: ReleasePlan, dataset: Dataset, n_items: int | None
) -> list[tuple[str, str]]:
    """Headings and their text, in the order in which they are shown. n_items: of the catalog."""
    return [
        ("will spend", _spend(plan, dataset)),
        ("so far", f"{losses(dataset.spent.epsilon, dataset.spent.delta)} of {_cap(dataset)}"),
        ("data set", f"{plan.dataset}, version {plan.version}"),
        ("protects", f"{PRIVACY_UNIT}; neighbors: {plan.neighbors.value}"),
        ("counts", _counts(plan)),
        ("domain", _domain(plan)),
        ("selects", _selects(plan)),
        ("noise", noise_in_words(plan.selector, plan.max_items_per_unit)),
        ("accuracy", accuracy_in_words(f"{plan.people_below(n_items):,}", plan.k)),
    ]


def accuracy_in_words(people: str, k: int) -> str:
    """What holds before anybody is counted."""
    return (
        f"at least {number(100 * CHANCE)} % sure, whatever the counts:"
        f" no item listed is more than {people} people below place {k}"
    )


def losses(epsilon: Fraction, delta: Fraction) -> str:
    """A loss as people read it; the exact rationals stand in the release."""
    return f"epsilon {number(epsilon)}, delta {number(delta)}"


def number(value: Fraction | int) -> str:
    """Short, and exact where a short decimal is."""
    return f"{float(value):.6g}"


def _spend(plan: ReleasePlan, dataset: Dataset) -> str:
    most, slack = losses(plan.epsilon, plan.delta), number(dataset.cap.slack)
    if isinstance(plan.charge_request(ranged=dataset.cap.slack > 0).loss, BoundedRange):
        most = f"at most {most}, by zCDP with the others, which takes delta {slack} once for all"
    return f"{most}, once and for good, also if the job then fails"


def _cap(dataset: Dataset) -> str:
    return losses(dataset.cap.epsilon, dataset.cap.delta)


def _counts(plan: ReleasePlan) -> str:
    bound = plan.max_items_per_unit
    if bound is None:
        return "people per item; every item of a person, each once"
    return f"people per item; at most {bound} items of one person, each once, by a keyed hash"


def _domain(plan: ReleasePlan) -> str:
    if plan.source.catalog is None:
        return "unknown: only what a noisy threshold lets through is listed, so maybe fewer items"
    return f"public: every item of {Path(plan.source.catalog).name}"


def _selects(plan: ReleasePlan) -> str:
    form = "best first" if plan.kind.ranked else "as a set, in the order of their names"
    return f"{plan.k} items, {form}, by {plan.mechanism}"


def noise_in_words(selector: Bounded, bound: int | None) -> str:
    """What the noise is for, and what the contribution bound costs, or gains nothing."""
    match selector:
        case LimitedDomain(epsilon=epsilon, k=k, delta=delta, spread=spread):
            return (
                f"epsilon {number(epsilon)} in each of {k} rounds, threshold delta {number(delta)};"
                f" the bound of {bound} costs {ln(spread) / float(epsilon):,.0f} people of"
                f" {1 + ln(spread / delta) / float(epsilon):,.0f} that the threshold asks for"
            )
        case LaplaceCounts(epsilon=epsilon) | LaplaceLimitedDomain(epsilon=epsilon) if bound:
            factor = bound if selector.neighbors is ADD_OR_REMOVE_ONE else 2 * bound
            return (
                f"epsilon divided by {factor}: so much can one person change all counts; the bound"
                f" of {bound} makes the noise of a count {factor / float(epsilon):,.6g} people"
            )
    why = "for somebody who changes every count by 1, so it needs no bound"
    return why if bound is None else f"{why}; that of {bound} only loses events"
