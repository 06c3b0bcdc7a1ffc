"""The device's settings: checked when made, never changed, and never from a server."""

from __future__ import annotations

import datetime
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from math import log
from typing import Any, assert_type

import pytest

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew_client.settings.settings import LEVELS, Caps, ClientSettings, month_of

NAN, INFINITY = float("nan"), float("inf")


# What is out of range of each setting, whose kinds have their own tests.
WRONG: dict[str, tuple[Any, ...]] = {
    "k": (0, True, 1.5),
    "epsilon_per_rating": (Fraction(0), Fraction(1, 1025), Fraction(1025), 0.5, None),
    "rating_lifetime_cap": (Fraction(0), 48.0, Fraction(10**400)),
    "rating_monthly_cap": (Fraction(-1),),
    "epsilon_per_axis_unit": (0.5,),
    "near_k": (20.0,),
    "level": ("density",),
    "region": ("Atlantis", "55/5/47/15", "70/-180/80/170", 47),
    "place_monthly_cap": (Fraction(-1),),
    "place_lifetime_cap": (INFINITY,),
    "max_axes_diameter": (0.0,),
    "axis_monthly_cap": (Fraction(-1),),
    "axis_lifetime_cap": (0.5,),
    "max_ratings_apart": (NAN, Fraction(10**400)),
    "interval": (0.0, 3600.5),
    "timeout": (0.0, NAN),
    "mode": ("", None),
    "byte_budget": (0, 4e6),
    "authority": ("a\0b",),
    "held_from": ("http://example.org",),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_setting_out_of_range_is_refused_by_its_name(name: str) -> None:
    """Planted bug: a comparison that lets NaN pass, such as `if x <= 0: raise`."""
    for value in WRONG[name]:
        with pytest.raises(ParameterError) as refusal:
            ClientSettings(**{name: value})
        assert refusal.value.name == name


def test_a_program_writes_a_setting_as_the_file_does() -> None:
    written = ClientSettings(
        mode="auto", epsilon_per_rating="1.5", rating_lifetime_cap="1/3", place_monthly_cap=1
    )
    assert written == replace(
        ClientSettings(),
        epsilon_per_rating=Fraction(3, 2),
        rating_lifetime_cap=Fraction(1, 3),
        place_monthly_cap=Fraction(1),
    )
    assert_type(written.epsilon_per_rating, Fraction)
    assert [type(each) for each in (written.epsilon_per_rating, written.place_monthly_cap)] == [
        Fraction
    ] * 2
    with pytest.raises(FrozenInstanceError):
        written.epsilon_per_rating = Fraction(2)  # type: ignore[misc]


def test_a_float_is_refused_with_what_to_write() -> None:
    with pytest.raises(ParameterError, match=r'a number such as 2, 1/3 or "0\.5"'):
        ClientSettings(epsilon_per_rating=0.1)  # type: ignore[arg-type]


def test_the_limits_themselves_are_allowed() -> None:
    for epsilon, k in ((Fraction(1, 1024), 1), (Fraction(1024), 10**6)):
        settings = ClientSettings(epsilon_per_rating=epsilon, k=k)
        assert (settings.epsilon_per_rating, settings.k) == (epsilon, k)


def test_the_defaults_pay_for_five_years_of_months_and_two_signals_in_each() -> None:
    settings = ClientSettings()
    each = LatticeLaplace.for_epsilon(settings.epsilon_per_rating).charge.epsilon_per_rating
    assert 60 * each == settings.rating_lifetime_cap
    assert 2 * each == settings.rating_monthly_cap
    assert settings.caps == Caps(settings.rating_lifetime_cap, settings.rating_monthly_cap)


def test_the_defaults_pay_for_the_widest_axes_twice_a_month_and_twelve_times_in_all() -> None:
    settings = ClientSettings()
    widest = settings.epsilon_per_axis_unit * Fraction(settings.max_axes_diameter)
    assert (2 * widest, 12 * widest) == (settings.axis_monthly_cap, settings.axis_lifetime_cap)
    caps = settings.caps
    assert (caps.axes_monthly, caps.axes_lifetime) == (2 * widest, 12 * widest)


@pytest.mark.parametrize(("level", "km"), [("district", 1), ("town", 5), ("county", 20)])
def test_a_level_hides_a_place_among_those_within_its_kilometers(level: Any, km: int) -> None:
    """Odds change at most 4 times within them. Planted bug: an epsilon that is rounded up."""
    noise = ClientSettings(region="DE", level=level).map_noise
    assert 0.999 * log(4) / km < noise.epsilon <= LEVELS[level] <= log(4) / km


def test_the_defaults_pay_for_fifteen_places_and_one_of_the_finest_level() -> None:
    settings = ClientSettings(region="DE")
    assert 15 * settings.map_noise.epsilon <= settings.place_lifetime_cap
    finest = ClientSettings(region="DE", level="district").map_noise.epsilon
    assert finest <= settings.caps.places_draw == settings.place_monthly_cap < 2 * finest


def test_by_default_one_signal_says_little_of_one_rating_and_not_all_of_two_people() -> None:
    settings = ClientSettings()
    assert settings.epsilon_per_rating == Fraction(4, 5)
    assert settings.epsilon_per_rating * Fraction(settings.max_ratings_apart) == 16


def test_a_month_is_a_calendar_month() -> None:
    days = (datetime.date(2026, 11, 1), datetime.date(2026, 11, 30), datetime.date(2027, 1, 31))
    assert [month_of(day) for day in days] == ["2026-11", "2026-11", "2027-01"]
