"""A made-up device at the demo's home that asks again and again with fresh noise, to be measured.

Nothing of it is charged and nothing is sent to the server of the demo: a second process answers.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from askew.dp.privacy import ANY_SPACE
from askew.noise.randomness import RandomBits
from askew.protocol.metric_card import MetricCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES
from askew_client.demo.comparison import Comparison
from askew_client.demo.rehearsal import Rehearsal
from askew_client.demo.resident import HOME, WISHES
from askew_client.near.pick import Judged, judged
from askew_client.near.sources import MapAsker
from askew_client.settings.settings import ClientSettings

COLLECTION = "food"
_AROUND = 64  # the places nearest to home: the best one of all is among them


class MeasuredDevice:
    """Asks by the code of every device, and ranks by it."""

    def __init__(self, settings: ClientSettings, card: MetricCard, bits: RandomBits) -> None:
        self._card, self._k = card, settings.near_k
        self._attributes = card.collection(COLLECTION).attributes
        self._asker = MapAsker(HOME, "", settings.map_noise, settings.plane, settings.near_k)
        self._bits, self._now = bits, datetime.datetime.now()

    def distance(self, coordinates: Sequence[float]) -> float:
        """Kilometers from home."""
        return self._asker.distance(coordinates)

    async def comparison(self, others: Rehearsal) -> Comparison:
        """An empty comparison, but for the ways that no noise has a part in."""
        here = (round(HOME.latitude * MICRODEGREES), round(HOME.longitude * MICRODEGREES))
        true = Signal(ANY_SPACE, self._asker.noise, here)
        around, known, everybody = await others.answers(
            [
                ("nearest", Query(true, _AROUND, COLLECTION)),
                ("nearest", Query(true, self._k, COLLECTION)),
                ("everybody", Query(true, self._k, COLLECTION)),
            ],
            self._card,
        )
        worth = sum(max(0.0, *kinds.values()) for kinds in WISHES.likes.values())
        found = Comparison(self._judge, around, worth)
        found.add("known", known)
        found.add("everybody", everybody)
        return found

    async def draw(self, others: Rehearsal, comparison: Comparison) -> None:
        """Draw the noise once more, and see what each way would answer to it."""
        signal = self._asker.perturb(self._bits)
        served, nearest, one = await others.answers(
            [
                ("served", Query(signal, self._k, COLLECTION)),
                ("nearest", Query(signal, self._k, COLLECTION)),
                ("served", Query(signal, 1, COLLECTION)),
            ],
            self._card,
        )
        comparison.add("served", served)
        comparison.add("nearest", nearest)
        comparison.add("one", one)

    def _judge(self, slate: Slate) -> tuple[Judged, ...]:
        away = [self._asker.distance(each.coordinates) for each in slate.listings]
        return judged(slate.listings, self._attributes, away, WISHES, {}, self._now)
