"""A reply of items of tastes, of what their held file says, is what their slate would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_world import made_card, made_catalog, made_encoder, made_space

from askew.catalog.catalog import Catalog
from askew.catalog.packed_items import PackedItems
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.wire import convert
from askew.wire.held import held_to_bytes
from askew_server.serving.retrieval import SlateReplies

N = 300


def world(ranking: int) -> tuple[ModelCard, Catalog]:
    """Items that all differ, in vectors and in boosts."""
    rows = np.random.default_rng(ranking).integers(-8, 8, size=(N, ranking)) / 4
    boosts = [2.0 ** (i % 11 - 5) for i in range(N)]
    catalog = made_catalog([tuple(row) for row in rows.tolist()], tuple(range(64)), boosts)
    return made_card(made_space(made_encoder(2, ranking)), catalog, 64), catalog


@pytest.mark.parametrize("ranking", [2, 3, 32])
def test_of_any_items_with_and_without_payloads(ranking: int) -> None:
    """Planted bugs: codes of the item beside; boosts that end where codes begin, tag and all."""
    card, catalog = world(ranking)
    replies = SlateReplies(card, catalog, held_to_bytes(card, catalog))
    for items in [(0,), (N - 1,), (0, 1, N - 1), tuple(range(3, 67)), tuple(range(N))]:
        for payloads in [(), tuple([b"%d" % item * item for item in items])]:
            expected = convert.slate_to_bytes(Slate.of_catalog(catalog, items, payloads), card)
            assert replies.reply(items, payloads) == expected


def test_of_items_in_columns() -> None:
    card, catalog = world(3)
    packed = replace(catalog, items=PackedItems.of(catalog.items))
    expected = convert.slate_to_bytes(Slate.of_catalog(catalog, (2, 5)), card)
    assert SlateReplies(card, packed, held_to_bytes(card, catalog)).reply((2, 5)) == expected
