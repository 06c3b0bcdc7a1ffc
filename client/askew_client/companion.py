"""All that a screen or a command does for a person, without a screen: the facade of the device.

Built from a transport, two stores, the settings, a source of randomness and a calendar, all
arguments. What goes to the network is a coroutine and returns an outcome or a Setback; what stays
on the device is a plain method, quick enough for a key press unless it says otherwise, and raises
AskewError (`setback_of` turns that into something to show). Methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from askew.errors import AskewError, ParameterError, ProfileError, StaleSpace
from askew.model_card import Catalog, ModelCard
from askew.randomness import RandomBits
from askew_client import reading
from askew_client.exchange import Exchange
from askew_client.outcomes import (
    Answer,
    Bar,
    Budget,
    Connection,
    Forecast,
    Match,
    NoisePicture,
    PastAnswer,
    Rated,
    SharedAnswer,
    Title,
)
from askew_client.profile_desk import ProfileDesk
from askew_client.profile_store import ProfileStore
from askew_client.ratings_csv import read_ratings
from askew_client.setbacks import Setback, setback_of
from askew_client.settings import ClientSettings, slot_of
from askew_client.signal_store import SignalStore
from askew_client.spending import Witness, budget_of
from askew_client.title_search import TitleSearch, title_key
from askew_client.transport import Transport

_ANYBODY = "the list that this server's model shows to anybody"


@dataclass(frozen=True, eq=False)
class _Model:
    """What a connected server serves."""

    card: ModelCard
    catalog: Catalog
    connection: Connection
    search: TitleSearch = field(repr=False)


class Companion(ProfileDesk):
    """One person's device, and one server."""

    def __init__(  # noqa: PLR0913  # one parameter a collaborator
        self,
        transport: Transport,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        signals: SignalStore,
        bits: RandomBits,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        """`open_companion` in `client` builds one with a real network and real stores."""
        super().__init__(profile)
        self._transport, self._settings = transport, settings
        self._signals, self._bits, self._today = signals, bits, today
        self._model: _Model | None = None

    # The network

    async def connect(self) -> Connection | Setback:
        """Fetch the card and the whole catalog; everything but the profile waits for this.

        Calling it again fetches again, after a StaleSpace for example.
        """
        try:
            card = await self._transport.model_card()
            catalog = await self._transport.catalog(card)
        except AskewError as error:
            return setback_of(error)
        connection = reading.connection_of(card, catalog)
        self._model = _Model(card, catalog, connection, TitleSearch(catalog))
        self._known = reading.items_by_text(catalog)
        self._labels = {number: item.label for number, item in enumerate(catalog.items)}
        self._scale = card.space.scale
        return connection

    def read_csv(self, lines: Iterable[str]) -> None:
        """Rate every title of a csv `title,rating`; each must be in the connected catalog.

        Raises ProfileError, which names the line.
        """
        model = self._connected()
        ratings = read_ratings(lines, model.catalog, model.card.space.scale)
        self.edit({self._labels[item]: (rating,) for item, rating in ratings.items()})

    async def ask(self) -> Answer | SharedAnswer | Setback:
        """This slot's question, its private ranking and the pick. Connects first if need be.

        A person who has rated nothing gets the SharedAnswer: nothing is drawn, charged or sent.
        """
        if self._model is None:
            connected = await self.connect()
            if isinstance(connected, Setback):
                return connected
        try:
            exchange = await asyncio.to_thread(self._exchange)
            return self._shared() if exchange is None else await self._ask(exchange)
        except StaleSpace as error:
            self._model = None  # the next question fetches the new space first
            return setback_of(error)
        except AskewError as error:
            return setback_of(error)

    async def _ask(self, exchange: Exchange) -> Answer:
        today = self._today()
        slot, witness = slot_of(today), Witness(self._signals)
        query = await asyncio.to_thread(exchange.ask, slot, witness, self._bits)
        spent = await asyncio.to_thread(self._signals.spent)
        slate = await self._transport.retrieve(query, exchange.card)
        answer = Answer(
            departure=reading.departure_of(exchange, query, slot, fresh=witness.drew),
            cost=reading.cost_of(exchange, query, spent),
            source=exchange.card.source,
            simulated=exchange.card.simulated,
            results=reading.results_of(exchange, slate),
            unused=len(self._profile.read().ratings) - len(exchange.ratings),
        )
        labels = tuple(result.title.label for result in answer.results)
        past = PastAnswer(today, slot, labels, answer.pick.title.label)
        await asyncio.to_thread(self._profile.change, lambda document: document.answered(past))
        return answer

    def _shared(self) -> SharedAnswer:
        card = self._connected().card
        return SharedAnswer(self.shared_titles(), _ANYBODY, card.source, card.simulated)

    def _connected(self) -> _Model:
        if self._model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._model

    def _exchange(self) -> Exchange | None:
        """This person with the connected model, or None when nothing of it is rated."""
        model = self._connected()
        likings = self._profile.read().ratings
        ratings = reading.ratings_of(likings, self._known or {}, model.card.space.scale)
        return Exchange(model.card, model.catalog, self._settings, ratings) if ratings else None

    # Settings

    @property
    def settings(self) -> ClientSettings:
        """The settings in force."""
        return self._settings

    def configure(self, settings: ClientSettings) -> None:
        """Use other settings from now on, in this object only (`config` keeps them)."""
        self._settings = settings
        self._signals = self._signals.with_cap(settings.lifetime_cap)

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
        """The private profile, a bar for each number; empty when nothing is rated."""
        exchange = self._exchange()
        return () if exchange is None else reading.bars_of(exchange)

    def shared_titles(self) -> tuple[Title, ...]:
        """What anybody is shown: k titles of the connected catalog."""
        catalog = self._connected().catalog
        shared = catalog.shared_slate[: self._settings.k]
        return tuple(reading.title_of(catalog.items[item]) for item in shared)

    def forecast(self, epsilon: Fraction, k: int, draws: int = 200) -> Forecast:
        """What epsilon and k would give this person. Takes up to a second: call it in a thread.

        Raises ParameterError for an epsilon or k out of range, ProfileError when nothing is rated.
        """
        exchange = self._exchange()
        if exchange is None:
            raise ProfileError("there are no ratings yet: rate at least one title")
        settings = replace(self._settings, epsilon=epsilon, k=k)
        return reading.forecast_of(exchange, settings, draws, self._bits)

    def noise(self, epsilon: Fraction, k: int) -> NoisePicture:
        """The noise density and the k offsets, to be drawn. Public; needs a connection.

        Raises ParameterError for buckets, which are no noise on a point.
        """
        reading.check_point(self._settings)
        return reading.noise_of(self._connected().card, epsilon, k)

    # The budget

    def budget(self) -> Budget:
        """The meter, every line of the ledger and what they mean in words."""
        return budget_of(self._signals, self._today())

    def unfreeze(self) -> Budget:
        """Accept the ledger as it is after a freeze, and book what was lost. The person's act."""
        self._signals.unfreeze(slot_of(self._today()))
        return self.budget()
