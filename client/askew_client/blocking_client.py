"""The device in a script: what `askew_client.client` is with an event loop, without one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from askew_client.client import AskewClient, rate
from askew_client.device.device import Companion
from askew_client.places.desk import PlaceDesk
from askew_client.places.wishes import NO_WISHES, Wishes
from askew_client.profile.named_place import Spot
from askew_client.settings.settings import ClientSettings
from askew_client.settings.sources import DEFAULT_SERVER
from askew_client.transport.protocol import Transport
from askew_client.views.near import NearAnswer, NearQuote
from askew_client.views.values import Answer, Quote, Refreshed, Result


class BlockingClient:
    """The same as AskewClient, for scripts: `with BlockingClient(settings) as client:`."""

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        server: str = DEFAULT_SERVER,
        directory: str | Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Nothing is opened before `with`."""
        self._client = AskewClient(
            settings, server=server, directory=directory, transport=transport
        )
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._runner.run(self._client.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._runner.run(self._client.__aexit__(kind, error, trace))
        finally:
            self._runner.close()

    @property
    def companion(self) -> Companion:
        """The whole facade; its coroutines need an event loop of their own."""
        return self._client.companion

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, "Alien (1979)". Kept on this device. See `AskewClient.rate`."""
        rate(self.companion, label, rating)

    def unmatched(self) -> tuple[str, ...]:
        """The rated titles of no item that is held or was met, newest first."""
        return self._client.unmatched()

    def quote(self) -> Quote:
        """What `ask` would cost now. Connects first if need be; nothing is drawn or charged."""
        return self._runner.run(self._client.quote())

    def ask(self, *, second_space: bool = False, quoted: Quote | None = None) -> Answer:
        """The answer to this slot's question. second_space, quoted: see `AskewClient.ask`."""
        return self._runner.run(self._client.ask(second_space=second_space, quoted=quoted))

    def refresh(self) -> Refreshed:
        """Look for the current edition of what is held. See `AskewClient.refresh`."""
        return self._runner.run(self._client.refresh())

    @property
    def places(self) -> PlaceDesk:
        """The named places: `client.places.add("home", Position(52.52, 13.4))`, list, move."""
        return self._client.places

    def near(
        self,
        collection: str,
        place: str | Spot = "home",
        *,
        wishes: Wishes = NO_WISHES,
        second_space: bool = False,
    ) -> NearAnswer:
        """The items of a collection near a place, ranked here. See `AskewClient.near`."""
        outcome = self._client.near(collection, place, wishes=wishes, second_space=second_space)
        return self._runner.run(outcome)

    def near_quote(self, collection: str, place: str | Spot = "home") -> NearQuote:
        """What `near` would cost now. Connects if need be; nothing is drawn or charged."""
        return self._runner.run(self._client.near_quote(collection, place))

    def pick(self, answer: Answer) -> Result:
        """The best result of an answer for this person. Never sent."""
        return self._client.pick(answer)

    def rank(self, answer: Answer) -> tuple[Result, ...]:
        """The results of an answer from best to worst for this person. Never sent."""
        return self._client.rank(answer)
