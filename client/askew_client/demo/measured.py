"""How good answers are for a made-up person: a server is asked again and again with fresh noise.

The home in Heilbronn is made up. A second server answers, which hears that home: nothing is
charged, and nothing is sent to the demo's first server. Positions of towns: GeoNames, CC BY 4.0
(see askew_client/settings/GEONAMES.md).
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean
from typing import Final

from askew.dp.privacy import ANY_SPACE
from askew.noise.randomness import RandomBits
from askew.protocol.cards import MetricCard, PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES, MapNoise, Position
from askew.wire.places import places_from_bytes
from askew.wire.queries import query_to_bytes
from askew_client.near.pick import Judged, Preferences, judged
from askew_client.near.sources import great_circle, perturbed, results_of
from askew_client.settings.settings import ClientSettings
from askew_client.transport.grpc import GrpcTransport
from askew_client.views.place_map import Town

COUNTRY: Final = "Germany"
PLACE: Final = "home"
TOWN: Final = "Heilbronn"
HOME: Final = Position(49.1519, 9.2405)
PREFERENCES: Final = Preferences(
    likes={
        "kind": {"Vietnamese": 4.0, "Indian": 3.0, "Greek": 2.0, "Burgers": -3.0, "Bakery": -3.0}
    },
    at_most={"price": 18.0},
    only={"free table": frozenset({"yes"})},
)
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
COLLECTION: Final = "food"
AROUND: Final = 64  # the places nearest to home: the best one of all is among them
Draws = list[tuple[float, float | None]]  # two figures of a reply, as `beyond` returns them


class Measured:
    """Asks a server and ranks with a device's code, and keeps the figures of every reply under the
    way in which it was asked. Raises AskewError as a device does.
    """

    def __init__(
        self, server: GrpcTransport, card: MetricCard, settings: ClientSettings, bits: RandomBits
    ) -> None:
        self._server, self._card, self._bits = server, card, bits
        self._k = results_of(card, COLLECTION, settings.near_k)
        self._noise, self._region = settings.map_noise, settings.plane
        # With noise of about 2 m, a server's best items are those nearest to the signal.
        self._meters = MapNoise.in_region(Fraction(1024), settings.plane)
        self._best: Sequence[Judged] = ()
        self.draws: dict[str, Draws] = {}

    async def begin(self) -> None:
        """Ask for the 64 places nearest to home, of which the best of all is one, and add to
        `draws`, under "known", what `beyond` says of the k nearest.
        """
        here = (round(HOME.latitude * MICRODEGREES), round(HOME.longitude * MICRODEGREES))
        true = Signal(ANY_SPACE, self._meters, here)
        self._best = await self._ranked(true, AROUND)
        await self._add("known", true, self._k)

    async def draw(self) -> None:
        """Draw the noise once more, ask three times from that position, and add what `beyond` says
        of each reply to the end of a list in `draws`: "askew" as a device asks, "one" with k = 1,
        "nearest" of the k places nearest to it. After `begin`.
        """
        signal = perturbed(HOME, self._noise, self._region, self._bits)
        await asyncio.gather(
            self._add("askew", signal, self._k),
            self._add("one", signal, 1),
            self._add("nearest", Signal(ANY_SPACE, self._meters, signal.values), self._k),
        )

    async def _add(self, way: str, signal: Signal, k: int) -> None:
        ranked = await self._ranked(signal, k)
        self.draws.setdefault(way, []).append(beyond(ranked, self._best))

    async def _ranked(self, signal: Signal, k: int) -> tuple[Judged, ...]:
        query = Query(signal, k, self._card.asked_number(COLLECTION))
        reply = await self._server.call("Retrieve", query_to_bytes(query))
        [slate] = places_from_bytes(reply, self._card, query)
        return ranked_at_home(slate, self._card)


def ranked_at_home(slate: PlaceSlate, card: MetricCard) -> tuple[Judged, ...]:
    """Return places of the demo as its person ranks them, best first."""
    home = HOME.latitude, HOME.longitude
    away = [great_circle(home, listing.coordinates) for listing in slate.listings]
    columns, now = card.collection(COLLECTION).attributes, datetime.datetime.now()
    return judged(slate.listings, columns, away, PREFERENCES, {}, now)


def beyond(ranked: Sequence[Judged], best: Sequence[Judged]) -> tuple[float, float | None]:
    """Return how many kilometers the nearest of these results is farther than the nearest place of
    all, and the cost of their pick less that of the best place, in kilometers, None where no result
    passes. ranked, best: not empty, as `judged` ranks them; best has the nearest and best of all.
    """
    nearest = min(item.distance for item in ranked) - min(place.distance for place in best)
    return nearest, ranked[0].cost - best[0].cost if ranked[0].passes else None


def means(draws: Draws) -> tuple[float, float | None, float]:
    """Return the means of at least one draw: of the kilometers beyond the nearest place, of those
    beyond the best one where a result passes (None where none ever does), and the share of draws in
    which none does.
    """
    picks = [worse for _, worse in draws if worse is not None]
    nearest = fmean(nearest for nearest, _ in draws)
    return nearest, fmean(picks) if picks else None, 1 - len(picks) / len(draws)
