"""Opening hours as an item's attribute has them, read by the device's own clock. Pure.

    hours = "24/7" | rule {";" rule},   rule = [days] (times | "off")
    days  = day ["-" day] {"," ...},    day = Mo | Tu | We | Th | Fr | Sa | Su
    times = HH:MM-HH:MM {"," ...}; a time that ends before it begins ends on the next day

Of the rules that name a day the last counts, as in OpenStreetMap's opening_hours, of which this is
the part that needs no calendar of holidays. Anything else is unknown.
"""

from __future__ import annotations

import datetime
import re
from typing import Final

Minutes = tuple[int, int]

_DAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MIDNIGHT: Final = 24 * 60
_RULE = re.compile(r"(?P<days>[a-z ,-]*?)\s*(?P<times>off|closed|[0-9][0-9:, -]*)", re.IGNORECASE)
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})")
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
    for rule in filter(str.strip, hours.split(";")):
        found = _RULE.fullmatch(rule.strip())
        if found is None:
            raise ValueError
        for day in _days(found["days"]):
            week[day] = _times(found["times"])
    return week


def _days(text: str) -> set[int]:
    if not text.strip():
        return set(range(7))
    days: set[int] = set()
    for part in text.lower().split(","):
        ends = [_DAYS.index(end.strip()) for end in part.split("-")]
        if len(ends) > 2:
            raise ValueError
        days |= {day % 7 for day in range(ends[0], ends[-1] + (8 if ends[-1] < ends[0] else 1))}
    return days


def _times(text: str) -> tuple[Minutes, ...]:
    if text.lower() in {"off", "closed"}:
        return ()
    return tuple([_span(part.strip()) for part in text.split(",")])


def _span(text: str) -> Minutes:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError
    hours = [int(number) for number in found.groups()]
    start, end = (60 * hour + minute for hour, minute in (hours[:2], hours[2:]))
    if start > _MIDNIGHT or end > _MIDNIGHT or max(hours[1], hours[3]) > 59:
        raise ValueError
    return start, end if end > start else end + _MIDNIGHT
