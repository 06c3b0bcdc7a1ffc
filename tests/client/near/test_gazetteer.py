"""The towns that a person can name: known by every name, found here and nowhere else."""

from __future__ import annotations

import csv
import zlib
from importlib import resources

import pytest

from askew.errors import UnclearTown
from askew.spaces.map import Position
from askew_client.near.gazetteer import (
    find_towns,
    folded,
    n_towns,
    named_towns,
    spot_of,
    towns_like,
)

TABLE = resources.files("askew_client.settings").joinpath("towns.txt")


def at(name: str, region: str = "DE") -> tuple[float, float]:
    spot = spot_of(name, region)
    assert isinstance(spot, Position)
    return spot.latitude, spot.longitude


def test_the_table_has_the_towns_of_the_world_and_packs_well() -> None:
    """34,006 are of at least 15,000 people, or capitals."""
    text = TABLE.read_text(encoding="utf-8")
    assert n_towns() == len(text.splitlines()) > 34_006
    assert len(zlib.compress(text.encode(), 9)) < 1_300_000
    assert all(line.count("\t") == 6 for line in text.splitlines())


def test_a_town_goes_by_its_local_its_english_and_other_names() -> None:
    for names in (
        ("München", "munich", " MUENCHEN ", "Monaco di Baviera", "Munchen"),
        ("Münster", "Münster, North Rhine"),
        ("Sankt Augustin", "St. Augustin"),
    ):
        assert len({at(name) for name in names}) == 1


@pytest.mark.parametrize("name", ["Kiel", "Berlin, DE"])
def test_who_bears_a_name_comes_before_smaller_ones_that_also_go_by_it(name: str) -> None:
    """Planted bug: Kiel is asked back, as it is also a name of Kehl's."""
    first = find_towns(name, "DE")[0]
    assert folded(first.name) == folded(name.partition(",")[0])
    assert at(name) == (first.at.latitude, first.at.longitude)


def test_letters_that_are_no_accents_are_typed_without_them() -> None:
    assert folded("Łódź") == "lodz"
    assert folded("L\u2019Aquila") == folded("L'Aquila") == "laquila"
    assert folded("Frankfurt-(Oder)") == "frankfurt oder"
    assert at("Lodz", "PL") == at("Łódź", "PL")
    assert at("Tromso", "NO") == at("Tromsø", "NO")


def test_the_region_s_own_towns_come_first_then_neighbors_and_more_people_before_fewer() -> None:
    """Zürich lies in the box of Germany. Planted bug: London in Ontario, for who is at home there,
    comes after London.
    """
    assert at("Zürich") == (47.37, 8.55)
    assert find_towns("London", "CA")[0].district == "Ontario"
    assert [town.country for town in find_towns("London", "GB")][:2] == ["GB", "CA"]
    people = [town.population for town in find_towns("Neustadt", "DE") if town.country == "DE"]
    assert len(people) > 2
    assert people == sorted(people, reverse=True)


def test_a_comma_tells_the_district_or_the_country() -> None:
    assert at("Frankfurt, Brandenburg")[1] == 14.55
    assert at("London, Canada", "CA") == at("London, ontario", "CA")
    assert at("Springfield, Illinois", "US") == (39.80, -89.64)


def test_what_begins_so_is_proposed_from_the_region_alone() -> None:
    assert [town.name for town in towns_like("Wiesb", "DE")] == ["Wiesbaden"]
    assert towns_like("Heilbronx", "DE")[0].name == "Heilbronn"
    assert towns_like("Qwertz", "DE") == ()
    assert towns_like("?", "DE") == towns_like("", "DE") == find_towns("|", "DE") == ()


@pytest.mark.parametrize("name", ["London", "London, GB"])
def test_a_town_outside_the_region_comes_with_the_region_that_it_lies_in(name: str) -> None:
    """In the lines for who typed it. Planted bug: its country in the message, which may be logged
    and is as private as the town.
    """
    with pytest.raises(UnclearTown, match=r"in the region Germany \(DE\): `region`") as caught:
        spot_of(name, "DE")
    assert caught.value.choices[0].endswith("people; --region GB)")
    assert not any(word in str(caught.value) for word in ("ondon", "GB", "Kingdom"))


def test_it_says_how_many_towns_it_knows_and_that_degrees_always_work() -> None:
    with pytest.raises(UnclearTown, match=f"{n_towns():,} towns and none.*always work"):
        spot_of("Qwertzuiop", "DE")


def test_the_hundred_largest_of_the_demo_s_country_are_found() -> None:
    """Before: 26. Asked back are those whose name another town in the country bears too."""
    table = resources.files("askew_server.demo").joinpath("towns.csv")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))[:100]
    asked = []
    for row in rows:
        here = pytest.approx((float(row["latitude"]), float(row["longitude"])), abs=0.01)
        found = [(town.at.latitude, town.at.longitude) for town in find_towns(row["name"], "DE")]
        assert found[0] == here
        try:
            assert at(row["name"]) == found[0]
        except UnclearTown:
            asked.append(row["name"])
    assert asked == ["Hamm", "Mülheim"]


def test_the_map_names_the_large_ones_and_some_of_each_country() -> None:
    towns = named_towns()
    assert 6_000 < len(towns) < 6_500
    assert {"Vaduz", "Suva", "Reykjavík", "Osaka"} <= {town.name for town in towns}
    people = [town.population for town in towns]
    assert people == sorted(people, reverse=True)
    assert people[-1] > 0
