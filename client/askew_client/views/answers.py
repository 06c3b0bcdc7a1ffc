"""What a screen, a command or another program gets to see of a catalog and an answer.

Everything here is text and numbers: no array, no network, no store. What is private does not show
when an object is printed.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from askew.catalog.item import Value
from askew_client.views.cost import MAP_AXES, Cost


@dataclass(frozen=True)
class Rated:
    """One rating of the person's own; rating is None for a like without a number.

    known is false for a title of no item that is held or was met: it is kept, and unused.
    """

    label: str = field(repr=False)
    rating: float | None = field(repr=False)
    known: bool = field(repr=False, default=True)


@dataclass(frozen=True)
class Connection:
    """A server of titles that answered: what it says of itself. Public.

    map_axes: the coordinates, at most two, that a map of the space shows.
    """

    simulated: bool
    n_items: int
    dimension: int
    map_axes: tuple[int, ...]
    space_version: str
    catalog_version: str
    lowest_rating: float
    highest_rating: float


@dataclass(frozen=True)
class Refreshed:
    """What a device holds of a catalog after a refresh. Public.

    catalog_date: its Monday. part: whole or default. size: its bytes. fetched: bytes just now, 48
    where it was looked for and nothing had changed, 0 where it was not its turn. next_look: in UTC.
    """

    catalog_date: datetime.date
    part: str
    size: int
    fetched: int
    next_look: datetime.datetime


@dataclass(frozen=True)
class Match:
    """One title that a search found, "Alien (1979)", with its genres and the person's own rating of
    it, if any. Text from outside: never markup.
    """

    title: str = field(repr=False)
    genres: tuple[str, ...] = field(repr=False, default=())
    rated: Rated | None = field(repr=False, default=None)


@dataclass(frozen=True)
class Bar:
    """One number of the private profile, between public bounds, to be drawn as a bar.

    toward_lowest and toward_highest are the titles that score most at either end: text from
    outside, public, and the same for everybody.
    """

    toward_lowest: str = field(repr=False)
    toward_highest: str = field(repr=False)
    lowest: float
    highest: float
    value: float = field(repr=False)


@dataclass(frozen=True)
class Departure:
    """What left the device, beside what is true.

    values are the integers on the wire; point is where they lie and true_point where the person
    is, in the space's coordinates.
    month: of the signal, by the ledger's clock, which never runs back. fresh: drawn and charged by
    this question, rather than sent again.
    """

    values: tuple[int, ...]
    month: str
    fresh: bool
    point: tuple[float, ...]
    true_point: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True)
class Result:
    """One result, as the device ranks it: place 1 is best. title: "Alien (1979)", text from outside
    and never markup. why: words for the person. Nothing of it shows in print: the order is private.

    came: the answer brought it; else this device held it, or met it before.
    """

    place: int
    title: str = field(repr=False)
    seen: bool = field(repr=False)
    picked: bool = field(repr=False)
    score: float = field(repr=False)
    why: str = field(repr=False)
    came: bool = field(repr=False, default=False)


@dataclass(frozen=True)
class Answer:
    """One question and its private ranking, best first.

    cost: how it was answered, and what that cost, which its `spent` has; departure is None where
    nothing was sent. used, unused: how many ratings are of titles that are known here, and are not.
    """

    departure: Departure | None
    cost: Cost
    source: str
    simulated: bool
    results: tuple[Result, ...] = field(repr=False)
    used: int = field(repr=False)
    unused: int = field(repr=False)

    @property
    def pick(self) -> Result:
        """Return the best result that this person has not rated, or the best if they rated all."""
        return next(result for result in self.results if result.picked)


@dataclass(frozen=True)
class SignalPreview:
    """What a fresh signal of some settings would tell and give. Public: nothing is drawn for it.

    one_rating, at_median, between_any_two: what it tells at most of one rating, and between two
    people: so far apart as half are, by the server's word, and any two. offsets: of the server's
    rule, k points around the signal.
    """

    one_rating: Fraction
    at_median: Fraction
    between_any_two: Fraction
    offsets: tuple[tuple[float, ...], ...]


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
    cost: Cost | None = None


@dataclass(frozen=True)
class NearResult:
    """One result. rank: 1 for the best. passes: whether it passes every filter. distance: from the
    true place, in kilometers or in units of distance. values: by the name of the attribute, None
    where it is unknown: `pick.values["price"]`. Private as a whole: titles in print would
    tell the order, and which one is the pick. is_open: whether its opening hours have the moment of
    the answer; None where they do not say, or a flag does.
    """

    rank: int = field(repr=False)
    title: str = field(repr=False)
    coordinates: tuple[float, ...] = field(repr=False)
    values: Mapping[str, Value] = field(repr=False, hash=False)
    distance: float = field(repr=False)
    passes: bool = field(repr=False)
    picked: bool = field(repr=False)
    is_open: bool | None = field(repr=False, default=None)

    @property
    def now(self) -> str:
        """Return "open now" or "closed now" by opening hours; "" where `is_open` is None."""
        return "" if self.is_open is None else "open now" if self.is_open else "closed now"


@dataclass(frozen=True)
class NearAnswer:
    """The results of one question, best first. k: how many they are. none_passes: no result passes
    the filters, which is said and never asked about again. cost: how it was answered, and what that
    cost. sent: the noisy coordinates that left; () where the rows that are held were ranked alone.
    missing: what preferences name and this collection does not have. axes: what coordinates are;
    unit: of distances; units: of the values of a result, by attribute, where one has a unit.
    """

    collection: str
    source: str
    simulated: bool
    k: int
    results: tuple[NearResult, ...] = field(repr=False)
    none_passes: bool = field(repr=False)
    sent: tuple[float, ...] = field(repr=False)
    true: tuple[float, ...] = field(repr=False)
    cost: Cost
    axes: tuple[str, ...] = MAP_AXES
    unit: str = "km"
    missing: tuple[str, ...] = field(repr=False, default=())
    units: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def pick(self) -> NearResult | None:
        """Return the best result that passes the filters; None if none does."""
        return next((each for each in self.results if each.picked), None)
