"""What a question costs, before and after it, and what the ledger says in all.

A quote covers one question and is used once. What a question is, and what the ledger says of it,
is compared inside the transaction that would draw and charge: whoever was shown that nothing leaves
the device, or a smaller price, is asked again. A bound is rounded up: "at most 11.89", never the
11.88 that 11.8805 is nearest to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from math import ceil, exp, log
from typing import TYPE_CHECKING, Final, Literal

from askew.dp.privacy import SignalCharge
from askew.errors import QuoteVoid

if TYPE_CHECKING:
    from askew.protocol.signal import Mechanism


AccountName = Literal["ratings", "axes", "places"]
_SURE = 30  # an exponent beyond which the number says nothing more


def at_most(value: Fraction | float, digits: int = 4) -> str:
    """The value in so many digits, rounded up."""
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    return f"{float(upward.divide(exact.numerator, exact.denominator)):.{digits}g}"


def times(epsilon: Fraction | float) -> str:
    """How many times odds change at most at this epsilon, e^epsilon, rounded up."""
    if epsilon > _SURE:
        return "more than 10,000,000,000,000 times"
    odds = exp(epsilon)
    return f"{ceil(100 * odds) / 100:g} times" if odds < 10 else f"{ceil(odds):,} times"


@dataclass(frozen=True)
class ModeView:
    """The mode taken: local, cached or query. Public: by settings, the card and the bytes held.

    reason: what is done, and why. notes: what else could be done.
    """

    name: str
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether a signal is sent."""
        return self.name == "query"


@dataclass(frozen=True)
class Price:
    """What the ledger says of one signal, and of the account that it is charged in.

    month: by the ledger's clock. stored: the mechanism of the signal that is sent again for
    nothing; None where one is drawn and charged. charge: of a fresh one. spent and spent_this_month
    are before it; draw_cap: of one position. None where there is no such cap.
    """

    month: str
    stored: Mechanism | None
    charge: SignalCharge
    second_space: bool
    spent: Fraction
    spent_this_month: Fraction
    lifetime_cap: Fraction
    monthly_cap: Fraction | None
    draw_cap: Fraction | None
    account: AccountName = "ratings"

    @property
    def fresh(self) -> bool:
        """Whether a signal is drawn and charged."""
        return self.stored is None

    @property
    def spent_after(self) -> Fraction:
        """What is spent of the account when the signal is there."""
        charge = self.charge.epsilon_per_rating or self.charge.epsilon_per_km
        return self.spent + charge if self.fresh else self.spent


@dataclass(frozen=True)
class Terms:
    """All that one question is, and what it costs. Public, but for the place.

    catalog_date: the date of what is held, or the version of a collection. mechanism: by which a
    fresh signal is drawn; None where none is. place: the name, or the spot itself, and handle is
    its version. region: where a fresh position is drawn. price: None where nothing is sent, and so
    no ledger is looked at.
    """

    server: str
    authority: str
    mode: str
    space_version: str
    collection: str
    month: str
    catalog_date: int | str
    k: int
    mechanism: Mechanism | None = None
    place: object = field(repr=False, default=None)
    handle: str = field(repr=False, default="")
    region: str = ""
    price: Price | None = None

    def check(self, shown: Terms) -> None:
        """Raises QuoteVoid, which names the first that is another one now, unless these were shown.

        Whoever is shown another mode is shown other noise too, and needs no list of it.
        """
        if self == shown:
            return
        named = zip(fields(self), _IN_WORDS, strict=True)
        changed = [w for f, w in named if getattr(self, f.name) != getattr(shown, f.name)]
        raise QuoteVoid(f"{changed[0]} changed")


_IN_WORDS = (
    "the server",
    "the authority that vouches for it",
    "the mode of asking",
    "the space",
    "the collection",
    "the month",
    "the catalog's date",
    "the number of results",
    "the noise",
    "the place",
    "where the place is",
    "the region",
    "what the ledger says",
)


@dataclass(frozen=True, eq=False)
class Quote:
    """What one question would be and cost now; nothing was drawn, charged or asked for.

    The same for every profile: by the settings, the server's card, what is held, the ledger and
    which place was chosen. mode: how it would be answered, in words. cost: None where nothing would
    be sent. Two quotes are never equal: each one covers one question.
    """

    terms: Terms
    mode: ModeView
    cost: Cost | None

    @property
    def month(self) -> str:
        """The month of the signal, by the ledger's clock."""
        return self.terms.month if self.terms.price is None else self.terms.price.month

    @property
    def collection(self) -> str:
        """What is asked; "" for a catalog of titles."""
        return self.terms.collection

    @property
    def fresh(self) -> bool:
        """Whether a signal would be drawn and charged, rather than sent again for nothing."""
        return self.terms.price is not None and self.terms.price.fresh

    @property
    def second_space(self) -> bool:
        """Whether it would be the month's second space, and so needs the person's yes."""
        return self.terms.price is not None and self.terms.price.second_space


MAP_AXES: Final = ("latitude", "longitude")
ODDS: Final = 4.0  # what a level hides two places within


@dataclass(frozen=True)
class Cost:
    """What one signal costs, beside what this device has spent in the account that it is of.

    charge: epsilon of one rating, or of one value on axes; epsilon per straight-line kilometer for
    a place. spent and cap: of that account. fresh: drawn and charged for this, and not sent again.
    Of a question about titles: median and diameter, how many ratings two people are apart, by the
    server's word, and any two at most; wanted, the epsilon of the settings, which counts from the
    next month on if it is another. per_unit: of axes, epsilon per unit of distance. cosine: of the
    plane whose kilometers these are, in parts of 1/65536, for a place.
    """

    charge: SignalCharge
    spent: Fraction
    cap: Fraction
    fresh: bool
    median: Fraction = Fraction(0)
    diameter: Fraction = Fraction(0)
    wanted: Fraction = Fraction(0)
    per_unit: Fraction = Fraction(0)
    cosine: int = 0

    @classmethod
    def of_place(cls, noise: Mechanism, spent: Fraction, cap: Fraction, *, fresh: bool) -> Cost:
        """The cost of a position with this noise. Raises TypeError for noise of another kind."""
        from askew.spaces.map import MapNoise

        if not isinstance(noise, MapNoise):
            raise TypeError
        charge = SignalCharge.of_place(noise.epsilon)
        return cls(charge, spent, cap, fresh, cosine=noise.cosine)

    @property
    def of_a_place(self) -> bool:
        """Whether it is in the account of places, which claims no plain epsilon."""
        return self.charge.epsilon_per_km > 0

    @property
    def epsilon(self) -> Fraction:
        """In its own unit: a kilometer, a unit of distance on axes, or a rating."""
        return self.charge.epsilon_per_km or self.per_unit or self.charge.epsilon_per_rating

    @property
    def replaced_title(self) -> Fraction:
        """What a signal tells at most of one title in place of another: of two ratings."""
        return 2 * self.charge.epsilon_per_rating

    @property
    def at_median(self) -> Fraction:
        """What it tells between two people who are so far apart as half are."""
        return self.median * self.charge.epsilon_per_rating

    @property
    def between_any_two(self) -> Fraction:
        """What it tells at most between any two people."""
        return self.diameter * self.charge.epsilon_per_rating

    @property
    def hidden_km(self) -> float:
        """How far apart two places may be for the odds between them to change ODDS times at most:
        what the level promises.
        """
        return log(ODDS) / float(self.charge.epsilon_per_km)

    def times_at(self, km: float) -> str:
        """How many times the odds between two places so far apart change at most."""
        return times(float(self.charge.epsilon_per_km) * km)

    @property
    def words(self) -> tuple[str, ...]:
        """What a question near a place costs, and what is left. For a signal that is kept, that it
        costs nothing.
        """
        if self.of_a_place:
            unit, spent = "per km", f"{at_most(self.spent, 3)} of {float(self.cap):g} per km spent"
            means = "; ".join(
                f"{km} km apart: odds change at most {self.times_at(km)}" for km in (1, 10)
            )
        else:
            unit, spent = "per unit distance", f"{at_most(self.spent)} of {float(self.cap):g} spent"
            means = f"at most {at_most(self.charge.epsilon_per_rating, 3)} between any two values"
        who, mark = ("places", ";") if self.of_a_place else ("values on axes", ",")
        what = "noisy position" if self.of_a_place else "signal"
        kept = f"nothing is charged: the {what} that was drawn before is sent again"
        return (
            *(() if self.fresh else (kept,)),
            f"epsilon {at_most(self.epsilon, 3)} {unit}{mark} {means}",
            f"all {who} together: {spent}",
        )
