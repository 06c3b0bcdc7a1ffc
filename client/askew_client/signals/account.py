"""What the ledger says in all, in its two accounts, and what a fresh signal may still cost.

Epsilon of one rating, or of one value on axes; epsilon per straight-line kilometer for places. The
two never mix. One signal serves a calendar month,
written "2026-11". Without I/O.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import BudgetExceeded, ParameterError
from askew_client.settings.settings import Caps
from askew_client.signals.entries import Entry
from askew_client.views.quote import Price

if TYPE_CHECKING:
    from askew.protocol.signal import Signal

PER_RATING = "epsilon of one rating or value"
PER_KM = "epsilon per kilometer"
_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Account:
    """All that the ledger says at one moment. spent, spent_per_km: the sums of the two accounts.
    refused: why nothing is spent, or None.
    """

    entries: tuple[Entry, ...]
    spent: Fraction
    caps: Caps
    refused: str | None
    spent_per_km: Fraction = _NOTHING

    def spent_in(self, month: str) -> Fraction:
        """What the signals that were drawn in one month tell at most of one rating."""
        return sum((each.epsilon_per_rating for each in drawn_in(self.entries, month)), _NOTHING)

    def spent_per_km_in(self, month: str) -> Fraction:
        """What the places that were drawn in one month cost, per straight-line kilometer."""
        return sum((each.epsilon_per_km for each in drawn_in(self.entries, month)), _NOTHING)


def drawn_in(known: Sequence[Entry], month: str) -> list[Entry]:
    """The signals that were drawn in one month, latest first.

    Where the person accepted an earlier clock, all that was drawn by the later one counts in the
    accepted month, too, as nobody knows which of the two clocks was wrong.
    """
    found, latest = [], "9999-12"
    for entry in reversed(known):
        if entry.kind == "accept":
            latest = min(latest, entry.month)
        elif entry.kind == "signal" and month in (entry.month, min(latest, entry.month)):
            found.append(entry)
    return found


def is_second(known: Sequence[Entry], space_version: str, month: str) -> bool:
    """Whether a fresh signal of this space would be the month's second one; a place is of none."""
    spaces = {each.space_version for each in drawn_in(known, month)}
    return space_version != ANY_SPACE and bool(spaces - {space_version, ANY_SPACE})


def price_of(  # noqa: PLR0913, PLR0917  # what finds a signal, and what it costs
    known: Sequence[Entry],
    space_version: str,
    month: str,
    charge: SignalCharge,
    caps: Caps,
    stored: Signal | None,
) -> Price:
    """What entries say of a signal of this month, in the account that its charge is of."""
    drawn = drawn_in(known, month)
    ratings = charge.epsilon_per_rating > 0
    count = (lambda e: e.epsilon_per_rating) if ratings else (lambda e: e.epsilon_per_km)
    spent, this_month = (sum(map(count, each), _NOTHING) for each in (known, drawn))
    by = None if stored is None else stored.mechanism
    second = stored is None and is_second(known, space_version, month)
    if ratings:
        limits = caps.lifetime, caps.monthly, None
        return Price(month, by, charge, second, spent, this_month, *limits)
    places = caps.places_lifetime, caps.places_monthly, caps.places_draw
    return Price(month, by, charge, second, spent, this_month, *places)


def check_caps(price: Price) -> None:
    """Raises BudgetExceeded unless a fresh signal may be paid for, in the account that it is of."""
    charge, places = price.charge, not price.charge.epsilon_per_rating
    cost = charge.epsilon_per_km if places else charge.epsilon_per_rating
    check = partial(BudgetExceeded, measure=PER_KM if places else PER_RATING)
    lifetime, monthly, draw = price.lifetime_cap, price.monthly_cap, price.draw_cap
    following, of = day_after(price.month).isoformat(), " of places" if places else ""
    if draw is not None and cost > draw:
        raise check(cost, _NOTHING, draw, whose="cap of one position")
    if price.spent + cost > lifetime:
        raise check(cost, price.spent, lifetime, whose=f"lifetime cap{of}", next_month=following)
    if monthly is not None and price.spent_this_month + cost > monthly:
        spent, whose = price.spent_this_month, f"monthly cap{of}"
        raise check(cost, spent, monthly, whose=whose, next_month=following, renewed=True)


def check_month(month: str) -> None:
    """Raises ParameterError for anything but a month such as "2026-11"."""
    if not re.fullmatch("(19|2[0-9])[0-9]{2}-(0[1-9]|1[0-2])", month):
        raise ParameterError("month", month, 'a month, such as "2026-11"')


def clock(known: Sequence[Entry]) -> str:
    """The month of the last entry, or ""."""
    return known[-1].month if known else ""


def months_between(earlier: str, later: str) -> int:
    """How many months `later` is after `earlier`; negative when it is before."""
    return _months(later) - _months(earlier)


def day_after(month: str) -> datetime.date:
    """The first day of the next month."""
    year, number = divmod(_months(month) + 1, 12)
    return datetime.date(year, number + 1, 1)


def _months(month: str) -> int:
    year, number = month.split("-")
    return 12 * int(year) + int(number) - 1
