"""OpenStreetMap's opening hours become a week that devices read, by the same minutes."""

from __future__ import annotations

import datetime
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opening_hours import OpeningHours, validate

from askew.catalog.item import MAX_HOURS
from askew_client.near.pick import is_open
from askew_server.collections.hours import INDEFINITE, PARTLY, UNREADABLE, weekly_hours

MONDAY = datetime.date(2026, 11, 23)
MIDNIGHT = datetime.datetime.combine(MONDAY, datetime.time())

KNOWN = {
    "24/7": "24/7",
    "closed": "off",
    "06:30-21:00; PH off": "06:30-21:00",
    "mo-sa 9:30 - 19:00 ; Su,PH off;": "Mo-Sa 09:30-19:00",
    "Mo-Fr 07:00-11:00, Sa 08:00-11:00": "Mo-Fr 07:00-11:00; Sa 08:00-11:00",
    "Su-Mo 20:00-26:30": "Mo,Su 20:00-02:30",
    "Tu-Su 08:00-20:00; Th 12:00-13:00 off": "Tu-We,Fr-Su 08:00-20:00; Th 08:00-12:00,13:00-20:00",
    "We 10:00-24:00, Th-Fr open, Sa 00:00-06:00": (
        "We 10:00-24:00; Th-Fr 00:00-24:00; Sa 00:00-06:00"
    ),
    "24/7; Mo 02:00-04:00 off": "Mo 00:00-02:00,04:00-24:00; Tu-Su 00:00-24:00",
    # As people write it: blanks and commas, days of a month, a colon.
    "Mo, We ,Th 10:00-12:00,15:00-17:00,Fr 10:00-11:00": (
        "Mo,We-Th 10:00-12:00,15:00-17:00; Fr 10:00-11:00"
    ),
    "Mo-Fr: 08:00-17:00": "Mo-Fr 08:00-17:00",
    "08:00-17:00; Dec 24,31 off; Nov 24, 26-27 09:00-10:00": (
        "Mo,We,Sa-Su 08:00-17:00; Tu,Th-Fr 09:00-10:00"
    ),
    "Nov 25, Dec 25 off, Mo 10:00-12:00": "Mo 10:00-12:00",
    # Of the week alone: its month, its number, what stands on its dates, and no holiday.
    "Dec 24-Jan 02 off": "off",
    "Su 10:00-11:00; easter -2 days off": "Su 10:00-11:00",
    "Mo-Fr 08:00-17:00; SH Mo-Fr 09:00-12:00": "Mo-Fr 08:00-17:00",
    "PH,SH closed; Sa 10:00-12:00": "Sa 10:00-12:00",
    # A later rule has its days whole, so that a night ends at midnight where the next day has its
    # own rule, and goes on where they are joined by a comma, as the wiki of OpenStreetMap has it.
    "Mo-Fr 19:00-03:00; Sa 19:00-05:00": "Mo-Th 19:00-03:00; Fr 19:00-24:00; Sa 19:00-05:00",
    "Mo-Fr 19:00-03:00, Sa 19:00-05:00": "Mo-Fr 19:00-03:00; Sa 19:00-05:00",
    'Fr 14:00-18:00 open "ring; then wait"': "Fr 14:00-18:00",
}
PARTLY_KNOWN = {
    "Th-Sa 17:00+": "Th-Sa 17:00-24:00",
    "Mo-Fr 09:00-15:00; Sa unknown": "Mo-Fr 09:00-15:00",
    'Mo-Fr 08:00-12:00 || "ask at the bar"': "Mo-Fr 08:00-12:00",
}
UNKNOWN = {
    "sunrise-sunset": INDEFINITE,
    "Mo-Fr 09:00-(sunset-01:00); Sa 09:00-12:00": INDEFINITE,
    '"on request"': INDEFINITE,
    "SH 10:00-12:00": INDEFINITE,
    ",".join(f"{h:02d}:{m:02d}-{h:02d}:{m + 5}" for h, m in product(range(10), (10, 40))): (
        INDEFINITE  # what it says takes more than a device reads
    ),
    "Mon-Fri 9-17": UNREADABLE,
    "Mo–Fr 08:00–18:00": UNREADABLE,  # noqa: RUF001
    'Mo "': UNREADABLE,
    ";": UNREADABLE,
    "Mo 08:00-12:00;" * 100: UNREADABLE,
}


@pytest.mark.parametrize("text", KNOWN)
def test_hours_become_those_of_their_week(text: str) -> None:
    """Planted bug: a rule for holidays counts for the weekdays that it names."""
    assert weekly_hours(text, MONDAY) == (KNOWN[text], None)


@pytest.mark.parametrize("text", PARTLY_KNOWN)
def test_what_is_open_for_sure_stays_of_hours_that_leave_doubt(text: str) -> None:
    """Planted bug: a comment alone says that it is open."""
    assert weekly_hours(text, MONDAY) == (PARTLY_KNOWN[text], PARTLY)


@pytest.mark.parametrize("text", UNKNOWN)
def test_hours_that_say_nothing_definite_are_unknown(text: str) -> None:
    assert weekly_hours(text, MONDAY) == (None, UNKNOWN[text])


def test_another_week_has_its_own_hours() -> None:
    april = datetime.date(2027, 4, 5)
    assert weekly_hours("Apr-Oct Sa 10:00-12:00", april) == ("Sa 10:00-12:00", None)


DAYS = st.sampled_from(["", "Mo ", "Su ", "Tu-Th ", "Fr-Mo ", "We,Sa "])
TIMES = st.builds(
    "{:02d}:{}-{:02d}:{}".format,
    st.integers(0, 23),
    st.sampled_from(["00", "30"]),
    st.integers(0, 30),
    st.sampled_from(["00", "45"]),
)
RULES = st.builds(
    "{}{}{}".format,
    DAYS,
    st.lists(TIMES, min_size=1, max_size=2).map(",".join),
    st.sampled_from(["", "", " off"]),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(RULES, st.lists(st.tuples(st.sampled_from(["; ", ", "]), RULES), max_size=3))
def test_a_device_is_told_what_the_parser_says_at_every_quarter_of_the_week(
    first: str, others: list[tuple[str, str]]
) -> None:
    """Planted bugs: Sunday's night is lost; hours of several days have one end."""
    text = first + "".join(map("".join, others))
    hours, doubt = weekly_hours(text, MONDAY)
    if hours is None or not validate(text):
        return
    assert (doubt, len(hours) <= MAX_HOURS) == (None, True)
    parsed = OpeningHours(text)
    for quarter in range(7 * 24 * 4):
        now = MIDNIGHT + datetime.timedelta(minutes=15 * quarter)
        assert is_open(hours, now) == parsed.is_open(now), (hours, now)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text('MoTuSPH 0123456789:-,;+"/|[]()offunkw', max_size=60))
def test_any_text_is_hours_or_unknown(text: str) -> None:
    hours, doubt = weekly_hours(text, MONDAY)
    if hours is None:
        assert doubt in {UNREADABLE, INDEFINITE}
    else:
        assert is_open(hours, MIDNIGHT) is not None
