"""Filters rarely empty a slate: some of the people for whom it is chosen want one kind only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from near_world import INLAND, noisy, places

from askew.protocol.rule_kind import MetricRuleKind as Kind
from askew.spaces.map import MapNoise, MapSpace
from askew_server.retrieval.near import Kinds, MetricIndex, served_rule_of

TOWN = Fraction(277, 1000)
SHARES = np.array([0.5, 0.25, 0.15, 0.1])
ITEMS = places(INLAND, 20_000)
CODES = np.random.default_rng(2).choice(4, len(ITEMS), p=SHARES).astype(np.int32)


def missing(kinds: Kinds | None, index: MetricIndex) -> float:
    """How often a slate of 12 lacks a kind."""
    rule = served_rule_of(Kind.ITEMS, index, kinds=kinds)
    signals = noisy(INLAND, places(INLAND, 60, seed=3), TOWN)
    return float(np.mean([len(set(CODES[rule.choose(s, 12)])) < 4 for s in signals]))


def test_slates_hold_every_common_kind() -> None:
    """Planted bug: nobody wants one kind only."""
    index = MetricIndex(MapSpace(INLAND), ITEMS)
    assert missing(None, index) > 0.2
    assert missing(Kinds(index, CODES), index) < 0.05


def test_people_find_the_nearest_item_that_they_accept() -> None:
    index = MetricIndex(MapSpace(INLAND), ITEMS)
    kinds = Kinds(index, CODES)
    homes = index.frame.grid(places(INLAND, 256, seed=4))
    wanted = kinds.nearest(homes)
    refused = kinds.refused(np.arange(len(ITEMS)))
    away = index.distances(np.arange(len(ITEMS)), homes)
    expected = np.where(refused, np.inf, away).min(axis=1)
    np.testing.assert_allclose(away[np.arange(256), wanted], expected, atol=1e-3)


def test_a_quarter_of_the_people_want_one_kind_by_the_shares() -> None:
    index = MetricIndex(MapSpace(INLAND), ITEMS)
    refused = Kinds(index, CODES).refused(
        np.array([np.flatnonzero(c == CODES)[0] for c in range(4)])
    )
    wishing = refused.any(axis=1)
    assert wishing.mean() == pytest.approx(0.25, abs=0.02)
    counts = (~refused[wishing]).mean(axis=0)
    np.testing.assert_allclose(counts, SHARES, atol=0.08)


def test_unknown_kinds_are_nobodys_wish() -> None:
    index = MetricIndex(MapSpace(INLAND), ITEMS)
    kinds = Kinds(index, np.full(len(ITEMS), -1, np.int32))
    assert not kinds.refused(np.arange(5)).any()
    signal = noisy(INLAND, places(INLAND, 1), TOWN)[0]
    plain, same = (served_rule_of(Kind.ITEMS, index, kinds=each) for each in (None, kinds))
    assert plain.choose(signal, 20).tolist() == same.choose(signal, 20).tolist()
    assert isinstance(signal.map_noise, MapNoise)
