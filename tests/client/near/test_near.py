"""A question near a place: what leaves, what is refused, and what is never asked again."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from asked import near, near_all, near_cost
from client.near.conftest import BERLIN, MUNICH, SETTINGS, DeviceWorld
from hypothesis import given
from hypothesis import strategies as st
from made_device import made_device
from raised import raised
from small_map import DAY, GERMANY, NearServer, made_card

from askew import errors
from askew.catalog.item import Listing
from askew.errors import AskewError, NotShown, ParameterError, PlaceError, PreferenceError
from askew.noise.randomness import ReplayBits
from askew.placement.hexagonal import place_on_map
from askew.protocol.cards import ALL, PlaceSlate
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import MapNoise, MapSpace, Position, Region
from askew_client.near.pick import NO_PREFERENCES, Preferences
from askew_client.near.sources import (
    EARTH_RADIUS,
    AxisSource,
    MapSource,
    great_circle,
    landing,
    results_of,
    source_at,
)
from askew_client.profile.document import AxisValues, NamedPlace, ProfileDocument, Spot
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.views.answers import NearAnswer

ITALIAN = Preferences(likes={"cuisine": {"italian": 30.0}})
NOTHING_PASSES = Preferences(at_most={"price": -1.0})
MORNING = AxisValues({"hour": 8.5})


async def asked(device: DeviceWorld, place: str | Spot = "home", **named: object) -> NearAnswer:
    return await near(device.program, "places", place, **named)


async def refused(device: DeviceWorld, place: str | Spot = "home", **named: object) -> AskewError:
    return (await raised(asked(device, place, **named))).error


async def test_the_answer_is_ranked_by_the_true_place(device: DeviceWorld) -> None:
    """Planted bug: distances from the signal, which are the server's own order."""
    device.places.add("home", BERLIN)
    found = await asked(device)
    assert len(found.results) == found.k == 20
    distances = [each.distance for each in found.results]
    assert distances == sorted(great_circle(found.true, each.coordinates) for each in found.results)
    assert (found.pick, found.true) == (found.results[0], (52.52, 13.405))
    assert (found.sent, found.cost.fresh) == (device.places.list()[0].sent, False)


def test_distances_are_great_circles() -> None:
    """Berlin to Munich is 504.2 km on a sphere, and half a turn is half of its girth."""
    berlin = 52.52, 13.405
    assert great_circle(berlin, (48.137, 11.575)) == pytest.approx(504.4, abs=0.3)
    assert great_circle(berlin, (-52.52, 13.405 - 180)) == pytest.approx(3.14159265 * EARTH_RADIUS)
    assert great_circle(berlin, berlin) == 0


HIDDEN: dict[str, tuple[Position, Preferences, dict[str, float]]] = {
    "here": (BERLIN, NO_PREFERENCES, {}),
    "there": (MUNICH, NO_PREFERENCES, {}),
    "preferences": (BERLIN, ITALIAN, {}),
    "a filter that leaves none": (BERLIN, NOTHING_PASSES, {}),
    "what there is not": (MUNICH, Preferences(only={"view": frozenset({"sea"})}), {}),
    "ratings": (BERLIN, Preferences(ratings=9.0), {"Item 3": 5.0, "Item 8": 1.0}),
}


async def test_which_calls_are_made_depends_on_nothing_private(tmp_path: Path) -> None:
    """One card and one question, whatever came back, whose bytes differ in the 2 x 4 of the noisy
    position alone. Planted bugs: a second question with a larger k because results were far or none
    passed; filters that leave; a larger k for whoever has preferences.
    """
    sent = []
    for case, (position, preferences, ratings) in HIDDEN.items():
        device = DeviceWorld(tmp_path / case)
        edits = {title: (r,) for title, r in ratings.items()}
        device.profile.change(partial(ProfileDocument.edited, changes=edits))
        device.places.add("home", position)
        found = await asked(device, preferences=preferences)
        assert (device.server.n_cards, len(device.server.requests)) == (1, 1)
        assert found.none_passes is bool(preferences.at_most or preferences.only)
        assert (found.pick is None) is found.none_passes
        sent.append(device.server.requests[0])
    assert len({len(each) for each in sent}) == 1
    columns = {at for one in sent for at, byte in enumerate(one) if byte != sent[0][at]}
    assert columns
    assert max(columns) - min(columns) < 8


async def test_a_known_card_is_not_fetched_again_and_one_after_a_refusal_is(
    device: DeviceWorld,
) -> None:
    device.places.add("home", BERLIN)
    nearby = device.program
    await near(nearby, "places")
    await near(nearby, "shops")
    assert device.server.n_cards == 1
    device.server.spoil = lambda slate: replace(slate, catalog_version="cd" * 16)
    await raised(near(nearby, "shops"))
    device.server.spoil = lambda slate: slate
    await near(nearby, "shops")
    assert device.server.n_cards == 2


REFUSED: dict[str, tuple[dict[str, Any], type[AskewError]]] = {
    "abroad": ({"place": Position(40.7, -74.0)}, PlaceError),
    "a pair of numbers": ({"place": (52.52, 13.405)}, ParameterError),
    "preferences": ({"place": BERLIN, "preferences": {"open_now": True}}, ParameterError),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_can_be_refused_at_once_makes_no_call_and_is_not_repeated(
    device: DeviceWorld, case: str
) -> None:
    """Planted bugs: a refusal after the card, by which a server hears of it; preferences that break
    after the question, which was paid for.
    """
    arguments, kind = REFUSED[case]
    error = await refused(device, **arguments)
    assert isinstance(error, kind)
    assert not any(part in str(error) for part in ("40.7", "74", "52.5", "open_now"))
    assert (device.server.n_cards, device.server.requests) == (0, [])
    assert device.signals.entries() == ()


async def test_preferences_may_be_text_and_values_have_names(device: DeviceWorld) -> None:
    """Planted bugs: text is refused; an answer is read by the places of its columns; a typing error
    uses up what was shown.
    """
    device.places.add("home", BERLIN)
    nearby = device.program
    typed = await near(nearby, "places", preferences="exponent 2, 1 EUR = 3 km")
    made = Preferences(exponent=2.0, trades={"EUR": 3.0})
    assert typed == await near(nearby, "places", preferences=made)
    columns = nearby.nearby.card.collection("places").attributes if nearby.nearby.card else ()
    assert [each.name for each in columns] == [*typed.results[0].values]
    assert typed.units == {each.name: each.unit for each in columns if each.unit}
    shown, asked = await near_cost(nearby, "places"), len(device.server.requests)
    with pytest.raises(PreferenceError):
        await near(nearby, "places", preferences="cheap, please", shown=shown)
    assert len(device.server.requests) == asked
    await near(nearby, "places", shown=shown)


async def test_what_a_server_does_not_have_costs_nothing(device: DeviceWorld) -> None:
    outcome = await raised(near(device.program, "banks", BERLIN))
    assert "one of this server's: places, shops" in outcome.text
    device.settings = replace(SETTINGS, near_k=51)  # more than it answers
    assert isinstance(await refused(device, BERLIN), ParameterError)
    assert device.signals.entries() == ()


async def test_a_small_collection_answers_with_all_of_its_items(device: DeviceWorld) -> None:
    """And k says nothing of how many those are. Planted bug: the size of a collection is its k."""
    card = device.server.card
    few = replace(card.collections[1], n_items=3)
    device.server = NearServer(replace(card, collections=(card.collections[0], few)))
    found = [await near(device.program, each, BERLIN) for each in ("shops", "places")]
    assert [len(each.results) for each in found] == [3, 20]
    assert len({each[5:10] for each in device.server.requests}) == 1


@pytest.mark.parametrize(("item_bytes", "k"), [(24, 160), (199, 20), (900, 5)])
def test_k_is_what_a_reply_of_about_4_kb_holds(item_bytes: int, k: int) -> None:
    """Of a few numbers alone. Planted bug: k to the byte, by which a server that says another size
    to everybody knows them again.
    """
    card = made_card(MapSpace(GERMANY), n_items=200, most=200)
    sized = tuple(replace(each, item_bytes=item_bytes) for each in card.collections)
    assert results_of(replace(card, collections=sized), "places", 0) == k
    few = tuple(replace(each, n_items=2) for each in sized)
    assert results_of(replace(card, collections=few, max_slate_size=50), "places", 0) == min(k, 40)


@pytest.mark.parametrize("most", [1, 4])
def test_a_server_that_answers_few_does_not_choose_k(most: int) -> None:
    """Planted bug: k is what such a server answers, which is one of four more numbers."""
    card = made_card(MapSpace(GERMANY), n_items=200, most=most)
    assert results_of(card, "places", 0) == 1
    heavy = tuple(replace(each, item_bytes=16_000 // most) for each in card.collections)
    assert results_of(replace(card, collections=heavy), "places", 0) == 1


def test_a_reply_takes_at_most_16_kb() -> None:
    card = made_card(MapSpace(GERMANY), n_items=1000, most=256)
    large = tuple(replace(each, item_bytes=199) for each in card.collections)
    card = replace(card, collections=large)
    assert (card.largest_slate("places"), card.largest_slate(ALL)) == (80, 40)
    assert results_of(card, "places", 80) == 80
    with pytest.raises(ParameterError, match="at most what this server answers, 80"):
        results_of(card, "places", 81)


async def test_all_collections_are_asked_by_one_question(device: DeviceWorld) -> None:
    """With the signal of the place, for nothing more. Planted bug: a question for each, whose
    number tells how many a person looks at.
    """
    device.places.add("home", BERLIN)
    alone = [await near(device.program, name) for name in ("places", "shops")]
    charges, device.server.requests[:] = device.signals.entries(), []
    cost = await near_cost(device.program, ALL)
    together = await near_all(device.program, preferences=ITALIAN)
    assert len(device.server.requests) == 1
    assert not cost.fresh
    assert device.signals.entries() == charges
    for one, each in zip(alone, together, strict=True):
        assert (one.collection, one.sent, one.k) == (each.collection, each.sent, each.k)
        assert {r.title for r in one.results} == {r.title for r in each.results}
    assert all(each.pick == each.results[0] for each in together)


async def test_what_an_answer_says_is_spent_has_its_own_charge(device: DeviceWorld) -> None:
    """Planted bug: what was spent before it."""
    first, second = await asked(device, BERLIN), await asked(device, MUNICH)
    costs = [first.cost, second.cost]
    charge = costs[0].charge.epsilon_per_km
    assert [each.spent for each in costs] == [charge, 2 * charge]
    assert device.signals.account().spent_per_km == 2 * charge


async def test_other_settings_are_those_of_an_unnamed_spot_too(tmp_path: Path) -> None:
    """Planted bug: the terms are of the new level, and the noise is drawn by the old one."""
    device = made_device(NearServer(made_card(MapSpace(GERMANY))), tmp_path, SETTINGS)
    county = replace(SETTINGS, level="county")
    device.configure(county)
    await near(device, "places", MUNICH)
    entries = SignalStore(tmp_path / "signals.sqlite", county.caps).entries()
    assert [each.epsilon_per_km for each in entries] == [county.map_noise.epsilon]


def moved(slate: PlaceSlate, *coordinates: float) -> PlaceSlate:
    first = slate.listings[0]
    there = Listing(first.id, first.title, coordinates, first.values)
    return replace(slate, listings=(there, *slate.listings[1:]))


def without_one(slate: PlaceSlate) -> PlaceSlate:
    return PlaceSlate(slate.catalog_version, slate.listings[1:])


HOSTILE: dict[str, Callable[[PlaceSlate], PlaceSlate]] = {
    "an item far outside": lambda slate: moved(slate, 10.0, 10.0),
    "an item that is nowhere": lambda slate: moved(slate, 100.0, 10.0),
    "fewer items": without_one,
    "another version": lambda slate: replace(slate, catalog_version="cd" * 16),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_hostile_answer_is_refused_and_nothing_of_it_is_used(
    device: DeviceWorld, case: str
) -> None:
    device.places.add("home", BERLIN)
    device.server.spoil = HOSTILE[case]
    outcome = await raised(near(device.program, "places"))
    assert isinstance(outcome.error, errors.Malformed | errors.OutOfRange | errors.StaleSpace)
    assert len(device.server.requests) == 1


def on_axes(device: DeviceWorld, *axes: Axis, epsilon: Fraction = Fraction(1)) -> DeviceWorld:
    space = AxisSpace(axes) if axes else DAY
    device.server = NearServer(made_card(space))
    device.settings = replace(
        SETTINGS, epsilon_per_axis_unit=epsilon, rating_monthly_cap=Fraction("1.6"), region=""
    )
    device.signals = device.signals.with_caps(device.settings.caps)
    return device


async def test_a_named_value_is_charged_between_any_two_once_a_month(device: DeviceWorld) -> None:
    """A day at 8 hours a unit is 3 across. Planted bug: the cost by the settings of today, for a
    signal that they did not draw.
    """
    on_axes(device).places.add("work", MORNING)
    first = await asked(device, "work")
    again = await asked(device, "work")
    assert first.sent == again.sent
    (charge,) = device.signals.entries()
    assert (charge.epsilon_per_rating, charge.epsilon_per_km) == (Fraction(3), Fraction(0))
    assert (first.cost.fresh, again.cost.fresh) == (True, False)
    assert first.unit == "units of distance"
    assert device.server.requests[0] == device.server.requests[1]
    on_axes(device, epsilon=Fraction(4))
    again, shown = await asked(device, "work"), await near_cost(device.program, "places", "work")
    assert again.sent == first.sent
    for cost in (again.cost, shown):
        assert (cost.epsilon, cost.charge.epsilon_per_rating) == (Fraction(1), Fraction(3))
        assert not cost.fresh


async def test_another_space_on_axes_within_a_month_wants_a_yes(device: DeviceWorld) -> None:
    on_axes(device).places.add("work", MORNING)
    await asked(device, "work")
    on_axes(device, Axis("hour", "h", 0.0, 24.0, 6.0))
    program = device.program
    shown = await near_cost(program, "places", "work")
    assert shown.is_second
    assert isinstance(await refused(device, "work"), NotShown)
    assert (await near(program, "places", "work", shown=shown)).cost.fresh


async def test_axes_beyond_this_devices_limit_are_refused_undrawn(device: DeviceWorld) -> None:
    """A kilometer that is a meter, to whoever made the axes."""
    on_axes(device, Axis("post", "km", 0.0, 800.0, 0.001))
    error = await refused(device, AxisValues({"post": 3.0}))
    assert isinstance(error, ParameterError)
    assert error.name == "the diameter of the axes"
    assert device.signals.entries() == ()


async def test_the_hours_of_a_day_are_paid_for_by_default_and_not_from_the_ratings(
    device: DeviceWorld,
) -> None:
    """24 units of 1/2 each: more than a month of ratings pays for. Planted bug: one account."""
    on_axes(device, Axis("hour", "h", 0.0, 24.0, 1.0), epsilon=Fraction(1, 2))
    device.settings = replace(ClientSettings(), interval=SETTINGS.interval)
    device.signals = device.signals.with_caps(device.settings.caps)
    device.places.add("work", AxisValues({"hour": 8.5}))
    found = await asked(device, "work")
    account = device.signals.account()
    assert [found.cost.spent, found.cost.cap] == [12, 192]
    assert account.spent_on_axes == 12
    assert account.drawn_in("2026-11")[1] == account.spent_on_axes
    assert account.spent == 0


async def test_a_server_cannot_find_a_value_by_the_ends_of_its_axes(tmp_path: Path) -> None:
    """Every value asks alike, one beyond the axis too. Planted bug: a refusal, which finds it."""
    axis = Axis("post", "km", 0.0, 800.0, 100.0)
    ends = set()
    for value in (-1e9, -0.5, 3.0, 800.0, 801.0):
        device = on_axes(DeviceWorld(tmp_path / f"{value:g}"), axis)
        found = await asked(device, AxisValues({"post": value}))
        ends.add((device.server.n_cards, len(device.server.requests[0]), found.cost.fresh))
        assert 0 <= found.true[0] <= 800
    assert len(ends) == 1


def on_line(line: AxisSpace, values: AxisValues) -> AxisSource:
    card = made_card(line)
    source = source_at(card, "places", NamedPlace("0" * 32, values), SETTINGS)
    assert isinstance(source, AxisSource)
    return source


@given(st.floats(-1e9, 1e9), st.integers(-(10**6) + 1, 10**6 - 25), st.integers(0, 6))
def test_a_value_is_clamped_exactly_whatever_ends_a_server_sets(
    hour: float, low: int, zeros: int
) -> None:
    """Planted bug: a rounding, which a server makes as large as its ends."""
    axis = Axis("hour", "h", low * 10.0**zeros, (low + 24) * 10.0**zeros, 10.0**zeros)
    [exact] = on_line(AxisSpace((axis,)), AxisValues({"hour": hour})).point
    assert axis.low <= exact <= axis.high
    assert exact in {Fraction(hour), Fraction(axis.low), Fraction(axis.high)}


async def test_a_place_of_the_other_kind_is_refused_and_costs_nothing(device: DeviceWorld) -> None:
    assert "this server has a map" in str(await refused(device, MORNING))
    on_axes(device)
    device.settings = replace(SETTINGS, epsilon_per_axis_unit=Fraction(1))
    assert "this server has axes" in str(await refused(device, BERLIN))
    assert "no value on this server's axis hour" in str(
        await refused(device, AxisValues({"post": 1.0}))
    )
    assert device.signals.entries() == ()


def test_an_item_lies_in_a_region_also_across_180_degrees() -> None:
    area = Region(47.0, 177.0, 49.0, -178.0)
    source = MapSource(BERLIN, "", SETTINGS.map_noise, None, area, "places", 20)
    for within in ((48.0, -179.9), (48.0, 177.0), (48.0, -178.0), (46.9999995, 178.0)):
        assert source.holds(within), within
    for beyond in ((48.0, 176.999), (48.0, -177.999), (46.999, 178.0), (49.001, 178.0)):
        assert not source.holds(beyond), beyond


async def test_on_axes_distances_add(device: DeviceWorld) -> None:
    on_axes(device)
    found = await asked(device, AxisValues({"hour": 23.0}))
    for each in found.results:
        assert each.distance == pytest.approx(abs(each.coordinates[0] - 23.0) / 8)


async def test_two_questions_at_once_draw_one_signal(device: DeviceWorld) -> None:
    on_axes(device).places.add("work", MORNING)
    nearby = device.program
    await asyncio.gather(near(nearby, "places", "work"), near(nearby, "shops", "work"))
    assert len(device.signals.entries()) == 1


REGION = Region(47.2, 5.8, 55.1, 15.1)
HOME = Position(50.94, 6.96)
NOISE = MapNoise.in_region(Fraction("0.277"), REGION)
DRAWS = 4000
BITS = hashlib.shake_256(b"distances").digest(DRAWS * 4096)


def test_it_is_the_distance_of_real_draws_and_the_codebooks_own_cost() -> None:
    """Planted bugs: the distance in degrees, the law of noise on a line (mean 1 / epsilon), that of
    a planar Laplace, whose mean is 5 % less.
    """
    (mean, most), bits, away = landing(float(NOISE.epsilon)), ReplayBits(BITS), []
    for _ in range(DRAWS):
        north, east = (each / 1e6 for each in NOISE.perturb(HOME, REGION, bits))
        x = 111.31 * NOISE.cosine / 65536 * (east - HOME.longitude)
        away.append(math.hypot(x, 110.57 * (north - HOME.latitude)))
    # The mean's standard error is 1.3 % of it, the share's .5 %; the bits are recorded.
    assert mean == pytest.approx(fmean(away), rel=0.025)
    assert mean == pytest.approx(place_on_map(float(NOISE.epsilon), 1).cost, rel=1e-3)
    assert sum(km <= most for km in away) / DRAWS == pytest.approx(0.9, abs=0.01)
