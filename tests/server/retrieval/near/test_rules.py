"""Rules from a noisy position to items, the choice of a set, and kinds."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from near_world import BOTH, INLAND, ISLANDS, LINE, great_circle, noisy, places, point_of, signal_at

from askew.catalog.attributes import Flags
from askew.errors import ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.placement.hexagonal import place_on_map
from askew.protocol.cards import MetricRuleKind as Kind
from askew.protocol.cards import Want
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import COSINE_PARTS, LEAST_COSINE, MapNoise, MapSpace, Region
from askew_server.collections.model import Towns
from askew_server.retrieval import rules
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import ByDensity, ByNoise, Density
from askew_server.retrieval.index import MetricIndex, frame_of
from askew_server.retrieval.rules import Sampled
from askew_server.retrieval.wants import Costs, Wants

TOWN = Fraction(277, 1000)
OF_K = [Kind.NEAREST, Kind.CODEBOOK, Kind.ITEMS, Kind.POSTERIOR]
SERVED = [Kind.ITEMS, Kind.POSTERIOR]


def made_towns(region: Region, count: int = 60) -> Towns:
    people = 1000 * np.random.default_rng(8).pareto(1.0, count) + 1000
    return Towns(places(region, count, seed=7), people, "made up")


def around(count: int) -> np.ndarray:
    """Positions inland around its towns, by their people to the power .8."""
    rng, towns = np.random.default_rng(3), made_towns(INLAND)
    weights = towns.people**0.8
    drawn = rng.choice(len(weights), count, p=weights / weights.sum())
    width = 0.03 * (towns.people[drawn] / 100_000) ** 0.4  # degrees: 3.3 km for 100,000 people
    moved = towns.coordinates[drawn] + rng.normal(size=(count, 2)) * width[:, None]
    return np.clip(moved, [47, 6], [51, 12])


@cache
def density_of(region: Region) -> Density:
    return Density.of_towns(frame_of(MapSpace(region)), made_towns(region), places(region, 50))


def hostile_signals(region: Region) -> list[Signal]:
    """Far outside, at the poles, at 180 degrees, with tiny and huge noise and any cosine."""
    steep, flat = LEAST_COSINE, COSINE_PARTS - 1
    laws = [(0, 4096, steep), (0, 4096, flat), (20, 1, steep), (20, 1, flat)]
    laws.append((7, 500, region.cosine))
    at = [(90.0, 0.0), (-90.0, 180.0), (0.0, -180.0), (region.south, region.west), (12.3, 45.6)]
    return [
        signal_at(*place, MapNoise(HexagonalLattice(e, q), c)) for e, q, c in laws for place in at
    ]


@pytest.mark.thin
@pytest.mark.parametrize("kind", OF_K)
@pytest.mark.parametrize("region", [INLAND, ISLANDS], ids=lambda region: region.words)
def test_any_signal_gets_exactly_k_distinct_items_ascending(kind: Kind, region: Region) -> None:
    """Planted bug: no clamp, so that far signals look where nothing is."""
    index, density = MetricIndex(MapSpace(region), places(region, 70)), density_of(region)
    rule = near_rule_of(kind, index, density)
    for signal in hostile_signals(region):
        for k in (1, 2, 20, 65, 70):
            items = rule.choose(signal, k)
            assert items.dtype == np.int64
            assert items.tolist() == sorted(set(items.tolist()) & set(range(70)))
            assert len(items) == k
    for k in (0, -1, 71):
        with pytest.raises(ParameterError):
            rule.choose(hostile_signals(region)[0], k)
    with pytest.raises(ParameterError, match="density"):
        near_rule_of(Kind.POSTERIOR, index)


@pytest.mark.parametrize("kind", [Kind.NEAREST, Kind.CODEBOOK, Kind.ITEMS])
@pytest.mark.parametrize("space", [LINE, BOTH], ids=["line", "both"])
def test_axes_are_answered_too(kind: Kind, space: AxisSpace) -> None:
    high = np.array([axis.high for axis in space.axes])
    items = high * np.random.default_rng(1).random((60, len(high)))
    rule = near_rule_of(kind, MetricIndex(space, items), served=True)
    for place, k in product((0 * high, high, high / 3), (1, 7, 60)):
        assert len(set(rule.choose(point_of(space, *place), k).tolist())) == k


def test_nearest_is_nearest_by_great_circle_from_the_clamped_signal() -> None:
    items = places(ISLANDS, 500)
    rule = near_rule_of(Kind.NEAREST, MetricIndex(MapSpace(ISLANDS), items))
    noise = MapNoise.in_region(TOWN, ISLANDS)
    for (latitude, longitude), clamped in [
        ((-18.0, -179.9), (-18.0, -179.9)),
        ((-30.0, 175.0), (-21.0, 176.0)),
        ((-18.0, -170.0), (-18.0, -177.0)),
    ]:
        away = great_circle(np.array(clamped), items)
        nearest = rule.choose(signal_at(latitude, longitude, noise), 9)
        assert nearest.tolist() == sorted(np.argsort(away)[:9].tolist())


def plain_codebook(signal: Signal, region: Region, items: np.ndarray, k: int) -> set[int]:
    """Each probe's nearest item; then those that came too late take the nearest that is left."""
    low, high = [region.south, region.west], [region.north, region.east]
    latitude, longitude = np.clip(np.array(signal.values) / 1e6, low, high)
    cosine = signal.map_noise.cosine / 65536
    wanted = []
    for east, north in place_on_map(float(signal.map_noise.epsilon), k).offsets:
        to = [latitude + north / 110.57, longitude + east / (111.31 * cosine)]
        away = great_circle(np.clip(to, low, high), items)
        wanted.append(np.argsort(away, kind="stable")[: 2 * k].tolist())
    taken = {order[0] for order in wanted}
    firsts: set[int] = set()
    for order in wanted:
        if order[0] in firsts:
            taken.add(next(item for item in order if item not in taken))
        firsts.add(order[0])
    return taken


@pytest.mark.parametrize("count", [30, 300, 5_000])
def test_the_codebook_takes_what_a_plain_reference_takes(count: int) -> None:
    """Planted bugs: offsets of twice the noise; east and north swapped; the cosine left out; items
    taken twice.
    """
    items = places(INLAND, count)
    rule = near_rule_of(Kind.CODEBOOK, MetricIndex(MapSpace(INLAND), items))
    for signal in noisy(INLAND, places(INLAND, 15, seed=9), TOWN):
        for k in (1, 5, 20):
            expected = plain_codebook(signal, INLAND, items, k)
            assert set(rule.choose(signal, k).tolist()) == expected


@pytest.mark.thin
@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.parametrize("count", [100, 20_000])
def test_the_served_set_costs_no_more_than_nearest_and_codebook(kind: Kind, count: int) -> None:
    """By the objective, computed here from the sample and great circles."""
    items = around(count)
    index, density = MetricIndex(MapSpace(INLAND), items), density_of(INLAND)
    frame, corner = index.frame, np.array([INLAND.south, INLAND.west])
    people = ByNoise(frame) if kind is Kind.ITEMS else ByDensity(frame, density)
    served = near_rule_of(kind, index, density, served=True)
    others = [near_rule_of(each, index) for each in (Kind.NEAREST, Kind.CODEBOOK)]
    better = 0
    for signal in noisy(INLAND, places(INLAND, 15, seed=4), TOWN):
        homes, shares = people.sample(signal)
        homes = homes + corner
        for k in (1, 3, 10, 60):
            costs = [
                shares @ great_circle(homes[:, None], items[rule.choose(signal, k)]).min(axis=1)
                for rule in (served, *others)
            ]
            assert costs[0] <= min(costs[1:]) * 1.002
            better += costs[0] < min(costs[1:]) * 0.98
    assert better > 0 or count < 1000


def test_a_poor_set_of_its_own_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the own set is served whatever it costs."""
    index = MetricIndex(LINE, np.arange(0.0, 400.0, 5.0)[:, None])  # item 40 under the signal
    signal, people, wants = point_of(LINE, 200.0), ByNoise(index.frame), Wants(index)
    monkeypatch.setattr(rules, "k_median", lambda costs, k: np.argsort(-costs.sum(axis=0))[:k])
    others = [Mock(choose=Mock(return_value=np.array(items))) for items in ((1, 2), (39, 40))]
    for served, expected in ((True, [39, 40]), (False, [1, 2])):
        rule = Sampled(index, people, wants, others, served=served)
        assert rule.choose(signal, 2).tolist() == expected


def digest_of_answers() -> str:
    """A digest of what every served rule answers to fixed signals."""
    index, density = MetricIndex(MapSpace(INLAND), around(5000)), density_of(INLAND)
    noise = MapNoise.in_region(TOWN, INLAND)
    digest = hashlib.sha256()
    flag = Flags((np.arange(5000) % 20 == 0).astype(np.int8))
    wants = Wants(index, [Want("flag", 0.2, "yes")], {"flag": flag})
    for kind, wanted in [*((kind, None) for kind in SERVED), (Kind.POSTERIOR, wants)]:
        rule = near_rule_of(kind, index, density, wanted, served=True)
        for latitude, longitude in places(INLAND, 40, seed=11).tolist():
            digest.update(rule.choose(signal_at(latitude, longitude, noise), 20).tobytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_the_same_bytes_get_the_same_answer_in_any_process_and_with_any_number_of_threads() -> None:
    """Planted bug: a sample from a generator that the process seeds."""
    here = Path(__file__).parent
    command = [sys.executable, "-c", "import test_rules; print(test_rules.digest_of_answers())"]
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONHASHSEED")
    expected = digest_of_answers()
    for threads in ("1", "2"):
        environment = os.environ | dict.fromkeys(names, threads)
        environment["PYTHONPATH"] = os.pathsep.join([str(here), str(here.parents[2]), *sys.path])
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == expected


def made_costs(items: int, people: int, seed: int) -> Costs:
    rng = np.random.default_rng(seed)
    places, homes = rng.random((items, 2)), rng.random((people, 2))
    away = np.linalg.norm(homes[:, None] - places, axis=2)
    return rules.whole(away.astype(np.float32), np.ones(len(away)))


def least(costs: Costs, k: int) -> float:
    """The cost of the best of all choices."""
    sets = combinations(range(costs.shape[1]), k)
    return min(rules.total(costs, np.array(each)) for each in sets)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_choice_is_nearly_always_the_best_of_all(k: int) -> None:
    """Planted bugs: no swaps; the second best item forgotten when one is taken out."""
    worst, best = [], 0
    for seed in range(60):
        costs = made_costs(11, 40, seed)
        rows = rules.k_median(costs, k)
        assert len(set(rows.tolist())) == k
        ratio = rules.total(costs, rows) / least(costs, k)
        worst.append(ratio)
        best += ratio == 1
    assert max(worst) < 1.11
    assert best >= 48


def test_items_that_cost_the_same_in_another_order_are_a_tie() -> None:
    """Sums are exact: the first of items with the same costs, dealt to other people, is chosen.

    Planted bug: costs that are no whole numbers, whose sums depend on their order.
    """
    rng = np.random.default_rng(6)
    costs = rng.random(500).astype(np.float32)
    dealt = np.column_stack([rng.permutation(costs) for _ in range(200)])
    dealt[:, -1] = 1.0  # the largest of every row, so that all are rounded alike
    assert rules.k_median(rules.whole(dealt, np.ones(len(dealt))), 1).tolist() == [0]


@pytest.mark.parametrize("rows", [1, 3, 600])
def test_costs_are_whole_numbers_whose_sums_float32_holds(rows: int) -> None:
    """By their weights. Planted bug: a scale of the largest cost alone, which heavy rows exceed."""
    weights = np.random.default_rng(1).random(rows) + 0.01
    costs = made_costs(50, rows, 7) + np.float32(1)
    whole = rules.whole(costs.copy(), weights)
    assert (whole == np.rint(whole)).all()
    assert 0.999 * rules.MOST < whole.max(axis=1).sum(dtype=np.float64) < 2**24
    np.testing.assert_array_equal(whole.sum(axis=0), whole.astype(np.float64).sum(axis=0))
    expected = weights[:, None] * costs.astype(np.float64)
    scale = whole.sum(dtype=np.float64) / expected.sum()
    np.testing.assert_allclose(whole, scale * expected, rtol=1e-4, atol=1)
