"""The server's role: k distinct items for a signal, and nothing but the signal decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from small_world import made_card, made_catalog, made_encoder, made_space

from askew import offset_rule
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Query, Signal
from askew_server.retrieval import snapshot
from askew_server.retrieval.snapshot import Retriever

HALF = LatticeLaplace(9, 1024)  # epsilon 1/2, step 1/512


def retriever_of(vectors: Sequence[tuple[float, ...]], held: int = 0) -> Retriever:
    """Points of a square of width 8; ranks are linear from -8 to 8, directions the first axes.
    held: items that every device has.
    """
    encoder = made_encoder(d=2, ranking=2, width=8.0, unit=8.0)
    catalog = made_catalog(vectors, tuple(range(held, len(vectors)))[::-1])
    card = made_card(made_space(encoder), catalog, min(len(vectors) - held, 64))
    return Retriever(replace(card, n_default=held or len(vectors)), catalog)


def query_at(retriever: Retriever, at: tuple[float, float], k: int) -> Query:
    values = tuple(round(x / HALF.step) for x in at)
    return Query(Signal(retriever.card.space.version, HALF, values), k)


MORE = [(1.0, i / 4000) for i in range(4000)]
MANY = [(float(x), float(y)) for x, y in np.random.default_rng(4).normal(size=(12, 2))]


@pytest.mark.parametrize("held", [0, 4])
def test_an_answer_is_k_distinct_items_with_their_vectors_that_not_every_device_has(
    held: int,
) -> None:
    """Planted bug: what is held is forgotten."""
    retriever = retriever_of(MANY, held)
    for k in (1, 2, 5, 8):
        for point in np.random.default_rng(k).normal(4, 4, size=(20, 2)):
            slate = retriever.answer(query_at(retriever, (point[0], point[1]), k))
            assert sorted(set(slate.item_ids)) == list(slate.item_ids)
            assert (len(slate.item_ids), min(slate.item_ids) >= held) == (k, True)
            expected = retriever.catalog.scoring[list(slate.item_ids)]
            np.testing.assert_array_equal(expected, slate.vectors)


def test_the_answer_depends_on_the_signal_only() -> None:
    """Not on questions before it, by the same device or another, nor on which server answers."""
    used, fresh = retriever_of(MANY), retriever_of(MANY)
    places = [(float(x), float(y)) for x, y in np.random.default_rng(3).uniform(0, 8, (30, 2))]
    for k in (1, 2, 5):  # other questions first, one of them of the same k and other noise
        signal = Signal(used.card.space.version, LatticeLaplace(12, 1024), (0, 0))
        used.answer(Query(signal, k))
    first = [used.answer(query_at(used, at, 5)).item_ids for at in places]
    again = [used.answer(query_at(used, at, 5)).item_ids for at in reversed(places)]
    elsewhere = [fresh.answer(query_at(fresh, at, 5)).item_ids for at in places]
    assert first == again[::-1] == elsewhere
    assert len(set(first)) > 1


def test_all_that_answers_need_is_made_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its time would tell that nobody has asked for as many. Planted bugs: offsets are placed by
    the first who asks.
    """
    offset_rule._placed.cache_clear()
    retriever = retriever_of(MANY)
    monkeypatch.setattr(offset_rule, "offsets_of", pytest.fail)
    for k in range(1, 13):
        assert len(retriever.answer(query_at(retriever, (3, 5), k)).items) == k


def test_an_answer_takes_the_places_that_it_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: a place, whatever is asked; none, however many items are looked at; a large
    catalog takes no more than a small one.
    """
    few, many = retriever_of(MANY), retriever_of(MORE)
    sizes = (1, 4, 5, 15, 16, 64)
    assert [few.slots(query_at(few, (0, 0), k)) for k in sizes] == [0, 0, 0, 0, 0, 5]
    assert [many.slots(query_at(many, (0, 0), k)) for k in sizes] == [0, 0, 0, 1, 2, 5]
    monkeypatch.setattr(snapshot, "_SLOT", 1 << 16)
    assert [many.slots(query_at(many, (0, 0), k)) for k in sizes] == [0, 0, 0, 3, 3, 12]
