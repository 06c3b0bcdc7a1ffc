"""The demo's metric model: simulated places around the embedded towns, made in under a second."""

from __future__ import annotations

from typing import Final

from askew.metric.map_space import MapSpace
from askew.metric.region import Region
from askew.metric_card import MetricCard, MetricRule
from askew.rule_kind import MetricRuleKind
from askew_server.collections.model import MetricModel
from askew_server.demo.places import pharmacies, places_to_eat
from askew_server.demo.towns import german_towns

GERMANY: Final = Region(47.1, 5.5, 55.4, 15.4)
N_TO_EAT, N_PHARMACIES = 30_000, 6_000
LARGE = 5_000  # people: what the server knows of who lives where is coarser than where they do
MAX_SLATE_SIZE = 64


def places_model() -> MetricModel:
    """Deterministic; the cards say that nobody can eat there."""
    towns = german_towns()
    density = towns.of_at_least(LARGE).towns
    made = (
        places_to_eat(N_TO_EAT, towns.towns, GERMANY),
        pharmacies(N_PHARMACIES, towns.towns, GERMANY),
    )
    card = MetricCard(
        space=MapSpace(GERMANY),
        collections=tuple([each.card for each in made]),
        max_slate_size=MAX_SLATE_SIZE,
        rule=MetricRule(MetricRuleKind.POSTERIOR, density.source),
    )
    return MetricModel(card, {each.card.name: each for each in made}, density)
