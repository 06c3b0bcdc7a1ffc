"""The embedded towns: real, small enough to embed, and attributed."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from askew.spaces.map import Position
from askew_client.settings.regions import region_of
from askew_server.demo.places import TownList, german_towns

FOLDER = resources.files("askew_server.demo")


@pytest.fixture(scope="module")
def towns() -> TownList:
    return german_towns()


def test_there_are_ten_thousand_towns_of_one_country_the_largest_first(towns: TownList) -> None:
    assert len(towns) == len(towns.towns.people) == len(towns.towns.coordinates) == 10_000
    assert towns.names[0] == "Berlin"
    assert (np.diff(towns.towns.people) <= 0).all()
    assert towns.towns.people[-1] > 0
    region = region_of("Germany")
    assert all(region.contains(Position(*each)) for each in towns.towns.coordinates.tolist())
    assert all(name.isprintable() and name.strip() == name != "" for name in towns.names)


def test_a_town_is_where_it_is(towns: TownList) -> None:
    """Planted bug: latitude and longitude exchanged."""
    at = dict(zip(towns.names, towns.towns.coordinates.tolist(), strict=True))
    assert at["Berlin"] == pytest.approx([52.52, 13.41], abs=0.02)
    assert at["Munich"] == pytest.approx([48.14, 11.58], abs=0.02)


def test_a_coarser_list_has_the_larger_towns_and_says_so(towns: TownList) -> None:
    large = towns.of_at_least(20_000)
    assert 500 < len(large) < 1_500
    assert large.names == towns.names[: len(large)]
    assert (large.towns.people >= 20_000).all()
    assert large.towns.source.endswith("of at least 20,000 people")


def test_all_tables_of_geonames_stay_below_half_a_megabyte() -> None:
    settings = resources.files("askew_client.settings")
    tables = [FOLDER / "towns.csv", settings / "regions.csv", settings / "towns.csv"]
    assert sum(len(each.read_bytes()) for each in tables) <= 500_000


def test_the_package_says_whose_data_it_is_and_what_was_changed(towns: TownList) -> None:
    words = FOLDER.joinpath("GEONAMES.md").read_text(encoding="utf-8")
    for needed in ("https://www.geonames.org/", "licenses/by/4.0/", "CC BY 4.0", "Changes made"):
        assert needed in words
    assert "GeoNames, CC BY 4.0" in towns.towns.source
