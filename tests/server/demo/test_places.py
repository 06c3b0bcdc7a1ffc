"""The demo's places: simulated, said to be, and spread as people are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from askew.catalog.listing import AttributeKind
from askew.errors import ParameterError
from askew_client.settings.regions import region_of
from askew_server.collections.model import Collection, MetricModel, Towns
from askew_server.demo.places import (
    GERMANY,
    KINDS,
    german_towns,
    pharmacies,
    places_model,
    places_to_eat,
)

# A city of a thousand times the people of a village, 200 km apart.
TWO = Towns(np.array([[52.0, 10.0], [50.0, 10.0]]), np.array([1e6, 1e3]), "two towns")


@pytest.fixture(scope="module")
def demo() -> MetricModel:
    return places_model()


@pytest.fixture(scope="module")
def food(demo: MetricModel) -> Collection:
    return demo.collections["food"]


def test_the_same_seed_makes_the_same_places_and_another_seed_others() -> None:
    towns = german_towns().towns
    first, again = (places_to_eat(500, towns, GERMANY, seed=1) for _ in range(2))
    assert first.card == again.card
    assert first.listings(range(500)) == again.listings(range(500))
    assert first.card.version != places_to_eat(500, towns, GERMANY, seed=2).card.version


def test_every_collection_says_that_it_is_simulated(demo: MetricModel) -> None:
    assert [each.name for each in demo.card.collections] == ["food", "pharmacies"]
    assert all(each.simulated and "SIMULATED" in each.source for each in demo.card.collections)
    assert all("GeoNames, CC BY 4.0" in each.source for each in demo.card.collections)


def test_every_item_fits_the_card_of_its_collection(demo: MetricModel) -> None:
    for card in demo.card.collections:
        held = demo.collections[card.name]
        for listing in held.listings(range(0, len(held), 7)):
            card.check(listing, demo.card.space)


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


def test_kinds_have_their_shares_and_their_prices(food: Collection) -> None:
    values = [listing.values for listing in food.listings(range(len(food)))]
    counts = Counter(kind for kind, *_ in values)
    for kind in KINDS:
        assert counts[kind.name] / len(values) == pytest.approx(kind.share, rel=0.1)
    prices = [price for kind, price, *_ in values if kind == "Bakery" and isinstance(price, float)]
    assert np.median(prices) == pytest.approx(5.0, abs=0.5)


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
    assert demo.card.rule.density == demo.towns.source


def test_no_places_are_refused() -> None:
    for make in (places_to_eat, pharmacies):
        with pytest.raises(ParameterError, match="n must be"):
            make(0, TWO, GERMANY)
