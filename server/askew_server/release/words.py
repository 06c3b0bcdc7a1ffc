"""A plan in words and numbers: what is shown before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.dp.privacy import BoundedRange
from askew.dp.release import PRIVACY_UNIT
from askew.mechanisms.shortfall import CHANCE
from askew_server.ledger import Dataset
from askew_server.release.forecast import Forecast
from askew_server.release.plan import ReleasePlan
from askew_server.release.tables import losses, number


def plan_in_words(plan: ReleasePlan, dataset: Dataset, foreseen: Forecast) -> list[tuple[str, str]]:
    """Headings and their text, in the order in which they are shown."""
    return [
        ("will spend", _spend(plan, dataset)),
        ("so far", f"{losses(dataset.spent.epsilon, dataset.spent.delta)} of {_cap(dataset)}"),
        ("data set", f"{plan.dataset}, version {plan.version}"),
        ("protects", f"{PRIVACY_UNIT}; neighbors: {plan.neighbors.value}"),
        ("counts", _counts(plan)),
        ("domain", _domain(plan)),
        ("selects", _selects(plan)),
        ("noise", plan.kind.noise(plan.selector, plan.max_items_per_unit)),
        ("needs", needs_in_words(foreseen)),
        ("accuracy", accuracy_in_words(f"{foreseen.people_below:,}", plan.k)),
    ]


def needs_in_words(foreseen: Forecast) -> str:
    """How many users it takes for a list worth having."""
    if foreseen.users_needed is None:
        return "more users than there are, for 19 of 20 items to be right"
    users = f"about {foreseen.users_needed:,} users at place {foreseen.k}"
    return f"{users} for 19 of 20 items to be right"


def expected_in_words(found: Sequence[Forecast], best: Forecast | None) -> list[tuple[str, str]]:
    """The expected hits of every mechanism, and which to take."""
    hits = ", ".join(f"{each.mechanism} {each.expected_hits}" for each in found)
    lines = [("expected", f"of {found[0].k} right: {hits}")]
    return lines if best is None else [*lines, ("proposed", proposal_in_words(best))]


def proposal_in_words(best: Forecast) -> str:
    """What is expected of the best, also of a wrong expectation."""
    if not best.finds_half:
        return "none: no mechanism is expected to find half; take a larger epsilon or a smaller k"
    hits = f"{best.mechanism}: {best.expected_hits} of {best.k} right"
    return f"{hits}; {best.hits_if_half} with half as many users, {best.hits_if_twice} with twice"


def too_few_in_words(chosen: Forecast, best: Forecast | None, origin: str) -> str:
    """Why a release is refused that would be mostly noise."""
    instead = ""
    if best is not None and best.finds_half:
        instead = f"--mechanism {best.mechanism} is expected to find {best.expected_hits}; "
    return (
        f"{chosen.mechanism} is expected to find {chosen.expected_hits} of {chosen.k} items"
        f" ({origin}), which is less than half: it needs {needs_in_words(chosen)}."
        f" Nothing was spent. {instead}--anyway releases it all the same"
    )


def accuracy_in_words(people: str, k: int) -> str:
    """What holds before anybody is counted."""
    return (
        f"at least {number(100 * CHANCE)} % sure, whatever the counts:"
        f" no item listed is more than {people} people below place {k}"
    )


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
