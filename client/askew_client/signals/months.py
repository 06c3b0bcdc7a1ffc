"""Months: one signal serves a calendar month, written "2026-11"."""

from __future__ import annotations

import datetime
import re

from askew.errors import ParameterError


def check_month(month: str) -> None:
    """Raises ParameterError for anything but a month such as "2026-11"."""
    if not re.fullmatch("(19|2[0-9])[0-9]{2}-(0[1-9]|1[0-2])", month):
        raise ParameterError("month", month, 'a month, such as "2026-11"')


def months_between(earlier: str, later: str) -> int:
    """How many months `later` is after `earlier`; negative when it is before."""
    return _months(later) - _months(earlier)


def day_after(month: str) -> datetime.date:
    """The first day of the next month."""
    year, number = divmod(_months(month) + 1, 12)
    return datetime.date(year, number + 1, 1)


def _months(month: str) -> int:
    year, number = month.split("-")
    return 12 * int(year) + int(number) - 1
