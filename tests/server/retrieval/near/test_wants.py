"""What results hedge over besides where people are: rows of costs, candidates, sets of items."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from near_world import EARTH, INLAND, ISLANDS, LINE, noisy, places

from askew.catalog.attributes import UNKNOWN, Column, Flags, Numbers, Words
from askew.errors import OutOfRange
from askew.protocol.cards import MetricRuleKind as Kind
from askew.protocol.cards import Want
from askew.spaces.map import MapSpace, MetricSpace
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import low_discrepancy
from askew_server.retrieval.index import MetricIndex
from askew_server.retrieval.wants import Wants

TOWN = Fraction(277, 1000)
N = 20_000
RNG = np.random.default_rng(2)
ITEMS = places(INLAND, N)
KINDS = RNG.choice(4, N, p=[0.5, 0.25, 0.15, 0.1]).astype(np.int32)
PRICE = np.round(15 * np.exp(0.4 * RNG.standard_normal(N)), 1).astype(np.float32)
TERRACE = RNG.random(N) < 0.05
COLUMNS: dict[str, Column] = {
    "kind": Words(KINDS, ("a", "b", "c", "d")),
    "price": Numbers(PRICE),
    "terrace": Flags(TERRACE.astype(np.int8)),
}
WANTED = (
    Want("price", 0.1, rate=0.5),
    Want("price", 0.05, rate=2.0),
    Want("terrace", 0.1, "yes"),
    *(Want("kind", 0.025, word) for word in "abcd"),
)
INDEX = MetricIndex(MapSpace(INLAND), ITEMS)
WANTS = Wants(INDEX, WANTED, COLUMNS)


def positions(index: MetricIndex, count: int) -> np.ndarray:
    return index.frame.tree(low_discrepancy(count, len(index.frame.extent)) * index.frame.extent)


def test_a_row_costs_what_its_people_regret() -> None:
    """Of each want by its definition, in the order of rates and then words. Planted bugs: the rate
    of another want; an item without the word costs its distance; a regret without a bound; a weight
    that is not the people's.
    """
    points, items = positions(INDEX, WANTS.size), np.arange(0, N, 53)
    distances = INDEX.distances(points, items)
    costs = WANTS.costs(distances.copy(), items, 14.0)
    shares = 1.0 + np.arange(WANTS.size)
    weights = WANTS.weights(shares / shares.sum())
    assert len(costs) == len(weights)
    people = WANTS._position_of_row
    row = WANTS.size
    np.testing.assert_array_equal(people[:row], np.arange(row))
    least = distances.min(axis=1, keepdims=True)
    np.testing.assert_allclose(costs[:row], distances - least, atol=1e-4)
    for want in WANTED:
        away = distances[people[row]].astype(np.float64)
        if want.rate:
            away += want.rate * PRICE[items]
        elif want.attribute == "terrace":
            away[~TERRACE[items]] = np.inf
        else:
            away[KINDS[items] != "abcd".index(want.word)] = np.inf
        expected = np.minimum(away - away.min(), 14.0)
        np.testing.assert_allclose(costs[row], expected, atol=1e-3)
        of_want = len(WANTS._rate) // 2 if want.rate else len(WANTS._bit) // 5
        rows = slice(row, row + of_want)
        of_rows = shares[people[rows]]
        assert weights[rows] == pytest.approx(want.weight * of_rows / of_rows.sum())
        row += of_want
    assert row == len(costs)
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "space", [MapSpace(INLAND), MapSpace(ISLANDS), MapSpace(EARTH), LINE], ids=str
)
def test_beside_each_position_stands_the_nearest_item_of_its_word(space: MetricSpace) -> None:
    """Also across 180 degrees. Planted bug: groups so near to each other that an item of another
    one is taken.
    """
    rng = np.random.default_rng(3)
    if space is LINE:
        coordinates = LINE.axes[0].high * rng.random((400, 1))
    else:
        assert isinstance(space, MapSpace)
        coordinates = places(space.area, 400)
    index = MetricIndex(space, coordinates)
    flags = [(rng.random(400) < share).astype(np.int8) for share in (0.02, 0.06)]
    columns = {"rare": Flags(flags[0]), "some": Flags(flags[1])}
    wants = Wants(index, [Want(name, 0.1, "yes") for name in columns], columns)
    points = positions(index, wants.size)
    found = wants.candidates(points)
    asked = np.array([0, *np.flatnonzero(np.diff(wants._group)) + 1, len(found)])
    for flag, start, end in zip(flags, asked, asked[1:], strict=False):
        some = np.flatnonzero(flag)
        away = index.distances(points[wants._position_of_question[start:end]], some)
        np.testing.assert_array_equal(found[start:end], some[away.argmin(axis=1)])


def test_a_price_brings_cheap_items_beside_every_position() -> None:
    """Low ones for who pays, high ones for who wants more. Planted bug: the sign left out."""
    for rate, better in ((1.0, PRICE < 12.3), (-1.0, PRICE > 18.3)):
        wants = Wants(INDEX, [Want("price", 0.1, rate=rate)], COLUMNS)
        found = wants.candidates(positions(INDEX, wants.size))
        assert better[found].mean() > 0.9
        assert better.mean() < 0.32


def test_what_is_unknown_is_worth_nothing_to_whoever_wants_it() -> None:
    """Numbers of any size are. Planted bugs: an unknown price of 0; an infinity less another."""
    values = np.array([np.nan, 3.0, -3e38, 3e38, 5.0], np.float32)
    index = MetricIndex(MapSpace(INLAND), places(INLAND, 5))
    columns: dict[str, Column] = {
        "price": Numbers(values),
        "open": Flags(np.array([UNKNOWN, 1, 0, 0, UNKNOWN], np.int8)),
        "none": Flags.unknown(5),
    }
    wanted = [Want("price", 0.1, rate=1e12), Want("price", 0.1, rate=-1e12)]
    wanted += [Want("open", 0.1, "yes"), Want("none", 0.1, "yes")]
    wants = Wants(index, wanted, columns)
    points = positions(index, wants.size)
    items = np.arange(5)
    costs = wants.costs(index.distances(points, items), items, 10.0)
    assert costs.min() >= 0
    costs = costs[wants.size :]
    assert costs.max() <= 10
    assert (costs[: len(wants._rate), 0] == 10).all()
    opened = costs[len(wants._rate) :][: len(wants._bit) // 2]
    assert (opened == [10, 0, 10, 10, 10]).all()
    cheap = Wants(index, [Want("price", 0.1, rate=1.0)], {"price": columns["price"]})
    at_hand = cheap.costs(np.zeros((cheap.size, 3), np.float32), np.array([0, 1, 4]), 10.0)
    assert at_hand[-1].tolist() == [10, 0, 2]
    rule = near_rule_of(Kind.ITEMS, index, wants=wants, served=True)
    assert len(set(rule.choose(noisy(INLAND, places(INLAND, 1), TOWN)[0], 3).tolist())) == 3


def test_a_want_of_another_kind_of_column_is_refused() -> None:
    for want in (Want("price", 0.1, "cheap"), Want("kind", 0.1, rate=1.0)):
        with pytest.raises(OutOfRange):
            Wants(INDEX, [want], COLUMNS)
