"""Simulated places around real towns, and the rows that the demo shows beside its server's."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

from askew.catalog.item import AttributeKind
from askew.dp.privacy import ANY_SPACE
from askew.errors import NotFound
from askew.protocol.metric_card import PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES, MapNoise
from askew_client.settings.regions import region_of
from askew_server.cli.rehearse import answer
from askew_server.collections.model import MetricModel, Towns
from askew_server.demo.places import GERMANY, german_towns, places_model, places_to_eat
from askew_server.retrieval.answers import MetricAnswers


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
    people = towns.people
    assert len(people) == len(towns.coordinates) == 10_000
    assert (np.diff(people) <= 0).all()
    assert people[-1] > 0
    assert ((towns.coordinates > (47, 5)) & (towns.coordinates < (56, 16))).all()
    assert towns.coordinates[0] == pytest.approx([52.52, 13.41], abs=0.02)  # Berlin
    assert demo.towns is not None
    assert len(demo.towns.people) < 4_000
    assert demo.card.density == demo.towns.source
    licence = resources.files("askew_server.demo").joinpath("GEONAMES.md").read_text("utf-8")
    for words in ("https://www.geonames.org/", "licenses/by/4.0/", "CC BY 4.0", "Changes made"):
        assert words in licence


# -- the rows beside the server's own -------------------------------------------------------------

NOISE = MapNoise.in_region(Fraction(277, 1000), GERMANY)
HERE, THERE = (50.5, 9.7), (53.5, 10.1)


def question(at: tuple[float, float], k: int, collection: int = 0) -> Query:
    values = tuple(round(degrees * MICRODEGREES) for degrees in at)
    return Query(Signal(ANY_SPACE, NOISE, values), k, collection)


def kilometers(slate: PlaceSlate, at: tuple[float, float]) -> list[float]:
    """On a plane that touches the Earth at this place."""
    away = np.array([listing.coordinates for listing in slate.listings]) - at
    away *= (111.2, 111.2 * np.cos(np.radians(at[0])))
    return sorted(np.linalg.norm(away, axis=1).tolist())


def test_each_row_of_the_demo_is_what_it_says(demo: MetricModel) -> None:
    """The list that all hold does not look at who holds it: its nearest are a fifth of all places.
    Planted bug: the nearest of all.
    """
    answers, food = MetricAnswers(demo), demo.collections["food"]
    whole = PlaceSlate(food.card.version, food.listings(range(len(food))))
    for at in (HERE, THERE):
        asked, nearest = question(at, 20), kilometers(whole, at)
        assert kilometers(answer(answers, "nearest", asked), at) == nearest[:20]
        listed = kilometers(answer(answers, "held", asked), at)
        assert nearest[0] <= listed[0] < 6
        assert listed[-1] > 1.5 * nearest[19]
        assert answer(answers, "served", asked).item_ids == answers.answer(asked).item_ids
    for way in ("served", "nearest", "held"):
        slate = answer(answers, way, question(HERE, 7, collection=1))
        assert all("Pharmacy" in listing.title for listing in slate.listings)
    with pytest.raises(NotFound):
        answer(answers, "guess", question(HERE, 7))
