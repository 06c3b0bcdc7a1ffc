"""The demo: the figures of its table, its second process, and its made-up person."""

from __future__ import annotations

import csv
import datetime
import io
from dataclasses import replace
from importlib import resources
from math import dist

import pytest

from askew.catalog.item import Attribute, AttributeKind, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import ParameterError, ServerFailed
from askew.protocol.metric_card import PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise
from askew_client.demo.measured import COUNTRY, HOME, PREFERENCES, TOWN, TOWNS, Comparison, Row
from askew_client.demo.server import rehearsed, server_process
from askew_client.near.pick import Judged, Preferences, judged
from askew_client.settings.regions import region_of
from askew_client.settings.settings import ClientSettings
from askew_server.demo.places import KINDS, places_model

ATTRIBUTES = (
    Attribute("kind", AttributeKind.CATEGORY),
    Attribute("price", AttributeKind.NUMBER),
)
CURRY = Preferences(likes={"kind": {"curry": 4.0}}, at_most={"price": 10.0})
NOW = datetime.datetime(2026, 11, 22, 12, 0)


def slate(*items: tuple[float, str, float]) -> PlaceSlate:
    """Items by their distance from the person, their kind and their price."""
    listings = [
        Listing(n, f"item {n}", (away, 0.0), (kind, price))
        for n, (away, kind, price) in enumerate(items)
    ]
    return PlaceSlate("0" * 32, tuple(listings))


def judge(of: PlaceSlate) -> tuple[Judged, ...]:
    away = [each.coordinates[0] for each in of.listings]
    return judged(of.listings, ATTRIBUTES, away, CURRY, {}, NOW)


# The nearest is 1 km away; the best is the curry at 3 km, which counts as -1.
AROUND = slate((1.0, "bread", 5.0), (3.0, "curry", 5.0), (4.0, "bread", 5.0), (9.0, "bread", 5.0))


def test_a_draw_counts_beyond_the_nearest_and_beyond_the_best_place_of_all() -> None:
    found = Comparison(judge, AROUND, 4.0)
    found.add("way", slate((2.5, "bread", 5.0), (8.0, "curry", 5.0)))
    # nearest 2.5 - 1; best 2.5 (bread, against 8 - 4 for the curry) - (-1)
    assert found.row("way") == Row(nearest=1.5, wished=3.5, none=0.0)


def test_a_draw_in_which_nothing_passes_is_counted_apart() -> None:
    """Planted bug: a pick that is too dear."""
    found = Comparison(judge, AROUND, 4.0)
    found.add("way", slate((2.0, "curry", 50.0)))
    assert found.row("way") == Row(nearest=1.0, wished=None, none=1.0)
    found.add("way", slate((4.0, "bread", 5.0), (2.0, "curry", 50.0)))
    assert found.row("way") == Row(nearest=1.0, wished=5.0, none=0.5)


def test_a_list_without_live_values_takes_places_that_may_not_pass() -> None:
    """Here what it does not know is the price. Planted bug: it picks among those that pass."""

    def blind(of: PlaceSlate) -> tuple[Judged, ...]:
        away = [each.coordinates[0] for each in of.listings]
        return judged(of.listings, ATTRIBUTES, away, replace(CURRY, at_most={}), {}, NOW)

    found = Comparison(judge, AROUND, 4.0)
    found.add_blind("held", slate((3.0, "curry", 50.0), (4.0, "bread", 5.0)), blind)
    # nearest 3 - 1; the pick is the curry, 3 - 4, as good as the best; one of two is too dear
    assert found.row("held") == Row(nearest=2.0, wished=0.0, none=0.5)


@pytest.mark.parametrize(
    ("around", "worth"),
    [
        (slate((1.0, "bread", 5.0), (3.0, "bread", 5.0)), 4.0),
        (slate((1.0, "bread", 50.0), (9.0, "bread", 50.0)), 4.0),
    ],
    ids=["a curry at 4 km would be better", "none passes"],
)
def test_too_few_places_to_know_the_best_one_are_refused(around: PlaceSlate, worth: float) -> None:
    with pytest.raises(ParameterError, match="more places"):
        Comparison(judge, around, worth)


SETTINGS = ClientSettings(region="Germany")


@pytest.fixture
def question() -> Query:
    noise: MapNoise = SETTINGS.map_noise
    return Query(Signal(ANY_SPACE, noise, (50_000_000, 10_000_000)), 3, 0)


async def test_a_process_that_ends_is_told_by_its_last_words(question: Query) -> None:
    """Planted bug: the error of the pipe, "Connection lost"."""
    async with server_process("dance") as process:
        with pytest.raises(ServerFailed, match=r"second process ended: .*No module named dance"):
            await rehearsed(process, [("nearest", question)] * 3, places_model().card)


@pytest.mark.slow
async def test_answers_come_in_the_order_of_the_questions(question: Query) -> None:
    card = places_model().card
    other = Query(question.signal, 2, 1)
    async with server_process("askew_server.cli.rehearse") as process:
        found = await rehearsed(process, [("nearest", question), ("served", other)], card)
    assert [len(slate.listings) for slate in found] == [3, 2]
    assert all("Pharmacy" in each.title for each in found[1].listings)


def test_the_home_lies_in_its_town_and_its_country() -> None:
    region = region_of(COUNTRY)
    assert region.contains(HOME)
    [town] = [each for each in TOWNS if each.name == TOWN]
    here, there = region.kilometers(HOME), region.kilometers(town.at)
    assert dist(map(float, here), map(float, there)) < 3


def test_the_towns_of_the_map_are_real_ones() -> None:
    table = resources.files("askew_server.demo").joinpath("towns.csv").read_text(encoding="utf-8")
    known = {
        (row["name"], float(row["latitude"]), float(row["longitude"]), float(row["population"]))
        for row in csv.DictReader(io.StringIO(table))
    }
    shown = [(each.name, each.at.latitude, each.at.longitude, each.population) for each in TOWNS]
    assert [each for each in shown if each not in known] == []


def test_the_preferences_are_about_what_the_demos_places_have() -> None:
    [food] = [each for each in places_model().card.collections if each.name == "food"]
    assert PREFERENCES.attributes <= {each.name for each in food.attributes}
    assert set(PREFERENCES.likes["kind"]) <= {kind.name.casefold() for kind in KINDS}
