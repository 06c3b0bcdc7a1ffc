"""All that a screen or a command does for a person, without a screen: the facade of the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. What goes to the network is a coroutine and returns an outcome or a Setback; what stays
on the device is a plain method, quick enough for a key press unless it says otherwise, and raises
AskewError (`setback_of` turns that into something to show). Methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from askew.break_even import Way
from askew.errors import AskewError, ParameterError, ProfileError, StaleSpace
from askew.randomness import RandomBits
from askew.ranking import Slate
from askew.titles import title_key
from askew_client.device import present, what_if
from askew_client.device.answering import Asked, ranked_here, ranked_with
from askew_client.device.budget_view import budget_of
from askew_client.device.model import Model
from askew_client.device.nearby import Nearby
from askew_client.exchange import Exchange
from askew_client.ledger.store import SignalStore
from askew_client.profile.document import ProfileDocument
from askew_client.profile.editor import ProfileDesk
from askew_client.profile.met import Met
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings, slot_of
from askew_client.transport.protocol import Library, Transport
from askew_client.views.problems import Setback, setback_of
from askew_client.views.values import (
    Answer,
    Bar,
    Budget,
    Connection,
    Forecast,
    Match,
    NoisePicture,
    PastAnswer,
    Quote,
    Rated,
    Refreshed,
    Title,
)
from askew_client.views.ways import TakenWay
from askew_client.ways.choice import Taken, choose
from askew_client.ways.mechanism import mechanism_for
from askew_client.ways.words import in_words


class Companion(ProfileDesk):
    """One person's device, and one server. nearby: named places, and questions near them."""

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        transport: Transport,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        library: Library,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        """`open_companion` in `client` builds one with a real network and real stores."""
        super().__init__(profile)
        self._transport, self._settings = transport, settings
        self._signals, self._bits, self._today = signals, bits, today
        self._library = library
        self._model: Model | None = None  # without the items that were met
        self._met: tuple[Met, Model] | None = None  # with them, the last time
        self.nearby = Nearby(
            transport, settings, profile=profile, signals=signals, bits=bits, today=today
        )

    # The network

    async def connect(self) -> Connection | Setback:
        """Fetch the card and the whole catalog; everything but the profile waits for this.

        Calling it again fetches again, after a StaleSpace for example.
        """
        try:
            return (await self._fetch()).connection
        except AskewError as error:
            return setback_of(error)

    async def refresh(self) -> Refreshed | Setback:
        """Look for the current edition of what is held, if its turn has come by the calendar.

        For a timer. Nothing that a person does takes part in when it looks; what is found serves
        from the next question on.
        """
        try:
            found = await self._library.refresh()
            if self._model is not None and found.fetched:
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
            if self._model is None:
                await asyncio.to_thread(self._profile.read)
            model = self._model or await self._fetch()
            return await asyncio.to_thread(self._quote, model)
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
        quoted: what the person was told; the question is of its month, so that nothing else is
        charged if that ends in between.
        """
        try:
            document = await asyncio.to_thread(self._profile.read)
            model = self._model or await self._fetch()
            taken = choose(self._settings, model.card, model.held)
            if taken.way is not Way.SIGNAL:
                return await asyncio.to_thread(self._ranked_here, document, taken)
            exchange = await asyncio.to_thread(self._exchange_of, document, taken.settings)
            slot = slot_of(self._today()) if quoted is None else quoted.slot
            asked = await self._ask(exchange, slot, second_space=second_space)
            return await asyncio.to_thread(self._ranked_with, asked, taken)
        except AskewError as error:
            if isinstance(error, StaleSpace):
                self._model = None  # the next question fetches the new space first
            return setback_of(error)

    async def _ask(self, exchange: Exchange, slot: str, *, second_space: bool) -> Asked:
        ask = partial(exchange.ask, slot, self._signals, self._bits, second_space=second_space)
        question = await asyncio.to_thread(ask)
        slate = await self._transport.retrieve(question.query, exchange.card)
        return Asked(exchange, question, slate, slot)

    def _ranked_here(self, document: ProfileDocument, taken: Taken) -> Answer:
        model = self._model_with(document.met)
        answer = ranked_here(model, document, self._settings, taken)
        return self._kept(answer, slot_of(self._today()))

    def _ranked_with(self, asked: Asked, taken: Taken) -> Answer:
        """Raises Malformed for a hostile slate, of which nothing is kept."""
        asked.exchange.check_slate(asked.slate)
        document = self._meet(asked.slate)
        model = self._model_with(document.met)
        answer = ranked_with(asked, model, document, self._settings, taken)
        return self._kept(answer, asked.slot)

    def _meet(self, slate: Slate) -> ProfileDocument:
        """Keep the items of an answer that this device does not hold."""
        model = self._connected()
        new, version = model.met_in(slate), model.card.space.version
        if not new:
            return self._profile.read()
        return self._profile.change(lambda document: document.meeting(version, new))

    def _kept(self, answer: Answer, slot: str) -> Answer:
        """Remember an answer, on this device alone."""
        labels = tuple([result.title.label for result in answer.results])
        past = PastAnswer(self._today(), slot, labels, answer.pick.title.label)
        self._profile.change(lambda document: document.answered(past))
        return answer

    async def _fetch(self) -> Model:
        self._model = Model.of(await self._library.holding(self._today()))
        self._met = None
        self._know(self._model)
        self._transport.mark()
        return self._model

    def _quote(self, model: Model) -> Quote:
        card, taken = model.card, choose(self._settings, model.card, model.held)
        slot = slot_of(self._today())
        if taken.way is not Way.SIGNAL:
            return present.free_quote(taken, card, slot)
        mechanism_for(card, taken.settings)  # what no ledger needs to be opened for
        slot, stored = self._signals.find(card.space.version, slot)
        return present.quote_of(taken, card, self._signals.account(), slot, stored)

    def _way(self) -> TakenWay | None:
        """How a question would be answered, and why; None before `connect`."""
        if self._model is None:
            return None
        try:
            taken = choose(self._settings, self._model.card, self._model.held)
        except ParameterError as error:
            return TakenWay(self._settings.way, str(error))
        return in_words(taken, self._model.card)

    def _connected(self) -> Model:
        if self._model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._model

    def _model_with(self, met: Met) -> Model:
        """The connected model with the items that were met, made anew where they are others."""
        model, known = self._connected(), self._met
        if known is None or known[0] != met:
            known = self._met = (met, model.with_met(met))
            self._know(known[1])
        return known[1]

    def _know(self, model: Model) -> None:
        self._known = model.index
        self._titles = model.search.titles

    def _exchange_of(self, document: ProfileDocument, settings: ClientSettings) -> Exchange:
        return self._model_with(document.met).exchange(document, settings)

    def _exchange(self) -> Exchange:
        """This person with the connected model."""
        return self._exchange_of(self._profile.read(), self._settings)

    # Settings

    @property
    def settings(self) -> ClientSettings:
        """The settings in force."""
        return self._settings

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on, in this object only (`ConfigFile` keeps them)."""
        self._settings = settings
        self._signals = self._signals.with_caps(settings.caps)
        self.nearby.configure(settings)

    # What a connected server's model makes of the profile

    @property
    def connection(self) -> Connection | None:
        """What the server said of itself, or None before `connect`."""
        return None if self._model is None else self._model.connection

    def search(self, text: str, limit: int = 50) -> tuple[Match, ...]:
        """Titles of the connected catalog that contain every word of `text`, best match first.

        Stays on the device: the catalog is fetched whole. No text finds the first titles.
        """
        document = self._profile.read()
        model, ratings = self._model_with(document.met), document.ratings
        rated = {title_key(label): Rated(label, liking) for label, liking in ratings.items()}
        return tuple(
            Match(title, rated.get(title_key(title.label)))
            for title in model.search.find(text, limit)
        )

    def bars(self) -> tuple[Bar, ...]:
        """The private profile, a bar for each number; empty when nothing of it is rated."""
        exchange = self._exchange()
        return present.bars_of(exchange) if exchange.ratings else ()

    def shared_titles(self) -> tuple[Title, ...]:
        """What anybody is shown, for nothing: k titles of the connected catalog, best first."""
        catalog = self._connected().catalog
        shared = catalog.shared_slate[: self._settings.k]
        return tuple(present.title_of(catalog.items[item]) for item in shared)

    def forecast(self, epsilon: Fraction, k: int, draws: int = 200) -> Forecast:
        """What epsilon and k would give this person. Takes up to a second: call it in a thread.

        Raises ParameterError for an epsilon or k out of range, ProfileError when nothing is rated.
        """
        exchange = self._exchange()
        if not exchange.ratings:
            raise ProfileError("there are no ratings yet: rate at least one title")
        settings = replace(self._settings, epsilon=epsilon, k=k)
        return what_if.forecast_of(exchange, settings, draws, self._bits)

    def noise(self, epsilon: Fraction, k: int) -> NoisePicture:
        """The noise density and the k offsets, to be drawn. Public; needs a connection.

        Raises ParameterError for buckets, which are no noise on a point.
        """
        what_if.check_point(self._settings)
        return what_if.noise_of(self._connected().card, epsilon, k)

    # The budget

    def budget(self) -> Budget:
        """The meter, every line of the ledger and what they mean in words."""
        return replace(budget_of(self._signals, self._today()), way=self._way())

    def unfreeze(self) -> Budget:
        """Accept the ledger as it is after a freeze, and book what was lost. The person's act."""
        self._signals.unfreeze(slot_of(self._today()))
        return self.budget()
