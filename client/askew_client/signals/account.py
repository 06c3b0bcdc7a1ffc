"""The entries of a device's ledger, what they say in all, in its three accounts, and what a fresh
signal may still cost.

Epsilon of one rating; of one value on axes; per straight-line kilometer for places. The three never
mix. One signal serves a calendar month, written "2026-11". Without I/O.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from askew.dp.privacy import ANY_SPACE, SignalCharge
from askew.errors import BudgetExceeded, ParameterError
from askew_client.settings.settings import Caps
from askew_client.views.cost import AccountName, Cost, Leaves

if TYPE_CHECKING:
    from askew.protocol.signal import Mechanism

# In the order of what `Entry.adds` and `sums_of` return: `cost_of` finds an account by its place.
_MEASURES: Mapping[AccountName, str] = {
    "ratings": "epsilon of one rating",
    "axes": "epsilon of one value on axes",
    "places": "epsilon per kilometer",
}
_NOTHING = Fraction(0)
_STORED = re.compile("[0-9]+(/[1-9][0-9]*)?")  # nothing that is stored is negative


def rational_of(text: str) -> Fraction:
    """Return the number whose `str` is this text. Raises ValueError for a negative one and for any
    other text, also where it means a number: "1e999999999" would take all memory to read.
    """
    if _STORED.fullmatch(text) is None:
        raise ValueError
    value = Fraction(text)
    if str(value) != text:
        raise ValueError
    return value


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. kind: "signal", or "accept" for the person's act.

    epsilon_per_rating and epsilon_per_km are what it cost (`SignalCharge`); epsilon_per_rating: of
    one rating; with a handle and a space, of one value on axes. handle: of the place or value whose
    signal it is, or "" for tastes. signal is the stored signal.
    """

    kind: str
    space_version: str
    month: str
    epsilon_per_rating: Fraction
    signal: bytes | None = field(repr=False, default=None)
    handle: str = field(repr=False, default="")
    epsilon_per_km: Fraction = Fraction(0)

    @property
    def adds(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return what this entry adds to the accounts of ratings, of values on axes, and of places:
        (4/5, 0, 0) for a taste at epsilon 4/5; (4/5, 4/5, 0) for an "accept" that booked 4/5.

        A value on axes has a server's space and a handle; a taste has no handle, a place no space.
        """
        # In the order of `_MEASURES`.
        cost, none = self.epsilon_per_rating, Fraction(0)
        of_axes = bool(self.space_version and self.handle)
        booked = self.kind == "accept"
        return none if of_axes else cost, cost if of_axes or booked else none, self.epsilon_per_km

    @property
    def lasts(self) -> bool:
        """Return True if this entry has a place's signal: one for every month, of no server's
        space.
        """
        return self.signal is not None and self.space_version == ANY_SPACE


@dataclass(frozen=True)
class Account:
    """All that the whole ledger says at one moment, of its three accounts (`AccountName`) together.

    spent, spent_on_axes, spent_per_km: the sums of the three. refused: why nothing is spent, or
    None.
    """

    entries: tuple[Entry, ...]
    caps: Caps
    refused: str | None
    spent: Fraction
    spent_on_axes: Fraction
    spent_per_km: Fraction

    def drawn_in(self, month: str) -> tuple[Fraction, Fraction, Fraction]:
        """Return what the signals that were drawn in this month, "2026-11", as the function
        `drawn_in` finds them, add to the accounts of ratings, of values on axes, and of places.
        """
        return sums_of(drawn_in(self.entries, month))


def sums_of(entries: Iterable[Entry]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the sums of what these entries add to the accounts of ratings, of values on axes, and
    of places; Fraction(0) three times without any.
    """
    ratings, axes, places = _NOTHING, _NOTHING, _NOTHING
    for rating, value, per_km in (each.adds for each in entries):
        ratings, axes, places = ratings + rating, axes + value, places + per_km
    return ratings, axes, places


def drawn_in(entries: Sequence[Entry], month: str) -> list[Entry]:
    """Return the entries of kind "signal" that were drawn in this month, latest first. After an
    entry "accept" of an earlier month, signals of later months before it count in that month, too,
    as nobody knows which of the two clocks was wrong.
    """
    found, latest = [], "9999-12"
    for entry in reversed(entries):
        if entry.kind == "accept":
            latest = min(latest, entry.month)
        elif entry.kind == "signal" and month in (entry.month, min(latest, entry.month)):
            found.append(entry)
    return found


def cost_of(  # noqa: PLR0913, PLR0917  # what finds a signal, and what it costs
    entries: Sequence[Entry],
    space_version: str,
    month: str,
    charge: SignalCharge,
    caps: Caps,
    kept: tuple[SignalCharge, Mechanism] | None,
    handle: str = "",
) -> Cost:
    """Return the Cost of a signal of this month by these entries, with what its account has spent
    before; server and reason are "". kept: charge and mechanism of a stored signal that is sent
    again; the cost has them as charge and noise, and leaves is KEPT: nothing is taken. None for a
    fresh one: FRESH, `charge`, noise None; a cap that refuses it is named in `refused`, not raised.
    """
    account: AccountName = "axes" if space_version and handle else "ratings"
    limits: tuple[Fraction, Fraction | None, Fraction | None] = caps.lifetime, caps.monthly, None
    if charge.epsilon_per_km:
        account = "places"
        limits = caps.places_lifetime, caps.places_monthly, caps.places_draw
    elif account == "axes":
        limits = caps.axes_lifetime, caps.axes_monthly, None
    at, drawn = tuple(_MEASURES).index(account), drawn_in(entries, month)
    sent, noise = kept or (charge, None)
    cost = Cost(
        Leaves.FRESH if kept is None else Leaves.KEPT,
        sent,
        space_version=space_version,
        handle=handle,
        month=month,
        account=account,
        spent=sums_of(entries)[at],
        spent_this_month=sums_of(drawn)[at],
        cap=limits[0],
        monthly_cap=limits[1],
        draw_cap=limits[2],
        is_second=kept is None and any(entry.adds[at] for entry in drawn),
        noise=noise,
    )
    try:
        if cost.fresh:
            check_caps(cost)
    except BudgetExceeded as error:
        return replace(cost, refused=str(error))
    return cost


def check_caps(cost: Cost) -> None:
    """Raise BudgetExceeded if what a fresh signal is charged would pass a cap of its account: of
    one draw, for life, or of the month; to reach a cap is allowed. Else return None.
    """
    charged, exceeded = cost.charged, partial(BudgetExceeded, measure=_MEASURES[cost.account])
    following = first_day_after(cost.month).isoformat()
    of = "" if cost.account == "ratings" else f" of {cost.account}"
    if cost.draw_cap is not None and charged > cost.draw_cap:
        raise exceeded(charged, _NOTHING, cost.draw_cap, whose="cap of one position")
    if cost.spent + charged > cost.cap:
        whose = f"lifetime cap{of}"
        raise exceeded(charged, cost.spent, cost.cap, whose=whose, next_month=following)
    monthly = cost.monthly_cap
    if monthly is not None and cost.spent_this_month + charged > monthly:
        spent, renewed = cost.spent_this_month, charged <= monthly
        whose = f"monthly cap{of}"
        raise exceeded(charged, spent, monthly, whose=whose, next_month=following, renewed=renewed)


def check_month(month: str) -> None:
    """Raise ParameterError for anything but a month such as "2026-11", from 1900 to 2999; else
    return None.
    """
    if not re.fullmatch("(19|2[0-9])[0-9]{2}-(0[1-9]|1[0-2])", month):
        raise ParameterError("month", month, 'a month, such as "2026-11"')


def clock(entries: Sequence[Entry]) -> str:
    """Return the month of the last entry, "2026-11"; "" where there is none."""
    return entries[-1].month if entries else ""


def months_between(earlier: str, later: str) -> int:
    """Return how many months `later` is after `earlier`: 2 from "2026-11" to "2027-01"; negative
    when it is before.
    """
    return _months(later) - _months(earlier)


def first_day_after(month: str) -> datetime.date:
    """Return the first day of the month after this one: 2027-01-01 of "2026-12"."""
    year, number = divmod(_months(month) + 1, 12)
    return datetime.date(year, number + 1, 1)


def _months(month: str) -> int:
    year, number = month.split("-")
    return 12 * int(year) + int(number) - 1
