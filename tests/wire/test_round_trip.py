"""What one side puts on the wire is what the other side takes off it, and sizes say nothing."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made_encoder, made_space
from wire import metric_world as metric
from wire import taste_world as taste
from wire.messages import SENT, with_neighbors

from askew.catalog.catalog import Catalog, Neighbors
from askew.catalog.catalog_file import FIRST, HEAD_BYTES, LAST, FileHead, Part
from askew.catalog.item import Item, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import Malformed, WireError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import ModelCard, PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, MapSpace, Region
from askew.spaces.vectors import RatingScale
from askew.wire.catalog_file import catalog_files, catalog_from_body, catalog_to_bytes
from askew.wire.places import (
    metric_card_from_bytes,
    metric_card_to_bytes,
    places_from_bytes,
    places_to_bytes,
)
from askew.wire.queries import query_from_bytes, query_to_bytes
from askew.wire.releases import budget_from_bytes
from askew.wire.tastes import card_from_bytes, card_to_bytes
from askew.wire.v1 import popularity_pb2 as pb

# Values whose varint or zigzag encodings would have every length from nothing to ten bytes.
LIMIT = 2**31 - 1
COORDINATES = (0, 1, -1, 63, -64, 64, 127, 128, -129, 2**14, -(2**21), LIMIT, -LIMIT)


@pytest.mark.parametrize("name", [name for name, sent in SENT.items() if sent.value is not None])
def test_a_message_says_what_was_put_into_it(name: str) -> None:
    assert SENT[name].parse(SENT[name].data) == SENT[name].value


@pytest.mark.parametrize("dimension", [1, 16])
@pytest.mark.parametrize("epsilon", ["1/1024", "1024"])
def test_the_size_of_a_question_depends_on_the_dimension_alone(
    dimension: int, epsilon: str
) -> None:
    """5 k + 12 lattice + 2 tag and length + 4 a coordinate + 5 Monday. Planted bugs: an encoding
    that is shorter for small coordinates; a lattice of step 1, whose exponent 0 vanishes; the day
    as a plain number, which grows with time.
    """
    card, _ = taste.world(dimension, 20)
    lattice = LatticeLaplace.for_epsilon(Fraction(epsilon))
    for value, date in itertools.product(COORDINATES, (FIRST, 20_000, LAST)):
        signal = Signal(card.space.version, lattice, (0,) * (dimension - 1) + (value,))
        query = Query(signal, 20, catalog_date=date)
        data = query_to_bytes(query)
        assert (len(data), query_from_bytes(data, card)) == (24 + 4 * dimension, query)


def test_cards_and_places_keep_every_digit() -> None:
    """Device and server compute from them: versions, positions, distances. Planted bug: two digits
    of an axis' end.
    """
    area = Area(47.270111, 5.866342, 55.099161, 15.041931)
    axes = AxisSpace((Axis("hour", "h", -0.000123, 24.0003, scale=0.333333),))
    for space in (MapSpace(area), axes):
        card = replace(metric.MAP_CARD, space=space)
        assert metric_card_from_bytes(metric_card_to_bytes(card)).space == space
    items = (Listing(0, "a", (52.520008, 13.404954), ()),)
    data = places_to_bytes(PlaceSlate(metric.VERSION, items), metric.PLACES)
    query = replace(metric.QUERY, k=1, collection=metric.PLACES.number)
    [slate] = places_from_bytes(data, metric.MAP_CARD, query)
    assert slate.listings == items


def test_the_size_of_a_question_near_a_place_is_one_for_all() -> None:
    """Of positions, levels, regions, collections. Planted bug: numbers of varying length, or zeros
    that vanish.
    """
    degrees = (0, 1, -1, 127, 128, 2**14, 90_000_000, -90_000_000)
    near = [metric.place_query(pair) for pair in itertools.product(degrees, repeat=2)]
    near += [replace(metric.QUERY, collection=number) for number in (0, 1, 255, 256)]
    for region in (metric.GERMANY, Region(-1, 10, 1, 12), Region(74, 0, 74.9, 1)):
        for epsilon in ("1/1024", "0.277", "1024"):
            noise = MapNoise.in_region(Fraction(epsilon), region)
            near.append(replace(metric.QUERY, signal=Signal(ANY_SPACE, noise, (0, 0))))
    # 5 collection + 5 k + 10 values + 17 noise
    assert {len(query_to_bytes(query)) for query in near} == {37}
    points = itertools.product((0, 1, -1, 127, 2**14, LIMIT, -LIMIT), range(0, 300, 7))
    assert {len(query_to_bytes(metric.axes_query(point))) for point in points} == {37}


@settings(max_examples=50)
@given(st.integers(-90_000_000, 90_000_000), st.integers(-180_000_000, 180_000_000))
def test_nothing_but_public_settings_and_the_noisy_position_is_sent(north: int, east: int) -> None:
    """Byte for byte, everything else is the same."""
    data = query_to_bytes(metric.place_query((north, east)))
    values = north.to_bytes(4, "little", signed=True) + east.to_bytes(4, "little", signed=True)
    other = query_to_bytes(metric.place_query((0, 0)))
    assert (data[:12], data[12:20], data[20:]) == (other[:12], values, other[20:])


def test_a_space_in_whole_numbers_keeps_its_version_over_the_wire() -> None:
    """1 and 1.0 are the same limit; a server that wrote 1 must not refuse every device as stale."""
    space = made_space(made_encoder(unit=1, clip=1))
    space = replace(space, scale=RatingScale(1, 5, 4))
    received = card_from_bytes(card_to_bytes(replace(taste.CARD, space=space)))
    assert space.version == received.space.version


def received_from(file: bytes) -> tuple[ModelCard, Catalog]:
    head, body = FileHead.of(file), file[HEAD_BYTES:]
    head.check(body)
    return catalog_from_body(body)


@pytest.mark.parametrize("n_items", [1, 2, 2500])
def test_what_devices_hold_survives_the_wire(n_items: int) -> None:
    card, catalog = taste.world(2, n_items)
    held_card, held = received_from(catalog_to_bytes(card, catalog))
    assert (held_card, held.items, held.shared_slate) == (card, catalog.items, catalog.shared_slate)
    np.testing.assert_array_equal(catalog.vectors, held.vectors, strict=True)
    np.testing.assert_array_equal(catalog.boosts, held.boosts, strict=True)
    assert catalog.version == held.version


@pytest.mark.parametrize("count", [1, 32])
def test_neighbors_survive_the_wire(count: int) -> None:
    """In two and a half bytes each, the odd one out in three."""
    items = (np.arange(999 * count).reshape(999, count) * 7919 % 999).astype(np.uint16)
    codes = (items % 16).astype(np.uint8)
    neighbors = Neighbors(np.where(codes, items, 0).astype(np.uint16), codes, 0.125)
    file = with_neighbors(999, neighbors)
    card, held = received_from(file)
    assert held.neighbors is not None
    assert held.version == card.catalog_version
    np.testing.assert_array_equal(neighbors.items, held.neighbors.items, strict=True)
    np.testing.assert_array_equal(neighbors.codes, held.neighbors.codes, strict=True)
    assert held.neighbors.step == neighbors.step
    size = len(file) - len(catalog_to_bytes(*taste.world(2, 999)))
    assert 0 < size - 999 * (2 * count + (count + 1) // 2) < 40


def test_the_default_items_are_the_first_ones() -> None:
    """And the shared slate that goes with them names no other. Planted bug: all items in both."""
    card, catalog = taste.world(2, 100)
    card = replace(card, n_default=70)
    files = catalog_files(card, catalog)
    assert files.keys() == {Part.WHOLE, Part.DEFAULT}
    held_card, held = received_from(files[Part.DEFAULT])
    assert (held_card, held.items) == (card, catalog.items[:70])
    assert held.shared_slate == tuple(item for item in catalog.shared_slate if item < 70)
    assert len(received_from(files[Part.WHOLE])[1]) == 100
    assert catalog_files(replace(card, n_default=100), catalog).keys() == {Part.WHOLE}


def test_words_that_pack_better_than_devices_unpack_are_held_like_any_others() -> None:
    """Planted bug: packed all the same, which every device refuses."""
    card, catalog = taste.world(2, 1000)
    items = tuple([Item(f"{'The same words ' * 30}{i % 7}") for i in range(1000)])
    catalog = replace(catalog, items=items)
    card = replace(card, catalog_version=catalog.version)
    assert received_from(catalog_to_bytes(card, catalog))[1].items == items


@pytest.mark.parametrize("length", [0, 63])
def test_a_slate_for_anybody_that_is_too_short_to_compare_with_is_refused(length: int) -> None:
    """Planted bug: a server looks better than it is beside a slate of fewer items, or of none."""
    card, catalog = taste.world(2, 100)
    cut = replace(catalog, shared_slate=catalog.shared_slate[:length])
    card = replace(card, catalog_version=cut.version)
    with pytest.raises(Malformed, match="shared slate is shorter"):
        received_from(catalog_to_bytes(card, cut))


words = st.integers(0, 2**32 - 1) | st.integers(0, 200)
digits = st.integers(0, 2**270).map(str) | st.sampled_from(["0", "1", "9" * 155, "9" * 161])
rationals = digits | st.tuples(digits, digits).map("/".join) | st.text(max_size=5)


NUMBERS = dict.fromkeys(("max_outputs", "spent_outputs", "max_questions", "asked_questions"), words)


@given(st.builds(pb.Budget, **NUMBERS, epsilon=rationals, delta=rationals, slack=rationals))
@settings(max_examples=100, derandomize=True)
def test_a_budget_of_any_numbers_parses_or_is_refused(message: pb.Budget) -> None:
    """Planted bug: a rational of 400 digits, which no float holds."""
    with contextlib.suppress(WireError):
        parsed = budget_from_bytes(pb.GetBudgetResponse(budget=message).SerializeToString())
        assert parsed.outputs <= parsed.terms.k_star == message.max_outputs
