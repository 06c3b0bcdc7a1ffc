"""Models by their Mondays: which one answers a device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_collections import small_map

from askew.catalog.catalog_file import FIRST, PERIOD, catalog_date_of, is_catalog_date
from askew.errors import ParameterError, StaleSpace
from askew_server.folders import models_in
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import SnapshotHolder

MONDAY = FIRST + 100 * PERIOD


PLAIN = Serving(small_map()).snapshot


def answering(today: int, catalog_date: int, *days: int) -> int | None:
    """Which of the models of these days answers."""
    models = [replace(PLAIN, since=day) for day in days]
    try:
        return models.index(SnapshotHolder(*models, today=lambda: today).at(catalog_date))
    except StaleSpace:
        return None


def test_days_belong_to_their_monday() -> None:
    """Also of a clock that was never set."""
    days = {-1: FIRST, 0: FIRST, FIRST: FIRST, MONDAY - 1: MONDAY - PERIOD, MONDAY + 6: MONDAY}
    assert {day: catalog_date_of(day) for day in days} == days
    mondays = [is_catalog_date(day) for day in (0, FIRST - PERIOD, FIRST, FIRST + 1)]
    assert mondays == [False, False, True, False]


def test_a_monday_is_answered_by_the_newest_that_had_come_then() -> None:
    """And a clock that is hours ahead is let be."""
    later, today = MONDAY + 2 * PERIOD, MONDAY + 2 * PERIOD + 3
    asked = range(MONDAY, today, PERIOD)
    assert [answering(today, day, FIRST, MONDAY, later) for day in asked] == [1, 1, 2]
    assert answering(MONDAY - 1, MONDAY, FIRST) == 0


def test_a_day_that_names_no_model_is_stale() -> None:
    """None, before the calendar, no Monday, one to come, and far away."""
    for catalog_date in (0, FIRST - PERIOD, MONDAY + 1, MONDAY + PERIOD, 2**32 - 4):
        assert answering(MONDAY + 3, catalog_date, FIRST) is None


def test_a_folder_names_its_models_by_mondays(tmp_path: Path) -> None:
    for name in ("1970-01-12", "1970-01-05", ".new", "notes"):
        (tmp_path / name).mkdir()
    assert models_in(tmp_path) == {
        FIRST: tmp_path / "1970-01-05",
        FIRST + PERIOD: tmp_path / "1970-01-12",
    }
    (tmp_path / "1970-01-13").mkdir()
    with pytest.raises(ParameterError, match="a Monday: that is when devices look"):
        models_in(tmp_path)
