"""Simulated places around real towns, and what a server gains that knows where people are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

from askew.catalog.item import AttributeKind
from askew.dp.privacy import ANY_SPACE
from askew.noise.randomness import ReplayBits
from askew.protocol.collection import Collection
from askew.protocol.metric_card import MetricRuleKind
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise, Position
from askew_client.settings.regions import region_of
from askew_server.collections.model import MetricModel, Towns
from askew_server.demo.places import (
    GERMANY,
    TownList,
    german_towns,
    places_model,
    places_to_eat,
)
from askew_server.retrieval.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.index import MetricIndex

# A city of a thousand times the people of a village, 200 km apart.
TWO = Towns(np.array([[52.0, 10.0], [50.0, 10.0]]), np.array([1e6, 1e3]), "two towns")


@pytest.fixture(scope="module")
def demo() -> MetricModel:
    return places_model()


@pytest.fixture(scope="module")
def food(demo: MetricModel) -> Collection:
    return demo.collections["food"]


def test_every_collection_says_that_it_is_simulated(demo: MetricModel) -> None:
    assert [each.name for each in demo.card.collections] == ["food", "pharmacies"]
    assert all(each.simulated and "SIMULATED" in each.source for each in demo.card.collections)
    assert all("GeoNames, CC BY 4.0" in each.source for each in demo.card.collections)


def test_all_lie_in_the_region_which_is_the_one_that_a_device_knows(demo: MetricModel) -> None:
    assert region_of("Germany") == GERMANY
    for held in demo.collections.values():
        south, west = held.coordinates.min(axis=0)
        north, east = held.coordinates.max(axis=0)
        assert GERMANY.south <= south < north <= GERMANY.north
        assert GERMANY.west <= west < east <= GERMANY.east


def test_places_are_where_people_are_a_little_less_crowded_than_they() -> None:
    """1000 ** .8 = 251 times the places for 1000 times the people. Planted bug: the first power,
    at which the village would have 100 of 100,000 places and not 397.
    """
    made = places_to_eat(100_000, TWO, GERMANY).coordinates
    village = int((made[:, 0] < 51).sum())
    assert 317 <= village <= 477  # four deviations of a Poisson number to each side
    city = made[made[:, 0] > 51]
    kilometers = (city - [52.0, 10.0]) * [110.57, 111.31 * np.cos(np.radians(52.0))]
    # .4 + .0035 * 1000 = 3.9 km; 10**5 draws know it within 1 %.
    assert kilometers.std(axis=0) == pytest.approx([3.9, 3.9], rel=0.02)


def test_there_are_filters_that_few_some_and_many_pass(food: Collection) -> None:
    kinds = [attribute.kind for attribute in food.card.attributes]
    assert set(kinds) == set(AttributeKind)
    assert [each.name for each in food.card.attributes if each.live] == ["free table"]
    flags = Counter(listing.values[3] for listing in food.listings(range(len(food))))
    assert flags[True] / len(food) == pytest.approx(0.5, abs=0.02)
    assert flags[None] / len(food) == pytest.approx(0.1, abs=0.02)


def test_what_the_server_knows_of_people_is_coarser_than_the_towns(demo: MetricModel) -> None:
    assert demo.towns is not None
    assert len(demo.towns.people) < 4_000 < len(german_towns())
    assert demo.card.density == demo.towns.source


PEOPLE, K = 150, 20
NOISE = MapNoise.in_region(Fraction(277, 1000), GERMANY)


def test_what_is_served_is_nearer_than_the_nearest_to_the_noisy_position() -> None:
    """Seeds are fixed. Of 1,000 people the nearest result is 1.2 km beyond the nearest place,
    against 3.3 km, a paired difference of 2.2 with a standard error of .07.
    """
    towns, rng = german_towns().towns, np.random.default_rng(7)
    town = rng.choice(len(towns.people), PEOPLE, p=towns.people / towns.people.sum())
    people = towns.coordinates[town] + rng.normal(0, 0.01, (PEOPLE, 2))
    model = places_model()
    food = model.collections["food"].coordinates
    nearest = near_rule_of(MetricRuleKind.NEAREST, MetricIndex(model.card.space, food))
    answers = MetricAnswers(model)
    bits, found = ReplayBits(rng.bytes(10_000_000)), []
    for person in people:
        noisy = NOISE.perturb(Position(*person.tolist()), GERMANY, bits)
        away = np.linalg.norm((food - person) * (111.2, 70.0), axis=1)  # kilometers, nearly
        signal = Signal(ANY_SPACE, NOISE, noisy)
        served = list(answers.answer(Query(signal, K, 0)).item_ids)
        chosen = (served, nearest.choose(signal, K))
        found.append([away[ids].min() - away.min() for ids in chosen])
    beyond_served, beyond_nearest = np.mean(found, axis=0)
    assert beyond_served < 0.6 * beyond_nearest
    gain = np.array(found) @ (-1, 1)
    assert gain.mean() > 4 * gain.std() / np.sqrt(PEOPLE)


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


def test_the_package_says_whose_data_it_is_and_what_was_changed(towns: TownList) -> None:
    words = FOLDER.joinpath("GEONAMES.md").read_text(encoding="utf-8")
    for needed in ("https://www.geonames.org/", "licenses/by/4.0/", "CC BY 4.0", "Changes made"):
        assert needed in words
    assert "GeoNames, CC BY 4.0" in towns.towns.source
