"""Simulated places around real towns, and the rows that the demo shows beside its server's."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import numpy as np
import pytest

from askew.catalog.item import AttributeKind
from askew_client.settings.regions import region_of
from askew_server.collections.model import MetricModel, Towns
from askew_server.demo.places import GERMANY, german_towns, places_model, places_to_eat


@pytest.fixture(scope="module")
def demo() -> MetricModel:
    return places_model()


def test_collections_say_that_they_are_simulated_and_lie_in_the_region_of_devices(
    demo: MetricModel,
) -> None:
    assert region_of("Germany") == GERMANY
    assert list(demo.collections) == ["food", "pharmacies"]
    for collection in demo.collections.values():
        assert collection.card.simulated
        assert "SIMULATED" in collection.card.source
        assert "GeoNames, CC BY 4.0" in collection.card.source
        (south, west), (north, east) = (f(collection.coordinates, axis=0) for f in (np.min, np.max))
        assert GERMANY.south <= south < north <= GERMANY.north
        assert GERMANY.west <= west < east <= GERMANY.east


def test_places_are_where_people_are_a_little_less_crowded_than_they() -> None:
    """1000 ** .8 = 251 times the places for 1000 times the people. Planted bug: the first power,
    at which the village would have 100 of 100,000 places and not 397.
    """
    # A city of a thousand times the people of a village, 200 km apart.
    towns = Towns(np.array([[52.0, 10.0], [50.0, 10.0]]), np.array([1e6, 1e3]), "two towns")
    coordinates = places_to_eat(100_000, towns, GERMANY).coordinates
    is_village = coordinates[:, 0] < 51
    assert 317 <= is_village.sum() <= 477  # four deviations of a Poisson number to each side
    scale = [110.57, 111.31 * np.cos(np.radians(52.0))]
    kilometers = (coordinates[~is_village] - [52.0, 10.0]) * scale
    # .4 + .0035 * 1000 = 3.9 km; 10**5 draws know it within 1 %.
    assert kilometers.std(axis=0) == pytest.approx([3.9, 3.9], rel=0.02)


def test_there_are_filters_that_few_some_and_many_pass(demo: MetricModel) -> None:
    food = demo.collections["food"]
    assert {attribute.kind for attribute in food.card.attributes} == set(AttributeKind)
    assert [shown.name for shown in food.card.attributes if shown.live] == ["free table"]
    flags = Counter(listing.values[3] for listing in food.listings(range(len(food))))
    assert flags[True] / len(food) == pytest.approx(0.5, abs=0.02)
    assert flags[None] / len(food) == pytest.approx(0.1, abs=0.02)


def test_towns_are_of_one_country_the_largest_first_and_the_server_knows_fewer(
    demo: MetricModel,
) -> None:
    """Planted bug: latitude and longitude exchanged."""
    towns = german_towns()
    assert len(towns.people) == len(towns.coordinates) == 10_000
    assert (np.diff(towns.people) <= 0).all()
    assert towns.people[-1] > 0
    assert ((towns.coordinates > (47, 5)) & (towns.coordinates < (56, 16))).all()
    assert towns.coordinates[0] == pytest.approx([52.52, 13.41], abs=0.02)  # Berlin
    assert demo.towns is not None
    assert len(demo.towns.people) < 4_000
    assert demo.card.density == demo.towns.source
    licence = resources.files("askew_server.demo").joinpath("GEONAMES.md").read_text("utf-8")
    for words in ("https://www.geonames.org/", "licenses/by/4.0/", "CC BY 4.0", "Changes made"):
        assert words in licence
