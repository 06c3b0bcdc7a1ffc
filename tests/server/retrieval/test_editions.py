"""Versions by their Mondays: which one answers, and until when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from small_collections import small_map

from askew.catalog.catalog_file import (
    FIRST,
    LONGEST_DELAY,
    PERIOD,
    catalog_date_of,
    is_catalog_date,
    last_day,
)
from askew.errors import ParameterError, StaleSpace
from askew_server.retrieval.served import serving_of
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.model.mondays import dated

MONDAY = FIRST + 100 * PERIOD


def version(since: int) -> Snapshot:
    return serving_of(small_map(), since=since).snapshot


def holder(today: int, *days: int) -> tuple[SnapshotHolder, list[Snapshot]]:
    versions = [version(day) for day in days]
    return SnapshotHolder(*versions, today=lambda: today), versions


def found(today: int, catalog_date: int, *days: int) -> int | None:
    held, versions = holder(today, *days)
    try:
        return versions.index(held.at(catalog_date))
    except StaleSpace:
        return None


def test_days_belong_to_their_monday() -> None:
    assert [catalog_date_of(MONDAY + day) for day in range(-1, 8)] == [
        MONDAY - PERIOD,
        *[MONDAY] * 7,
        MONDAY + PERIOD,
    ]
    assert [catalog_date_of(day) for day in (-1, 0, FIRST)] == [
        FIRST
    ] * 3  # a clock that was never set
    assert [is_catalog_date(day) for day in (0, FIRST - PERIOD, FIRST, FIRST + 1)] == [
        False,
        False,
        True,
        False,
    ]


def test_a_monday_is_answered_by_what_was_in_force_then() -> None:
    later, today = MONDAY + 2 * PERIOD, MONDAY + 2 * PERIOD + 3
    assert [found(today, each, FIRST, MONDAY, later) for each in range(MONDAY, today, PERIOD)] == [
        1,
        1,
        2,
    ]


@pytest.mark.slow
def test_an_old_version_is_answered_for_a_week_and_the_longest_delay_more() -> None:
    """Planted bug: for the week alone, when a device that looks late still holds it."""
    last = last_day(MONDAY)
    assert last == MONDAY + PERIOD + LONGEST_DELAY
    before = MONDAY - PERIOD
    assert [found(today, before, FIRST, MONDAY) for today in (MONDAY, last, last + 1)] == [
        0,
        0,
        None,
    ]


@pytest.mark.thin
@pytest.mark.parametrize(
    "catalog_date",
    [0, FIRST - PERIOD, MONDAY + 1, MONDAY + PERIOD, 2**32 - 4],
    ids=["none", "before the calendar", "no monday", "to come", "far away"],
)
def test_a_day_that_names_no_version_is_stale(catalog_date: int) -> None:
    assert found(MONDAY + 3, catalog_date, FIRST) is None


def test_a_clock_that_is_hours_ahead_is_let_be() -> None:
    assert found(MONDAY - 1, MONDAY, FIRST) == 0


def test_a_version_to_come_answers_nobody_yet_and_is_not_current() -> None:
    held, (old, _) = holder(MONDAY - 2, FIRST, MONDAY)
    assert held.current is old
    assert held.at(MONDAY - PERIOD) is old


@pytest.mark.slow
def test_two_versions_of_one_monday_are_refused_and_a_swap_replaces_its_own() -> None:
    with pytest.raises(ParameterError, match="one version from each Monday on"):
        SnapshotHolder(version(FIRST), version(FIRST))
    held, (old, _) = holder(MONDAY, FIRST, MONDAY)
    another = version(MONDAY)
    held.swap(another)
    assert (held.at(MONDAY), held.at(MONDAY - PERIOD)) == (another, old)


def test_a_model_is_named_with_its_monday(tmp_path: Path) -> None:
    """A directory whose own name has the sign is itself."""
    (tmp_path / "a@2026-11-23").mkdir()
    assert dated(f"{tmp_path}/a@2026-11-23") == (tmp_path / "a@2026-11-23", FIRST)
    assert dated("model") == (Path("model"), FIRST)
    assert dated("model@1970-01-12") == (Path("model"), FIRST + PERIOD)
    for wrong in ("model@2026-11-22", "model@monday"):
        with pytest.raises(ParameterError, match="a Monday"):
            dated(wrong)


def test_places_and_tastes_are_served_by_a_server_each(
    run: Callable[..., int], tmp_path: Path, model: ItemModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted bug: from one Monday to the next, devices of tastes are answered with places."""
    from askew_server.collections import artifact as places
    from askew_server.taste.model import artifact as tastes

    places.save(small_map(), tmp_path / "places")
    tastes.save(model, tmp_path / "tastes")
    both = [f"{tmp_path}/places@2026-11-16", f"{tmp_path}/tastes@2026-11-23"]
    assert run("serve", "--model", both[0], "--model", both[1]) != 0
    assert "is of another kind than the models beside it" in capsys.readouterr().err
