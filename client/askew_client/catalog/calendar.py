"""When a device looks for what it is to hold: by its own clock, a public calendar and one coin.

A device looks once for each edition, a random delay after its Monday began, in UTC, so that a
server is not asked by everybody at once. Nothing that a person does takes part: no question makes a
device look while what it holds is still answered. The delay is drawn once for an edition and kept.
A device that drew one whenever it came by would look the earlier the more often it comes by.
"""

from __future__ import annotations

from dataclasses import dataclass

from askew.catalog.editions import LONGEST_DELAY, PERIOD, last_day
from askew.noise.randomness import RandomBits

DAY = 86_400  # seconds


@dataclass(frozen=True)
class Turn:
    """When a device looks for one edition: so many seconds after it came into force."""

    edition: int
    delay: int

    @property
    def time(self) -> int:
        """Seconds since 1970-01-01."""
        return self.edition * DAY + self.delay


def draw_turn(edition: int, bits: RandomBits) -> Turn:
    """A uniform delay of whole seconds, shorter than the longest."""
    return Turn(edition, bits.below(LONGEST_DELAY * DAY))


def usable(edition: int, day: int) -> bool:
    """Whether questions that name an edition are still answered: the next one comes into force a
    period later at the earliest. One of a Monday to come was fetched by a clock that ran ahead; by
    a day it may, since days begin elsewhere first.
    """
    return edition - 1 <= day <= last_day(edition + PERIOD)
