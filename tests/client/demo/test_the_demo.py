"""The demo: the figures of its table, and its made-up person."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from importlib import resources
from math import dist

import pytest

from askew.dp.privacy import ANY_SPACE
from askew.protocol.cards import PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES, MapNoise
from askew_client.demo.measured import (
    AROUND,
    COLLECTION,
    COUNTRY,
    HOME,
    PREFERENCES,
    TOWN,
    TOWNS,
    beyond,
    means,
    ranked_at_home,
)
from askew_client.near.pick import Judged
from askew_client.settings.regions import region_of
from askew_server.demo.places import KINDS, places_model
from askew_server.retrieval.answers import MetricAnswers

# The nearest is 1 km away; the best at 3 km, which counts as -1.
BEST = (Judged(1, 3.0, True, -1.0), Judged(0, 1.0, True, 1.0), Judged(2, 9.0, True, 9.0))


@pytest.mark.parametrize(
    ("ranked", "figures"),
    [
        ((Judged(0, 2.5, True, 2.5), Judged(1, 8.0, True, 4.0)), (1.5, 3.5)),
        ((Judged(0, 2.0, False, -2.0),), (1.0, None)),  # planted bug: a pick that is too dear
    ],
)
def test_a_draw_counts_beyond_the_nearest_and_beyond_the_best_place_of_all(
    ranked: tuple[Judged, ...], figures: tuple[float, float | None]
) -> None:
    assert beyond(ranked, BEST) == figures


def test_draws_in_which_nothing_passes_are_counted_apart() -> None:
    assert means([(1.0, None), (2.0, 5.0)]) == (1.5, 5.0, 0.5)
    assert means([(1.0, None)]) == (1.0, None, 1.0)


def test_by_a_law_of_meters_the_places_around_home_have_the_nearest_and_the_best_of_all() -> None:
    """Planted bug: a place beyond them, which is liked more."""
    model = places_model()
    noise = MapNoise.in_region(Fraction(1024), region_of(COUNTRY))
    here = (round(HOME.latitude * MICRODEGREES), round(HOME.longitude * MICRODEGREES))
    slate = MetricAnswers(model).answer(Query(Signal(ANY_SPACE, noise, here), AROUND, 0))
    food = model.collections[COLLECTION]
    everything = PlaceSlate(food.card.version, food.listings(range(len(food))))
    around, every = (ranked_at_home(each, model.card) for each in (slate, everything))
    nearest = sorted(each.distance for each in every)[:AROUND]
    assert sorted(each.distance for each in around) == nearest
    assert (around[0].passes, around[0].cost) == (True, every[0].cost)


def test_the_person_lives_in_a_real_town_of_the_map_and_prefers_what_its_places_have() -> None:
    region = region_of(COUNTRY)
    assert region.contains(HOME)
    [town] = [each for each in TOWNS if each.name == TOWN]
    assert dist(*(map(float, region.kilometers(at)) for at in (HOME, town.at))) < 3
    table = resources.files("askew_server.demo").joinpath("towns.csv").read_text(encoding="utf-8")
    columns = ("latitude", "longitude", "population")
    rows = csv.DictReader(io.StringIO(table))
    real = {(row["name"], *(float(row[column]) for column in columns)) for row in rows}
    shown = [(each.name, each.at.latitude, each.at.longitude, each.population) for each in TOWNS]
    assert [each for each in shown if each not in real] == []
    [food] = [each for each in places_model().card.collections if each.name == COLLECTION]
    assert PREFERENCES.attributes <= {column.name for column in food.attributes}
    assert set(PREFERENCES.likes["kind"]) <= {kind.name.casefold() for kind in KINDS}
