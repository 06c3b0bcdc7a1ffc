"""What a question is and costs, as a person is shown it, and what has to be shown anew.

A cost is made again inside the transaction that would draw and charge, and compared with the one
that was shown. A bound is rounded up: "at most 11.89", never the 11.88 that 11.8805 is nearest to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from enum import IntEnum
from fractions import Fraction
from math import ceil, exp, log
from typing import TYPE_CHECKING, Final, Literal

from askew.dp.privacy import SignalCharge
from askew.errors import NotShown

if TYPE_CHECKING:
    from askew.protocol.signal import Mechanism

AccountName = Literal["ratings", "axes", "places"]
MAP_AXES: Final = ("latitude", "longitude")
ODDS: Final = 4.0  # what a level hides two places within
_SURE = 30  # an exponent beyond which the number says nothing more
_NONE = Fraction(0)
_FREE = SignalCharge(_NONE)


def at_most(value: Fraction | float, digits: int = 4) -> str:
    """Return a value in so many significant digits, rounded up: "11.89" of 11.8805, "0" of 0,
    "1.235e+05" of 123456.
    """
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    return f"{float(upward.divide(exact.numerator, exact.denominator)):.{digits}g}"


def times(epsilon: Fraction | float) -> str:
    """Return in words how many times odds change at most at this epsilon, e^epsilon, rounded up to
    a hundredth below 10 and to a whole number above: "2.72 times" of 1, "1 times" of 0, "more than
    10,000,000,000,000 times" above 30.
    """
    if epsilon > _SURE:
        return "more than 10,000,000,000,000 times"
    odds = exp(epsilon)
    return f"{ceil(100 * odds) / 100:g} times" if odds < 10 else f"{ceil(odds):,} times"


class Leaves(IntEnum):
    """What leaves the device: nothing, a request for the live values of everything, the same for
    everybody, a signal that is kept, or one that is drawn and charged.
    """

    NOTHING = 0
    REQUEST = 1
    KEPT = 2
    FRESH = 3


@dataclass(frozen=True)
class Cost:
    """What one question is, what it tells, and what its account has spent before it.

    The same for every profile: by the settings, the server's card, what is held, the ledger and
    which place was chosen. server, authority: who is asked. space_version, handle, collection:
    about what; the handle is of a named place, or of the spot that is asked about again.
    charge: of the signal that is sent, by the law that it is drawn by: epsilon of one rating, or of
    one value on axes; epsilon per straight-line kilometer for a place. 0 where nothing leaves.
    spent, spent_this_month and the caps: of its account; None where there is no such cap.
    is_second: it is fresh, and its account has a signal drawn this month already. noise: that law;
    None where no signal leaves, and for a place that is not drawn yet. reason: how it is answered,
    and why. median, diameter: how many ratings two people are apart, by the server's word, and any
    two at most. wanted: the epsilon of the settings, which counts from the next month on if it is
    another. refused: which cap refuses a fresh signal, in words.
    """

    leaves: Leaves
    charge: SignalCharge = _FREE
    server: str = ""
    authority: str = ""
    space_version: str = ""
    handle: str = field(repr=False, default="")
    collection: str = ""
    month: str = ""
    account: AccountName = "ratings"
    spent: Fraction = _NONE
    spent_this_month: Fraction = _NONE
    cap: Fraction = _NONE
    monthly_cap: Fraction | None = None
    draw_cap: Fraction | None = None
    is_second: bool = False
    noise: Mechanism | None = None
    reason: str = ""
    median: Fraction = _NONE
    diameter: Fraction = _NONE
    wanted: Fraction = _NONE
    refused: str = ""

    @classmethod
    def of_place(cls, noise: Mechanism, spent: Fraction, cap: Fraction) -> Cost:
        """Return the cost of a kept position with this noise, whatever is asked from it: account
        "places", leaves KEPT, the noise's epsilon per kilometer as charge. spent, cap: of that
        account.
        """
        charge = SignalCharge.of_place(noise.epsilon)
        return cls(Leaves.KEPT, charge, account="places", spent=spent, cap=cap, noise=noise)

    @property
    def sends(self) -> bool:
        """Return True if a signal, kept or fresh, leaves the device; a request for live values is
        none.
        """
        return self.leaves > Leaves.REQUEST

    @property
    def fresh(self) -> bool:
        """Return True if a signal is drawn and charged for this question."""
        return self.leaves is Leaves.FRESH

    @property
    def mode(self) -> str:
        """Return "ask" where a signal leaves, else "held"."""
        return "ask" if self.sends else "held"

    @property
    def epsilon(self) -> Fraction:
        """Return the signal's epsilon in its own unit: per kilometer for a place, per unit of
        distance on axes, else of one rating; 0 where no signal leaves.
        """
        rate = _NONE if self.noise is None else self.noise.epsilon
        return rate if self.account == "axes" else self.charged

    @property
    def charged(self) -> Fraction:
        """Return what a fresh signal of this law takes from its account, also if this one is kept:
        epsilon per kilometer for a place, of one value on axes, or of one rating; 0 where no signal
        leaves.
        """
        return self.charge.epsilon_per_km or self.charge.epsilon_per_rating

    @property
    def spent_after(self) -> Fraction:
        """Return what the account has spent after this question: `spent`, and `charged` if the
        signal is fresh.
        """
        return self.spent + self.charged if self.fresh else self.spent

    @property
    def loss(self) -> tuple[Fraction, ...]:
        """Return what the signal tells at most, as four epsilons: of a rating or between two values
        on axes, between any two people, per unit of distance on axes, per kilometer; 0 where that
        does not apply.
        """
        per_unit = self.epsilon if self.account == "axes" else _NONE
        return (
            self.charge.epsilon_per_rating,
            self.between_any_two,
            per_unit,
            self.charge.epsilon_per_km,
        )

    def check(self, shown: Cost) -> None:
        """Raise NotShown if this cost is of another server, authority, space, handle or collection
        than `shown`, which a person agreed to, if more leaves, or any part of `loss` is larger;
        else, as where it is less, return None.

        Neither the month nor k, a date or what was spent needs a comparison: what a person agrees
        to is who hears, about what, whether, and how much it tells.
        """
        asked, seen = (self.server, self.authority), (shown.server, shown.authority)
        about = self.space_version, self.handle, self.collection
        if asked != seen:
            raise NotShown("the server or its authority has changed")
        if about != (shown.space_version, shown.handle, shown.collection):
            raise NotShown("the space, the place or the collection has changed")
        if self.leaves > shown.leaves:
            raise NotShown("more would leave this device")
        if any(now > then for now, then in zip(self.loss, shown.loss, strict=True)):
            raise NotShown("the signal would tell more")

    @property
    def replaced_title(self) -> Fraction:
        """Return the epsilon at most of one title rated in place of another: that of two
        ratings.
        """
        return 2 * self.charge.epsilon_per_rating

    @property
    def at_median(self) -> Fraction:
        """Return the epsilon between two people who are so far apart as half are, by the server's
        word: median ratings times epsilon of one.
        """
        return self.median * self.charge.epsilon_per_rating

    @property
    def between_any_two(self) -> Fraction:
        """Return the epsilon at most between any two people: diameter ratings times epsilon
        of one.
        """
        return self.diameter * self.charge.epsilon_per_rating

    @property
    def hidden_km(self) -> float:
        """Return how many kilometers apart two places may be for the odds between them to change
        4 times at most, ln(4) / epsilon: 5.0047 at 0.277 per km. Of a signal of a place alone:
        ZeroDivisionError for others.
        """
        return log(ODDS) / float(self.charge.epsilon_per_km)

    def times_at(self, km: float) -> str:
        """Return in words how many times the odds between two places so far apart change at most:
        "16 times" for 10 km at 0.277 per km.
        """
        return times(float(self.charge.epsilon_per_km) * km)

    @property
    def words(self) -> tuple[str, ...]:
        """Return two phrases: what a question costs, "epsilon 0.8 a rating, at most 1.6 where a
        title is replaced", and what is spent, "all ratings together: 0 of 48 spent"; behind them,
        if so, "it will be refused: ..."; before them, of a kept signal, "nothing is charged: ...".
        One alone where no signal is sent: "nothing about you is sent, and nothing is drawn or
        charged".
        """
        if not self.sends:
            return ("nothing about you is sent, and nothing is drawn or charged",)
        if self.account == "places":
            unit, spent = "per km", f"{at_most(self.spent, 3)} of {float(self.cap):g} per km spent"
            means = "; ".join(
                f"{km} km apart: odds change at most {self.times_at(km)}" for km in (1, 10)
            )
            who, mark, what = "places", ";", "noisy position"
        elif self.account == "ratings":
            unit, spent = "a rating", f"{at_most(self.spent)} of {float(self.cap):g} spent"
            means = f"at most {at_most(self.replaced_title, 3)} where a title is replaced"
            who, mark, what = "ratings", ",", "signal"
        else:
            unit, spent = "per unit distance", f"{at_most(self.spent)} of {float(self.cap):g} spent"
            means = f"at most {at_most(self.charge.epsilon_per_rating, 3)} between any two values"
            who, mark, what = "values on axes", ",", "signal"
        kept = f"nothing is charged: the {what} that was drawn before is sent again"
        return (
            *(() if self.fresh else (kept,)),
            f"epsilon {at_most(self.epsilon, 3)} {unit}{mark} {means}",
            f"all {who} together: {spent}",
            *((f"it will be refused: {self.refused}",) if self.refused else ()),
        )
