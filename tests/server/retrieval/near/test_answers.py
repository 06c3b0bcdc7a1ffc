"""A server of collections: the right collection, whole items in order of id, live values."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from near_world import INLAND, places, signal_at

from askew.catalog.attributes import Numbers, Titles, Words
from askew.catalog.item import Attribute, AttributeKind
from askew.protocol.cards import CollectionCard, MetricCard, Want
from askew.protocol.cards import MetricRuleKind as Kind
from askew.protocol.collection import Collection
from askew.protocol.signal import Query
from askew.spaces.map import MapNoise, MapSpace
from askew_server.collections.model import MetricModel, Towns
from askew_server.retrieval.answers import MetricAnswers

KIND = Attribute("kind", AttributeKind.CATEGORY)
PRICE = Attribute("price", AttributeKind.NUMBER, live=True, unit="euro")
SIGNAL = signal_at(49.0, 9.0, MapNoise.in_region(Fraction(277, 1000), INLAND))


def made_collection(name: str, count: int, seed: int) -> Collection:
    rng = np.random.default_rng(seed)
    card = CollectionCard(name, f"{seed:032x}", count, "made up", True, (KIND, PRICE), number=seed)
    kinds = Words(rng.integers(0, 3, count).astype(np.int32), ("cafe", "bakery", "bar"))
    prices = Numbers(rng.random(count).astype(np.float32))
    titles = Titles.of([f"{name} {number}" for number in range(count)])
    return Collection(card, places(INLAND, count, seed), titles, (kinds, prices))


def made_model(kind: Kind, towns: Towns | None = None) -> MetricModel:
    held = [made_collection("food", 500, 1), made_collection("pharmacies", 60, 2)]
    cards = tuple(each.card for each in held)
    card = MetricCard(MapSpace(INLAND), cards, 60, kind)
    return MetricModel(card, {each.card.name: each for each in held}, towns)


@pytest.mark.parametrize("kind", [Kind.NEAREST, Kind.CODEBOOK, Kind.ITEMS, Kind.POSTERIOR])
def test_a_question_is_answered_from_its_collection_with_whole_items(kind: Kind) -> None:
    model = made_model(kind, Towns(np.array([[49.0, 9.0]]), np.array([1e5]), "made up"))
    answers = MetricAnswers(model)
    for name, k in [("food", 20), ("pharmacies", 60)]:
        slate = answers.answer(Query(SIGNAL, k, model.card.asked_number(name)))
        collection = model.collections[name]
        assert slate.catalog_version == collection.card.version
        assert len(slate.item_ids) == k
        assert slate.listings == collection.listings(slate.item_ids)
        for listing in slate.listings:
            collection.card.check(listing, MapSpace(INLAND))


def test_slates_hold_what_a_collections_card_says_that_people_want() -> None:
    """Planted bug: wants of a card that no rule reads."""
    model = made_model(Kind.ITEMS)
    food = model.collections["food"]
    rare = Words(np.r_[np.full(5, 3), np.zeros(495)].astype(np.int32), ("cafe", "a", "b", "bar"))
    counts = []
    for wants in ((), (Want("kind", 0.2, "bar"),)):
        card = replace(food.card, wants=wants)
        held = replace(food, card=card, columns=(rare, food.columns[1]))
        answers = MetricAnswers(replace(model, collections={**model.collections, "food": held}))
        slate = answers.answer(Query(SIGNAL, 8, 1))
        counts.append(sum(listing.values[0] == "bar" for listing in slate.listings))
    assert counts[0] == 0 < counts[1]


def test_wants_of_live_values_follow_them() -> None:
    """Other items are cheap after an update, and say so. Planted bug: prices of the start."""
    model = made_model(Kind.ITEMS)
    food = model.collections["food"]
    card = replace(food.card, wants=(Want("price", 0.5, rate=10.0),))
    model = replace(model, collections={**model.collections, "food": replace(food, card=card)})
    answers = MetricAnswers(model)
    for turn in (3, 8):
        cheap = np.arange(500) % 100 == turn
        live = {"food": {"price": Numbers(np.where(cheap, 0, 50).astype(np.float32))}}
        slate = answers.with_live(model.with_live(live)).answer(Query(SIGNAL, 8, 1))
        prices = [listing.values[1] for listing in slate.listings]
        assert prices == np.where(cheap[list(slate.item_ids)], 0, 50).tolist()
        assert 0 in prices
