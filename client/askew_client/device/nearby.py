"""Questions near a place to one server, and the ranking of what came.

A question is one connection: the card of the server is kept like a catalog, and a first contact
fetches it before. Which calls are made, and their bytes, depends on the settings, the collection,
which place was chosen, the ledger and the replies: never on where a named place is, on preferences,
filters or ratings, and never on the answer: there is no second question because results were far,
or because no result passes. A position without a name that lies outside the region makes no call at
all; inside, where it is changes nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from askew.catalog.item import Listing
from askew.errors import (
    CacheError,
    Malformed,
    NotFound,
    OtherKind,
    ParameterError,
    QuoteVoid,
    WireError,
    maybe,
)
from askew.noise.randomness import RandomBits
from askew.protocol.metric_card import ALL, CollectionCard, MetricCard, PlaceSlate
from askew.spaces.axes import AxisSpace
from askew.spaces.map import MapSpace, Position
from askew_client.catalog.cache import usable
from askew_client.catalog.source import date_of
from askew_client.near.modes import ASKED, NearMode, mode_of, wants_rows
from askew_client.near.pick import Judged, by_other_preferences, judged, missing, stars
from askew_client.near.place_forecast import PlaceForecast
from askew_client.near.places import PlaceService
from askew_client.near.preferences import EXAMPLE, NO_PREFERENCES, Preferences, preferences_of
from askew_client.near.sources import (
    SIZES,
    NearSource,
    PendingRequest,
    bound,
    fresh_request,
    results_of,
)
from askew_client.profile.document import AxisValues, NamedPlace, ProfileDocument, Spot
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings, Level, month_of
from askew_client.signals.asking import Question, Quotes, ask, covered
from askew_client.signals.store import SignalStore
from askew_client.storage.guard import in_thread
from askew_client.transport.protocol import CachedRows, Library, Network
from askew_client.views.answers import NearAnswer, NearResult, Rated
from askew_client.views.quote import ModeView, Price, Quote, Terms

_FRESH = "one signal is drawn and charged for this question"
_STORED = "the signal of this place is sent again, for nothing"


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A question that is paid for and encoded, and where it comes from."""

    card: MetricCard
    source: NearSource = field(repr=False)
    question: Question
    request: bytes
    mode: NearMode


class NearService:
    """One person's questions near their places, to one server with a metric space.

    Methods raise AskewError. What goes to the network is a coroutine; all else may be called from
    any thread.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        places: PlaceService,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        library: Library,
        server: str,
        today: Callable[[], datetime.date],
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
    ) -> None:
        """now: the device's clock, by which opening hours are read; it is never sent."""
        self._network, self._settings = network, settings
        self._places, self._profile, self._signals, self._bits = places, profile, signals, bits
        self._library, self._today, self._now = library, today, now
        self._quotes = Quotes(server)
        self._card: MetricCard | None = None
        self._monday = 0  # of the card
        self._held: CachedRows | None = None
        self._no_rows = False  # this server has none within the byte budget

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on; the places are told for themselves."""
        if settings.mode != self._settings.mode:  # who wants rows looks, and is told what is wrong
            self._no_rows = False
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)

    @property
    def card(self) -> MetricCard | None:
        """What the server said of itself, or None before there was a call."""
        return self._card

    async def connect(self) -> MetricCard:
        """Read the card that is kept, fetched first where none is. It names the collections; no
        item is downloaded.
        """
        async with self._network.turn():
            return await self._fetch()

    async def quote(self, collection: str, place: str | Spot = "home") -> Quote:
        """What a question would cost now. Connects if need be; nothing is drawn or charged.
        collection: ALL as `ask_all` asks.
        """
        async with self._network.turn():
            request = await in_thread(self._request, place)
            card, mode = await self._mode(collection)
            quote = await in_thread(self._quote, card, mode, collection, place, request)
            return self._quotes.show(quote)

    async def ask(
        self,
        collection: str,
        place: str | Spot = "home",
        *,
        preferences: Preferences | str = NO_PREFERENCES,
        second_space: bool = False,
        quoted: Quote | None = None,
    ) -> NearAnswer:
        """k items of a collection near a place, ranked here; k is of the settings, or as many as a
        reply of about 4 kB holds.

        place: the name of one, or a spot: a position or values without a name, which is a fresh
        signal and a charge each time. What is wrong with a place is said before the first call.
        second_space: the person's yes to a second space within the month, on axes. quoted: what the
        person was shown, as for `QueryService.ask`.
        """
        if collection == ALL:
            raise ParameterError("collection", ALL, "one's name; `ask_all` asks all of them")
        found = await self._asked(
            collection, place, preferences, second_space=second_space, quoted=quoted
        )
        return found[0]

    async def ask_all(
        self,
        place: str | Spot = "home",
        *,
        preferences: Preferences | str = NO_PREFERENCES,
        second_space: bool = False,
        quoted: Quote | None = None,
    ) -> tuple[NearAnswer, ...]:
        """The same of each collection of the server, by one question with one signal."""
        return await self._asked(ALL, place, preferences, second_space=second_space, quoted=quoted)

    async def _asked(
        self,
        collection: str,
        place: str | Spot,
        preferences: Preferences | str,
        *,
        second_space: bool,
        quoted: Quote | None,
    ) -> tuple[NearAnswer, ...]:
        if isinstance(preferences, str):
            preferences = preferences_of(preferences)
        if not isinstance(preferences, Preferences):
            limit = f'Preferences, or text such as "{EXAMPLE}"'
            raise ParameterError("preferences", type(preferences).__name__, limit)
        shown = self._quotes.use(quoted)
        try:
            async with self._network.turn():
                handle = "" if shown is None else shown.handle
                request = await in_thread(self._request, place, handle)
                document = await in_thread(self._profile.read)
                card, mode = await self._mode(collection, shown)
                source = _bound(card, mode, collection, request, self._settings)
                terms = self._terms(card, mode, source, place)
                self._quotes.settle(sends=mode.asks, shown=shown)
                if not mode.asks:
                    terms.check(shown or terms)
                    return await in_thread(
                        self._ranked_here, card, mode, source, document, preferences
                    )
                prepared = await in_thread(
                    self._prepare,
                    card,
                    mode,
                    source,
                    place,
                    terms.month,
                    check=covered(terms, shown),
                    second_space=second_space,
                )
                reply = await self._network.retrieve(prepared.request)
                return await in_thread(self._open, prepared, reply, document, preferences)
        except WireError:
            # The next question fetches what the server says of itself first: it may be another.
            held, self._card, self._held, self._no_rows = self._held, None, None, False
            with suppress(CacheError):  # it is tried again when that question is refused
                await self._library.forget_metric_card()
                if held is not None:
                    await self._library.forget(held.catalog_date)
            raise

    def usual_k(self, collection: str) -> int:
        """How many results a question of a collection, or of ALL, asks for where the person named
        no number; before `connect` the fewest.
        """
        if self._card is None:
            return SIZES[0]
        names = {each.name for each in self._card.asked(collection)}
        held = self._held is not None and names <= self._held.rows.keys()
        return results_of(self._card, collection, 0, held=held)

    def forecast(self, level: Level, k: int) -> PlaceForecast:
        """What a level and k would give at any place of the region: nothing is drawn or sent.

        Raises ParameterError where no region is set.
        """
        return PlaceForecast.of(replace(self._settings, level=level).map_noise, k)

    def by_other_preferences(
        self, answer: NearAnswer, preferences: Preferences, ratings: Sequence[Rated]
    ) -> NearAnswer:
        """An answer of this server ranked anew, on the device: nothing is sent, and preferences may
        change as often as the person likes. Where nothing was sent for the answer, all rows that
        are held are ranked, with the profile's own ratings. Raises ParameterError before `connect`.
        """
        if self._card is None:
            raise ParameterError("connection", None, "made first, by a question")
        attributes = self._card.collection(answer.collection).attributes
        with self._network.guard.private():
            if answer.cost is None and self._held and answer.collection in self._held.rows:
                return self._best_held(self._held, answer, preferences)
            return by_other_preferences(answer, attributes, preferences, ratings, self._now())

    def _best_held(
        self, held: CachedRows, answer: NearAnswer, preferences: Preferences
    ) -> NearAnswer:
        """The best k of all rows that are held, from where an answer was asked."""
        from askew_client.near.rows import best_rows  # numpy

        on_map = isinstance(held.card.space, MapSpace)
        named = dict(zip(answer.axes, answer.true, strict=True))
        spot = Position(*answer.true) if on_map else AxisValues(named)
        request = fresh_request(spot, "", self._settings)
        source = bound(held.card, answer.collection, request, self._settings)
        rows = best_rows(source, held.rows[answer.collection], preferences, self._now())
        return self._ranked(
            replace(source, k=answer.k),
            held.card.collection(answer.collection),
            rows,
            self._profile.read(),
            preferences,
            mode=answer.mode,
        )

    async def _fetch(self, shown: Terms | None = None) -> MetricCard:
        if shown is not None:  # nothing is fetched between showing and asking
            raise QuoteVoid("what the server says of itself must be fetched anew")
        with self._network.public_work():
            kept = await self._library.metric_card(self._today())
        self._card, self._monday = kept.card, kept.catalog_date
        return self._card

    async def _mode(
        self, collection: str, shown: Terms | None = None
    ) -> tuple[MetricCard, NearMode]:
        """How a question is answered, with the rows of this server where they are wanted; and the
        card, which is that of the rows.
        """
        card = self._card
        if card is None or not usable(self._monday, (self._today() - date_of(0)).days):
            card = await self._fetch(shown)
        try:
            card.asked(collection)
        except NotFound:
            return card, ASKED  # the question is refused for it
        wanted = wants_rows(card, collection, self._settings)
        held = await self._rows(shown) if wanted else None
        card, monday = (card, self._monday) if held is None else (held.card, held.catalog_date)
        mode = mode_of(card, collection, self._settings, held)
        names_it = mode.rows or isinstance(card.space, AxisSpace)
        return card, replace(mode, catalog_date=monday if names_it else 0)

    async def _rows(self, shown: Terms | None) -> CachedRows | None:
        """What is held, fetched first where nothing usable is. None where this server has none
        within the byte budget, and the person's mode does not need them.
        """
        day = (self._today() - date_of(0)).days
        if self._no_rows or (self._held is not None and usable(self._held.catalog_date, day)):
            return self._held
        if shown is not None:
            raise QuoteVoid("what this device holds is out of date, and must be fetched first")
        try:
            with self._network.public_work():
                self._held = await self._library.rows(self._today())
        except (NotFound, OtherKind, ParameterError):
            if self._settings.mode != "auto":
                raise
            self._held, self._no_rows = None, True
        return self._held

    def _request(self, place: str | Spot, handle: str = "") -> PendingRequest:
        """From a place; where a charge for this very spot was not answered, by that signal."""
        if not handle and not isinstance(place, str):
            waiting = self._profile.read().unanswered
            if waiting is not None and waiting.spot == place:
                handle = waiting.handle
        return self._places.request(place, handle)

    def _terms(
        self, card: MetricCard, mode: NearMode, source: NearSource, place: str | Spot
    ) -> Terms:
        """A question, without what the ledger says of it."""
        return Terms(
            server=self._quotes.server,
            authority=self._settings.authority,
            mode=mode.words,
            space_version=source.space_version,
            collection=source.collection,
            month=month_of(self._today()),
            catalog_date=" ".join(each.version for each in card.asked(source.collection)),
            k=source.k,
            mechanism=source.mechanism if mode.asks else None,
            place=place,
            handle=source.handle,
            region=self._settings.region,
        )

    def _quote(
        self,
        card: MetricCard,
        mode: NearMode,
        collection: str,
        place: str | Spot,
        request: PendingRequest,
    ) -> Quote:
        source = _bound(card, mode, collection, request, self._settings)
        terms = self._terms(card, mode, source, place)
        if not mode.asks:
            return Quote(terms, mode.view, None)
        price = self._signals.price(
            source.space_version, terms.month, source.charge, handle=source.handle
        )
        drawn_by = source.mechanism if price.stored is None else price.stored
        cost = source.cost(drawn_by, price.spent, price.lifetime_cap, fresh=price.fresh)
        view = ModeView("query", _FRESH if price.fresh else _STORED)
        return Quote(replace(terms, price=price), view, cost)

    def _prepare(  # noqa: PLR0913  # all that a question is made of
        self,
        card: MetricCard,
        mode: NearMode,
        source: NearSource,
        place: str | Spot,
        month: str,
        *,
        check: Callable[[Price], None] | None,
        second_space: bool,
    ) -> _Prepared:
        """All that is private of a question before its connection: charge and draw the signal,
        encode the request.

        A signal of a spot without a name is kept until it is answered: what is charged and does not
        arrive is sent the next time that the person asks from there.
        """

        def draw() -> Question:
            return ask(
                source, month, self._signals, self._bits, second_space=second_space, check=check
            )

        with self._network.guard.private():
            question = draw() if isinstance(place, str) else self._awaited(source, place, draw)
            query = replace(
                question.query,
                collection=card.asked_number(source.collection),
                catalog_date=mode.catalog_date,
                holds_rows=bool(mode.rows),
            )
        asked = replace(question, query=query)
        return _Prepared(card, source, asked, self._network.encoded(query), mode)

    def _awaited(self, source: NearSource, spot: Spot, draw: Callable[[], Question]) -> Question:
        drawn: list[Question] = []

        def charged(document: ProfileDocument) -> ProfileDocument:
            drawn.append(draw())
            return replace(document, unanswered=NamedPlace(source.handle, spot))

        self._profile.change(charged)
        return drawn[0]

    def _answered(self, handle: str) -> None:
        """Keep a spot without a name no longer."""
        waiting = self._profile.read().unanswered
        if waiting is not None and waiting.handle == handle:
            self._profile.change(lambda document: replace(document, unanswered=None))

    def _open(
        self, prepared: _Prepared, reply: bytes, document: ProfileDocument, preferences: Preferences
    ) -> tuple[NearAnswer, ...]:
        """All that is private after it: read the reply, and rank. Raises a WireError for a hostile
        reply, which is not asked for again, and Malformed for an item that lies elsewhere than the
        server says.
        """
        rows = prepared.mode.rows
        slates = self._network.decoded_places(reply, prepared.question.query, prepared.card, rows)
        asked = prepared.card.asked(prepared.source.collection)
        with self._network.guard.private():
            answers = tuple(
                self._answer(prepared, each, slate, document, preferences)
                for each, slate in zip(asked, slates, strict=True)
            )
            self._answered(prepared.source.handle)
            return answers

    def _ranked_here(
        self,
        card: MetricCard,
        mode: NearMode,
        source: NearSource,
        document: ProfileDocument,
        preferences: Preferences,
    ) -> tuple[NearAnswer, ...]:
        """The best k of all rows that are held."""
        from askew_client.near.rows import best_rows  # numpy

        with self._network.guard.private():
            found = [
                (each, best_rows(source, mode.rows[each.name], preferences, self._now()))
                for each in card.asked(source.collection)
            ]
            return tuple(
                self._ranked(source, each, rows, document, preferences, mode=mode.view)
                for each, rows in found
            )

    def _answer(
        self,
        prepared: _Prepared,
        asked: CollectionCard,
        slate: PlaceSlate,
        document: ProfileDocument,
        preferences: Preferences,
    ) -> NearAnswer:
        source, question = prepared.source, prepared.question
        if not all(source.holds(each.coordinates) for each in slate.listings):
            raise Malformed("the answer has an item outside the server's own space")
        ranked = self._ranked(
            source, asked, slate.listings, document, preferences, mode=prepared.mode.view
        )
        cost = source.cost(
            question.query.signal.mechanism,
            question.price.spent_after,
            question.price.lifetime_cap,
            fresh=question.price.fresh,
        )
        return replace(ranked, sent=source.sent(question.query.signal), cost=cost)

    def _ranked(  # noqa: PLR0913  # what an answer is made of
        self,
        source: NearSource,
        asked: CollectionCard,
        listings: Sequence[Listing],
        document: ProfileDocument,
        preferences: Preferences,
        *,
        mode: ModeView,
    ) -> NearAnswer:
        """The best k of these items of a collection, as if nothing had been sent for them."""
        order = judged(
            listings,
            asked.attributes,
            [source.distance(each.coordinates) for each in listings],
            preferences,
            {key: stars(each) for key, each in document.likings().items()},
            self._now(),
        )[: source.k]
        names = tuple(each.name for each in asked.attributes)
        return NearAnswer(
            collection=asked.name,
            source=asked.source,
            simulated=asked.simulated,
            k=len(order),
            results=tuple(
                _result(n, listings[each.index], each, names) for n, each in enumerate(order, 1)
            ),
            none_passes=not any(each.passes for each in order),
            sent=(),
            true=source.true,
            cost=None,
            mode=mode,
            axes=source.axes,
            unit=source.unit,
            missing=missing(asked.attributes, preferences),
            units={each.name: each.unit for each in asked.attributes if each.unit},
        )


def _bound(
    card: MetricCard,
    mode: NearMode,
    collection: str,
    request: PendingRequest,
    settings: ClientSettings,
) -> NearSource:
    """A place on this server, checked against what it says of itself: all of it is public."""
    try:
        return bound(card, collection, request, settings, held=mode.asks and bool(mode.rows))
    except NotFound:
        names = tuple(each.name for each in card.collections)
        limit = f"one of this server's{maybe(collection, names)}: {', '.join(names)}"
        raise ParameterError("collection", collection, limit) from None


def _result(rank: int, listing: Listing, each: Judged, names: tuple[str, ...]) -> NearResult:
    return NearResult(
        rank=rank,
        title=listing.title,
        coordinates=listing.coordinates,
        values=dict(zip(names, listing.values, strict=True)),
        distance=each.distance,
        passes=each.passes,
        picked=rank == 1 and each.passes,
    )
