"""What is near a place, by one server: its card, the rows that are held, questions and answers.

Which calls are made, and their bytes, depends on the settings, the collection, which place was
chosen, the ledger and the replies: never on where a named place is, on preferences, filters or
ratings, and never on the answer: there is no second question because results were far, or because
no result passes. A position without a name that lies outside the region makes no call at all;
inside, where it is changes nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from askew.catalog.item import Attribute, Listing
from askew.errors import (
    CacheError,
    Malformed,
    NotFound,
    NotShown,
    OtherKind,
    ParameterError,
    WireError,
    maybe,
)
from askew.protocol.cards import CollectionCard, MetricCard, ServingMode
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import MapSpace, Position
from askew_client.catalog.cache import CachedRows, date_of, usable
from askew_client.device.asker import Subject
from askew_client.near.pick import (
    EXAMPLE,
    NO_PREFERENCES,
    Judged,
    Preferences,
    by_other_preferences,
    hours_have,
    judged,
    missing,
    preferences_of,
    stars,
)
from askew_client.near.places import PlaceService
from askew_client.near.sources import SIZES, NearSource, results_of, source_at
from askew_client.profile.document import AxisValues, NamedPlace, ProfileDocument, Spot
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import in_thread
from askew_client.views.answers import NearAnswer, NearResult, Rated
from askew_client.views.cost import Cost, Leaves

if TYPE_CHECKING:
    from askew.protocol.collection import Collection  # brings numpy
    from askew_client.transport.protocol import Library, Network

_FRESH = "one signal is drawn and charged for this question"
_KEPT = "the signal of this place is sent again, for nothing"
_HELD = "; what is held is ranked beside the answer"
_Value = TypeVar("_Value")


class Nearby:
    """One person's places at one server with a metric space. Methods raise AskewError.

    What goes to the network is a coroutine; all else may be called from any thread.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        places: PlaceService,
        profile: ProfileStore,
        library: Library,
        today: Callable[[], datetime.date],
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
    ) -> None:
        """Make what asks this server near places; nothing is read or sent. now: the device's clock,
        by which opening hours are read; it is never sent.
        """
        self.network, self.settings, self.now = network, settings, now
        self.places, self.profile, self.library, self._today = places, profile, library, today
        self.card: MetricCard | None = None  # before there was a call
        self.card_date = 0
        self._held: CachedRows | None = None
        self.live_rows: Mapping[str, Collection] = {}  # with the live values of the last answer
        self._no_rows = False  # this server has none within the byte budget
        self._has_looked = False  # for kept rows: each look puts the next moment off

    def configure(self, settings: ClientSettings) -> None:
        """Replace the settings from now on, here alone: the service of the places has its own
        `configure`. Another mode lets the next question look for rows again where the server had
        none.
        """
        if settings.mode != self.settings.mode:  # who wants rows looks, and is told what is wrong
            self._no_rows = False
        self.settings = settings

    async def connect(self) -> MetricCard:
        """Return the server's MetricCard: the kept one, or a fetched one where none is usable today
        (it is from one day before its Monday to 16 after). It names the collections; no item is
        downloaded. Raises OtherKind for a server of titles.
        """
        async with self.network.turn():
            return await self._fetch()

    def question(
        self,
        collection: str,
        place: str | Spot = "home",
        preferences: Preferences | str = NO_PREFERENCES,
    ) -> NearQuestion:
        """Return a question, not yet asked: what a collection, or each one for ALL ("*"), has near
        a place. Neither is looked up before it is asked.

        place: the name of one, or a spot: a position or values without a name, which is a fresh
        signal and a charge each time one is sent. preferences: text is read by `preferences_of`.
        Raises PreferenceError for such text, ParameterError for another type.
        """
        if isinstance(preferences, str):
            preferences = preferences_of(preferences)
        if not isinstance(preferences, Preferences):
            limit = f'Preferences, or text such as "{EXAMPLE}"'
            raise ParameterError("preferences", type(preferences).__name__, limit)
        return NearQuestion(self, collection, place, preferences)

    async def held_for(
        self, collection: str, *, fetch: bool
    ) -> tuple[MetricCard, CachedRows | None]:
        """Return the card, and the rows that are held, or None: rows are fetched where mode "held"
        wants them, or mode "auto" where the server proposes so for all that is asked; those that
        are held anyway are returned in any mode, and the card is then theirs.

        Raises ParameterError for a collection that there is not, NotShown where something had to be
        fetched and must not be (fetch), and in mode "held" ParameterError, NotFound or OtherKind
        where the server has no rows within the byte budget; in mode "auto" those are then None.
        """
        day = (self._today() - date_of(0)).days
        card = self.card if usable(self.card_date, day) else None
        card = card or await self._fetch(fetch=fetch)
        try:
            asked = card.asked(collection)
        except NotFound:
            names = tuple(each.name for each in card.collections)
            limit = f"one of this server's{maybe(collection, names)}: {', '.join(names)}"
            raise ParameterError("collection", collection, limit) from None
        mode = self.settings.mode
        proposed = all(each.mode is ServingMode.HELD for each in asked)
        if self._held is not None and not usable(self._held.catalog_date, day):
            self._held, self.live_rows = None, {}
        if self._held is None and (mode == "held" or (mode == "auto" and proposed)):
            await self._fetch_rows(fetch=fetch)
        elif self._held is None and fetch and not self._has_looked:
            self._has_looked = True
            with self.network.public_work():
                self._held = await self.library.kept_rows(self._today())
        held = self._held
        return (card if held is None else held.card), held

    async def _fetch(self, *, fetch: bool = True) -> MetricCard:
        if not fetch:  # nothing is, between showing and asking
            raise NotShown("the server's card on this device is out of date")
        with self.network.public_work():
            kept = await self.library.metric_card(self._today())
        self.card, self.card_date = kept.card, kept.catalog_date
        return self.card

    async def _fetch_rows(self, *, fetch: bool) -> None:
        # A server that has none within the byte budget is not asked again.
        if self._no_rows:
            return
        if not fetch:
            raise NotShown("the file that this device holds is out of date")
        try:
            with self.network.public_work():
                self._held = await self.library.rows(self._today())
        except (NotFound, OtherKind, ParameterError):
            if self.settings.mode == "held":
                raise
            self._no_rows = True

    async def forget(self) -> None:
        """Drop the card, the rows and their live values, in memory and in the cache, so that the
        next question fetches them anew. A CacheError is passed over.
        """
        held, self.card, self._held, self._no_rows = self._held, None, None, False
        self._has_looked = False
        self.live_rows = {}
        with suppress(CacheError):  # it is tried again when that question is refused
            await self.library.forget_metric_card()
            if held is not None:
                await self.library.forget(held.catalog_date)

    def usual_k(self, collection: str) -> int:
        """Return how many results a question of a collection, or of ALL, asks for where the person
        named no number: that of 5, 10, 20, 40, 80 and 160 whose reply takes about 4 kB, within what
        the server answers (1 where that is below 5); before `connect` 5. Where its rows are held, a
        reply brings their live values alone. Raises NotFound for a collection that there is not.
        """
        if self.card is None:
            return SIZES[0]
        names = {each.name for each in self.card.asked(collection)}
        held = self._held is not None and names <= self._held.rows.keys()
        return results_of(self.card, collection, 0, held=held)

    def by_other_preferences(
        self, answer: NearAnswer, preferences: Preferences, ratings: Sequence[Rated]
    ) -> NearAnswer:
        """Return an answer of this server ranked anew: nothing is sent. Where nothing was sent for
        the answer, the best k of all rows that are held, by the profile's own ratings; else its own
        results in another order, by `ratings`. Raises ParameterError before `connect`, and
        ConnectionOpen while a connection exists.
        """
        if self.card is None:
            raise ParameterError("connection", None, "made first, by a question")
        card, name, held = self.card, answer.collection, self._held
        with self.network.guard.private():
            if not answer.cost.sends and held and name in held.rows:
                on_map = isinstance(card.space, MapSpace)
                named = dict(zip(answer.axes, answer.true, strict=True))
                spot = Position(*answer.true) if on_map else AxisValues(named)
                place = NamedPlace("0" * 32, spot)
                source = replace(source_at(card, name, place, self.settings), k=answer.k)
                held = replace(held, rows={**held.rows, **self.live_rows})
                subject = NearSubject(self, card, source, held, self.profile.read(), preferences)
                return subject.ranked(card.collection(name), (), answer.cost)
            attributes = card.collection(name).attributes
            return by_other_preferences(answer, attributes, preferences, ratings, self.now())


class NearQuestion:
    """What a collection, or each for ALL, has near a place. Implements Question."""

    def __init__(
        self, nearby: Nearby, collection: str, place: str | Spot, preferences: Preferences
    ) -> None:
        self._nearby, self._collection = nearby, collection
        self._place, self._preferences = place, preferences

    async def subject(self, *, fetch: bool, again: bool = False) -> NearSubject:
        """Return the subject of this question: the place, bound to the card and to the rows of what
        is asked, if those are held. It sends a signal in mode "ask", and in "auto" unless all rows
        of what is asked are held, and their live values, if any, are in the live file.

        Raises as `PlaceService.locate`, then as `Nearby.held_for` and `source_at`, and
        ParameterError in mode "held" where no rows of it are held.
        """
        nearby = self._nearby
        named, signal = await in_thread(nearby.places.locate, self._place, again=again)
        document = await in_thread(nearby.profile.read)
        card, held = await nearby.held_for(self._collection, fetch=fetch)
        settings, asked = nearby.settings, card.asked(self._collection)
        here = held is not None and {each.name for each in asked} <= held.rows.keys()
        held = held if here else None
        live = () if settings.held_from else card.in_live_file  # static hosts have no live values
        is_enough = held is not None and all(
            len(held.rows[each.name]) == each.n_items and (each in live or not each.is_live)
            for each in asked
        )
        sends = settings.mode == "ask" or (settings.mode == "auto" and not is_enough)
        if not sends and held is None:
            limit = f"another one: no rows are held within the byte budget, {settings.byte_budget}"
            raise ParameterError("mode", settings.mode, limit)
        source = source_at(
            card,
            self._collection,
            named,
            settings,
            stored=None if signal is None else signal.map_noise,
            held=sends and here,
        )
        unnamed = None if isinstance(self._place, str) else named
        return NearSubject(
            nearby,
            card,
            source,
            held,
            document,
            self._preferences,
            sends=sends,
            fetches=is_enough and not sends and any(each.is_live for each in asked),
            unnamed=unnamed,
        )

    async def forget(self, error: WireError) -> None:  # noqa: ARG002
        """Drop the card and the rows, as `Nearby.forget`, whatever the error."""
        await self._nearby.forget()


class NearSubject(Subject[tuple[NearAnswer, ...]]):
    """A place at a server, with the rows that are held.

    fetches: whether it fetches live values, the same file for everybody, when it is asked.

    unnamed: a spot without a name, whose signal is kept until a question with it is answered, and
    is found again only where the person says so: a server that fails one question would hear else
    whether the next position is the very same.
    """

    source: NearSource

    def __init__(  # noqa: PLR0913, PLR0917  # all that an answer depends on
        self,
        nearby: Nearby,
        card: MetricCard,
        source: NearSource,
        held: CachedRows | None,
        document: ProfileDocument,
        preferences: Preferences,
        *,
        sends: bool = False,
        fetches: bool = False,
        unnamed: NamedPlace | None = None,
    ) -> None:
        self._nearby, self._card, self._preferences = nearby, card, preferences
        self._document, self._unnamed, self._held = document, unnamed, held
        self.source, self.sends, self._fetches = source, sends, fetches
        self._rows: Mapping[str, Collection] = {} if held is None else held.rows
        # On axes a question names the Monday of their card, which a map has no need of.
        monday = nearby.card_date if isinstance(card.space, AxisSpace) else 0
        self._catalog_date = monday if held is None else held.catalog_date

    def priced(self, cost: Cost) -> Cost:
        """Return this cost with the collection and words: reason is "one signal is drawn and
        charged for this question" or, of a kept one, "the signal of this place is sent again, for
        nothing", with "; what is held is ranked beside the answer" where rows are held; where none
        is sent, such as "all 120 items are held and ranked here: nothing is sent, epsilon 0".
        handle is the random 32 hexadecimal digits of the place, never its name, and "" for a spot
        without a name unless its kept signal is sent; leaves is REQUEST where only live values are
        fetched.
        """
        reason = f"{_FRESH if cost.fresh else _KEPT}{_HELD if self._rows else ''}"
        kept = cost.leaves is Leaves.KEPT
        handle = "" if self._unnamed and not kept else cost.handle
        return replace(
            cost,
            leaves=Leaves.REQUEST if self._fetches else cost.leaves,
            handle=handle,
            collection=self.source.collection,
            reason=reason if cost.sends else self._held_words(),
        )

    def query(self, signal: Signal) -> Query:
        """Return the question that is sent: this signal, k, the number of the collection, the
        Monday of what is held (of no rows, 0 on a map and the card's on axes), and whether rows are
        held.
        """
        source, number = self.source, self._card.asked_number(self.source.collection)
        return Query(signal, source.k, number, self._catalog_date, holds_rows=bool(self._rows))

    def _held_words(self) -> str:
        asked = self._card.asked(self.source.collection)
        count = sum(len(self._rows[each.name]) for each in asked)
        total = sum(each.n_items for each in asked)
        part = "all" if count == total else f"the first {count:,} of"
        ranked = f"{part} {total:,} items are held and ranked here"
        if self._fetches:
            names = " and ".join(
                {a.name: None for each in asked for a in each.attributes if a.live}
            )
            fetched = f"fetches {names} of all, the same for everybody"
            return f"{ranked}; {fetched}; sends nothing about you, epsilon 0"
        live = "; live values are unknown" if any(each.is_live for each in asked) else ""
        return f"{ranked}: nothing is sent, epsilon 0{live}"

    def drawing(self, draw: Callable[[], _Value]) -> _Value:
        """Return `draw()`, called once. For a spot without a name, keep in the profile, in the same
        transaction, where that spot was, as `unanswered`.
        """
        if not self._unnamed:
            return draw()
        drawn: list[_Value] = []

        def charged(document: ProfileDocument) -> ProfileDocument:
            drawn.append(draw())
            return replace(document, unanswered=self._unnamed)

        self._nearby.profile.change(charged)
        return drawn[0]

    async def fetch(self) -> None:
        """Fetch the live values of all rows that are held, if this question needs them: it sends
        nothing, and what it asks has some. Else do nothing. Return None.
        """
        if self._fetches and self._held is not None:
            self._rows = self._nearby.live_rows = await self._nearby.library.live(self._held)

    def rank(self, reply: bytes | None, query: Query | None, cost: Cost) -> tuple[NearAnswer, ...]:
        """Return an answer for each collection that was asked, in the card's order: the best k of
        each (all where there are fewer), as `ranked`. An unanswered spot whose signal this was is
        dropped from the profile. reply, query: None where nothing was sent.

        Raises a WireError for a hostile reply, which is not asked for again, and Malformed for an
        item that lies elsewhere than the server says.
        """
        nearby, asked = self._nearby, self._card.asked(self.source.collection)
        if reply is None or query is None:
            with nearby.network.guard.private():
                return tuple(self.ranked(each, (), cost) for each in asked)
        slates = nearby.network.decoded_places(reply, query, self._card, self._rows)
        with nearby.network.guard.private():
            paid = replace(cost, spent=cost.spent_after)
            answers = tuple(
                self.ranked(each, slate.listings, paid, query.signal)
                for each, slate in zip(asked, slates, strict=True)
            )
            waiting = nearby.profile.read().unanswered
            if waiting is not None and waiting.handle == self.source.handle:
                nearby.profile.change(lambda document: replace(document, unanswered=None))
            return answers

    def ranked(
        self,
        asked: CollectionCard,
        came: Sequence[Listing],
        cost: Cost,
        signal: Signal | None = None,
    ) -> NearAnswer:
        """Return the answer of one collection: the best k of its held rows and of the items that
        came, each id once: those that pass the filters first, then by distance less what the
        preferences are worth, a tie by id; all, where there are fewer than k. signal: what was
        sent, or None. Raises Malformed for an item that came from outside the server's space.
        """
        source, preferences, now = self.source, self._preferences, self._nearby.now()
        if not all(source.holds(each.coordinates) for each in came):
            raise Malformed("the answer has an item outside the server's own space")
        listings = {each.id: each for each in came}
        if asked.name in self._rows:
            from askew_client.near.rows import best_rows  # numpy

            for row in best_rows(source, self._rows[asked.name], preferences, now):
                listings.setdefault(row.id, row)
        found = [listings[item] for item in sorted(listings)]
        order = judged(
            found,
            asked.attributes,
            [source.distance(each.coordinates) for each in found],
            preferences,
            {key: stars(each) for key, each in self._document.likings().items()},
            now,
        )[: source.k]
        return NearAnswer(
            collection=asked.name,
            source=asked.source,
            simulated=asked.simulated,
            k=len(order),
            results=tuple(
                _result(n, found[each.index], each, asked.attributes, now)
                for n, each in enumerate(order, 1)
            ),
            none_passes=not any(each.passes for each in order),
            sent=() if signal is None else source.sent(signal),
            true=source.true,
            cost=cost,
            axes=source.axes,
            unit=source.unit,
            missing=missing(asked.attributes, preferences),
            units={each.name: each.unit for each in asked.attributes if each.unit},
        )


def _result(
    rank: int,
    listing: Listing,
    each: Judged,
    attributes: Sequence[Attribute],
    now: datetime.datetime,
) -> NearResult:
    names = [attribute.name for attribute in attributes]
    return NearResult(
        rank=rank,
        title=listing.title,
        coordinates=listing.coordinates,
        values=dict(zip(names, listing.values, strict=True)),
        distance=each.distance,
        passes=each.passes,
        picked=rank == 1 and each.passes,
        is_open=hours_have(attributes, listing.values, now),
    )
