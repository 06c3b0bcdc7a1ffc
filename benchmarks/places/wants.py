"""What the rules of a map are worth to people, who may care about more than distance.

People and items are SIMULATED in a country of real towns (`country`). An item is of one of eight
kinds, has a price that its kind makes likely, and each of twelve flags by chance; the wants of the
collection are those by default, of prices and 20 flags and kinds, or of prices and one flag. Rules
are judged by people who want only a near item; who give half a kilometer for a EUR; who accept only
items with a flag of 5 % that has a want; and with a flag of 5 % that has none. Extra is how much
worse the best of k results is than the best of all items; none, how often no result passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.places.country import CROWDS, Array, Country, Ids, rounded
from scipy.spatial import cKDTree

from askew.catalog.attributes import Column, Flags, Numbers, Words
from askew.catalog.item import Attribute, AttributeKind
from askew.protocol.cards import MetricRuleKind, Want
from askew_server.collections.model import default_wants
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.index import MetricIndex
from askew_server.retrieval.rules import NearRule
from askew_server.retrieval.wants import Wants
from askew_server.taste.measures import mean_with_error

_SHARES = (0.05, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
_KINDS = ((0.3, 17), (0.2, 15), (0.15, 9), (0.1, 5), (0.1, 12), (0.07, 16), (0.05, 14), (0.03, 21))
_RATE = 0.5  # kilometers a EUR


class Fair:
    """n items of a country with what people may care about; SIMULATED, deterministic."""

    def __init__(self, country: Country, n: int) -> None:
        rng = np.random.default_rng([country.seed, n, 1])
        self.country, self.items = country, country.items(n)
        self.index = MetricIndex(country.space, self.items)
        self.flags = [rng.random(n) < share for share in _SHARES]
        self.outside = rng.random(n) < _SHARES[0]
        odds, prices = np.array(_KINDS).T
        kind = rng.choice(len(odds), n, p=odds)
        price = np.round(2 * prices[kind] * np.exp(0.25 * rng.standard_normal(n))) / 2
        self.price = price.astype(np.float32)
        names = tuple([f"kind {number}" for number in range(len(odds))])
        self.columns: dict[Attribute, Column] = {
            Attribute("price", AttributeKind.NUMBER, unit="EUR"): Numbers(self.price),
            Attribute("kind", AttributeKind.CATEGORY, words=names): Words(
                kind.astype(np.int32), names
            ),
        }
        for number, flag in enumerate(self.flags):
            attribute = Attribute(f"flag {number}", AttributeKind.FLAG)
            self.columns[attribute] = Flags(flag.astype(np.int8))

    def rules(self) -> Iterator[tuple[str, NearRule]]:
        """Yield the k nearest, the plain codebook, and what is served with more and more wants."""
        for kind in (MetricRuleKind.NEAREST, MetricRuleKind.CODEBOOK):
            yield kind, near_rule_of(kind, self.index)
        every = default_wants([*self.columns], [*self.columns.values()])
        rates = [each for each in every if not each.word]
        density = self.country.density(self.index, self.items)
        columns = {each.name: column for each, column in self.columns.items()}
        served: list[tuple[str, Sequence[Want]]] = [
            (NONE, ()),
            (ONE, [*rates, Want("flag 0", 0.2, "yes")]),
            (TWENTY, every),
        ]
        for name, wanted in served:
            wants = Wants(self.index, wanted, columns)
            yield (
                name,
                near_rule_of(MetricRuleKind.POSTERIOR, self.index, density, wants, served=True),
            )

    def extra(self, people: Array, answers: Sequence[Ids]) -> dict[str, Array]:
        """Return by wish how much worse than the best of all items the best result of people at
        points (n, 3) is, nan where none passes.
        """
        best = self._best(people)
        cost = {wish: np.full(len(people), np.nan) for wish in best}
        for number, (person, rows) in enumerate(zip(people, answers, strict=True)):
            away = np.linalg.norm(self.index.points[rows] - person, axis=1)
            cost[PLAIN][number] = away.min()
            cost[PAID][number] = (away + _RATE * self.price[rows]).min()
            for wish, flag in ((INSIDE, self.flags[0]), (OUTSIDE, self.outside)):
                cost[wish][number] = away[flag[rows]].min(initial=np.inf)
        extra = {wish: cost[wish] - best[wish] for wish in best}
        return {wish: np.where(np.isinf(more), np.nan, more) for wish, more in extra.items()}

    def _best(self, people: Array) -> dict[str, Array]:
        def nearest(rows: Ids) -> tuple[Array, Ids]:
            away, at = cKDTree(self.index.points[rows]).query(people)
            return np.asarray(away), rows[at]

        every = np.arange(len(self.items))
        paid = np.full(len(people), np.inf)
        for price in np.unique(self.price):  # the best of all is the nearest at its price or less
            away, rows = nearest(every[self.price <= price])
            paid = np.minimum(paid, away + _RATE * self.price[rows])
        return {
            PLAIN: nearest(every)[0],
            PAID: paid,
            INSIDE: nearest(np.flatnonzero(self.flags[0]))[0],
            OUTSIDE: nearest(np.flatnonzero(self.outside))[0],
        }


PLAIN, PAID, INSIDE, OUTSIDE = "km", "km + .5 EUR", "5 % flag", "flag outside"
NONE, ONE, TWENTY = "served, no wants", "served, one flag", "served, 20 wants"


def measured(country: Country, n_items: int, n_people: int, ks: Sequence[int]) -> dict[str, Any]:
    """Return a cell for each crowd, k, rule and wish, for the report."""
    fair, cells = Fair(country, n_items), []
    rules = [*fair.rules()]
    for crowd in CROWDS:
        people = country.people(crowd, n_people)
        signals = country.signals(people)
        points = fair.index.frame.tree(fair.index.frame.grid(people.copy()))
        for k in ks:
            for name, rule in rules:
                answers = [rule.choose(signal, k) for signal in signals]
                for wish, extra in fair.extra(points, answers).items():
                    cell = {"crowd": crowd, "k": k, "rule": str(name), "wish": wish}
                    none = round(float(np.isnan(extra).mean()), 4)
                    cells.append(cell | {"extra": rounded(mean_with_error(extra)), "none": none})
                print(f"{crowd}, k = {k}, {name}", flush=True)
    about = {"people": n_people, "items": n_items, "seed": country.seed}
    return about | {"cells": cells}
