"""Items that were met stand behind those that are held, which nobody looks at again for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from client.conftest import VECTORS, made_retriever, space_of_width

from askew.catalog.catalog import Catalog, ItemColumns
from askew.catalog.item import Item
from askew.protocol.ranking import Slate
from askew.spaces.item_codes import CodedVectors, encode
from askew_client.catalog.cache import CachedCatalog
from askew_client.device.model import Model
from askew_client.profile.document import ProfileDocument, ReceivedItem, ReceivedItems
from askew_client.settings.settings import ClientSettings

N_HELD, MORE = 8, 3000
SETTINGS = ClientSettings(mode="ask", k=4, max_ratings_apart=32.0)


class Vectors(CodedVectors):
    """Vectors that count how many are made."""

    made = 0

    def __getitem__(self, rows: Any) -> Any:
        found = super().__getitem__(rows)
        self.made += len(np.atleast_2d(found))
        return found


@pytest.fixture
def whole() -> Catalog:
    """All films, the first of which are held, with many more before the last ones."""
    made = made_retriever(space_of_width(), VECTORS).catalog
    items = [*made.items[:N_HELD], *(Item(f"More {at}") for at in range(MORE))]
    vectors = np.concatenate([made.vectors[:N_HELD], np.full((MORE, 2), 0.25, np.float32)])
    return Catalog(
        (*items, *made.items[N_HELD:], Item("The Film 3", 1963)),
        np.concatenate([vectors, made.vectors[N_HELD:], made.vectors[:1]]),
        np.ones(len(items) + 13 - N_HELD, np.float32),
        (4, 2),
    )


def model_of(catalog: Catalog, n_held: int) -> Model:
    card, scales = made_retriever(space_of_width(), VECTORS).card, space_of_width().scales
    codes = encode(catalog.vectors[:n_held], scales)
    held = Catalog(
        ItemColumns.of(catalog.items[:n_held]),
        cast("Any", Vectors(codes, scales)),
        catalog.boosts[:n_held],
        catalog.shared_slate,
    )
    card = replace(card, n_items=len(catalog), n_default=N_HELD + MORE)
    return Model.of(CachedCatalog(card, held, 1, 40))


def received_of(model: Model, catalog: Catalog, *ids: int) -> ReceivedItems:
    received: tuple[ReceivedItem, ...] = model.received_in(Slate.of_catalog(catalog, ids))
    return ReceivedItems(model.card.space.version, received)


def test_a_model_that_met_items_is_the_one_that_holds_them(whole: Catalog) -> None:
    """Planted bugs: what was met without its contributions; found by no search; in front."""
    model, every = model_of(whole, N_HELD + MORE), model_of(whole, len(whole))
    ids = range(N_HELD + MORE, len(whole))
    grown = model.with_received(received_of(model, whole, *ids))
    ratings = dict.fromkeys(["Film 9 (1969)", "Film 2 (1962)", "film 3", "Film 11 (1971)"], 5.0)
    document = ProfileDocument(ratings)
    one, other = (each.exchange(document, SETTINGS) for each in (grown, every))
    assert one.ratings == other.ratings
    assert np.array_equal(one.profile.taste, other.profile.taste)
    assert np.array_equal(one.profile.point, other.profile.point)
    assert one.rank_all(20) == other.rank_all(20)
    for text in ("film", "film 1", "the film 3", "more 29", "(1969)"):
        assert grown.search.places(text, 500) == every.search.places(text, 500)
    assert one.unused == other.unused


def test_what_is_held_is_not_looked_at_again_for_what_was_met(
    whole: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the search, the index or the vectors made again of all: by the seconds that
    takes, whoever waits for a call would be told whether anything was met.
    """
    model = model_of(whole, N_HELD + MORE)
    received = received_of(model, whole, *range(N_HELD + MORE, len(whole)))
    assert model.search.places("film 11", 5) == []  # the person typed before
    looked: list[int] = []
    some = ItemColumns._some

    def counted(columns: ItemColumns, first: int, last: int) -> Iterator[Item]:
        looked.append(last - first)
        return some(columns, first, last)

    monkeypatch.setattr(ItemColumns, "_some", counted)
    vectors = cast("Vectors", model.catalog.vectors)
    vectors.made = 0
    grown = model.with_received(received)
    assert grown.search.places("film 11", 5) == [len(whole) - 2]
    assert grown.exchange(ProfileDocument({"Film 11 (1971)": 5.0}), SETTINGS).ratings
    assert sum(looked) < 30
    assert vectors.made == 0


def test_the_ends_of_bars_are_of_what_everybody_holds(whole: Catalog) -> None:
    """Planted bug: an item that one person met names the end of a bar."""
    model = model_of(whole, N_HELD)
    grown = model.with_received(
        received_of(model, whole, len(whole) - 2)
    )  # beyond all that are held
    assert grown.ends == model.ends
    assert "Film 11 (1971)" not in {label for ends in grown.ends for label in ends}
