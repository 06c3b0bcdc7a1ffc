"""Models by name: the Monday from which on each is in force."""

from __future__ import annotations

import datetime
import re
import time
from pathlib import Path

from askew.catalog.catalog_file import is_catalog_date
from askew.errors import ArtifactError, ParameterError

_EPOCH = datetime.date(1970, 1, 1)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
MOST_MODELS = 3  # of a folder: the one before, the one in force, and the next


def today() -> int:
    """Return the day by UTC, as days since 1970-01-01."""
    return int(time.time() // 86_400)


def date_of_text(name: str, text: str) -> int:
    """Return a Monday, such as "2026-11-23", as days since 1970-01-01. Raises ParameterError, which
    names the parameter `name`, for another day, and for text that is no day.
    """
    try:
        day = (datetime.date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        raise ParameterError(name, text, "a Monday, such as 2026-11-23") from None
    if not is_catalog_date(day):
        raise ParameterError(name, text, "a Monday: that is when devices look for a new file")
    return day


def text_of_date(catalog_date: int) -> str:
    """Return a day, given as days since 1970-01-01, as text such as "2026-11-23"."""
    return (_EPOCH + datetime.timedelta(days=catalog_date)).isoformat()


def models_in(folder: Path) -> dict[int, Path]:
    """Return the directories of a folder whose names are Mondays, by these Mondays in days since
    1970-01-01, the oldest first; other names are left alone.

    Raises ArtifactError for a folder that cannot be read or holds more than three, and
    ParameterError for the name of a day that is no Monday.
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if _DATE.fullmatch(path.name))
    except OSError as error:
        raise ArtifactError(f"{folder} cannot be read: {error.strerror}") from None
    models = {date_of_text("the name of a model", name): folder / name for name in names}
    if len(models) > MOST_MODELS:
        raise ArtifactError(
            f"{folder} holds {len(models)} models, and a server answers from at most"
            f" {MOST_MODELS}: move the oldest away, {names[0]}"
        )
    return models
