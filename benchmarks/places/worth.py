"""What a signal is worth beside what one would do otherwise, near a place with live values.

The question: which place near me has a free table now? Everything that asks asks for K results and
picks the nearest of them that has one. *Extra* is how much farther the pick is than the nearest
place of all that has a free table; *none*, how often there is no pick, or its table is taken.

    signal     Askew's signal, level `town`: the server answers by its default rule
    cell       the position rounded to a cell of a grid, in the plane of Askew's region. `half` and
               `most`: as large as the area in which the signal leaves somebody 5 and 9 times in 10.
               `nearest`: the K nearest to the center; `spread`: the server's own rule, with people
               expected in the cell alone
    list       a held list of as many bytes a week as the signal's questions take, without live
               values, chosen by all towns and items
    polled     a list of all places, and all live values fetched as often as one changes
    fetched    the same, fetched when somebody asks
    true       the true position

*Laws.* A table is free half of the time; free and taken hours follow one another, each exponential
with a mean of one hour. Lists are made anew every week. A device asks once a day. A live value is a
bit, which nothing compresses. Bytes are those of the messages, without TLS. The server expects
people by its default density: a fifth by towns of at least 5,000 people, .35 where items are, the
rest evenly.

*What a server can tell* of two homes a distance apart. Of a signal the odds change at most
exp(epsilon distance) times, for any knowledge before. Of a cell: two homes of one cell not at all,
of two cells for certain; the share is over homes and directions at random, exact. A signal and a
cell that are kept say the same for ever. Where an app rounds a fresh position each day, with an
error of 20 m on each axis, a home near an edge shows both cells within a year.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, floor, pi, sqrt
from typing import Any, Final

import numpy as np
from benchmarks.places.country import CROWDS, LEVELS, Array, Country, Crowd, Ids, rounded
from scipy.spatial import cKDTree
from scipy.special import gammaincinv, ndtri

from askew.catalog.attributes import Flags
from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import GAUGE, HexagonalLattice
from askew.protocol.cards import MAX_SLATE, MetricCard, MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import (
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    MICRODEGREES,
    MapNoise,
    Position,
)
from askew.wire.catalog_file import rows_to_bytes
from askew.wire.places import places_to_bytes
from askew.wire.queries import query_to_bytes
from askew_server.demo.places import places_to_eat
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import ByDensity
from askew_server.retrieval.index import MapFrame, MetricIndex
from askew_server.retrieval.rules import Nearest, NearRule, Sampled
from askew_server.retrieval.wants import Wants
from askew_server.taste.measures import mean_with_error

K: Final = 40  # as many of these places as a device asks for by default
KS: Final = (5, 10, 20, 40, 80, 160)
FREE, HOURS = 0.5, 1.0
QUESTIONS, POLLS, WEEK = 1, 24, 7  # a day, a day, days
CELLS: Final = {"half": 0.5, "most": 0.9}  # of the signal's weight
APART: Final = (1, 10)  # kilometers between two homes
ERROR, DAYS = 0.020, 365  # kilometers on an axis, of a fresh position each day
LIVE: Final = "free table"
_SAMPLE, _ROUNDS = 60_000, 12  # of the people whom a held list is chosen for


def side_of(share: float, level: str = "town") -> float:
    """Return how wide a square is, in km, that is as large as the least area with this share of
    the noise: a hexagon of the radius u GAUGE / epsilon, where 1 - (1 + u) exp(-u) = share.
    """
    epsilon = float(HexagonalLattice.for_epsilon(LEVELS[level]).epsilon)
    radius = float(gammaincinv(2.0, share)) * float(GAUGE) / epsilon
    return sqrt(1.5 * sqrt(3) * radius**2)


class CellFrame(MapFrame):
    """A map on which a signal says no more than its cell: as if all positions of the cell were as
    likely to send it, and no others.
    """

    def __init__(self, country: Country, side: float) -> None:
        super().__init__(country.region)
        east = float(KM_OF_LONGITUDE) * country.region.cosine / COSINE_PARTS
        self.size = side / np.array([float(KM_OF_LATITUDE), east])  # (2,) degrees
        self._side = side

    def centers(self, coordinates: Array) -> Array:
        """Return the middle, in degrees, of the cell of each position (n, 2)."""
        middles = (np.floor(self.grid(coordinates.copy()) / self.size) + 0.5) * self.size
        return np.asarray(self.inside(middles) + self._corner)

    def epsilon(self, _: Signal) -> float:
        """Return what makes `ByDensity` look at a window a little wider than the cell."""
        return 6.0 / (0.55 * self._side)

    def log_likelihood(self, signal: Signal, axes: list[Array]) -> Array:
        """Return 0 inside the cell, else less than anybody counts."""
        away = [np.abs(axis - at) for axis, at in zip(axes, self.aim(signal), strict=True)]
        inside = (away[0] <= self.size[0] / 2)[:, None] & (away[1] <= self.size[1] / 2)[None, :]
        return np.asarray(np.where(inside, 0.0, -700.0))


class Market:
    """Places to eat of a country, and which of them have a free table. n: how many."""

    def __init__(self, country: Country, n: int) -> None:
        self.country, self.rng = country, np.random.default_rng([country.seed, n])
        places = places_to_eat(n, country.towns, country.region, country.seed)
        names = [each.name for each in places.card.attributes]
        self.free = self.rng.random(n) < FREE
        columns = dict(zip(names, places.columns, strict=True))
        columns[LIVE] = Flags(self.free.astype(np.int8))
        self.places = replace(places, columns=tuple(columns.values()))
        self.index = MetricIndex(country.space, places.coordinates)
        self.density = country.density(self.index, places.coordinates)
        self.wants = Wants(self.index, places.card.wants, columns)
        self.served = near_rule_of(
            MetricRuleKind.POSTERIOR, self.index, self.density, self.wants, served=True
        )

    def spread(self, frame: CellFrame) -> NearRule:
        """Return the rule of a server, with people expected in a cell."""
        people = ByDensity(frame, self.density, self.wants.size)
        return Sampled(self.index, people, self.wants, (Nearest(self.index),))

    def points(self, degrees: Array) -> Array:
        """Return points of the sphere, (n, 3) km, of positions (n, 2)."""
        return np.asarray(self.index.frame.tree(self.index.frame.grid(degrees.copy())))

    def asked(self, people: Array, signals: Sequence[Signal], rule: NearRule, k: int) -> Array:
        """Return what people get who ask, (n,) km beyond the best, nan without a pick."""
        picks = np.full(len(people), -1)
        for number, (home, signal) in enumerate(zip(self.points(people), signals, strict=True)):
            rows = rule.choose(signal, k)
            rows = rows[self.free[rows]]
            away = np.linalg.norm(self.index.points[rows] - home, axis=1)
            picks[number] = rows[away.argmin()] if len(rows) else -1
        return self.beyond(people, picks)

    def held(self, people: Array, rows: Ids) -> Array:
        """Return what people get who go to the nearest of these rows, as `asked`."""
        nearest = cKDTree(self.index.points[rows]).query(self.points(people))[1]
        return self.beyond(people, rows[nearest])

    def beyond(self, people: Array, picks: Ids) -> Array:
        """Return how much farther picks are than the nearest free table, nan where none is free.
        picks: -1 for none.
        """
        home = self.points(people)
        best = cKDTree(self.index.points[self.free]).query(home)[0]
        away = np.linalg.norm(self.index.points[picks] - home, axis=1) - best
        return np.asarray(np.where((picks >= 0) & self.free[picks], away, np.nan))

    def polled(self) -> Ids:
        """Return the rows that were free when the values were last fetched."""
        age = self.rng.uniform(0, 24 / POLLS, len(self.free))
        changed = self.rng.random(len(self.free)) < (1 - np.exp(-2 * age / HOURS)) / 2
        return np.flatnonzero(self.free ^ changed)

    def some(self, n: int) -> Ids:
        """Return at most n rows of places that serve people well together: those nearest to the
        centers of n clusters of people, who live in towns and where places are.
        """
        towns, items = self.country.towns, self.places.coordinates
        around = self.rng.choice(len(towns.people), _SAMPLE, p=towns.people / towns.people.sum())
        people = items[self.rng.integers(len(items), size=_SAMPLE)]
        by_town = self.rng.random(_SAMPLE) < 0.2 / 0.55
        spread = 0.02 * self.rng.standard_normal((_SAMPLE, 2))
        people = np.where(by_town[:, None], towns.coordinates[around] + spread, people)
        points = self.points(people)
        centers = points[self.rng.choice(_SAMPLE, n, replace=False)]
        for _ in range(_ROUNDS):
            owner = cKDTree(centers).query(points)[1]
            count = np.bincount(owner, minlength=n)[:, None]
            sums = np.stack([np.bincount(owner, column, n) for column in points.T], axis=1)
            centers = np.where(count > 0, sums / np.maximum(count, 1), centers)
        return np.unique(cKDTree(self.index.points).query(centers)[1])

    def some_of_bytes(self, most: float) -> Ids:
        """Return rows of places whose file takes about so many bytes."""
        n = floor(len(self.places) * most / self.list_bytes())
        return self.some(floor(n * most / self.list_bytes(self.some(n))))

    def list_bytes(self, rows: Ids | None = None) -> int:
        """Return how large the file of these rows is, or of all."""
        part = self.places if rows is None else self.places.part(rows)
        card = MetricCard(self.country.space, (part.card,), MAX_SLATE, MetricRuleKind.NEAREST)
        return len(rows_to_bytes(card, {part.card.name: part}))

    def question_bytes(self, signal: Signal) -> int:
        """Return what a question and its reply take."""
        slate = PlaceSlate(
            self.places.card.version, self.places.listings(self.served.choose(signal, K))
        )
        card = self.places.card
        question, reply = (
            query_to_bytes(Query(signal, K, card.number)),
            places_to_bytes(slate, card),
        )
        return len(question) + len(reply)


def exact(signal: Signal, degrees: Array) -> list[Signal]:
    """Return signals of the law of this one that say positions (n, 2) as they are."""
    micro = np.rint(degrees * MICRODEGREES).astype(int).tolist()
    return [replace(signal, values=tuple(each)) for each in micro]


def ways(market: Market, crowd: Crowd, people: int, rows: Ids) -> Iterator[tuple[str, Array]]:
    """Yield each way and what people of a crowd get by it. rows: of the held list."""
    homes = market.country.people(crowd, people)
    signals = market.country.signals(homes)
    yield "signal", market.asked(homes, signals, market.served, K)
    for name, share in CELLS.items():
        frame = CellFrame(market.country, side_of(share))
        centers = exact(signals[0], frame.centers(homes))
        yield f"cell {name}, nearest", market.asked(homes, centers, Nearest(market.index), K)
        yield f"cell {name}, spread", market.asked(homes, centers, market.spread(frame), K)
    yield "list", market.held(homes, rows)
    yield "polled", market.held(homes, market.polled())
    yield "fetched", market.held(homes, np.flatnonzero(market.free))
    yield "true", market.asked(homes, exact(signals[0], homes), Nearest(market.index), K)


def bytes_a_day(market: Market, question: float) -> dict[str, float]:
    """Return what each way takes. question: with its reply."""
    asks, whole, values = QUESTIONS * question, market.list_bytes() / WEEK, len(market.free) / 8
    cells = {f"cell {name}, {how}": asks for name in CELLS for how in ("nearest", "spread")}
    held = {"polled": whole + POLLS * values, "fetched": whole + QUESTIONS * values}
    return {"signal": asks, **cells, "list": asks, **held, "true": asks}


def told_apart(side: float, distance: float, draws: int = 1_000_000) -> tuple[float, float]:
    """Return which share of homes so far apart a server tells apart for certain by cells of this
    side in km, exact: when each keeps its cell, and by simulation when both round a fresh position
    each of DAYS days.
    """
    turn = np.linspace(0, pi / 2, 20_001)
    same = [np.maximum(0, 1 - distance * part / side) for part in (np.cos(turn), np.sin(turn))]
    kept = float(1 - np.mean(same[0] * same[1]))
    rng = np.random.default_rng(0)
    turn, first = rng.uniform(0, 2 * pi, draws), rng.uniform(0, side, (draws, 2))
    second = first + distance * np.column_stack([np.cos(turn), np.sin(turn)])
    reach = -ndtri(1 / DAYS) * ERROR  # so far from an edge a year has one day beyond it, on average
    ends = [
        np.stack([np.floor((home - reach) / side), np.floor((home + reach) / side)])
        for home in (first, second)
    ]
    return kept, float((ends[0] != ends[1]).any(axis=(0, 2)).mean())


def measured(countries: Sequence[Country], sizes: Sequence[int], people: int) -> dict[str, Any]:
    """Return all figures of the comparison, for the report."""
    report: dict[str, Any] = {
        "seeds": [each.seed for each in countries],
        "people": people,
        "source": countries[0].towns.source,
        "k": K,
        "cells": {name: round(side_of(share), 1) for name, share in CELLS.items()},
        "apart": [_apart(distance) for distance in APART],
        "sizes": [],
    }
    for size in sizes:
        got: dict[tuple[str, Crowd], list[Array]] = {}
        spent: list[dict[str, float]] = []
        for country in countries:
            market = Market(country, size)
            signals = country.signals(country.people("towns", 200))
            question = float(np.mean([*map(market.question_bytes, signals)]))
            rows = market.some_of_bytes(WEEK * QUESTIONS * question)
            spent.append(bytes_a_day(market, question))
            spent[-1]["list"] = market.list_bytes(rows) / WEEK
            for crowd in CROWDS:
                for way, extra in ways(market, crowd, people, rows):
                    got.setdefault((way, crowd), []).append(extra)
                    print(f"{size:,}, seed {country.seed}, {crowd}, {way}", flush=True)
        report["sizes"].append({"items": size, "held": len(rows), "ways": _ways(got, spent)})
    return report


def _apart(distance: float) -> dict[str, Any]:
    epsilon = float(HexagonalLattice.for_epsilon(LEVELS["town"]).epsilon)
    cells = {name: told_apart(side_of(share), distance) for name, share in CELLS.items()}
    return {"km": distance, "odds": round(exp(epsilon * distance), 2), "cells": cells}


def _ways(
    got: dict[tuple[str, Crowd], list[Array]], spent: Sequence[dict[str, float]]
) -> list[dict[str, Any]]:
    rows = []
    for way in spent[0]:
        row: dict[str, Any] = {"way": way, "bytes": round(np.mean([each[way] for each in spent]))}
        for crowd in CROWDS:
            extra = np.concatenate(got[way, crowd])
            row[crowd] = {
                "extra": rounded(mean_with_error(extra)),
                "none": round(float(np.isnan(extra).mean()), 4),
            }
        rows.append(row)
    return rows


def curve(country: Country, items: int, people: int) -> dict[str, dict[str, list[float]]]:
    """Return the mean extra of townspeople for each of KS: of each level's signal and each cell."""
    market = Market(country, items)
    homes = country.people("towns", people)
    signals = {level: country.signals(homes, level) for level in LEVELS}
    asked: dict[str, tuple[list[Signal], NearRule]] = {
        f"signal, {level}": (signals[level], market.served) for level in LEVELS
    }
    for name, share in CELLS.items():
        frame = CellFrame(country, side_of(share))
        centers = exact(signals["town"][0], frame.centers(homes))
        asked[f"cell {name}, spread"] = (centers, market.spread(frame))
    lines: dict[str, dict[str, list[float]]] = {}
    for way, (sent, rule) in asked.items():
        estimates = [mean_with_error(market.asked(homes, sent, rule, k)) for k in KS]
        lines[way] = {
            "extra": [round(each.mean, 4) for each in estimates],
            "error": [round(each.error, 4) for each in estimates],
        }
        print(way, lines[way]["extra"], flush=True)
    return lines


def example(country: Country, home: Position, items: int) -> dict[str, Any]:
    """Return one question and its answer, for README: of nine draws with bits of the kernel the one
    whose distance from home is the median.
    """
    market = Market(country, items)
    here = np.array([[home.latitude, home.longitude]])
    noise = MapNoise.in_region(LEVELS["town"], country.region)
    signals = [Signal(ANY_SPACE, noise, noise.perturb(home, country.region)) for _ in range(9)]
    sent = np.array([signal.values for signal in signals]) / MICRODEGREES
    moved = np.linalg.norm(market.points(sent) - market.points(here), axis=1)
    signal = signals[int(np.argsort(moved)[4])]
    rows = market.served.choose(signal, K)
    away = np.linalg.norm(market.index.points[rows] - market.points(here), axis=1)
    order = np.argsort(np.where(market.free[rows], away, np.inf))
    extra = market.beyond(here, rows[order[:1]])
    return {
        "home": [home.latitude, home.longitude],
        "sent": [round(each / MICRODEGREES, 4) for each in signal.values],
        "epsilon": float(noise.epsilon),
        "cosine": noise.cosine / COSINE_PARTS,
        "results": market.places.coordinates[rows[order]].tolist(),
        "pick": market.places.titles.take(rows[order[:1]])[0],
        "km": round(float(away[order[0]]), 2),
        "extra": round(float(extra[0]), 2),
    }
