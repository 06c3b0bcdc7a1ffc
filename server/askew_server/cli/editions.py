"""Versions on the command line: a model, and the Monday from which on it is in force."""

from __future__ import annotations

import datetime
from pathlib import Path

from askew.editions import FIRST, is_edition
from askew.errors import ParameterError

_EPOCH = datetime.date(1970, 1, 1)


def edition_of_text(name: str, text: str) -> int:
    """The number of a Monday, 2026-11-23. Raises ParameterError for another day."""
    try:
        day = (datetime.date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        raise ParameterError(name, text, "a Monday, such as 2026-11-23") from None
    if not is_edition(day):
        raise ParameterError(name, text, "a Monday: that is when devices look for a new version")
    return day


def text_of_edition(edition: int) -> str:
    """The Monday as text: 2026-11-23."""
    return (_EPOCH + datetime.timedelta(days=edition)).isoformat()


def dated(text: str) -> tuple[Path, int]:
    """A model directory, and the Monday that follows it: DIR@2026-11-23; DIR alone is always.

    Raises ParameterError for another day.
    """
    directory, _, day = text.rpartition("@")
    if not directory or Path(text).exists():
        return Path(text), FIRST
    return Path(directory), edition_of_text("model", day)
