"""The regions that a person can name: each holds its country, and each has a plane."""

from __future__ import annotations

import pytest

from askew.errors import ParameterError
from askew.spaces.map import MAX_APEX, Position, Region
from askew_client.settings.regions import countries, region_of


def test_every_region_of_the_table_has_a_plane_and_a_code_and_a_name_of_its_own() -> None:
    rows = list(countries())
    assert len(rows) > 240
    assert all(each.region.apex <= MAX_APEX for each in rows)
    assert len({each.code for each in rows}) == len(rows)
    assert len({each.name.casefold() for each in rows}) == len(rows)
    assert all(len(each.code) == 2 and each.code.isupper() for each in rows)


def test_a_country_is_named_by_its_name_or_its_code_in_any_case_and_with_an_article() -> None:
    for text in ("Germany", " GERMANY ", "de", "DE"):
        assert region_of(text) == Region(47.1, 5.5, 55.4, 15.4)
    assert region_of("Netherlands") == region_of("the  netherlands") == region_of("NL")


def test_edges_are_south_west_north_east() -> None:
    assert region_of("47.1/5.5/55.4/15.4") == Region(47.1, 5.5, 55.4, 15.4)
    assert region_of(" -47 / 166 / -34 / -175 ") == Region(-47, 166, -34, -175)


# Capitals and outlying towns, among them both sides of 180 degrees and the far ends of countries
# whose box was made by hand.
PEOPLE = {
    "DE": [(52.52, 13.41), (54.91, 8.31), (47.41, 10.28), (51.27, 14.98), (51.05, 5.87)],
    "GB": [(51.51, -0.13), (60.81, -0.81), (49.91, -6.31), (54.44, -8.10)],
    "US": [(38.9, -77.04), (24.56, -81.78), (48.37, -124.62), (44.91, -66.99)],
    "FK": [(-51.7, -57.85), (-51.8, -60.9)],
    "FJ": [(-18.14, 178.44), (-16.85, -179.97)],
    "NZ": [(-41.29, 174.78), (-43.95, -176.56), (-46.6, 168.34)],
    "NO": [(59.91, 10.75), (71.1, 25.78), (70.37, 31.1)],
}


@pytest.mark.parametrize("code", PEOPLE)
def test_a_region_holds_the_ends_of_its_country(code: str) -> None:
    """Planted bugs: west and east exchanged where a country lies on both sides of 180 degrees."""
    region = region_of(code)
    outside = [each for each in PEOPLE[code] if not region.contains(Position(*each))]
    assert outside == []


@pytest.mark.parametrize("text", ["", "SJ", "47/5/55/15/3", "a/b/c/d", "nan/5/55/15", "55/5/47/15"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="region"):
        region_of(text)
