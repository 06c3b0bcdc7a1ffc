"""A server of places in this process: k items whole, the nearest of each probe among them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from askew.catalog.catalog_file import FIRST, Part
from askew.catalog.item import Listing
from askew.errors import NotFound, OtherKind, OutOfRange
from askew.noise.randomness import SystemBits
from askew.placement.hexagonal import place_on_map
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise, Position, Region
from askew_client.transport.in_process import LocalPlaces, probes
from askew_client.tui.simulation import simulated_places
from askew_client.views.place_map import PlaceHeatMap

HOME = Position(50.94, 6.96)
REGION = Region(47.2, 5.8, 55.1, 15.1)


@pytest.fixture(scope="module")
def server() -> LocalPlaces:
    return simulated_places(400, 100)


def question(k: int, collection: int = 0) -> Query:
    noise = MapNoise.in_region(Fraction("0.277"), REGION)
    return Query(Signal("", noise, noise.perturb(HOME, REGION, SystemBits())), k, collection)


def far(listing: Listing, latitude: float, longitude: float) -> float:
    """The haversine, by another way than the server's."""
    a, b = math.radians(listing.coordinates[0]), math.radians(latitude)
    half = math.radians(longitude - listing.coordinates[1]) / 2
    return math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(half) ** 2


@pytest.mark.parametrize("k", [1, 64])
async def test_the_nearest_item_of_every_probe_comes_back_and_always_k(
    server: LocalPlaces, k: int
) -> None:
    """Planted bug: probes that find one item twice, and a reply of fewer than k."""
    query = question(k)
    slate = await server.retrieve(query, server.card)
    assert len(slate.item_ids) == len(slate.listings) == k
    everything = server._items["food"]
    for latitude, longitude in probes(query).tolist():
        nearest = min(everything, key=lambda each: far(each, latitude, longitude))
        assert nearest.id in slate.item_ids


def test_probes_are_the_signal_plus_the_offsets_in_the_plane_of_its_noise(
    server: LocalPlaces,
) -> None:
    """By the map's own way from kilometers to degrees. Planted bug: east for west."""
    query = question(8)
    noise = query.signal.map_noise
    heat_map = PlaceHeatMap(query.signal.position(), float(noise.epsilon), noise.cosine)
    offsets = place_on_map(float(noise.epsilon), 8).offsets.tolist()
    looked = [heat_map.position(east, north) for east, north in offsets]
    expected = [(each.latitude, each.longitude) for each in looked]
    assert np.allclose(probes(query), expected, rtol=0, atol=1e-9)


async def test_what_the_card_does_not_allow_is_refused(server: LocalPlaces) -> None:
    with pytest.raises(OutOfRange):
        await server.retrieve(question(65), server.card)
    with pytest.raises(NotFound):
        await server.retrieve(question(5, 9), server.card)
    with pytest.raises(OtherKind):
        await server.read(FIRST, Part.WHOLE, 0, 48)
