"""The ledger in words: what was spent, when, on which space, and what that means."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from askew_client.profile.document import NamedPlace
from askew_client.settings.settings import month_of
from askew_client.signals.account import Account, Entry, clock, first_day_after
from askew_client.views.cost import at_most, times

if TYPE_CHECKING:
    from askew_client.signals.store import SignalStore

NO_PLACES: Final[Mapping[str, NamedPlace]] = MappingProxyType({})


@dataclass(frozen=True)
class Budget:
    """The ledger as a person reads it. lines: each entry, and what it means. mode: how a question
    would be answered now, once there is a connection.
    """

    account: Account
    next_month: datetime.date
    lines: tuple[tuple[Entry, str], ...]
    words: tuple[str, ...]
    mode: str = ""


def budget_of(
    store: SignalStore, today: datetime.date, places: Mapping[str, NamedPlace] = NO_PLACES
) -> Budget:
    """Return the Budget that a person reads: account; lines, a tuple (entry, "one signal, epsilon
    0.8 a rating: ...") of each entry, oldest first; words, a tuple: "Ratings: spent 0.8 of a
    lifetime cap of 48; 47.2 is left. This month: 0.8 of 1.6.", what that means ("Nothing that
    depends on you has left this device." of an empty ledger), then values on axes and places where
    any is spent; next_month, the first day after today's month; mode "".

    places: the profile's, whose names begin the lines of their entries, "home: one noisy position,
    ...", or "home and flat: ..." where both have it; for a handle that none of them has, "a place
    without a name now: ...".
    """
    account = store.account()
    month = max(month_of(today), clock(account.entries))
    names: dict[str, str] = {}
    for name, place in places.items():  # several names may share one noisy position
        before = names.get(place.handle)
        names[place.handle] = name if before is None else f"{before} and {name}"
    return Budget(
        account,
        next_month=first_day_after(month_of(today)),
        lines=tuple((entry, _meaning(entry, names)) for entry in account.entries),
        words=(
            *_words(account, month),
            *_words_of_axes(account, month),
            *_words_of_places(account, month),
        ),
    )


def _meaning(entry: Entry, names: Mapping[str, str]) -> str:
    if entry.kind == "accept":
        besides = f", and {at_most(entry.epsilon_per_km)} per km," if entry.epsilon_per_km else ""
        words = (
            f"you continued here; {at_most(entry.epsilon_per_rating)} a rating or value on axes"
            f"{besides} was booked for what the ledger had lost, as far as its mark knew"
        )
    elif entry.epsilon_per_km:
        per_km = entry.epsilon_per_km
        words = (
            f"one noisy position, epsilon {at_most(per_km)} per km: the odds between two places "
            f"10 km apart change at most {times(10 * per_km)}"
        )
    elif entry.handle:
        words = f"one value on axes, at most {at_most(entry.epsilon_per_rating)} from any other"
    else:
        each = entry.epsilon_per_rating
        words = (
            f"one signal, epsilon {at_most(each)} a rating: the odds that you rated a title change "
            f"at most {times(each)}, that you rated one and not another at most {times(2 * each)}"
        )
    if entry.handle:
        return f"{names.get(entry.handle, 'a place without a name now')}: {words}"
    return words


def _words(account: Account, month: str) -> Iterator[str]:
    spent, cap = float(account.spent), float(account.caps.lifetime)
    monthly, this_month = account.caps.monthly, float(account.drawn_in(month)[0])
    now = "" if monthly is None else f" This month: {this_month:.4g} of {float(monthly):g}."
    yield (
        f"Ratings: spent {spent:.4g} of a lifetime cap of {cap:g}; "
        f"{max(cap - spent, 0):.4g} is left.{now}"
    )
    if account.refused:
        yield "More may have left this device, and been spent, than this ledger knows."
    elif not account.entries:
        yield "Nothing that depends on you has left this device."
    if not spent:
        return
    odds = times(spent).removesuffix(" times")
    yield (
        "Someone who knows all but one of your ratings, and saw every signal, could tell that one "
        f"at most e^{at_most(account.spent)} better than by guessing: {odds} to 1. Two people "
        "who differ in n ratings are told apart by up to n times that exponent: you hide among "
        "people like you."
    )


def _words_of_axes(account: Account, month: str) -> Iterator[str]:
    if account.spent_on_axes:
        yield (
            f"Values on axes: spent {at_most(account.spent_on_axes)} of a lifetime cap of "
            f"{float(account.caps.axes_lifetime):g}, between any two values. This month: "
            f"{at_most(account.drawn_in(month)[1])} of {float(account.caps.axes_monthly):g}."
        )


def _words_of_places(account: Account, month: str) -> Iterator[str]:
    spent, caps = account.spent_per_km, account.caps
    if spent:
        yield (
            f"Places: spent {at_most(spent)} per km of a lifetime cap of "
            f"{float(caps.places_lifetime):g}. This month: "
            f"{at_most(account.drawn_in(month)[2])} of {float(caps.places_monthly):g}. If all "
            f"that is spent were about one place, the odds between two places would change at most "
            f"{times(spent)} 1 km apart, and {times(10 * spent)} 10 km apart."
        )
