"""A person's questions to a server: the way taken, the call if there is one, the ranking."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from askew.errors import AskewError, ParameterError, QuoteVoid, ShelfError, StaleSpace
from askew.noise.randomness import RandomBits
from askew.protocol.ranking import Slate
from askew_client.catalog.cache import usable
from askew_client.catalog.source import date_of
from askew_client.device import present
from askew_client.device.answering import Prepared, ranked_here, ranked_with
from askew_client.device.model import Model
from askew_client.device.quoting import IN_PROCESS, Quotes, covered
from askew_client.profile.document import ProfileDocument
from askew_client.profile.editor import ProfileDesk
from askew_client.profile.met import Met
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings, slot_of
from askew_client.signals.store import SignalStore
from askew_client.taste.choice import Taken, choose
from askew_client.taste.exchange import Exchange
from askew_client.taste.words import in_words
from askew_client.transport.protocol import Library, Network
from askew_client.views.answers import Answer, Connection, ModeView, PastAnswer, Refreshed
from askew_client.views.problems import Setback, setback_of
from askew_client.views.quote import Price, Quote, Terms

if TYPE_CHECKING:
    from askew_client.device.nearby import Nearby


class QuestionDesk(ProfileDesk):
    """One person's questions to one server."""

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        library: Library,
        server: str = IN_PROCESS,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        """server: its address, as the person gave it.

        `open_companion` in `opening` builds one with a real network and real stores.
        """
        super().__init__(profile)
        profile.apart_from(network.guard)
        self._network, self._settings = network, settings
        self._signals, self._bits, self._today = signals, bits, today
        self._library, self._quotes = library, Quotes(server)
        self._model: Model | None = None  # without the items that were met
        self._met: tuple[Model, Met, Model] | None = None  # that model, with these, is this one

    @cached_property
    def nearby(self) -> Nearby:
        """Named places, and questions near them; made, and loaded, for the first of these."""
        from askew_client.device.nearby import Nearby

        return Nearby(
            self._network,
            self._settings,
            library=self._library,
            profile=self._profile,
            signals=self._signals,
            bits=self._bits,
            server=self.server,
            today=self._today,
        )

    @property
    def server(self) -> str:
        """The address of the server, as the person gave it."""
        return self._quotes.server

    async def connect(self) -> Connection | Setback:
        """Read what is held, fetched first where nothing usable is. All but the profile waits for
        this; calling it again reads it again.
        """
        try:
            async with self._network.turn():
                return (await self._fetch()).connection
        except AskewError as error:
            return setback_of(error)

    async def refresh(self) -> Refreshed | Setback:
        """Look for the current edition of what is held, if its turn has come by the calendar.

        For a timer. Nothing that a person does takes part in when it looks; what is found serves
        from the next question on.
        """
        try:
            async with self._network.turn():
                found = await self._library.refresh()
                model = self._model
                # Another program may have fetched it for this one.
                if model is not None and (found.fetched or date_of(model.edition) != found.edition):
                    await self._fetch()
                return found
        except AskewError as error:
            return setback_of(error)

    async def quote(self) -> Quote | Setback:
        """What a question would cost now, before anything is drawn or sent. Connects if need be.

        What is wrong with the profile is said before that, as by `ask`: a device that connects for
        a quote and then cannot ask would be heard to stop.
        """
        try:
            async with self._network.turn():
                if self._model is None:
                    await asyncio.to_thread(self._profile.read)
                model = await self._current()
                return self._quotes.show(await asyncio.to_thread(self._quote, model))
        except AskewError as error:
            return setback_of(error)

    async def ask(
        self, *, second_space: bool = False, quoted: Quote | None = None
    ) -> Answer | Setback:
        """What is best for this person, ranked here, and the pick. Connects first if need be.

        Whether this slot's question is sent for it, and which calls are made, depends on the
        settings, the ledger and the replies: who has rated nothing, or nothing of this catalog,
        asks like anybody else. What is wrong with the profile is said before the first call.
        second_space: the person's yes to a fresh signal for a second space within the slot.
        quoted: what the person was shown; this uses it, once. Where anything of it has changed
        since, that is a Setback: nothing is drawn, charged, fetched or sent. Without it, what the
        settings and the person's consents say is asked, unless nothing left this device before.
        """
        try:
            shown = self._quotes.use(quoted)
            async with self._network.turn():
                return await self._asked(shown, second_space=second_space)
        except StaleSpace as error:
            model, self._model = self._model, None
            if model is not None:  # the next question is a first contact
                with suppress(ShelfError):  # it is tried again when that question is refused
                    await self._library.forget(model.edition)
            return setback_of(error)
        except AskewError as error:
            return setback_of(error)

    async def quiet(self) -> None:
        """Wait until no connection is open: what is private waits until then."""
        await self._network.quiet()

    async def _asked(self, shown: Terms | None, *, second_space: bool) -> Answer:
        """Everything private, then the connection, then everything private."""
        document = await asyncio.to_thread(self._profile.read)
        model = await self._current() if shown is None else self._held()
        taken = self._taken(model)
        terms = self._quotes.of_tastes(model, taken, slot_of(self._today()))
        self._quotes.settle(sends=taken.asks, shown=shown)
        if not taken.asks:
            terms.check(shown or terms)
            return await asyncio.to_thread(self._rank_here, model, document, taken)
        check = covered(terms, shown)
        prepare = partial(
            self._prepare, model, document, taken, terms.slot, check, second_space=second_space
        )
        prepared = await asyncio.to_thread(prepare)
        reply = await self._network.retrieve(prepared.request)
        return await asyncio.to_thread(self._open, prepared, reply)

    def _prepare(  # noqa: PLR0913  # all that a question is made of
        self,
        model: Model,
        document: ProfileDocument,
        taken: Taken,
        slot: str,
        check: Callable[[Price], None] | None,
        *,
        second_space: bool,
    ) -> Prepared:
        """All that is private of a question before its connection: match titles, encode the
        profile, charge and draw the signal, encode the request.
        """
        exchange = self._exchange_of(model, document, taken.settings)
        question = exchange.ask(
            slot, self._signals, self._bits, second_space=second_space, check=check
        )
        request = self._network.encoded(question.query)
        return Prepared(model, taken, document, exchange, question, slot, request)

    def _open(self, prepared: Prepared, reply: bytes) -> Answer:
        """All that is private after it: read the reply, rank, remember. Raises a WireError for a
        hostile reply, of which nothing is kept, and which is not asked for again.
        """
        exchange, model = prepared.exchange, prepared.model
        slate = self._network.decoded(reply, prepared.question.query, exchange.card)
        exchange.check_slate(slate)
        document = self._meet(model, slate)
        whole = self._with_met(model, document.met)
        same = document.ratings == prepared.document.ratings
        if exchange.catalog is not whole.catalog or not same:
            exchange = self._exchange_of(model, document, exchange.settings)
        answer = ranked_with(prepared, slate, exchange, whole, self._settings)
        return self._kept(answer)

    def _rank_here(self, model: Model, document: ProfileDocument, taken: Taken) -> Answer:
        exchange = self._exchange_of(model, document, self._settings)
        whole = self._with_met(model, document.met)
        answer = ranked_here(exchange, whole, self._settings, taken)
        return self._kept(answer)

    def _meet(self, model: Model, slate: Slate) -> ProfileDocument:
        """Keep the items of an answer that this device does not hold."""
        new, version = model.met_in(slate), model.card.space.version
        if not new:
            return self._profile.read()
        return self._profile.change(lambda document: document.meeting(version, new))

    def _kept(self, answer: Answer) -> Answer:
        """Remember an answer, on this device alone."""
        labels = tuple([result.title for result in answer.results])
        slot = "" if answer.departure is None else answer.departure.slot
        past = PastAnswer(self._today(), slot, labels, answer.pick.title)
        self._profile.change(lambda document: document.answered(past))
        return answer

    def _taken(self, model: Model) -> Taken:
        server, slot = self.server, slot_of(self._today())
        return choose(self._settings, model.card, model.held, server=server, slot=slot)

    def _held(self) -> Model:
        """What is held, as it was shown: nothing is fetched between showing and asking."""
        if self._model is None or not self._is_usable(self._model):
            raise QuoteVoid("what this device holds is out of date, and must be fetched first")
        return self._model

    def _is_usable(self, model: Model) -> bool:
        return usable(model.edition, (self._today() - date_of(0)).days)

    async def _current(self) -> Model:
        """What is held. A program that runs for weeks outlives an edition."""
        if self._model is None or not self._is_usable(self._model):
            return await self._fetch()
        return self._model

    async def _fetch(self) -> Model:
        with self._network.public_work():
            self._model = Model.of(await self._library.holding(self._today()))
            self._know(self._model)
        return self._model

    def _quote(self, model: Model) -> Quote:
        taken, slot = self._taken(model), slot_of(self._today())
        terms = self._quotes.of_tastes(model, taken, slot)
        if terms.mechanism is not None:
            charge = present.loss_of(model.card, terms).charge
            terms = replace(terms, price=self._signals.price(terms.space_version, slot, charge))
        return present.quote_of(terms, taken, model.card)

    def _mode(self) -> ModeView | None:
        """How a question would be answered, and why; None before `connect`."""
        if self._model is None:
            return None
        try:
            taken = self._taken(self._model)
        except ParameterError as error:
            return ModeView(self._settings.mode, str(error))
        return in_words(taken, self._model.card)

    def _connected(self) -> Model:
        if self._model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._model

    def _with_met(self, model: Model, met: Met) -> Model:
        """A model with the items that were met, made anew where they are others."""
        known = self._met
        if known is None or known[0] is not model or known[1] != met:
            known = self._met = (model, met, model.with_met(met))
            self._know(known[2])
        return known[2]

    def _recall(self, document: ProfileDocument) -> None:
        if self._model is not None:
            self._with_met(self._model, document.met)

    def _know(self, model: Model) -> None:
        self._known = model.index
        self._items = model.catalog.items

    def _exchange_of(
        self, model: Model, document: ProfileDocument, settings: ClientSettings
    ) -> Exchange:
        whole = self._with_met(model, document.met)
        return whole.exchange(document, settings, self._network.guard)
