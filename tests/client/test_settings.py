"""The device's settings: checked when made, never changed, and never from a server."""

from __future__ import annotations

import datetime
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest

from askew.errors import ParameterError
from askew_client.settings import ClientSettings, slot_of

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    "setting",
    [
        {"k": 0},
        {"k": -1},
        {"k": True},
        {"k": 1.5},
        {"k": "8"},
        {"epsilon": Fraction(0)},
        {"epsilon": Fraction(-1)},
        {"epsilon": Fraction(1, 1025)},
        {"epsilon": Fraction(1025)},
        {"epsilon": Fraction(10**9)},
        {"epsilon": NAN},
        {"epsilon": INFINITY},
        {"lifetime_cap": Fraction(0)},
        {"lifetime_cap": Fraction(-1)},
        {"max_diameter": 0.0},
        {"max_diameter": -1.0},
        {"max_diameter": NAN},
        {"max_diameter": INFINITY},
        {"timeout": 0.0},
        {"timeout": -1.0},
        {"timeout": NAN},
        {"timeout": INFINITY},
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_refused_by_its_name(setting: dict[str, Any]) -> None:
    """Planted bug: a comparison that lets NaN pass, such as `if x <= 0: raise`."""
    (name,) = setting
    with pytest.raises(ParameterError) as refusal:
        ClientSettings(**setting)
    assert refusal.value.name == name


@pytest.mark.parametrize("epsilon", [Fraction(1, 1024), Fraction(1, 3), Fraction(1024)])
@pytest.mark.parametrize("k", [1, 2, 10**6])
def test_the_limits_themselves_are_allowed(epsilon: Fraction, k: int) -> None:
    settings = ClientSettings(epsilon=epsilon, k=k)
    assert (settings.epsilon, settings.k) == (epsilon, k)


def test_the_defaults_pay_for_a_year_of_months() -> None:
    settings = ClientSettings()
    assert settings.lifetime_cap / settings.epsilon >= 12


def test_settings_do_not_change() -> None:
    """Planted bug: settings that follow the profile or the server's wishes."""
    settings = ClientSettings()
    with pytest.raises(FrozenInstanceError):
        settings.k = 9  # type: ignore[misc]


@pytest.mark.parametrize(
    ("day", "slot"),
    [
        (datetime.date(2026, 11, 1), "2026-11"),
        (datetime.date(2026, 11, 30), "2026-11"),
        (datetime.date(2026, 12, 1), "2026-12"),
        (datetime.date(2027, 1, 31), "2027-01"),
    ],
)
def test_a_slot_is_a_calendar_month(day: datetime.date, slot: str) -> None:
    assert slot_of(day) == slot
