"""OpenStreetMap's opening hours, brought to the week that devices read.

A collection is made anew from time to time, so its hours are those of one week, which stands for
every one: months and dates take what they have in it, and no day of it is a holiday.
"""

from __future__ import annotations

import datetime
import re
from itertools import groupby, pairwise
from typing import Final

from opening_hours import OpeningHours, State, validate

from askew.catalog.item import MAX_HOURS

_LONGEST = 1000  # characters that are read; OpenStreetMap has 255
_COMMENT = re.compile(r'(\b(?:open|closed|off|unknown)\s*)?"[^"]*"', re.IGNORECASE)
# How people write what the parser takes in one way alone.
_RULE_BEHIND_COMMA = re.compile(r"(:\d\d|\+|off|closed|open|unknown),(?=[a-z])", re.IGNORECASE)
_COLON_BEHIND_DAY = re.compile(r"\b(Mo|Tu|We|Th|Fr|Sa|Su|PH) ?: *(?=\d)", re.IGNORECASE)
_DAYS_OF_MONTH = re.compile(
    r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"(\d\d?(?:-\d\d?)?(?:,\d\d?(?:-\d\d?)?(?![\d:]))+)",
    re.IGNORECASE,
)
_HOLIDAYS_ALONE = re.compile(r"[PS]H(?: *, *[PS]H)*\b(?! *,)", re.IGNORECASE)
_SUN = re.compile("sunrise|sunset|dawn|dusk", re.IGNORECASE)
_OPEN_END = re.compile(r":\d\d *\+")
_DAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_DAY = 24 * 60
_MINUTE = datetime.timedelta(minutes=1)

UNREADABLE: Final = "as OpenStreetMap writes opening hours, such as Mo-Fr 08:00-18:00"
INDEFINITE: Final = "of a plain week, not of the sun, a call or holidays alone, and short enough"
PARTLY: Final = "certain: where it is in doubt, as 18:00+ is, it counts as closed"


def weekly_hours(text: str, monday: datetime.date) -> tuple[str | None, str | None]:
    """Return the hours of the week from this Monday, "Mo-Fr 08:00-18:00", "24/7" or "off", as
    `askew_client.near.pick.is_open` reads them, at most 200 characters, or None where nothing is
    known of them; and the reason why not all is known, UNREADABLE, INDEFINITE or PARTLY, or None.

    text: by OpenStreetMap's specification of opening_hours. A comment makes its rule unknown,
    unless open, closed or off stands right before it. A rule for holidays alone is left out: "PH
    off" by itself gives (None, INDEFINITE). So does a text of which all is unknown, or that names
    the sun.
    """
    if len(text) > _LONGEST:
        return None, UNREADABLE
    rules = [rule.strip() for rule in _plain(text).split(";") if rule.strip()]
    kept = "; ".join([rule for rule in rules if not _HOLIDAYS_ALONE.match(rule)])
    if not rules or not (validate(kept) or not kept):
        return None, UNREADABLE
    if not kept or _SUN.search(kept):
        return None, INDEFINITE
    hours, is_partly = OpeningHours(kept), bool(_OPEN_END.search(kept))
    stretches: list[tuple[int, int]] = []  # from and to a minute of the week, apart
    midnight = datetime.datetime.combine(monday, datetime.time())
    # Where a rule falls back on another one, the parser skips over days behind the first.
    at_once = 1 if "||" in kept else 7
    for day in range(0, 7, at_once):
        first = midnight + datetime.timedelta(day)
        for start, end, state, _ in hours.intervals(first, first + datetime.timedelta(at_once)):
            is_partly |= state is State.UNKNOWN
            if state is State.OPEN:
                begin, last = (start - midnight) // _MINUTE, (end - midnight) // _MINUTE
                if stretches and stretches[-1][1] == begin:
                    begin, _ = stretches.pop()
                stretches.append((begin, last))
    written = _written(stretches)
    if (is_partly and not stretches) or len(written) > MAX_HOURS:
        return None, INDEFINITE
    return written, PARTLY if is_partly else None


def _plain(text: str) -> str:
    # As the parser takes it: no comments, and blanks behind the commas that part rules alone.
    plain = _COMMENT.sub(lambda comment: comment[1] or "unknown", text)
    plain = re.sub(" *, *", ",", plain)
    plain = re.sub("(?<!easter)(?<![PS]H) *- *(?![0-9]+ day)", "-", plain)
    plain = _RULE_BEHIND_COMMA.sub(r"\1, ", plain)
    plain = _COLON_BEHIND_DAY.sub(r"\1 ", plain)
    return _DAYS_OF_MONTH.sub(
        lambda dates: ",".join(f"{dates[1]} {day}" for day in dates[2].split(",")), plain
    )


def _written(stretches: list[tuple[int, int]]) -> str:
    if stretches == [(0, 7 * _DAY)]:
        return "24/7"
    if len(stretches) > 1 and stretches[0][0] == 0 and stretches[-1][1] == 7 * _DAY:
        (_, morning), *between, (evening, _) = stretches  # Sunday's night goes on on Monday
        stretches = [*between, (evening, 7 * _DAY + morning)]
    spans: dict[int, list[str]] = {}
    for begin, end in stretches:
        # What is a day long at most may end on the next one; of more, each day has a part.
        cuts = range((begin // _DAY + 1) * _DAY, end, _DAY) if end - begin > _DAY else ()
        for first, last in pairwise([begin, *cuts, end]):
            day, minute = divmod(first, _DAY)
            spans.setdefault(day % 7, []).append(f"{_clock(minute)}-{_clock(last - day * _DAY)}")
    days_of: dict[str, list[int]] = {}
    for day in sorted(spans):
        days_of.setdefault(",".join(sorted(spans[day])), []).append(day)
    rules = [f"{_days(days)} {times}".lstrip() for times, days in days_of.items()]
    return "; ".join(rules) or "off"


def _clock(minute: int) -> str:
    hour, minute = divmod(minute if minute <= _DAY else minute - _DAY, 60)
    return f"{hour:02d}:{minute:02d}"


def _days(days: list[int]) -> str:
    """Return days, 0 for Monday, ascending, as a rule names them: "Mo-We,Fr"; "" for all seven."""
    if len(days) == len(_DAYS):
        return ""
    runs = [list(run) for _, run in groupby(days, key=lambda day: day - days.index(day))]
    named = [(_DAYS[run[0]], _DAYS[run[-1]]) for run in runs]
    return ",".join([first if first == last else f"{first}-{last}" for first, last in named])
