"""Slots: one signal serves a calendar month, written "2026-11"."""

from __future__ import annotations

import datetime
import re

from askew.errors import ParameterError


def check_slot(slot: str) -> None:
    """Raises ParameterError for anything but a month such as "2026-11"."""
    if not re.fullmatch("(19|2[0-9])[0-9]{2}-(0[1-9]|1[0-2])", slot):
        raise ParameterError("slot", slot, 'a month, such as "2026-11"')


def months_between(earlier: str, later: str) -> int:
    """How many slots `later` is after `earlier`; negative when it is before."""
    return _months(later) - _months(earlier)


def day_after(slot: str) -> datetime.date:
    """The first day of the next slot."""
    year, month = divmod(_months(slot) + 1, 12)
    return datetime.date(year, month + 1, 1)


def _months(slot: str) -> int:
    year, month = slot.split("-")
    return 12 * int(year) + int(month) - 1
