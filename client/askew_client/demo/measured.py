"""A made-up person, whose device asks again and again with fresh noise, to be measured.

Nobody lives at this home in Heilbronn, whose figures are near the average over people of the
country, a little worse. Positions of towns: GeoNames, CC BY 4.0 (see settings/GEONAMES.md). A
second process answers: nothing is charged, and nothing is sent to the server of the demo.
"""

from __future__ import annotations

import datetime
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Final

from askew.dp.privacy import ANY_SPACE
from askew.errors import ParameterError
from askew.noise.randomness import RandomBits
from askew.protocol.metric_card import MetricCard, PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES, Position
from askew_client.demo.server import rehearsed
from askew_client.near.pick import Judged, Preferences, judged
from askew_client.near.sources import great_circle, perturbed, results_of
from askew_client.settings.settings import ClientSettings
from askew_client.views.place_map import Town

COUNTRY: Final = "Germany"
PLACE: Final = "home"
TOWN: Final = "Heilbronn"
HOME: Final = Position(49.1519, 9.2405)
WITHOUT_LIVE: Final = Preferences(
    likes={
        "kind": {"Vietnamese": 4.0, "Indian": 3.0, "Greek": 2.0, "Burgers": -3.0, "Bakery": -3.0}
    },
    at_most={"price": 18.0},
)
PREFERENCES: Final = replace(WITHOUT_LIVE, only={"free table": frozenset({"yes"})})
# By which the map is read, wherever the noise leads.
TOWNS: Final = (
    Town("Stuttgart", Position(48.7823, 9.1770), 612_663),
    Town("Heidelberg", Position(49.4077, 8.6908), 143_345),
    Town("Heilbronn", Position(49.1399, 9.2205), 120_733),
    Town("Ludwigsburg", Position(48.8973, 9.1916), 87_603),
    Town("Waiblingen", Position(48.8324, 9.3164), 52_945),
    Town("Backnang", Position(48.9474, 9.4372), 38_818),
    Town("Sinsheim", Position(49.2529, 8.8787), 37_036),
    Town("Schwäbisch Hall", Position(49.1113, 9.7391), 36_543),
    Town("Bretten", Position(49.0369, 8.7074), 30_274),
    Town("Mosbach", Position(49.3536, 9.1511), 25_106),
    Town("Öhringen", Position(49.1988, 9.5072), 22_765),
    Town("Eppingen", Position(49.1365, 8.9123), 21_179),
)


Judge = Callable[[PlaceSlate], tuple[Judged, ...]]


@dataclass(frozen=True)
class Row:
    """Means over draws. nearest: kilometers beyond the nearest place of all; wished: how much worse
    the pick is than the best place of all, in kilometers, where one passes the filters, else None;
    none: the share of draws in which none does.
    """

    nearest: float
    wished: float | None
    none: float


@dataclass
class Comparison:
    """Running means. around: the places nearest to the person, many enough to hold the best one.

    Raises ParameterError where they are not: a place beyond them could be better.
    """

    judge: Judge = field(repr=False)
    around: PlaceSlate = field(repr=False)
    most_worth: float

    def __post_init__(self) -> None:
        ranked = self.judge(self.around)
        self._nearest = min(result.distance for result in ranked)
        self._best = ranked[0].cost
        farthest = max(result.distance for result in ranked)
        if not ranked[0].passes or self._best > farthest - self.most_worth:
            raise ParameterError("around", len(ranked), "more places: a better one may be beyond")
        self._draws: dict[str, list[tuple[float, float | None]]] = {}

    def add(self, way: str, slate: PlaceSlate) -> None:
        """Add one more draw of a way of answering: how many kilometers its nearest place is beyond
        the nearest of all, and, if one passes, how much worse its pick is than the best place.
        """
        ranked = self.judge(slate)
        nearest = min(result.distance for result in ranked) - self._nearest
        wished = ranked[0].cost - self._best if ranked[0].passes else None
        self._draws.setdefault(way, []).append((nearest, wished))

    def add_blind(self, way: str, slate: PlaceSlate, blind: Judge) -> None:
        """Add a list whose live values are unknown, one draw for each place that passes `blind`:
        whoever ranks it takes a place that may not pass all filters.

        blind: judges without the filters of live values.
        """
        ranked = blind(slate)
        nearest = min(result.distance for result in ranked) - self._nearest
        passing = {result.index for result in self.judge(slate) if result.passes}
        taken = [result.index for result in ranked if result.passes]
        worse = ranked[0].cost - self._best
        draws = [(nearest, worse if index in passing else None) for index in taken]
        self._draws.setdefault(way, []).extend(draws)

    def row(self, way: str) -> Row:
        """Return the means over the draws of a way, which has one at least; KeyError for
        any other.
        """
        draws = self._draws[way]
        wished = [wish for _, wish in draws if wish is not None]
        return Row(
            nearest=fmean(nearest for nearest, _ in draws),
            wished=fmean(wished) if wished else None,
            none=1 - len(wished) / len(draws),
        )


COLLECTION = "food"
_AROUND = 64  # the places nearest to home: the best one of all is among them


class MeasuredDevice:
    """Asks by the code of every device, and ranks by it."""

    def __init__(self, settings: ClientSettings, card: MetricCard, bits: RandomBits) -> None:
        self._card, self._k = card, results_of(card, COLLECTION, settings.near_k)
        self._number = card.asked_number(COLLECTION)
        self._attributes = card.collection(COLLECTION).attributes
        self._noise, self._region = settings.map_noise, settings.plane
        self._bits, self._now = bits, datetime.datetime.now()

    def distance(self, coordinates: Sequence[float]) -> float:
        """Return the kilometers from the demo's home to a latitude and a longitude in degrees."""
        return great_circle((HOME.latitude, HOME.longitude), coordinates)

    async def comparison(self, others: Process) -> Comparison:
        """Return a comparison with the draws of the two ways that noise has no part in: "known",
        the places nearest to home, and "held", a list that all hold.
        """
        here = (round(HOME.latitude * MICRODEGREES), round(HOME.longitude * MICRODEGREES))
        true = Signal(ANY_SPACE, self._noise, here)
        around, nearest, held = await rehearsed(
            others,
            [
                ("nearest", Query(true, _AROUND, self._number)),
                ("nearest", Query(true, self._k, self._number)),
                ("held", Query(true, self._k, self._number)),
            ],
            self._card,
        )
        worth = sum(max(0.0, *kinds.values()) for kinds in PREFERENCES.likes.values())
        comparison = Comparison(partial(self._judged, PREFERENCES), around, worth)
        comparison.add("known", nearest)
        comparison.add_blind("held", held, partial(self._judged, WITHOUT_LIVE))
        return comparison

    async def draw(self, others: Process, comparison: Comparison) -> None:
        """Draw the noise once more, and add to the comparison what "served", "nearest" and "one" (k
        = 1) answer to that position.
        """
        signal = perturbed(HOME, self._noise, self._region, self._bits)
        served, nearest, one = await rehearsed(
            others,
            [
                ("served", Query(signal, self._k, self._number)),
                ("nearest", Query(signal, self._k, self._number)),
                ("served", Query(signal, 1, self._number)),
            ],
            self._card,
        )
        comparison.add("served", served)
        comparison.add("nearest", nearest)
        comparison.add("one", one)

    def _judged(self, preferences: Preferences, slate: PlaceSlate) -> tuple[Judged, ...]:
        away = [self.distance(listing.coordinates) for listing in slate.listings]
        return judged(slate.listings, self._attributes, away, preferences, {}, self._now)
