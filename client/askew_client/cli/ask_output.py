"""What `askew ask` prints: a price before, and the ranking after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from askew_client.views.answers import Answer, Cost
    from askew_client.views.quote import Quote

_NOTHING_RATED = (
    "(nothing of this catalog is rated, which no server is told: what is asked and charged is what "
    "it would be for anybody else; `askew profile add` rates titles)"
)


def as_lines(found: Answer) -> Iterator[str]:
    """The ranking as text, the pick marked."""
    for result in found.results:
        came = "  (came with the answer)" if result.came else ""
        yield f"{'*' if result.picked else ' '} {result.title.label}{came}"
    yield f"({found.source}; * is your pick, chosen on this device)"
    if not found.used:
        yield _NOTHING_RATED
    yield from _mode_lines(found)
    if found.unused:
        yield (
            f"(this device does not know the titles of {found.unused} of your ratings; "
            "--unmatched lists them)"
        )


def _mode_lines(found: Answer) -> Iterator[str]:
    """How it was answered, and what that cost."""
    yield f"({found.mode.name}: {found.mode.reason})"
    for note in found.mode.notes:
        yield f"({note})"
    if found.cost is not None:
        yield from _cost_lines(found.cost)
    if found.departure is not None and found.departure.fresh:
        yield "(a fresh signal was drawn and charged for this month)"


def quote_lines(quote: Quote) -> Iterator[str]:
    """What a fresh signal will cost; one that is sent again costs nothing, and needs no words."""
    from askew_client.views.answers import Cost

    cost, price = quote.cost, quote.terms.price
    if isinstance(cost, Cost) and price is not None and price.fresh:
        yield f"this question costs {_in_three_units(cost)}"
        yield (
            f"spent before it: {float(cost.spent):.4g} of {float(cost.cap):g} for life, "
            f"{float(price.spent_this_slot):.4g} of {float(price.monthly_cap or 0):g} "
            f"in {price.slot}"
        )


def _cost_lines(cost: Cost) -> Iterator[str]:
    spent = f"spent {float(cost.spent):.4g} of {float(cost.cap):g}"
    yield f"(this month's signal: {_in_three_units(cost)}; {spent})"
    if cost.epsilon != cost.wanted:
        yield "(it was drawn earlier; the settings asked for now count from next month on)"


def _in_three_units(cost: Cost) -> str:
    from askew_client.views.quote import at_most

    rate = cost.epsilon_per_distance
    metric = "" if rate is None else f"epsilon {float(rate):.3g} per unit distance, "
    return (
        f"{metric}{at_most(cost.one_rating, 3)} for one rating, at most "
        f"{at_most(cost.between_any_two, 3)} between any two people"
    )


def as_json(found: Answer) -> dict[str, object]:
    """The same for a program. came: those of the results that the answer brought."""
    return {
        "source": found.source,
        "simulated": found.simulated,
        "pick": found.pick.title.label,
        "results": [result.title.label for result in found.results],
        "came": [result.title.label for result in found.results if result.came],
        "used_ratings": found.used,
        "unused_ratings": found.unused,
        "mode": {
            "name": found.mode.name,
            "why": found.mode.reason,
            "notes": list(found.mode.notes),
        },
        "consent": found.mode.consent or None,
        "fresh": found.departure is not None and found.departure.fresh,
        "cost": None if found.cost is None else _cost_as_json(found.cost),
    }


def _cost_as_json(cost: Cost) -> dict[str, object]:
    return {
        "epsilon_per_distance": _optional(cost.epsilon_per_distance),
        "epsilon_per_rating": cost.one_rating,
        "epsilon_between_any_two": cost.between_any_two,
        "spent": float(cost.spent),
        "lifetime_cap": float(cost.cap),
    }


def _optional(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
