"""What is public of a server: the card of a model of tastes, or of collections and their rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING

from askew.catalog.catalog_file import LIVE_BYTES
from askew.catalog.item import MAX_ATTRIBUTES, Attribute, AttributeKind, Listing
from askew.dp.privacy import ANY_SPACE
from askew.errors import NotFound, OutOfRange, StaleSpace
from askew.limits import MAX_NAME, MAX_TEXT, check_plain, check_text
from askew.protocol.signal import Query
from askew.spaces.axes import AxisSpace
from askew.spaces.map import MapSpace, MetricSpace

if TYPE_CHECKING:  # it brings numpy, which places do without
    from askew.spaces.vectors import FeatureSpace

MAX_COLLECTIONS = 256
ALL = "*"  # what a person says for every collection, each with its own answer
ALL_NUMBER = MAX_COLLECTIONS  # what a question says for it, beyond the number of any collection
MAX_ITEMS = 20_000_000
MAX_SLATE = 256
MAX_ITEM_BYTES = 1 << 16
REPLY_BYTES = 16_000
"""What a reply takes at most, on average. Bytes bound k: more results cost no privacy."""
_MAX_RATE = 1e12


_ID_BYTES = 8
_VALUE_BYTES = {
    AttributeKind.NUMBER: 11,
    AttributeKind.FLAG: 4,
    AttributeKind.CATEGORY: 16,
    AttributeKind.HOURS: 32,
}


class ServingMode(StrEnum):
    """How a device is served.

    held: the device ranks what it holds, the same for everybody, and nothing is sent. ask: it also
    sends one noisy signal, and ranks what comes back beside what it holds.
    """

    HELD = "held"
    ASK = "ask"


class MetricRuleKind(StrEnum):
    """The rules that choose k items in a metric space."""

    CODEBOOK = "codebook"
    ITEMS = "items"
    POSTERIOR = "posterior"
    NEAREST = "nearest"


MAX_WANTS = 64


@dataclass(frozen=True)
class Want:
    """What some people may care about besides distance. Public, the same for everybody, and never
    from anybody's use. weight: their share. word: the one kind of a category, or of a flag yes or
    no, that they accept; empty of a number, and then rate: what one more of it costs, in kilometers
    or units of distance; below zero where more is better.

    Raises OutOfRange for a weight or a rate that is none.
    """

    attribute: str
    weight: float
    word: str = ""
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise OutOfRange("the weight of a want", "above 0 and at most 1")
        if not (self.rate == 0 if self.word else 0 < abs(self.rate) <= _MAX_RATE):
            raise OutOfRange("a want", f"a word, or a rate of at most {_MAX_RATE:g}, and not 0")

    def check(self, attributes: Iterable[Attribute]) -> None:
        """Raise OutOfRange unless one of these attributes has the name, and its kind fits: any
        plain word of a category, "yes" or "no" of a flag, no word of a number; hours never fit.
        """
        kind = next(
            (attribute.kind for attribute in attributes if attribute.name == self.attribute), None
        )
        match kind:
            case AttributeKind.NUMBER:
                fits = not self.word
            case AttributeKind.FLAG:
                fits = self.word in {"yes", "no"}
            case _:
                fits = kind is AttributeKind.CATEGORY and bool(self.word)
        if not fits:
            # Without its name, which a server may have written to move a terminal's cursor.
            raise OutOfRange("a want", "a category's word, a flag's yes or no, a number's rate")
        if self.word:
            check_plain("the word of a want", self.word, MAX_TEXT)


@dataclass(frozen=True)
class CollectionCard:
    """One collection: its name, how many items it has, and the columns of their attributes.

    number: what questions call it, given by the operator and never to another collection. A name
    would return in each question, and a server could give each device another one.
    version: of titles, positions and attributes that are not live; 32 hexadecimal digits.
    item_bytes: what an item takes in a reply, on average. wants: what the choice of results hedges
    over besides where people are.
    mode: what the server proposes: held, hold the rows and ask nothing; ask, for items whole.
    """

    name: str
    version: str
    n_items: int
    source: str
    simulated: bool
    attributes: tuple[Attribute, ...] = ()
    item_bytes: int = 100
    wants: tuple[Want, ...] = ()
    mode: ServingMode = ServingMode.ASK
    number: int = 0

    def __post_init__(self) -> None:
        check_plain("a collection's name", self.name, MAX_NAME)
        if not 0 <= self.number < MAX_COLLECTIONS:
            raise OutOfRange("a collection's number", f"from 0 to {MAX_COLLECTIONS - 1}")
        if self.name == ALL:
            raise OutOfRange("a collection's name", f"another than {ALL}")
        check_plain("the source of a collection", self.source, MAX_TEXT)
        if not 1 <= self.n_items <= MAX_ITEMS:
            raise OutOfRange("the number of items", f"from 1 to {MAX_ITEMS}")
        if not 1 <= self.item_bytes <= MAX_ITEM_BYTES:
            raise OutOfRange("the bytes of an item", f"from 1 to {MAX_ITEM_BYTES}")
        names = {attribute.name for attribute in self.attributes}
        if len(self.attributes) > MAX_ATTRIBUTES or len(names) != len(self.attributes):
            raise OutOfRange("the attributes", f"at most {MAX_ATTRIBUTES}, of different names")
        if len(self.wants) > MAX_WANTS or sum(want.weight for want in self.wants) > 1 + 1e-9:
            raise OutOfRange("the wants", f"at most {MAX_WANTS}, of weights that add to at most 1")
        for want in self.wants:
            want.check(self.attributes)

    @property
    def is_live(self) -> bool:
        """Return True if an attribute is live: who holds the rows still asks for its values."""
        return any(attribute.live for attribute in self.attributes)

    @property
    def live_bytes(self) -> int | None:
        """Return what all its live values take in a file, whatever they are: for each live flag
        n_items / 5 bytes, rounded up, for each live number 4 n_items; 0 without any. None where a
        category or hours are live, which have no fixed size.
        """
        kinds = [attribute.kind for attribute in self.attributes if attribute.live]
        if not {*kinds} <= {AttributeKind.FLAG, AttributeKind.NUMBER}:
            return None
        flags, numbers = kinds.count(AttributeKind.FLAG), kinds.count(AttributeKind.NUMBER)
        return flags * ceil(self.n_items / 5) + 4 * numbers * self.n_items

    @property
    def value_bytes(self) -> int:
        """Return about how many bytes an item takes in a reply to who holds its row: 8, and for
        each live attribute 11 (number), 4 (flag), 16 (category) or 32 (hours).
        """
        return _ID_BYTES + sum(
            _VALUE_BYTES[attribute.kind] for attribute in self.attributes if attribute.live
        )

    def check(self, listing: Listing, space: MetricSpace) -> None:
        """Raise OutOfRange for an item that does not fit this collection over this space: an id
        from n_items on, coordinates beyond `check_item`, or values that are not one an attribute,
        of its kind.
        """
        if listing.id >= self.n_items:
            raise OutOfRange("an item id", f"below the number of items, {self.n_items}")
        space.check_item(listing.coordinates)
        if len(listing.values) != len(self.attributes):
            raise OutOfRange("the values of an item", "one an attribute")
        for attribute, value in zip(self.attributes, listing.values, strict=True):
            attribute.check(value)


@dataclass(frozen=True)
class MetricCard:
    """What a device may know before it asks: where the items are, and what collections there are.

    Nothing in it sets noise, epsilon or k: those are the device's. max_slate_size is the largest k
    that the server answers, where as many items fit a reply; a collection of fewer items answers
    with all of them. density: whom its rule expects where, in words.
    """

    space: MetricSpace
    collections: tuple[CollectionCard, ...]
    max_slate_size: int
    rule: MetricRuleKind
    density: str = "none"

    def __post_init__(self) -> None:
        count = len(self.collections)
        names = {collection.name for collection in self.collections}
        numbers = {collection.number for collection in self.collections}
        if not 1 <= count <= MAX_COLLECTIONS or not len(names) == len(numbers) == count:
            limit = f"1 to {MAX_COLLECTIONS}, of different names and numbers"
            raise OutOfRange("the collections", limit)
        if not 1 <= self.max_slate_size <= MAX_SLATE:
            raise OutOfRange("max_slate_size", f"from 1 to {MAX_SLATE}")
        check_plain("the density of a rule", self.density, MAX_TEXT)

    @property
    def in_live_file(self) -> tuple[CollectionCard, ...]:
        """Return the collections whose live values are one file: all live ones of mode held, or
        none at all where one has live text or together they take more than 4000 bytes. Whoever
        fetches the file does not say of which they ask.
        """
        live = [c for c in self.collections if c.is_live and c.mode is ServingMode.HELD]
        sizes = [card.live_bytes for card in live]
        fixed = [size for size in sizes if size is not None]
        return tuple(live) if fixed == sizes and sum(fixed) <= LIVE_BYTES else ()

    def collection(self, which: str | int | None) -> CollectionCard:
        """Return the collection of this name (str) or number (int). Raises NotFound for others, and
        for None, as of a question that names none.
        """
        for collection in self.collections:
            if which in (collection.name, collection.number):
                return collection
        raise NotFound("collection")

    def asked_number(self, name: str) -> int:
        """Return the number of the collection of this name, 256 for ALL, which is "*". Raises
        NotFound for others.
        """
        return ALL_NUMBER if name == ALL else self.collection(name).number

    def asked(self, which: str | int | None) -> tuple[CollectionCard, ...]:
        """Return a tuple: the collection of this name or number alone, or all, in the card's order,
        for "*" or 256 (ALL). Raises NotFound for others, and for None.
        """
        return self.collections if which in (ALL, ALL_NUMBER) else (self.collection(which),)

    def largest_slate(self, which: str | int | None, *, held: bool = False) -> int:
        """Return the largest k that a collection, or ALL, is asked for: max_slate_size, or 16000 //
        the sum of its item_bytes (of all collections for ALL) if that is less, at least 1, whatever
        the number of items. held: by a device that holds their rows: value_bytes count instead.
        Raises NotFound.
        """
        sizes = [card.value_bytes if held else card.item_bytes for card in self.asked(which)]
        return min(self.max_slate_size, max(1, REPLY_BYTES // sum(sizes)))

    def questions(self, query: Query) -> tuple[Query, ...]:
        """Return a checked question as one for each collection that it asks, in the card's order,
        with its number, and of k items or as many as the collection has.
        """
        return tuple(
            replace(query, collection=card.number, k=min(query.k, card.n_items))
            for card in self.asked(query.collection)
        )

    def check(self, query: Query) -> None:
        """Raise StaleSpace for a question of another space, NotFound of no collection here,
        OutOfRange of a k beyond `largest_slate` or of another mechanism, DimensionMismatch of
        another number of axes.

        A position asks any map; a point on axes asks the space in which it was made.
        """
        signal, space = query.signal, self.space
        expected = ANY_SPACE if isinstance(space, MapSpace) else space.version
        if signal.space_version != expected:
            raise StaleSpace
        most = self.largest_slate(query.collection, held=query.holds_rows)
        if not 1 <= query.k <= most:
            raise OutOfRange("k", f"from 1 to {most}")
        if isinstance(space, AxisSpace):
            signal.check(space.dimension)
            space.check_lattice(signal.lattice)
        else:
            signal.map_noise  # noqa: B018  # a check


@dataclass(frozen=True)
class PlaceSlate:
    """The k items of a reply, whole, in ascending order of their ids, so that their order says
    nothing. Raises OutOfRange unless their ids are distinct and ascending.
    """

    catalog_version: str
    listings: tuple[Listing, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if list(self.item_ids) != sorted(set(self.item_ids)):
            raise OutOfRange("the item ids of a slate", "distinct and ascending")

    @property
    def item_ids(self) -> tuple[int, ...]:
        """Return the ids of the listings, in their order."""
        return tuple([listing.id for listing in self.listings])


@dataclass(frozen=True)
class ModelCard:
    """What a device must know before it asks.

    source says in words where the ratings came from; simulated is set when no person gave them.
    max_slate_size is the largest k that the server answers. n_default: the first so many items are
    the default items, which a device holds that does not hold all; n_items where there is no such.
    median_distance: of two people, by the server's word, in the ratings that a device counts by; no
    promise depends on it.
    The guarantee covers the person who asks, not the people that the model was trained on.
    """

    space: FeatureSpace
    catalog_version: str
    n_items: int
    max_slate_size: int
    source: str
    simulated: bool
    n_default: int
    median_distance: float

    def __post_init__(self) -> None:
        if not 1 <= self.max_slate_size <= self.n_items:
            raise OutOfRange("max_slate_size", "from 1 to the number of items")
        if not 1 <= self.n_default <= self.n_items:
            raise OutOfRange("the number of default items", "from 1 to the number of items")
        if not 0 < self.median_distance <= self.space.diameter:
            raise OutOfRange("the median distance", "above 0, within the space")
        check_text("the source of a model", self.source)

    @property
    def n_held(self) -> int:
        """Return how many first items no answer needs to name, since whoever asks has them:
        n_default, or 0 where those are all items.
        """
        return self.n_default if self.n_default < self.n_items else 0

    def check(self, query: Query) -> None:
        """Raise StaleSpace for a signal of another space, OutOfRange for a k beyond 1 to
        max_slate_size, DimensionMismatch for another dimension, NotFound for a query that names a
        collection.
        """
        if query.signal.space_version != self.space.version:
            raise StaleSpace
        if not 1 <= query.k <= self.max_slate_size:
            raise OutOfRange("k", f"from 1 to {self.max_slate_size}")
        query.signal.check(self.space.dimension)
        if query.collection is not None:
            raise NotFound("collection")


Card = ModelCard | MetricCard
