"""All that a screen or a command does for a person, without a screen: the facade of the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. What goes to the network is a coroutine and returns an outcome or a Setback; what stays
on the device is a plain method, quick enough for a key press unless it says otherwise, and raises
AskewError (`setback_of` turns that into something to show). Methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

from askew.errors import AskewError, ParameterError, ProfileError, StaleSpace
from askew.model_card import ModelCard
from askew.randomness import RandomBits
from askew.ranking import Slate
from askew.titles import title_key
from askew_client.device import present, what_if
from askew_client.device.budget_view import budget_of
from askew_client.device.model import Model
from askew_client.device.nearby import Nearby
from askew_client.exchange import Exchange, Question, mechanism_for
from askew_client.ledger.store import SignalStore
from askew_client.profile.document import Liking
from askew_client.profile.editor import ProfileDesk
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
    Title,
)


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
        self._model: Model | None = None
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

    async def quote(self) -> Quote | Setback:
        """What a question would cost now, before anything is drawn or sent. Connects if need be.

        What is wrong with the profile is said before that, as by `ask`: a device that connects for
        a quote and then cannot ask would be heard to stop.
        """
        try:
            if self._model is None:
                await asyncio.to_thread(self._likings)
            model = self._model or await self._fetch()
            return await asyncio.to_thread(self._quote, model.card)
        except AskewError as error:
            return setback_of(error)

    async def ask(
        self, *, second_space: bool = False, quoted: Quote | None = None
    ) -> Answer | Setback:
        """This slot's question, its private ranking and the pick. Connects first if need be.

        Which calls are made, and whether, depends on the settings, the ledger and the replies: who
        has rated nothing, or nothing of this catalog, asks like anybody else. What is wrong with
        the profile is said before the first call. second_space: the person's yes to a fresh signal
        for a second space within the slot. quoted: what the person was told; the question is of its
        month, so that nothing else is charged if that ends in between.
        """
        try:
            likings = await asyncio.to_thread(self._likings)
            model = self._model or await self._fetch()
            exchange = await asyncio.to_thread(self._exchange_of, likings, model)
            slot = slot_of(self._today()) if quoted is None else quoted.slot
            question, slate = await self._ask(exchange, slot, second_space=second_space)
            unused = sum([key not in model.index for key in likings])
            titles = model.search.titles
            show = partial(present.answer_of, slot=slot, titles=titles, unused=unused)
            answer = await asyncio.to_thread(show, exchange, question, slate)
            await asyncio.to_thread(self._keep, answer, slot)
            return answer
        except AskewError as error:
            if isinstance(error, StaleSpace):
                self._model = None  # the next question fetches the new space first
            return setback_of(error)

    async def _ask(
        self, exchange: Exchange, slot: str, *, second_space: bool
    ) -> tuple[Question, Slate]:
        ask = partial(exchange.ask, slot, self._signals, self._bits, second_space=second_space)
        question = await asyncio.to_thread(ask)
        return question, await self._transport.retrieve(question.query, exchange.card)

    def _keep(self, answer: Answer, slot: str) -> None:
        """Remember an answer, on this device alone."""
        labels = tuple([result.title.label for result in answer.results])
        past = PastAnswer(self._today(), slot, labels, answer.pick.title.label)
        self._profile.change(lambda document: document.answered(past))

    async def _fetch(self) -> Model:
        self._model = Model.of(await self._library.holding(self._today()))
        catalog = self._model.catalog
        self._known = self._model.index
        self._labels = {number: item.label for number, item in enumerate(catalog.items)}
        self._transport.mark()
        return self._model

    def _quote(self, card: ModelCard) -> Quote:
        mechanism_for(card, self._settings)  # what no ledger needs to be opened for
        slot, stored = self._signals.find(card.space.version, slot_of(self._today()))
        return present.quote_of(card, self._settings, self._signals.account(), slot, stored)

    def _connected(self) -> Model:
        if self._model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._model

    def _likings(self) -> dict[str, Liking]:
        """What is liked, by the key of its title. Raises ProfileError or VaultError."""
        ratings = self._profile.read().ratings
        return {title_key(label): liking for label, liking in ratings.items()}

    def _exchange_of(self, likings: Mapping[str, Liking], model: Model) -> Exchange:
        ratings = present.ratings_of(likings, model.index, model.card.space.scale)
        parts = model.contributions
        return Exchange(model.card, model.catalog, self._settings, ratings, parts, model.edition)

    def _exchange(self) -> Exchange:
        """This person with the connected model."""
        return self._exchange_of(self._likings(), self._connected())

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
        model = self._connected()
        ratings = self._profile.read().ratings
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
        return budget_of(self._signals, self._today())

    def unfreeze(self) -> Budget:
        """Accept the ledger as it is after a freeze, and book what was lost. The person's act."""
        self._signals.unfreeze(slot_of(self._today()))
        return self.budget()
