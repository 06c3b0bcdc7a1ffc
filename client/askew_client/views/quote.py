"""What a question costs, before and after it, and what the ledger says in all.

A quote covers one question and is used once. What a question is, and what the ledger says of it,
is compared inside the transaction that would draw and charge: whoever was shown that nothing leaves
the device, or a smaller price, is asked again. A bound is rounded up: "at most 11.89", never the
11.88 that 11.8805 is nearest to.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from math import ceil, exp, log
from typing import TYPE_CHECKING

from askew.catalog.listing import Value
from askew.dp.privacy import SignalCharge
from askew.errors import QuoteVoid
from askew_client.views.answers import Cost, ModeView

if TYPE_CHECKING:
    from askew.protocol.signal import Mechanism
    from askew.spaces.map import MapNoise


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
class Price:
    """What the ledger says of one signal, and of the account that it is charged in.

    slot: by the ledger's clock. stored: the mechanism of the signal that is sent again for nothing;
    None where one is drawn and charged. charge: of a fresh one. spent and spent_this_slot are
    before it; draw_cap: of one position. None where there is no such cap.
    """

    slot: str
    stored: Mechanism | None
    charge: SignalCharge
    second_space: bool
    spent: Fraction
    spent_this_slot: Fraction
    lifetime_cap: Fraction
    monthly_cap: Fraction | None
    draw_cap: Fraction | None

    @property
    def fresh(self) -> bool:
        """Whether a signal is drawn and charged."""
        return self.stored is None


@dataclass(frozen=True)
class Terms:
    """All that one question is, and what it costs. Public, but for the place.

    edition: the date of what is held, or the version of a collection. mechanism: by which a fresh
    signal is drawn; None where none is. one_rating: what it tells of one rating at most. place: the
    name, or the spot itself, and handle is its version. region: where a fresh position is drawn.
    price: None where nothing is sent, and so no ledger is looked at.
    """

    server: str
    authority: str
    mode: str
    space_version: str
    collection: str
    slot: str
    edition: int | str
    k: int
    mechanism: Mechanism | None = None
    one_rating: Fraction = Fraction(0)
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
    "what one rating tells",
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
    cost: Cost | PlaceCost | AxesCost | None

    @property
    def slot(self) -> str:
        """The month of the signal, by the ledger's clock."""
        return self.terms.slot if self.terms.price is None else self.terms.price.slot

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


MAP_AXES = ("latitude", "longitude")


@dataclass(frozen=True)
class PlaceCost:
    """What a place's signal costs, per straight-line kilometer, beside what all signals have cost.

    hidden_km: how far apart two places may be for the odds between them to change `odds` times at
    most: what the level promises. fresh: whether it is drawn and charged for this, and not sent
    again. spent: what all places together have cost, by then. cosine: of the plane whose kilometers
    these are, in parts of 1/65536: a picture of what the signal tells needs it.
    """

    epsilon_per_km: Fraction
    spent: Fraction
    cap: Fraction
    fresh: bool
    hidden_km: float
    cosine: int
    odds: float = 4.0

    @classmethod
    def of(cls, noise: MapNoise, spent: Fraction, cap: Fraction, *, fresh: bool) -> PlaceCost:
        """The cost of a signal with this noise."""
        hidden = log(4.0) / float(noise.epsilon)
        return cls(noise.epsilon, spent, cap, fresh, hidden, noise.cosine)

    def times_at(self, km: float) -> str:
        """How many times the odds between two places so far apart change at most."""
        return times(float(self.epsilon_per_km) * km)

    @property
    def words(self) -> tuple[str, ...]:
        """What it means, and what is left."""
        promise = "; ".join(
            f"{km} km apart: odds change at most {self.times_at(km)}" for km in (1, 10)
        )
        return (
            f"epsilon {at_most(self.epsilon_per_km, 3)} per km; {promise}",
            f"all places together: {at_most(self.spent, 3)} of {float(self.cap):g} per km spent",
        )


@dataclass(frozen=True)
class AxesCost:
    """What a signal on axes costs: plain epsilon, by this device's own reckoning, in the account of
    tastes. diameter: the largest distance between two values, which the epsilon is multiplied by.
    """

    epsilon_per_distance: Fraction
    between_any_two: Fraction
    diameter: float
    spent: Fraction
    cap: Fraction
    fresh: bool

    @property
    def words(self) -> tuple[str, ...]:
        """What it means, and what is left."""
        per_distance, plain = (
            at_most(self.epsilon_per_distance, 3),
            at_most(self.between_any_two, 3),
        )
        return (
            f"epsilon {per_distance} per unit distance, at most {plain} between any two values",
            f"all signals together: {at_most(self.spent)} of {float(self.cap):g} spent",
        )


@dataclass(frozen=True)
class PlaceView:
    """A named place for the person's own eyes. axes: what its numbers are; unit-less on axes.

    sent: the noisy position that every server gets, empty on axes, where it depends on the space.
    cost: what its law promises; None on axes.
    """

    name: str
    axes: tuple[str, ...]
    true: tuple[float, ...] = field(repr=False)
    sent: tuple[float, ...] = field(repr=False, default=())
    cost: PlaceCost | None = None


@dataclass(frozen=True)
class NearResult:
    """One result. rank: 1 for the best. passes: whether it passes every filter. distance: from the
    true place, in kilometers or in units of distance; private, as rank, passes and picked are.
    """

    rank: int = field(repr=False)
    title: str = field(repr=False)
    coordinates: tuple[float, ...] = field(repr=False)
    values: tuple[tuple[str, Value], ...] = field(repr=False)
    distance: float = field(repr=False)
    passes: bool = field(repr=False)
    picked: bool = field(repr=False)


@dataclass(frozen=True)
class NearAnswer:
    """The results of one question, best first. none_passes: no result passes the filters, which is
    said and never asked about again. sent: the noisy coordinates that left. missing: what
    preferences name and this collection does not have. axes: what coordinates are; unit: of
    distances; units: of the values of a result, "" where one has none.
    """

    collection: str
    source: str
    simulated: bool
    k: int
    results: tuple[NearResult, ...] = field(repr=False)
    none_passes: bool = field(repr=False)
    sent: tuple[float, ...] = field(repr=False)
    true: tuple[float, ...] = field(repr=False)
    cost: PlaceCost | AxesCost
    axes: tuple[str, ...] = MAP_AXES
    unit: str = "km"
    missing: tuple[str, ...] = field(repr=False, default=())
    units: tuple[str, ...] = ()

    @property
    def pick(self) -> NearResult | None:
        """The best result that passes, if any does."""
        return next((each for each in self.results if each.picked), None)


@dataclass(frozen=True)
class LedgerLine:
    """One line of the ledger. kind: "signal"; "copy" for a signal that another device paid for;
    "unfreeze" for what the person accepted.

    The budget adds between_any_two; epsilon_per_distance stands beside it for a mechanism that has
    this unit. The account of places adds epsilon_per_km.
    """

    slot: str
    space_version: str
    kind: str
    epsilon_per_distance: Fraction | None
    between_any_two: float
    words: str
    epsilon_per_km: Fraction = Fraction(0)


@dataclass(frozen=True)
class PlaceBudget:
    """The account of places, as epsilon per straight-line kilometer: in all, and what this month's
    positions cost.
    """

    spent: Fraction
    cap: Fraction
    this_month: Fraction
    monthly_cap: Fraction


@dataclass(frozen=True)
class Budget:
    """The ledger as a person reads it, in its two accounts. frozen says why nothing is spent, or is
    None. mode: how a question would be answered now, once there is a connection.
    """

    spent: Fraction
    cap: Fraction
    next_slot: datetime.date
    lines: tuple[LedgerLine, ...]
    words: tuple[str, ...]
    places: PlaceBudget
    frozen: str | None = None
    mode: ModeView | None = None
