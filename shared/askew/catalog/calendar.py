"""The public calendar by which devices fetch what they hold.

A version is named by the Monday on which it comes into force, which a device reckons from its own
clock: a name of the server's choosing, such as a digest, would mark the device that repeats it.
Days are counted from 1970-01-01, in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence

PERIOD = 7  # days
LONGEST_DELAY = 2  # days after a Monday, by which every device has looked for the new version
FIRST = 4  # 1970-01-05, the first Monday: a version that was always in force
LAST = 2**31 - 1


def catalog_date_of(day: int) -> int:
    """The Monday on or before a day; the first one of all for a clock that was never set."""
    return max(FIRST, day - (day - FIRST) % PERIOD)


def is_catalog_date(day: int) -> bool:
    """Whether a day is a Monday that can name a version."""
    return FIRST <= day <= LAST and catalog_date_of(day) == day


def answered(mondays: Sequence[int], today: int) -> list[int]:
    """Of versions by their Mondays, those that are answered on a day or will be, in order."""
    ordered = sorted(mondays)
    retired = sum(today > last_day(successor) for successor in ordered[1:])
    return ordered[retired:]


def last_day(successor: int) -> int:
    """The last day on which a version is still answered, once another came into force: devices
    look for that one within the longest delay, and those that were off have a period more.
    """
    return successor + PERIOD + LONGEST_DELAY
