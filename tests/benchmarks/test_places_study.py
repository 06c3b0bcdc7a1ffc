"""What the study of places measures: checked on grounds where the right answer is seen at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from benchmarks.places import report, theory
from benchmarks.places.grounds import LINE, Country, Market, PlaceRun, Road
from benchmarks.places.report import best_lines
from benchmarks.places.study import (
    SERVED,
    PlaceCell,
    PlaceLabel,
    PlacesProtocol,
    PlacesStudy,
    cell_of,
    studied,
)
from benchmarks.places.theory import DISUTILITIES, mean_disutility, on_line
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement import Laplace, place
from askew.protocol.metric_card import CollectionCard, MetricCard, MetricRuleKind
from askew.protocol.signal import Query
from askew.spaces.axes import Axis, AxisSpace
from askew_server.demo.places import german_towns
from askew_server.retrieval.near.answers import near_rule_of

SMALL = PlacesProtocol(
    items=(200,),
    axis_items=(100,),
    levels=("town",),
    ks=(1, 5),
    people=12,
    draws=2,
    few_ks=(5,),
    beside_ks=(5,),
)


def stalls(space: Axis, people: list[float]) -> Market:
    """Items at 0, 10, .., 90, of kinds 0 and 1 in turns, and these people."""
    crowds = {"all": np.array(people)[:, None]}
    ground = cast("Any", SimpleNamespace(space=AxisSpace((space,)), crowds=crowds))
    return Market(ground, np.arange(0.0, 100.0, 10)[:, None], np.arange(10) % 2, (0.5, 0.4))


ROAD = Axis("post", "km", 0.0, 100.0, scale=1.0)


def ids(*items: int) -> NDArray[np.int64]:
    return np.array(items)


def test_extra_distance_is_beyond_the_truly_nearest_item() -> None:
    market = stalls(ROAD, [4.0, 71.0])
    # Two draws of each person: from 4 to the item at 10 is 6, and 4 to the nearest, at 0.
    run = market.run("all", [ids(1, 5), ids(0, 9), ids(9), ids(7, 8)])
    assert run.extra.tolist() == [[2.0, 0.0], [18.0, 0.0]]
    assert run.size == 7 / 4


def test_behind_a_filter_only_items_that_pass_count_for_slate_and_for_nearest() -> None:
    run = stalls(ROAD, [4.0]).run("all", [ids(2, 3), ids(2, 4)])
    # Kind 0 stands at 0, 20, ..: 16 away instead of 4. Kind 1 at 10, 30, ..: 26 instead of 6.
    assert run.filtered[0.5].tolist() == [[12.0, 12.0]]
    assert np.array_equal(run.filtered[0.4], [[20.0, np.nan]], equal_nan=True)
    cell = cell_of(label(), run, run, run)
    assert [each.none.mean for each in cell.filtered] == [0.0, 0.5]
    assert [each.extra.mean for each in cell.filtered] == [12.0, 20.0]


def test_on_the_map_a_degree_of_latitude_is_its_length_on_the_ground() -> None:
    country = Country.of(german_towns().towns, 2, 0)
    country = replace(country, crowds={"all": np.array([[50.0, 10.0]])})
    items = np.array([[50.0, 10.0], [51.0, 10.0]])
    market = Market(country, items, np.zeros(2, np.int64), ())
    (extra,) = market.run("all", [ids(1)]).extra[0]
    assert extra == pytest.approx(6371.0088 * np.pi / 180, rel=1e-4)


def label(**given: object) -> PlaceLabel:
    fixed = {"ground": "map", "items": 100_000, "level": "town", "epsilon": 0.277, "k": 20}
    return PlaceLabel(**cast("Any", fixed | {"rule": "codebook"} | given))


def run_of(extra: list[list[float]]) -> PlaceRun:
    return PlaceRun(np.array(extra), {}, 20.0)


def test_errors_are_those_of_people_and_paired() -> None:
    """Ten draws of one person are not ten people, and what all rules share is no error."""
    nearest = run_of([[1.0] * 10, [9.0] * 10])
    mine = run_of([[0.5] * 10, [8.5] * 10])
    cell = cell_of(label(), mine, nearest, nearest)
    assert cell.n_people == 2
    assert cell.extra.error == pytest.approx(4.0 / np.sqrt(2))
    assert (cell.over_nearest.mean, cell.over_nearest.error) == (-0.5, 0.0)
    assert cell.ratio.mean == 0.9


def test_people_come_from_a_finer_list_of_towns_than_the_density() -> None:
    country = Country.of(german_towns().towns, 4000, 0)
    known, half = country.densities["towns"], country.densities["half of them"]
    assert len(country.towns.people) > 3 * len(known.people) > 5 * len(half.people)
    assert known.people.min() >= 5000 > country.towns.people.min()

    def in_berlin(places: NDArray[np.float64]) -> float:
        away = (places - (52.5244, 13.4105)) * (111.2, 67.7)
        return float((np.linalg.norm(away, axis=1) < 15).mean())

    people, items = in_berlin(country.crowds["all"]), in_berlin(country.items(4000))
    assert people > 1.3 * items
    assert items > 4 * in_berlin(country.crowds["rural"])


def test_signals_on_an_axis_are_such_as_devices_send() -> None:
    axis, road = LINE, Road.of(LINE, 500, 0)
    card = CollectionCard("stalls", "0" * 32, 100, "SIMULATED", simulated=True)
    served = MetricCard(road.space, (card,), 64, MetricRuleKind.CODEBOOK)
    signals = road.signals(Fraction(693, 10_000), "all", 2)
    for signal in signals:
        served.check(Query(signal, 5, "stalls"))
    away = np.array([s.point()[0] for s in signals])
    away -= np.repeat((road.crowds["all"][:, 0] - axis.low) / axis.scale, 2)
    assert np.abs(away).mean() == pytest.approx(1 / 0.0693, rel=0.15)


@pytest.mark.parametrize("name", DISUTILITIES)
@pytest.mark.parametrize("k", [2, 5])
def test_on_a_dense_line_the_mean_disutility_is_the_closed_form(name: str, k: int) -> None:
    found = on_line(name, DISUTILITIES[name], k)
    assert found.ratio == pytest.approx(1, abs=0.01)


def test_other_results_than_the_optimal_ones_would_not_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: offsets that are longer by half."""
    optimum = place(Laplace(1.0), DISUTILITIES["t"], 5).cost
    assert mean_disutility(*line_of_5()) == pytest.approx(optimum, rel=0.01)

    def planted(kind: MetricRuleKind, index: Any, **given: Any) -> Any:
        rule = near_rule_of(kind, index, **given)
        placed = rule._placed  # type: ignore[attr-defined]
        true = placed.of
        placed.of = lambda *law: 1.5 * true(*law)
        return rule

    monkeypatch.setattr(theory, "near_rule_of", planted)
    assert mean_disutility(*line_of_5()) > 1.01 * optimum


def line_of_5() -> tuple[Any, ...]:
    axis = Axis("post", "km", 0.0, 144.0, scale=1.0)
    return axis, DISUTILITIES["t"], 5, 72.2113


@cache
def small_study() -> tuple[PlaceCell, ...]:
    found = studied(SMALL, german_towns().towns, lambda *_: None)
    return tuple(cell for part in found for cell in part)


def test_every_rule_stands_beside_the_nearest_items_for_the_same_draws() -> None:
    cells = small_study()
    assert {cell.label.ground for cell in cells} == {"map", "line"}
    assert {cell.label.rule for cell in cells} == set(SMALL.rules)
    assert {cell.label.crowd for cell in cells} == {"all", "rural"}
    assert {cell.label.density for cell in cells} == {"", "towns", "half of them"}
    for cell in cells:
        assert cell.extra.mean >= 0
        if cell.label.rule == "nearest":
            assert (cell.over_nearest.mean, cell.over_nearest.error) == (0, 0)
        assert cell.size == cell.label.k


def test_the_same_options_give_the_same_cells_in_other_processes_too() -> None:
    alone = replace(SMALL, axis_levels=())
    found = studied(alone, german_towns().towns, lambda *_: None, workers=2)
    cells = [cell for part in found for cell in part]
    assert repr(cells) == repr([cell for cell in small_study() if cell.label.ground == "map"])


def goal(cells: list[PlaceCell], word: str) -> bool:
    (met,) = [each.met for each in report.verdicts(cells) if word in each.goal]
    return met


def test_a_missed_goal_is_said_to_be_missed() -> None:
    nearest = run_of([[1.0, 1.0], [1.0, 1.0]])
    for extra, met in ((0.53, True), (0.54, False)):
        cell = cell_of(label(), run_of([[extra] * 2] * 2), nearest, nearest)
        assert goal([cell], "codebook at most") is met


@pytest.mark.parametrize(("extra", "met"), [(1.019, True), (1.021, False)])
def test_a_served_rule_that_is_worse_than_its_baselines_is_found(extra: float, met: bool) -> None:
    ones = run_of([[1.0], [1.0]])
    better = run_of([[2.0], [2.0]])
    for nearest, codebook in ((ones, better), (better, ones)):
        cell = cell_of(label(rule=SERVED), run_of([[extra]] * 2), nearest, codebook)
        assert goal([cell], "served") is met


def test_people_in_the_country_are_a_row_of_their_own() -> None:
    """Where served is worse there, the table says which rule is best, and no goal is missed."""
    nearest, served = run_of([[1.0], [1.0]]), run_of([[2.0], [2.0]])
    everybody = cell_of(label(rule=SERVED), nearest, nearest, nearest)
    rural = [
        cell_of(label(rule=rule, crowd="rural"), run, nearest, nearest)
        for rule, run in (("nearest", nearest), (SERVED, served))
    ]
    assert goal([everybody, *rural], "served")
    (line,) = best_lines(PlacesStudy(SMALL, "", (everybody, *rural)))
    assert "nearest is best" in line
    assert line.endswith("served 2.00")


def test_a_difference_within_four_errors_is_no_fault() -> None:
    nearest = run_of([[1.0], [1.0], [1.0], [1.0]])
    served = run_of([[1.2], [0.9], [1.1], [1.0]])  # mean +.05, error .056
    cell = cell_of(label(rule=SERVED), served, nearest, nearest)
    assert goal([cell], "served")


@pytest.mark.parametrize(
    "wrong",
    [
        {"levels": ("city",)},
        {"rules": ("best",)},
        {"ks": (0,)},
        {"ks": (65,)},
        {"ks": (5, 5)},
        {"items": (10,)},
        {"people": 1},
        {"draws": 0},
        {"filters": (0.7, 0.4)},
    ],
)
def test_a_protocol_that_cannot_be_played_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        PlacesProtocol(**wrong)
