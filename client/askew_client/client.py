"""The device in another program: ask, then pick, with everything private kept here.

    async with AskewClient(settings) as client:
        answer = await client.ask()
        best = client.pick(answer)

`askew_client.blocking_client` is the same for scripts without an event loop.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractAsyncContextManager
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Self

from askew.address import host_of
from askew.errors import ParameterError
from askew_client.device.device import Companion
from askew_client.opening import open_companion
from askew_client.places.desk import PlaceDesk
from askew_client.places.wishes import NO_WISHES, Wishes
from askew_client.profile.named_place import Spot
from askew_client.settings import paths
from askew_client.settings.settings import ClientSettings
from askew_client.settings.sources import DEFAULT_SERVER
from askew_client.transport.protocol import Transport
from askew_client.views.near import NearAnswer, NearQuote
from askew_client.views.problems import value_of
from askew_client.views.values import Answer, Quote, Refreshed, Result


class UnknownTitle(UserWarning):
    """A rated title is of no item that is held or was met: it is kept, unused. It is not named."""


class AskewClient:
    """Ask in private from an event loop. Raises AskewError where a Companion returns a Setback."""

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        server: str = DEFAULT_SERVER,
        directory: str | Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Nothing is opened before `async with`. Raises ParameterError for a wrong argument.

        directory: where the profile and the ledger are kept; None is the platform's own place.
        """
        settings = ClientSettings() if settings is None else settings
        _check("settings", settings, ClientSettings, "a ClientSettings")
        host_of(server)
        paths.places(directory)
        self._opening: AbstractAsyncContextManager[Companion] = open_companion(
            settings, server=server, directory=directory, transport=transport
        )
        self._companion: Companion | None = None

    async def __aenter__(self) -> Self:
        self._companion = await self._opening.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._companion = None
        await self._opening.__aexit__(kind, error, trace)

    @property
    def companion(self) -> Companion:
        """The whole facade, for what this class has no method for."""
        if self._companion is None:
            raise ParameterError("client", None, "open: use it in a with statement")
        return self._companion

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, "Alien (1979)". Kept on this device. Raises ProfileError.

        Warns with UnknownTitle where no item that is held or was met has this title; `ask` and
        `quote` connect.
        """
        rate(self.companion, label, rating)

    def unmatched(self) -> tuple[str, ...]:
        """The rated titles of no item that is held or was met, newest first."""
        return tuple(each.label for each in self.companion.unmatched())

    async def quote(self) -> Quote:
        """What `ask` would cost now. Connects first if need be; nothing is drawn or charged."""
        return value_of(await self.companion.quote())

    async def ask(self, *, second_space: bool = False, quoted: Quote | None = None) -> Answer:
        """The answer to this slot's question.

        second_space: the person's yes to another space's signal within one month; without it,
        SecondSpace is raised where there would be one. quoted: what `quote` said; the question is
        of its month, even if that has ended since.
        """
        return value_of(await self.companion.ask(second_space=second_space, quoted=quoted))

    async def refresh(self) -> Refreshed:
        """Look for the current edition of what is held, if its turn has come: for a timer, a few
        times a day. No question does that while what is held is still answered.
        """
        return value_of(await self.companion.refresh())

    @property
    def places(self) -> PlaceDesk:
        """The named places: `client.places.add("home", Position(52.52, 13.4))`, list, move."""
        return self.companion.nearby

    async def near(
        self,
        collection: str,
        place: str | Spot = "home",
        *,
        wishes: Wishes = NO_WISHES,
        second_space: bool = False,
    ) -> NearAnswer:
        """The items of a collection near a place, ranked and picked here.

        place: a name, whose one signal is sent again for nothing, or a Position (or AxisValues)
        without a name: a fresh signal and a charge each time. wishes: never sent.
        """
        nearby = self.companion.nearby
        outcome = nearby.near(collection, place, wishes=wishes, second_space=second_space)
        return value_of(await outcome)

    async def near_quote(self, collection: str, place: str | Spot = "home") -> NearQuote:
        """What `near` would cost now. Connects if need be; nothing is drawn or charged."""
        return value_of(await self.companion.nearby.quote(collection, place))

    def pick(self, answer: Answer) -> Result:
        """The best result of an answer for this person. Never sent."""
        _check("answer", answer, Answer, "what `ask` gave")
        return answer.pick

    def rank(self, answer: Answer) -> tuple[Result, ...]:
        """The results of an answer from best to worst for this person. Never sent."""
        _check("answer", answer, Answer, "what `ask` gave")
        return answer.results


def rate(companion: Companion, label: str, rating: float) -> None:
    """Rate a title; the warning names the line of who called the client."""
    _check("label", label, str, 'text, such as "Alien (1979)"')
    _check("rating", rating, Real, "a number")
    companion.rate(label, float(rating))
    if not companion.knows(label):
        text = "this device knows no such title: the rating is kept, and not used"
        warnings.warn(text, UnknownTitle, stacklevel=3)


def _check(name: str, value: object, kind: type, limit: str) -> None:
    """Raises ParameterError for a value of another type; the type is named, which is public."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ParameterError(name, type(value), limit)
