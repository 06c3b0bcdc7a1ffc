"""What the rules of a map are worth to people who want only a near item: extra kilometers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from benchmarks.places.country import CROWDS, Country
from scipy.spatial import cKDTree

from askew.protocol.metric_card import MetricRuleKind
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.index import MetricIndex
from askew_server.retrieval.rules import NearRule
from askew_server.taste.measures import mean_with_error

KS: Final = (5, 20, 64)
SERVED: Final = "served"  # by a server whose rule is `posterior`


def measured(country: Country, n_items: int, n_people: int) -> dict[str, Any]:
    """Return the mean extra distance by crowd, k and rule, for the report. Extra: how much farther
    the best of k results is than the nearest item.
    """
    items = country.items(n_items)
    index = MetricIndex(country.space, items)
    rules: dict[str, NearRule] = {
        kind: near_rule_of(kind, index)
        for kind in (MetricRuleKind.NEAREST, MetricRuleKind.CODEBOOK, MetricRuleKind.ITEMS)
    }
    density = country.density(index, items)
    rules[SERVED] = near_rule_of(MetricRuleKind.POSTERIOR, index, density, served=True)
    cells = []
    for crowd in CROWDS:
        people = country.people(crowd, n_people)
        signals = country.signals(people)
        homes = index.frame.tree(index.frame.grid(people.copy()))
        nearest = cKDTree(index.points).query(homes)[0]
        for k in KS:
            extra = {}
            for name, rule in rules.items():
                slates = np.array([rule.choose(signal, k) for signal in signals])
                away = np.linalg.norm(index.points[slates] - homes[:, None], axis=2).min(axis=1)
                extra[name] = away - nearest
                print(f"{crowd}, k = {k}, {name}: {extra[name].mean():.2f} km", flush=True)
            over = {f"{SERVED} less codebook": extra[SERVED] - extra["codebook"]}
            cells += [
                {"crowd": crowd, "k": k, "rule": str(name), "extra": rounded(mean_with_error(each))}
                for name, each in (extra | over).items()
            ]
    about = {"people": n_people, "seed": country.seed, "items": n_items}
    return about | {"cells": cells}


def rounded(estimate: Any) -> list[float]:
    """Return the mean and its standard error, to four digits."""
    return [round(float(estimate.mean), 4), round(float(estimate.error), 4)]
