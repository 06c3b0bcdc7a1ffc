"""Opening hours as an item's attribute has them, read by the device's own clock. Pure.

    hours = "24/7" | rule {";" rule},   rule = [days] (times | "off")
    days  = day ["-" day] {"," ...},    day = Mo | Tu | We | Th | Fr | Sa | Su
    times = HH:MM-HH:MM {"," ...}; a time that ends before it begins ends on the next day

Of the rules that name a day the last counts, as in OpenStreetMap's opening_hours, of which this is
the part that needs no calendar of holidays. Anything else is unknown.

Each step of the grammar splits a text once and goes on with its parts, so that reading takes steps
in proportion to the length. Hours that are dear to read would tell a server who reads them.
"""

from __future__ import annotations

import datetime
from string import ascii_lowercase
from typing import Final

Minutes = tuple[int, int]

_DAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MIDNIGHT: Final = 24 * 60
_IN_DAYS: Final = ascii_lowercase + " ,-"
_CLOSED: Final = ("off", "closed")
_ALWAYS: Final = ((0, _MIDNIGHT),)


def is_open(hours: str, now: datetime.datetime) -> bool | None:
    """Whether it is open at a local time; None where the hours cannot be read."""
    try:
        week = _week(hours)
    except ValueError:
        return None
    minute, day = now.hour * 60 + now.minute, now.weekday()
    today = any(start <= minute < end for start, end in week[day])
    late = any(minute + _MIDNIGHT < end for _, end in week[day - 1])
    return today or late


def _week(hours: str) -> list[tuple[Minutes, ...]]:
    """The times of each day, Monday first; an end beyond midnight is of the next day."""
    if hours.strip() == "24/7":
        return [_ALWAYS] * 7
    week: list[tuple[Minutes, ...]] = [()] * 7
    for rule in hours.lower().split(";"):
        if rule.strip():
            days, times = _parts(rule.strip())
            for day in days:
                week[day] = times
    return week


def _parts(rule: str) -> tuple[set[int], tuple[Minutes, ...]]:
    """The days of a rule, and their times."""
    for word in _CLOSED:
        if rule.endswith(word):
            return _days(rule.removesuffix(word)), ()
    times = rule.lstrip(_IN_DAYS)
    days = rule.removesuffix(times)
    return _days(days), tuple([_span(part) for part in times.split(",")])


def _days(text: str) -> set[int]:
    if not text.strip():
        return set(range(7))
    days: set[int] = set()
    for part in text.split(","):
        ends = [_DAYS.index(end.strip()) for end in part.split("-")]
        if len(ends) > 2:
            raise ValueError
        days |= {day % 7 for day in range(ends[0], ends[-1] + (8 if ends[-1] < ends[0] else 1))}
    return days


def _span(text: str) -> Minutes:
    start, end = [_minute(each.strip()) for each in text.split("-", 1)]
    return start, end if end > start else end + _MIDNIGHT


def _minute(text: str) -> int:
    hour, minute = text.split(":", 1)
    is_time = 1 <= len(hour) <= 2 == len(minute) and (hour + minute).isdecimal()
    if not (is_time and text.isascii()):
        raise ValueError
    found = 60 * int(hour) + int(minute)
    if found > _MIDNIGHT or int(minute) > 59:
        raise ValueError
    return found
