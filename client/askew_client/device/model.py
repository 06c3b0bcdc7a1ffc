"""What a connected server serves, with what the device makes of it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.catalog.titles import TitleIndex
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.spaces.item_codes import decode, decode_boosts, encode, encode_boosts
from askew.spaces.vectors import RatingScale
from askew_client.profile.document import Liking, ProfileDocument, ReceivedItem, ReceivedItems
from askew_client.profile.title_search import TitleSearch
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import Guard
from askew_client.taste.exchange import Exchange
from askew_client.transport.protocol import CachedCatalog
from askew_client.views.answers import Connection


@dataclass(frozen=True, eq=False)
class Model:
    """A card and what the device knows of its catalog, and each item's part of a point.

    catalog_date: the Monday of what is held. n_held, size: how many items those are, the first
    ones, and their bytes; behind them stand items that were met in answers, and `alone` is the
    model without those. An item with the label of one that is held is taken for it. Public.
    """

    card: ModelCard
    catalog: Catalog
    connection: Connection
    index: TitleIndex = field(repr=False)
    contributions: NDArray[np.float64] = field(repr=False)
    catalog_date: int
    n_held: int
    size: int
    alone: Model | None = None

    @classmethod
    def of(cls, held: CachedCatalog) -> Self:
        """Return the model of what a device holds of a server, for any profile: no received items
        are in it, and `alone` is None.
        """
        card, catalog = held.card, held.catalog
        return cls(
            card,
            catalog,
            connection_of(card, catalog),
            TitleIndex(catalog.items),
            card.space.encoder.contributions(catalog.vectors),
            held.catalog_date,
            len(catalog),
            held.size,
        )

    @cached_property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """Return for each coordinate two labels, "Alien (1979)": the held items with the lowest and
        with the highest score along it. The same for everybody; made once, not with every rating.
        """
        return self.alone.ends if self.alone else ends_of(self.card, self.catalog)

    @cached_property
    def search(self) -> TitleSearch:
        """Return the search over the labels of all items of this model, held and received; made at
        its first use.
        """
        if self.alone is None:
            return TitleSearch(self.catalog.items)
        return self.alone.search.with_more(self.catalog.items[len(self.alone.catalog) :])

    def with_received(self, received: ReceivedItems) -> Model:
        """Return a model with the received items whose labels this one lacks, behind its own; this
        very model where there are none, or they are of another space. Nothing is made again of what
        is held: its columns are copied, a few bytes an item.
        """
        new = [each for each in received.items if self.index.of_label(each.item.label) is None]
        if received.space_version != self.card.space.version or not new:
            return self
        space = self.card.space
        vectors = decode(b"".join([each.codes for each in new]), space.scales, len(new))
        boosts = decode_boosts(bytes(each.boost for each in new))
        items = tuple([each.item for each in new])
        catalog = self.catalog.joined(Catalog(items, vectors, boosts, ()))
        more = space.encoder.contributions(vectors)
        return replace(
            self,
            catalog=catalog,
            index=self.index.with_more(items),
            contributions=np.concatenate([self.contributions, more]),
            alone=self,
        )

    def exchange(
        self, document: ProfileDocument, settings: ClientSettings, guard: Guard | None = None
    ) -> Exchange:
        """Return the exchange of a person with this model: their settings, and the ratings of the
        document whose titles this catalog knows. guard: None makes one. Raises ConnectionOpen.
        """
        guard = guard or Guard()
        with guard.private():
            ratings, unused = ratings_of(document.likings(), self.index, self.card.space.scale)
        catalog, parts, n_held = self.catalog, self.contributions, self.n_held
        return Exchange(
            self.card, catalog, settings, ratings, parts, self.catalog_date, n_held, unused, guard
        )

    def received_in(self, slate: Slate) -> tuple[ReceivedItem, ...]:
        """Return the items of an answer that the device does not hold (ids from n_held on), in the
        answer's order; () where it holds all.
        """
        new = [at for at, item in enumerate(slate.item_ids) if item >= self.n_held]
        codes = encode(slate.vectors[new], self.card.space.scales)
        boosts = encode_boosts(slate.boosts[new])
        rows = zip(new, codes, boosts, strict=True)
        return tuple(
            ReceivedItem(slate.items[at], code.tobytes(), boost) for at, code, boost in rows
        )

    def places_of(self, slate: Slate) -> tuple[int, ...]:
        """Return the index in this catalog of each item of an answer, in the answer's order. Raises
        LookupError for an item that this model neither holds nor has received.
        """
        return tuple(
            item if item < self.n_held else self._place_of(slate.items[at])
            for at, item in enumerate(slate.item_ids)
        )

    def _place_of(self, item: Item) -> int:
        place = self.index.of_label(item.label)
        if place is None:
            raise LookupError("an item of an answer was not met")
        return place


def connection_of(card: ModelCard, catalog: Catalog) -> Connection:
    """Return what a server says of itself, for the screens: source, sizes, versions, rating scale,
    and the axes of a map.
    """
    return Connection(
        source=card.source,
        simulated=card.simulated,
        n_items=card.n_items,
        dimension=card.space.dimension,
        map_axes=map_axes_of(card, catalog),
        diameter=float(card.space.diameter),
        space_version=card.space.version,
        catalog_version=card.catalog_version,
        lowest_rating=card.space.scale.lowest,
        highest_rating=card.space.scale.highest,
    )


def map_axes_of(card: ModelCard, catalog: Catalog) -> tuple[int, ...]:
    """Return the indexes of the two coordinates along which the catalog's items score most
    differently (by standard deviation), ascending; of a space with one coordinate, (0,).

    By the card and the catalog alone, so a map is the same for everybody and says nothing of whom
    it is for.
    """
    scores = (catalog.vectors @ card.space.encoder.directions) * catalog.boosts[:, None]
    spread = scores.std(axis=0)  # (d,)
    return tuple(sorted(np.argsort(-spread, kind="stable")[:2].tolist()))


def ratings_of(
    likings: Mapping[str, Liking], known: TitleIndex, scale: RatingScale
) -> tuple[dict[int, float], int]:
    """Return the ratings {item id: rating} of the titles that `known` has, on its server's scale,
    and the number of titles that it does not have.

    likings are by `title_key`. A like is the best rating of the scale; a number beyond the scale is
    its nearest end; a title that the catalog lacks is skipped.
    """
    rated = [(known.get(key), liking) for key, liking in likings.items()]
    found = {
        item: scale.highest if liking is None else min(max(liking, scale.lowest), scale.highest)
        for item, liking in rated
        if item is not None
    }
    return found, sum(item is None for item, _ in rated)


def ends_of(card: ModelCard, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """Return for each coordinate two labels: of the items with the lowest and with the highest
    score.

    By the card and the catalog alone, so the names are the same for everybody. Ties go to the lower
    id. O(n_items D d).
    """
    scores = catalog.scoring @ card.space.encoder.directions  # (n_items, d)
    ends = zip(scores.argmin(axis=0), scores.argmax(axis=0), strict=True)
    return tuple((catalog.items[low].label, catalog.items[high].label) for low, high in ends)
