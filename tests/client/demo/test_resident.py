"""The person of the demo: made up, and in a world that the demo's server knows."""

from __future__ import annotations

from askew.spaces.map import straight_line
from askew_client.demo.person import COUNTRY, HOME, PREFERENCES, TOWN, TOWNS
from askew_client.settings.regions import region_of
from askew_server.demo.places import KINDS, german_towns, places_model


def test_the_home_lies_in_its_town_and_its_country() -> None:
    region = region_of(COUNTRY)
    assert region.contains(HOME)
    [town] = [each for each in TOWNS if each.name == TOWN]
    assert straight_line(HOME, town.at, region.cosine) < 3


def test_the_towns_of_the_map_are_real_ones() -> None:
    real = german_towns()
    rows = zip(real.names, real.towns.coordinates.tolist(), real.towns.people.tolist(), strict=True)
    known = {(name, *at, people) for name, at, people in rows}
    shown = [(each.name, each.at.latitude, each.at.longitude, each.population) for each in TOWNS]
    assert [each for each in shown if each not in known] == []


def test_the_preferences_are_about_what_the_demos_places_have() -> None:
    [food] = [each for each in places_model().card.collections if each.name == "food"]
    assert PREFERENCES.attributes <= {each.name for each in food.attributes}
    assert set(PREFERENCES.likes["kind"]) <= {kind.name.casefold() for kind in KINDS}
