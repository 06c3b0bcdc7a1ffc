"""Questions about titles to one server: the mode taken, the call if there is one, the ranking."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

from askew.errors import CacheError, ParameterError, QuoteVoid, StaleSpace
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits
from askew.protocol.ranking import Slate
from askew_client.catalog.cache import usable
from askew_client.catalog.source import date_of
from askew_client.device import present
from askew_client.device.model import ConnectedModel, Model
from askew_client.profile.document import PastAnswer, ProfileDocument
from askew_client.profile.store import ProfileStore
from askew_client.profile.title_search import Matches
from askew_client.settings.settings import ClientSettings, month_of
from askew_client.signals.asking import Question, Quotes, covered
from askew_client.signals.store import SignalStore
from askew_client.storage.guard import in_thread
from askew_client.taste.choice import Taken, choose, in_words, noise_for
from askew_client.taste.exchange import Exchange
from askew_client.transport.protocol import Library, Network
from askew_client.views.answers import (
    Answer,
    Bar,
    Connection,
    Match,
    Refreshed,
    SignalPreview,
)
from askew_client.views.quote import ModeView, Price, Quote, Terms


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A question that is paid for and encoded, and what it is asked by."""

    model: Model
    taken: Taken
    document: ProfileDocument = field(repr=False)
    exchange: Exchange = field(repr=False)
    question: Question
    request: bytes


class QueryService:
    """One person's questions about titles to one server. Methods raise AskewError.

    What goes to the network is a coroutine. What stays on the device is a plain method, quick
    enough for a key press, which may be called from any thread.
    """

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        library: Library,
        server: str,
        today: Callable[[], datetime.date],
    ) -> None:
        self._network, self._settings = network, settings
        self._profile, self._signals, self._bits = profile, signals, bits
        self._library, self._connected = library, ConnectedModel()
        self._quotes, self._today = Quotes(server), today

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on."""
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)

    # Questions

    async def connect(self) -> Connection:
        """Read what is held, fetched first where nothing usable is. All but the profile waits for
        this; calling it again reads it again.
        """
        async with self._network.turn():
            return (await self._fetch()).connection

    async def refresh(self) -> Refreshed:
        """Look for this week's file, if it is time.

        For a timer. Nothing that a person does takes part in when it looks; what is found serves
        from the next question on.
        """
        async with self._network.turn():
            found = await self._library.refresh()
            model = self._connected.model
            # Another program may have fetched it for this one.
            if model is not None and (
                found.fetched or date_of(model.catalog_date) != found.catalog_date
            ):
                await self._fetch()
            return found

    async def quote(self) -> Quote:
        """What a question would cost now, before anything is drawn or sent. Connects if need be.

        An error of the profile comes before that, as by `ask`: a device that connects for a quote
        and then cannot ask would be heard to stop.
        """
        async with self._network.turn():
            if self._connected.model is None:
                await in_thread(self._profile.read)
            model = await self._current()
            return self._quotes.show(await in_thread(self._quote, model))

    async def ask(self, *, second_space: bool = False, quoted: Quote | None = None) -> Answer:
        """What is best for this person, ranked here, and the pick. Connects first if need be.

        Whether this month's question is sent for it, and which calls are made, depends on the
        settings, the ledger and the replies: who has rated nothing, or nothing of this catalog,
        asks like anybody else. An error of the profile comes before the first call. second_space:
        the person's yes to a fresh signal for a second space within the month.
        quoted: what the person was shown; this uses it, once. Where anything of it has changed
        since, QuoteVoid is raised: nothing is drawn, charged, fetched or sent. Without it, what the
        settings say is asked, unless nothing left this device before.
        """
        shown = self._quotes.use(quoted)
        try:
            async with self._network.turn():
                return await self._asked(shown, second_space=second_space)
        except StaleSpace:
            model, self._connected.model = self._connected.model, None
            if model is not None:  # the next question is a first contact
                with suppress(CacheError):  # it is tried again when that question is refused
                    await self._library.forget(model.catalog_date)
            raise

    async def _asked(self, shown: Terms | None, *, second_space: bool) -> Answer:
        """Everything private, then the connection, then everything private."""
        document = await in_thread(self._profile.read)
        model = await self._current() if shown is None else self._as_shown()
        taken = self._taken(model)
        terms = self._terms(model, taken)
        self._quotes.settle(sends=taken.asks, shown=shown)
        if not taken.asks:
            terms.check(shown or terms)
            return await in_thread(self._rank_here, model, document, taken)
        prepared = await in_thread(
            self._prepare,
            model,
            document,
            taken,
            terms.month,
            check=covered(terms, shown),
            second_space=second_space,
        )
        reply = await self._network.retrieve(prepared.request)
        return await in_thread(self._open, prepared, reply)

    def _prepare(  # noqa: PLR0913  # all that a question is made of
        self,
        model: Model,
        document: ProfileDocument,
        taken: Taken,
        month: str,
        *,
        check: Callable[[Price], None] | None,
        second_space: bool,
    ) -> _Prepared:
        """All that is private of a question before its connection: match titles, encode the
        profile, charge and draw the signal, encode the request.
        """
        exchange = self._exchange_of(model, document, taken.settings)
        question = exchange.ask(
            month, self._signals, self._bits, second_space=second_space, check=check
        )
        request = self._network.encoded(question.query)
        return _Prepared(model, taken, document, exchange, question, request)

    def _open(self, prepared: _Prepared, reply: bytes) -> Answer:
        """All that is private after it: read the reply, rank, remember. Raises a WireError for a
        hostile reply, of which nothing is kept, and which is not asked for again.
        """
        exchange, model, question = prepared.exchange, prepared.model, prepared.question
        slate = self._network.decoded(reply, question.query, exchange.card)
        exchange.check_slate(slate)
        document = self._meet(model, slate)
        whole = self._connected.with_received(model, document.received)
        same = document.ratings == prepared.document.ratings
        if exchange.catalog is not whole.catalog or not same:
            exchange = self._exchange_of(model, document, exchange.settings)
        answer = present.answer_of(
            exchange,
            exchange.rank_all(self._settings.k),
            mode=in_words(prepared.taken, model.card),
            came=frozenset(whole.places_of(slate)),
            departure=present.departure_of(exchange, question),
            cost=present.cost_after(prepared.exchange, question),
        )
        return self._kept(answer)

    def _rank_here(self, model: Model, document: ProfileDocument, taken: Taken) -> Answer:
        """The best of what this device holds or has met."""
        exchange = self._exchange_of(model, document, self._settings)
        ranking, mode = exchange.rank_all(self._settings.k), in_words(taken, model.card)
        return self._kept(present.answer_of(exchange, ranking, mode=mode))

    def _meet(self, model: Model, slate: Slate) -> ProfileDocument:
        """Keep the items of an answer that this device does not hold."""
        new, version = model.received_in(slate), model.card.space.version
        if not new:
            return self._profile.read()
        return self._profile.change(lambda document: document.receiving(version, new))

    def _kept(self, answer: Answer) -> Answer:
        """Remember an answer, on this device alone."""
        labels = tuple([result.title for result in answer.results])
        month = "" if answer.departure is None else answer.departure.month
        past = PastAnswer(self._today(), month, labels, answer.pick.title)
        self._profile.change(lambda document: document.answered(past))
        return answer

    # What a connected server's model makes of the profile

    @property
    def connection(self) -> Connection | None:
        """What the server said of itself, or None before `connect`."""
        model = self._connected.model
        return None if model is None else model.connection

    def knowing(self, document: ProfileDocument) -> Model | None:
        """The connected model with what a profile has met; None before `connect`."""
        return self._connected.knowing(document)

    def search(self, text: str, limit: int = 50) -> Sequence[Match]:
        """Titles of the connected catalog that contain every word of `text`, best match first.

        Stays on the device: the catalog is fetched whole. No text finds the first titles.
        """
        with self._network.guard.private():
            document = self._profile.read()
            model = self._connected.with_received(self._model(), document.received)
            return Matches(model.catalog.items, model.search.places(text, limit), document)

    def bars(self) -> tuple[Bar, ...]:
        """The private profile, a bar for each number; empty when nothing of it is rated."""
        with self._network.guard.private():
            model = self._model()
            exchange = self._exchange_of(model, self._profile.read(), self._settings)
            return present.bars_of(exchange, model.ends) if exchange.ratings else ()

    def preview(self, epsilon: Fraction, k: int) -> SignalPreview:
        """What a fresh signal of epsilon and k would tell and give. Public; needs a connection.

        Raises ParameterError for an epsilon or k out of range.
        """
        from askew_client.device.preview import preview_of  # a question does without

        return preview_of(self._model(), replace(self._settings, epsilon_per_rating=epsilon, k=k))

    def mode(self) -> ModeView | None:
        """How a question would be answered, and why; None before `connect`."""
        model = self._connected.model
        if model is None:
            return None
        try:
            taken = self._taken(model)
        except ParameterError as error:
            return ModeView(self._settings.mode, str(error))
        return in_words(taken, model.card)

    def _model(self) -> Model:
        if self._connected.model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._connected.model

    def _exchange_of(
        self, model: Model, document: ProfileDocument, settings: ClientSettings
    ) -> Exchange:
        whole = self._connected.with_received(model, document.received)
        return whole.exchange(document, settings, self._network.guard)

    # What is held

    def _as_shown(self) -> Model:
        """What is held, as it was shown: nothing is fetched between showing and asking."""
        model = self._connected.model
        if model is None or not self._is_usable(model):
            raise QuoteVoid("what this device holds is out of date, and must be fetched first")
        return model

    async def _current(self) -> Model:
        """What is held. A program that runs for weeks outlives a version."""
        model = self._connected.model
        return model if model is not None and self._is_usable(model) else await self._fetch()

    def _is_usable(self, model: Model) -> bool:
        return usable(model.catalog_date, (self._today() - date_of(0)).days)

    async def _fetch(self) -> Model:
        with self._network.public_work():
            self._connected.model = Model.of(await self._library.cached(self._today()))
        return self._connected.model

    # What a question is

    def _taken(self, model: Model) -> Taken:
        return choose(self._settings, model.card, model.held)

    def _terms(self, model: Model, taken: Taken) -> Terms:
        """A question, without what the ledger says of it. Raises as `noise_for`."""
        card, settings = model.card, taken.settings
        terms = Terms(
            server=self._quotes.server,
            authority=settings.authority,
            mode=str(taken.mode),
            space_version=card.space.version,
            collection="",
            month=month_of(self._today()),
            catalog_date=model.catalog_date,
            k=settings.k,
        )
        if not taken.asks:
            return terms
        return replace(terms, mechanism=noise_for(card, settings))

    def _quote(self, model: Model) -> Quote:
        taken = self._taken(model)
        terms = self._terms(model, taken)
        if isinstance(terms.mechanism, LatticeLaplace):
            charge = terms.mechanism.charge
            price = self._signals.price(terms.space_version, terms.month, charge)
            terms = replace(terms, price=price)
        return present.quote_of(terms, taken, model.card)
