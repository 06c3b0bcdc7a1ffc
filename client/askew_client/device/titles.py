"""Titles at one server: what is held of its catalog, the taste that asks, and its answers.

Which calls are made, and their bytes, depends on the settings, the ledger and the replies: who has
rated nothing, or nothing of this catalog, asks like anybody else.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from askew.errors import CacheError, NotShown, ParameterError, StaleSpace, WireError
from askew.protocol.ranking import Ranking, Slate
from askew.protocol.signal import Query, Signal
from askew_client.catalog.cache import date_of, usable
from askew_client.device.asker import Subject
from askew_client.device.model import Exchange, Matches, Model, noise_for
from askew_client.profile.document import PastAnswer, ProfileDocument, ReceivedItems
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import in_thread
from askew_client.views.answers import (
    Answer,
    Bar,
    Connection,
    Departure,
    Match,
    Refreshed,
    Result,
    SignalPreview,
)
from askew_client.views.cost import Cost

if TYPE_CHECKING:
    from askew_client.transport.protocol import Library, Network


class Titles:
    """One person's titles at one server; as a question, what is best of them. Methods raise
    AskewError.

    What goes to the network is a coroutine. What stays on the device is a plain method, quick
    enough for a key press, which may be called from any thread.
    """

    def __init__(  # one parameter a collaborator
        self,
        network: Network,
        settings: ClientSettings,
        *,
        profile: ProfileStore,
        library: Library,
        today: Callable[[], datetime.date],
    ) -> None:
        self._network, self.settings = network, settings
        self._profile, self._library, self._today = profile, library, today
        self._model: Model | None = None  # without the items that were met
        # That model, with these, is this one.
        self._received: tuple[Model, ReceivedItems, Model] | None = None

    def configure(self, settings: ClientSettings) -> None:
        """Replace the settings from now on."""
        self.settings = settings

    async def connect(self) -> Connection:
        """Return the Connection, what the server says of itself, read from what is held, which is
        fetched first where nothing usable is; each call reads the file again. Raises OtherKind for
        a server of places.
        """
        async with self._network.turn():
            return (await self._fetch()).connection

    async def refresh(self) -> Refreshed:
        """Look for this week's file, if it is time (once a week, up to two days after Monday began
        in UTC; at once where nothing usable is held), and return what is held then, a Refreshed:
        catalog_date (a date), part, size and fetched in bytes, and next_look (a datetime in UTC).
        For a timer: what comes serves from the next question on.
        """
        async with self._network.turn():
            found, model = await self._library.refresh(), self._model
            # Another program may have fetched it for this one.
            if model is not None and (
                found.fetched or date_of(model.catalog_date) != found.catalog_date
            ):
                await self._fetch()
            return found

    async def subject(self, *, fetch: bool, again: bool = False) -> Taste:  # noqa: ARG002
        """Return the taste of the stored profile, bound to what is held. Where that is missing or
        not usable today (it is from one day before its Monday to 16 after), it is fetched if
        `fetch`, else NotShown is raised. again: changes nothing here.
        """
        document = await in_thread(self._profile.read)
        model = self._model
        if model is None or not usable(model.catalog_date, (self._today() - date_of(0)).days):
            if not fetch:
                raise NotShown("the file that this device holds is out of date")
            model = await self._fetch()
        return await in_thread(Taste, self, model, document)

    async def forget(self, error: WireError) -> None:
        """Drop what is held if the error is a StaleSpace (the server answers about another space);
        do nothing for any other error.
        """
        if isinstance(error, StaleSpace):
            model, self._model = self._model, None
            if model is not None:  # the next question is a first contact
                with suppress(CacheError):  # it is tried again when that question is refused
                    await self._library.forget(model.catalog_date)

    async def _fetch(self) -> Model:
        with self._network.public_work():
            self._model = Model.of(await self._library.cached(self._today()))
        return self._model

    # What a connected server's catalog makes of the profile

    @property
    def connection(self) -> Connection | None:
        """Return what the server said of itself, or None before `connect` or a question."""
        model = self._model
        return None if model is None else model.connection

    def knowing(self, document: ProfileDocument) -> Model | None:
        """Return the model of the held catalog, joined with the items that this profile has
        received; None before `connect`.
        """
        model = self._model  # once: a question in another thread may take it away
        return None if model is None else self.with_received(model, document.received)

    def with_received(self, model: Model, received: ReceivedItems) -> Model:
        """Return the model with these received items, as `Model.with_received`; the very result of
        the last call where both arguments are the same.
        """
        last = self._received
        if last is None or last[0] is not model or last[1] != received:
            last = self._received = (model, received, model.with_received(received))
        return last[2]

    def search(self, text: str, limit: int = 50) -> Sequence[Match]:
        """Return at most `limit` titles, held or received, that contain every word of `text`, as
        `TitleSearch.places` orders them: a Match (title, genres, rated) of each, made when it is
        looked at; rated is a Rated, the person's own rating, or None. Nothing is sent. Raises
        ParameterError before `connect`, and ConnectionOpen while a connection exists.
        """
        with self._network.guard.private():
            document = self._profile.read()
            model = self.with_received(self._connected(), document.received)
            return Matches(model.catalog.items, model.search.places(text, limit), document)

    def bars(self) -> tuple[Bar, ...]:
        """Return the private point that noise is added to, one Bar for each coordinate: the two
        labels of `Model.ends` (toward_lowest, toward_highest), lowest 0.0, highest the encoder's
        unit, and value, all floats; () where no title of this catalog is rated. Raises
        ParameterError before `connect`, and ConnectionOpen while a connection exists.
        """
        with self._network.guard.private():
            model, document = self._connected(), self._profile.read()
            exchange = self.exchange(model, document)
            if not exchange.ratings:
                return ()
            unit, values = exchange.model.card.space.encoder.unit, exchange.profile.point.tolist()
            pairs = zip(model.ends, values, strict=True)
            return tuple(Bar(*names, 0.0, unit, value) for names, value in pairs)

    def preview(self, epsilon: Fraction, k: int) -> SignalPreview:
        """Return what a fresh signal of this epsilon (of one rating) and k would tell: one_rating,
        the epsilon of `noise_for`, so at most this one, at_median and between_any_two, that times
        the card's median distance and the space's diameter, Fractions all; and offsets, k tuples of
        d floats. Nothing is drawn. Raises ParameterError for an epsilon or k out of range, as
        `noise_for`, and before `connect`.
        """
        from askew.offset_rule import offsets_of  # a question does without

        card = self._connected().card
        exact = noise_for(card, replace(self.settings, epsilon_per_rating=epsilon, k=k)).epsilon
        offsets = offsets_of(float(exact), card.space.dimension, k).tolist()
        return SignalPreview(
            one_rating=exact,
            at_median=exact * Fraction(card.median_distance),
            between_any_two=exact * card.space.diameter,
            offsets=tuple(map(tuple, offsets)),
        )

    def _connected(self) -> Model:
        if self._model is None:
            raise ParameterError("connection", None, "made first, by `connect`")
        return self._model

    def exchange(self, model: Model, document: ProfileDocument) -> Exchange:
        """Return the exchange of a person, by their profile, with this model and what they have
        received, under the settings in force. Raises ConnectionOpen while a connection exists.
        """
        whole = self.with_received(model, document.received)
        return whole.exchange(document, self.settings, self._network.guard)

    def reason(self, model: Model | None = None) -> str:
        """Return in words how a question is answered. In mode ask: "one signal at epsilon 0.8 a
        rating, k 20", and where the whole catalog is held "; this device holds every item, and
        ranks them for nothing in mode held". Else "all 9,742 items (1.2 MB) are held and ranked
        here; nothing is drawn, charged or sent", or "the first 2,000 of 9,742 items (310 kB) are
        ...". model: None is the connected one; "" before `connect`.
        """
        model, settings = model or self._model, self.settings
        if model is None:
            return ""
        whole = model.n_held == model.card.n_items
        if settings.mode == "ask":
            epsilon = float(settings.epsilon_per_rating)
            beside = "; this device holds every item, and ranks them for nothing in mode held"
            asked = f"one signal at epsilon {epsilon:g} a rating, k {settings.k}"
            return asked + (beside if whole else "")
        part = "all" if whole else f"the first {model.n_held:,} of"
        held = f"{part} {model.card.n_items:,} items ({_bytes(model.size)}) are held and ranked"
        return f"{held} here; nothing is drawn, charged or sent"

    # What an answer leaves on the device

    def met(
        self, exchange: Exchange, model: Model, reply: bytes, query: Query
    ) -> tuple[Slate, ProfileDocument]:
        """Keep the items of a reply's slate that this device does not hold in the profile; return
        the slate and the profile after that. Raises a WireError for a hostile reply, of which
        nothing is kept.
        """
        slate = self._network.decoded(reply, query, model.card)
        exchange.check_slate(slate)
        new, version = model.received_in(slate), model.card.space.version
        if not new:
            return slate, self._profile.read()
        return slate, self._profile.change(lambda document: document.receiving(version, new))

    def keep(self, answer: Answer) -> Answer:
        """Add an answer to the past answers of the profile, with today's date, and return the very
        answer. One that repeats the last past answer is not added; the last 200 are kept.
        """
        labels = tuple([result.title for result in answer.results])
        month = "" if answer.departure is None else answer.departure.month
        past = PastAnswer(self._today(), month, labels, answer.pick.title)
        self._profile.change(lambda document: document.answered(past))
        return answer


class Taste(Subject[Answer]):
    """The taste of one profile at a server whose catalog is held."""

    source: Exchange

    def __init__(self, titles: Titles, model: Model, document: ProfileDocument) -> None:
        self._titles, self._model, self._document = titles, model, document
        self.source = titles.exchange(model, document)
        self.sends = titles.settings.mode == "ask"

    def priced(self, cost: Cost) -> Cost:
        """Return this cost with `reason`, as `Titles.reason`. If a signal is sent, also with median
        and diameter, how many ratings people are apart by the server's numbers, and wanted, the
        epsilon of `noise_for`: three Fractions, else 0.
        """
        card, told = self._model.card, replace(cost, reason=self._titles.reason(self._model))
        if not cost.sends:
            return told
        median, wanted = Fraction(card.median_distance), self.source.mechanism.epsilon
        return replace(told, median=median, diameter=card.space.diameter, wanted=wanted)

    def query(self, signal: Signal) -> Query:
        """Return the question that is sent: this signal, k, and the Monday of what is held."""
        return Query(signal, self.source.k, catalog_date=self._model.catalog_date)

    def rank(self, reply: bytes | None, query: Query | None, cost: Cost) -> Answer:
        """Return the best k titles (k of the settings) of all that is held, was received, and came
        with this reply: unrated ones first, then rated ones, by the true profile, the best of both
        first. What came is kept, and so is the answer. reply, query: None where nothing was sent.
        Raises a WireError for a hostile reply, of which nothing is kept.
        """
        exchange, came, departure = self.source, frozenset[int](), None
        if reply is not None and query is not None:
            slate, document = self._titles.met(exchange, self._model, reply, query)
            whole = self._titles.with_received(self._model, document.received)
            came = frozenset(whole.places_of(slate))
            departure = Departure(
                values=query.signal.values,
                month=cost.month,
                fresh=cost.fresh,
                point=tuple(query.signal.point().tolist()),
                true_point=tuple(exchange.profile.point.tolist()),
            )
            same = document.ratings == self._document.ratings
            if exchange.model is not whole or not same:
                exchange = self._titles.exchange(self._model, document)
        ranking = exchange.rank_all(self._titles.settings.k)
        return self._titles.keep(
            Answer(
                cost=replace(cost, spent=cost.spent_after),
                departure=departure,
                source=exchange.model.card.source,
                simulated=exchange.model.card.simulated,
                results=_results(exchange, ranking, came),
                used=len(exchange.ratings),
                unused=exchange.unused,
            )
        )


def _results(exchange: Exchange, ranking: Ranking, came: Set[int]) -> tuple[Result, ...]:
    pick, reasons = ranking.best, _reasons(exchange, ranking)
    return tuple(
        [
            Result(
                place=place,
                title=exchange.model.catalog.items[item].label,
                seen=item in exchange.ratings,
                picked=item == pick,
                score=ranking.scores[item],
                why=f"number {place} of these for you{reason}",
                came=item in came,
            )
            for place, (item, reason) in enumerate(zip(ranking.order, reasons, strict=True), 1)
        ]
    )


def _reasons(exchange: Exchange, ranking: Ranking) -> list[str]:
    # The liked title that adds most to the score; "" where none adds anything.
    catalog, like_from = exchange.model.catalog, exchange.model.card.space.scale.like_from
    liked = [item for item, rating in exchange.ratings.items() if rating >= like_from]
    order = list(ranking.order)
    shares = catalog.scoring[order] @ catalog.vectors[liked].T  # (k, n)
    shares[np.equal.outer(order, liked)] = 0  # an item is no reason for itself
    if not liked:
        return [""] * len(order)
    best = zip(shares.argmax(axis=1).tolist(), shares.max(axis=1).tolist(), strict=True)
    return [
        f", most of all because you like {catalog.items[liked[at]].label}" if most > 0 else ""
        for at, most in best
    ]


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
