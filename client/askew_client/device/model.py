"""What a connected server serves, with what the device makes of it once: the titles, searched by
their words, and one person's taste, from the signal to the ranking. Without I/O.

What a signal costs, and how many results it asks for, the settings say alone: a server's card can
make that none is sent, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item, plain_text, title_key
from askew.catalog.titles import TitleIndex
from askew.dp.privacy import SignalCharge
from askew.errors import Malformed, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.cards import ModelCard
from askew.protocol.ranking import Ranking, Slate, rank_all
from askew.protocol.signal import Signal
from askew.spaces.item_codes import decode, decode_boosts, encode, encode_boosts
from askew.spaces.vectors import Profile, RatingScale, fold_in
from askew_client.catalog.cache import CachedCatalog
from askew_client.profile.document import Liking, ProfileDocument, ReceivedItem, ReceivedItems
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import Guard
from askew_client.views.answers import Connection, Match, Rated


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
        with the highest score along it; ties go to the lower id. The same for everybody.
        """
        if self.alone:
            return self.alone.ends
        catalog, directions = self.catalog, self.card.space.encoder.directions
        scores = catalog.scoring @ directions  # (n_items, d)
        ends = zip(scores.argmin(axis=0), scores.argmax(axis=0), strict=True)
        return tuple((catalog.items[low].label, catalog.items[high].label) for low, high in ends)

    @cached_property
    def search(self) -> TitleSearch:
        """Return the search over the labels of all items of this model, held and received."""
        if self.alone is None:
            return TitleSearch(self.catalog.items)
        return self.alone.search.with_more(self.catalog.items[len(self.alone.catalog) :])

    def with_received(self, received: ReceivedItems) -> Model:
        """Return a model with the received items whose labels this one lacks, behind its own, and
        with this one as `alone`; this very model where there are none, or they are of another
        space. Nothing is made again of what is held: its columns are copied, a few bytes an item.
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
        document whose titles this catalog knows. guard: None makes one. Raises ConnectionOpen while
        a connection of the guard exists.
        """
        guard = guard or Guard()
        with guard.private():
            ratings, unused = ratings_of(document.likings(), self.index, self.card.space.scale)
        return Exchange(self, settings, ratings, unused, guard)

    def received_in(self, slate: Slate) -> tuple[ReceivedItem, ...]:
        """Return a ReceivedItem (item, codes in this space, code of the boost) for each item of an
        answer that the device does not hold (ids from n_held on), in the answer's order; () where
        it holds all.
        """
        new = [at for at, item in enumerate(slate.item_ids) if item >= self.n_held]
        codes = encode(slate.vectors[new], self.card.space.scales)
        boosts = encode_boosts(slate.boosts[new])
        rows = zip(new, codes, boosts, strict=True)
        return tuple(
            ReceivedItem(slate.items[at], code.tobytes(), boost) for at, code, boost in rows
        )

    def places_of(self, slate: Slate) -> tuple[int, ...]:
        """Return the index in this catalog of each item of an answer, in the answer's order: the id
        of one that is held, else the place of its label. Raises LookupError for an item that this
        model neither holds nor has received.
        """
        places = []
        for at, item in enumerate(slate.item_ids):
            place = item if item < self.n_held else self.index.of_label(slate.items[at].label)
            if place is None:
                raise LookupError("an item of an answer was not met")
            places.append(place)
        return tuple(places)


def connection_of(card: ModelCard, catalog: Catalog) -> Connection:
    """Return what a server says of itself, for the screens: whether it is simulated, sizes,
    versions and rating scale, and map_axes, the indexes of the two coordinates along which the
    catalog's items score most differently (by standard deviation), ascending; (0,) of one alone.
    """
    # By the card and the catalog alone, so a map is the same for everybody.
    scores = (catalog.vectors @ card.space.encoder.directions) * catalog.boosts[:, None]
    order = np.argsort(-scores.std(axis=0), kind="stable")
    return Connection(
        simulated=card.simulated,
        n_items=card.n_items,
        dimension=card.space.dimension,
        map_axes=tuple(sorted(order[:2].tolist())),
        space_version=card.space.version,
        catalog_version=card.catalog_version,
        lowest_rating=card.space.scale.lowest,
        highest_rating=card.space.scale.highest,
    )


def ratings_of(
    likings: Mapping[str, Liking], known: TitleIndex, scale: RatingScale
) -> tuple[dict[int, float], int]:
    """Return the ratings {item id: rating} of the titles that `known` has, on its server's scale,
    and the number of titles that it does not have.

    likings are by `title_key`. A like is the best rating of the scale; a number beyond the scale is
    its nearest end; a title that the catalog lacks is skipped; of two titles of one item the later
    counts.
    """
    rated = [(known.get(key), liking) for key, liking in likings.items()]
    found = {
        item: scale.highest if liking is None else min(max(liking, scale.lowest), scale.highest)
        for item, liking in rated
        if item is not None
    }
    return found, sum(item is None for item, _ in rated)


@dataclass(frozen=True, eq=False)
class Exchange:
    """A person, a model and the device's settings.

    Whether it can ask, and what it does until an answer is there, depends on the card and the
    settings alone: any ratings of the catalog's items on its scale make a profile, and so does an
    empty set of ratings. unused: ratings of titles that are not known here. guard: keeps what is
    private apart from open connections; each method that reads the profile raises ConnectionOpen
    while there is one.
    """

    model: Model
    settings: ClientSettings
    ratings: Mapping[int, float] = field(repr=False)
    unused: int = field(default=0, repr=False)
    guard: Guard = field(default_factory=Guard, repr=False)
    profile: Profile = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the profile from the ratings. Raises ProfileError for a rating off scale."""
        vectors, space = self.model.catalog.vectors, self.model.card.space
        with self.guard.private():
            parts = self.model.contributions
            profile = fold_in(self.ratings, vectors, space, contributions=parts)
        object.__setattr__(self, "profile", profile)

    @cached_property
    def mechanism(self) -> LatticeLaplace:
        """Return the law of the noise by which a fresh signal is drawn: `noise_for`."""
        return noise_for(self.model.card, self.settings)

    @property
    def space_version(self) -> str:
        """Return the version of the server's space: a taste's signal cannot belong to the person
        alone.
        """
        return self.model.card.space.version

    @property
    def handle(self) -> str:
        """Return "": a person has one taste, so the ledger needs no handle to find its signal."""
        return ""

    @property
    def charge(self) -> SignalCharge:
        """Return the charge of a fresh signal, SignalCharge(4/5, 0) at epsilon 4/5: the epsilon of
        `noise_for`, of one rating, and 0 per kilometer. Raises its ParameterError.
        """
        return self.mechanism.charge

    @property
    def k(self) -> int:
        """Return how many results a question asks for: the setting k."""
        return self.settings.k

    def check(self, signal: Signal) -> None:
        """Raise DimensionMismatch unless the signal has as many numbers as the space, OutOfRange
        for a map's (both are WireErrors); else return None.
        """
        signal.check(self.model.card.space.dimension)

    def perturb(self, bits: RandomBits) -> Signal:
        """Draw and return a noisy signal of the profile's point in the model's space, neither
        charged nor stored. Raises ParameterError as `noise_for`, and ConnectionOpen while a
        connection exists.
        """
        noise, profile = self.mechanism, self.profile
        with self.guard.private():
            values = noise.perturb(profile.point, bits)
        return Signal(self.model.card.space.version, noise, values)

    def check_slate(self, slate: Slate) -> None:
        """Raise Malformed for a slate whose row of scoring numbers for an item that the device
        holds is another than the catalog's; else return None.
        """
        n_held = self.model.n_held
        held = [(at, item) for at, item in enumerate(slate.item_ids) if item < n_held]
        rows, items = [at for at, _ in held], [item for _, item in held]
        if not np.array_equal(slate.scoring[rows], self.model.catalog.scoring[items]):
            raise Malformed("the answer scores items in another way than the catalog does")

    def rank_all(self, count: int) -> Ranking:
        """Return the best `count` (all, if fewer) of the items that the device holds or received,
        by the true profile: unrated ones first, then rated ones, the best of both first, ties by
        index; without a taste the catalog's shared slate comes first. Raises ConnectionOpen while a
        connection exists.
        """
        with self.guard.private():
            return rank_all(self.model.catalog, self.profile, count, seen=self.ratings.keys())


def noise_for(card: ModelCard, settings: ClientSettings) -> LatticeLaplace:
    """Return the law of the noise of each value of a signal, by the setting epsilon_per_rating
    alone: its epsilon is that one, 4/5 of 4/5, or less by under 0.1 %, 512/1707 of 3/10.

    By a server's numbers it would mark the device. Raises ParameterError when the server cannot
    answer k results, or where the noise would tell more than the settings say: one rating moves a
    point by more than 1, or the space is wider than max_ratings_apart.
    """
    if settings.k > card.max_slate_size:
        limit = f"at most what this server answers, {card.max_slate_size}"
        raise ParameterError("k", settings.k, limit)
    encoder = card.space.encoder
    if encoder.one_rating > 1:
        name = "how far one rating moves a point"
        raise ParameterError(name, float(encoder.one_rating), "at most 1, so that it is one rating")
    if encoder.diameter > settings.max_ratings_apart:
        limit = f"at most this device's limit, {settings.max_ratings_apart:g} ratings"
        raise ParameterError("the feature space's diameter", float(encoder.diameter), limit)
    return LatticeLaplace.for_epsilon(settings.epsilon_per_rating)


class Matches(Sequence[Match]):
    """What a search places, with the person's own ratings, each made when it is looked at: a list
    shows a few lines of hundreds.
    """

    def __init__(
        self, items: Sequence[Item], places: Sequence[int], document: ProfileDocument
    ) -> None:
        self._items, self._places, self._document = items, places, document

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Match: ...

    @overload
    def __getitem__(self, at: slice) -> Matches: ...

    def __getitem__(self, at: int | slice) -> Match | Matches:
        if isinstance(at, slice):
            return Matches(self._items, self._places[at], self._document)
        item, document = self._items[self._places[at]], self._document
        label = document.rated.get(title_key(item.label)) if document.ratings else None
        rated = None if label is None else Rated(label, document.ratings[label])
        return Match(item.label, item.genres, rated)


class TitleSearch:
    """The labels of items, ready to be searched with every key press."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._labels = [plain_text(item.label) for item in items]

    def with_more(self, items: Sequence[Item]) -> TitleSearch:
        """Return a search with more items behind these; this one stays as it is."""
        search = TitleSearch(items)
        search._labels = self._labels + search._labels
        return search

    def places(self, text: str, limit: int) -> list[int]:
        """Return the indexes of at most `limit` items whose labels, "Alien (1979)", contain every
        word of `text`, also within a word ("lien 79"), in any case and without accents; an empty
        text finds the first items.

        Labels that begin with the whole text come first, and each of the two parts is ascending.
        """
        wanted, labels = plain_text(text).strip(), self._labels
        places = list(range(len(labels)))
        for word in wanted.split():
            part = word.rstrip(",")  # as of "Suspects, The"
            places = [at for at in places if part in labels[at]]
        begins = list(islice((at for at in places if labels[at].startswith(wanted)), limit))
        others = (at for at in places if not labels[at].startswith(wanted))
        return begins + list(islice(others, limit - len(begins)))
