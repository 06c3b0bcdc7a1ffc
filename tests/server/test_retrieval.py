"""The server's rule: k distinct items around the signal, and nothing but the signal decides."""

from __future__ import annotations

import numpy as np
import pytest

from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.placement import Identity, Laplace, place
from askew.signal import Query, Signal
from askew.vectors import FeatureSpace, RatingScale
from askew_server.retrieval import Retriever

HALF = Lattice(9, 1024)  # epsilon 1/2, step 1/512


def retriever_of(positions: list[list[float]]) -> Retriever:
    dimension, n = len(positions[0]), len(positions)
    catalog = Catalog(
        tuple(Item(f"Film {i}") for i in range(n)), np.array(positions, dtype=np.float32), (0,)
    )
    space = FeatureSpace(
        (-16.0,) * dimension, (16.0,) * dimension, 1.0, 8.0, RatingScale(1.0, 5.0), "00" * 32
    )
    return Retriever(ModelCard(space, catalog.version, n, n, "made by hand", False), catalog)


def query_at(retriever: Retriever, place: list[float], k: int, lattice: Lattice = HALF) -> Query:
    coordinates = tuple(round(x / lattice.step) for x in place)
    return Query(Signal(retriever.card.space.version, lattice, coordinates), k)


@pytest.fixture
def line() -> Retriever:
    """Eleven items at 0, 1, ..., 10; the item's id is its place."""
    return retriever_of([[float(i)] for i in range(11)])


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("k", range(1, 13))
def test_an_answer_is_exactly_k_distinct_items_in_ascending_order(dimension: int, k: int) -> None:
    rng = np.random.default_rng(dimension)
    retriever = retriever_of(rng.normal(size=(12, dimension)).tolist())
    for point in rng.normal(scale=2, size=(20, dimension)):
        slate = retriever.answer(query_at(retriever, point.tolist(), k))
        assert (k, k) == (len(slate.item_ids), len(set(slate.item_ids)))
        assert sorted(slate.item_ids) == list(slate.item_ids)
        expected = retriever.catalog.positions[list(slate.item_ids)]
        np.testing.assert_array_equal(expected, slate.positions)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        # epsilon 1/2, signal 5; the probes lie at 5 and 5 +- y:
        (1, (5,)),
        # even, m = 1: y = 2 ln 2 = 1.386
        (2, (4, 6)),
        # odd, b = 2: y = 4 ln 2 = 2.773
        (3, (2, 5, 8)),
        # even, m = 2: y = 2 ln(6/4) = 0.811 and 2 ln 6 = 3.584
        (4, (1, 4, 6, 9)),
        # odd, b = 3: y = 4 ln(3/2) = 1.622 and 4 ln 3 = 4.394
        (5, (1, 3, 5, 7, 9)),
    ],
)
def test_on_the_line_the_items_are_those_nearest_to_the_probes(
    line: Retriever, k: int, expected: tuple[int, ...]
) -> None:
    assert expected == line.answer(query_at(line, [5.0], k)).item_ids


@pytest.mark.parametrize(
    ("lattice", "expected"),
    [
        # k = 3, y = 2 ln 2 / epsilon
        (Lattice(8, 1024), (0, 5, 10)),  # epsilon 1/4: 5.545
        (Lattice(9, 1024), (2, 5, 8)),  # epsilon 1/2: 2.773
        (Lattice(10, 1024), (4, 5, 6)),  # epsilon 1: 1.386
        # epsilon 4: 0.347, all three probes are nearest to item 5; then the nearest two to 5.25
        (Lattice(12, 1024), (4, 5, 6)),
    ],
    ids=["1/4", "1/2", "1", "4"],
)
def test_the_offsets_widen_with_the_noise(
    line: Retriever, lattice: Lattice, expected: tuple[int, ...]
) -> None:
    assert expected == line.answer(query_at(line, [5.0], 3, lattice)).item_ids


def test_probes_that_share_an_item_leave_places_to_the_items_nearest_the_signal(
    line: Retriever,
) -> None:
    """At 15 the probes lie from 11.4 to 18.6, and item 10 is nearest to all of them."""
    expected = (7, 8, 9, 10)
    assert expected == line.answer(query_at(line, [15.0], 4)).item_ids


def test_of_two_items_equally_near_the_lower_id_is_taken(line: Retriever) -> None:
    expected = (4,)
    assert expected == line.answer(query_at(line, [4.5], 1)).item_ids


@pytest.mark.parametrize("k", [4, 7])
def test_in_the_plane_the_items_are_those_nearest_to_the_probes(k: int) -> None:
    """Probes at signal + offsets, epsilon 1/2; each takes the nearest item of a fine lattice."""
    retriever = retriever_of([[x / 4, y / 4] for x in range(49) for y in range(49)])
    offsets = place(Laplace(0.5, 2), Identity(), k).offsets
    cells = [(round(4 * (6 + dx)), round(4 * (6 + dy))) for dx, dy in offsets]
    assert len(set(cells)) == k
    expected = tuple(sorted(49 * x + y for x, y in cells))
    assert expected == retriever.answer(query_at(retriever, [6.0, 6.0], k)).item_ids


def test_the_answer_depends_on_the_signal_only() -> None:
    """Not on questions before it, by the same device or another, nor on which server answers."""
    rng = np.random.default_rng(3)
    positions = rng.normal(size=(40, 2)).tolist()
    used, fresh = retriever_of(positions), retriever_of(positions)
    places = rng.normal(size=(30, 2)).tolist()
    for k in (1, 2, 5):  # other questions first, one of them of the same k and other noise
        used.answer(query_at(used, [0.0, 0.0], k, Lattice(12, 1024)))
    first = [used.answer(query_at(used, place, 5)).item_ids for place in places]
    again = [used.answer(query_at(used, place, 5)).item_ids for place in reversed(places)]
    elsewhere = [fresh.answer(query_at(fresh, place, 5)).item_ids for place in places]
    assert first == again[::-1] == elsewhere
    assert len(set(first)) > 1


@pytest.mark.parametrize(("coordinate", "expected"), [(2**31 - 1, (9, 10)), (-(2**31 - 1), (0, 1))])
def test_the_farthest_signal_of_the_wire_is_answered(
    line: Retriever, coordinate: int, expected: tuple[int, ...]
) -> None:
    query = Query(Signal(line.card.space.version, Lattice(0, 1), (coordinate,)), 2)
    assert expected == line.answer(query).item_ids


def test_a_signal_outside_the_space_is_taken_for_the_nearest_point_of_it() -> None:
    """The space ends at 16. Its probes lie at 14.6 and 17.4; those of 18 would miss item 0."""
    retriever = retriever_of([[14.0], [17.0], [19.0]])
    expected = (0, 1)
    assert expected == retriever.answer(query_at(retriever, [18.0], 2)).item_ids
