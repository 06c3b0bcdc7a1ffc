"""The device's settings: checked when made, never changed, and never from a server."""

from __future__ import annotations

import datetime
from fractions import Fraction
from math import log
from typing import Any, assert_type

import pytest

from askew.errors import ParameterError
from askew.noise.lattice import LatticeLaplace
from askew_client.settings.settings import LEVELS, ClientSettings, month_of

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("k", (0, True, 1.5)),
        ("epsilon_per_rating", (Fraction(0), Fraction(1, 1025), Fraction(1025), 0.5)),
        ("rating_lifetime_cap", (Fraction(0), 48.0, Fraction(10**400))),
        ("level", ("density",)),
        ("region", ("Atlantis", "55/5/47/15", "70/-180/80/170", 47)),
        ("place_monthly_cap", (Fraction(-1),)),
        ("max_axes_diameter", (0.0,)),
        ("max_ratings_apart", (NAN, Fraction(10**400))),
        ("interval", (0.0, 3600.5)),
        ("timeout", (0.0, NAN)),
        ("mode", ("", None)),
        ("byte_budget", (0, 4e6)),
        ("authority", ("a\0b",)),
        ("held_from", ("http://example.org",)),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name(name: str, wrong: tuple[Any, ...]) -> None:
    """Planted bug: a comparison that lets NaN pass, such as `if x <= 0: raise`."""
    for value in wrong:
        with pytest.raises(ParameterError) as refusal:
            ClientSettings(**{name: value})
        assert refusal.value.name == name


def test_a_program_writes_a_setting_as_the_file_does() -> None:
    written = ClientSettings(
        epsilon_per_rating="1.5", rating_lifetime_cap="1/3", place_monthly_cap=1, k=10**6
    )
    assert_type(written.epsilon_per_rating, Fraction)
    caps = written.rating_lifetime_cap, written.place_monthly_cap
    assert (written.epsilon_per_rating, *caps) == (Fraction(3, 2), Fraction(1, 3), Fraction(1))
    assert type(written.place_monthly_cap) is Fraction
    assert ClientSettings(epsilon_per_rating=Fraction(1024)).epsilon_per_rating == 1024
    with pytest.raises(ParameterError, match=r'a number such as 2, 1/3 or "0\.5"'):
        ClientSettings(epsilon_per_rating=0.1)  # type: ignore[arg-type]


def test_the_defaults_pay_for_five_years_of_months_and_two_signals_in_each() -> None:
    """And for the widest axes twice a month and twelve times in all."""
    settings = ClientSettings()
    once = LatticeLaplace.for_epsilon(settings.epsilon_per_rating).charge.epsilon_per_rating
    widest = settings.epsilon_per_axis_unit * Fraction(settings.max_axes_diameter)
    caps = settings.caps
    assert (caps.lifetime, caps.monthly) == (60 * once, 2 * once)
    assert (caps.axes_lifetime, caps.axes_monthly) == (12 * widest, 2 * widest)


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
