"""The device in another program: ask, then pick, with everything private kept here.

    async with AskewClient(settings) as client:
        answer = await client.ask()
        best = client.pick(answer)

BlockingClient is the same for scripts, without an event loop.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import wraps
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from askew.errors import ParameterError
from askew.protocol.cards import ALL
from askew.settings import host_of
from askew_client.near.pick import NO_PREFERENCES, Preferences
from askew_client.near.places import PlaceService
from askew_client.opening import Device, open_device
from askew_client.profile.document import Spot
from askew_client.settings.config import DEFAULT_SERVER, places
from askew_client.settings.settings import ClientSettings
from askew_client.views.answers import Answer, NearAnswer, Rated, Refreshed, Result
from askew_client.views.cost import Cost

if TYPE_CHECKING:
    from askew_client.device.budget import Budget
    from askew_client.transport.in_process import InProcess

_P = ParamSpec("_P")
_T = TypeVar("_T")


class UnknownTitle(UserWarning):
    """A rated title is of no item that is held or was met: it is kept, unused. It is not named."""


class _Client:
    """What either client does at once, on this device alone."""

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        server: str = DEFAULT_SERVER,
        directory: str | Path | None = None,
        transport: InProcess | None = None,
    ) -> None:
        """Make a client, closed: nothing is opened before `with`. Raises ParameterError for a wrong
        argument.

        directory: where the profile and the ledger are kept; None is the platform's own place.
        """
        settings = ClientSettings() if settings is None else settings
        _check("settings", settings, ClientSettings, "a ClientSettings")
        host_of(server)
        places(directory)
        self._settings, self._server = settings, server
        self._directory, self._transport = directory, transport
        self._left: AbstractAsyncContextManager[Device] | None = None
        self._opened: Device | None = None

    async def _open(self) -> None:
        if self._left is not None:
            raise ParameterError(
                "client", "one that is open", "opened once, and closed before again"
            )
        left = open_device(
            self._settings,
            server=self._server,
            directory=self._directory,
            transport=self._transport,
        )
        self._opened, self._left = await left.__aenter__(), left

    async def _close(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left, self._opened, self._left = self._left, None, None
        if left is not None:
            await left.__aexit__(kind, error, trace)

    @property
    def _device(self) -> Device:
        if self._opened is None:
            raise _not_open()
        return self._opened

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, "Alien (1979)", in place of a rating before. Kept on this device. Raises
        ProfileError.

        Warns with UnknownTitle where no item that is held or was met has this title; `ask` and
        `cost` connect.
        """
        _check("label", label, str, 'text, such as "Alien (1979)"')
        _check("rating", rating, Real, "a number")
        self._device.profile.rate(label, float(rating))
        if not self._device.profile.knows(label):
            text = "this device knows no such title: the rating is kept, and not used"
            warnings.warn(text, UnknownTitle, stacklevel=2)

    def ratings(self) -> tuple[Rated, ...]:
        """Return every rating that this device keeps, newest first."""
        return self._device.profile.ratings()

    def unmatched(self) -> tuple[str, ...]:
        """Return the rated titles of no item that is held or was met, newest first; () before a
        connection.
        """
        return tuple(each.label for each in self._device.profile.unmatched())

    def budget(self) -> Budget:
        """Return what was spent and what is left, in numbers and in words:
        `print(*client.budget().words, sep="\\n")`.
        """
        return self._device.budget()

    @property
    def places(self) -> PlaceService:
        """Return the service of the named places: `client.places.add("home", Position(52.52,
        13.4))`, list, move; the middle of a town is `find_towns("Kiel", "DE")[0].at`.
        """
        return self._device.places

    def pick(self, answer: Answer) -> Result:
        """Return the best result of an answer for this person, the best unrated one if there is
        any. Never sent.
        """
        _check("answer", answer, Answer, "what `ask` gave")
        return answer.pick

    def rank(self, answer: Answer) -> tuple[Result, ...]:
        """Return the results of an answer from best to worst for this person. Never sent."""
        _check("answer", answer, Answer, "what `ask` gave")
        return answer.results


class AskewClient(_Client):
    """Ask in private from an event loop. Every call raises AskewError (`askew.errors`)."""

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close(kind, error, trace)

    @property
    def device(self) -> Device:
        """Return the open Device, for what this class has no method for. Raises ParameterError
        while the client is not open.
        """
        return self._device

    # `self` is either client: BlockingClient runs these very functions to their end.

    async def cost(self: _Client) -> Cost:
        """Return the Cost of what `ask` would do now; its leaves is Leaves.NOTHING and its charge 0
        where the held titles answer, which is so unless the mode is "ask".

        Fetches what is not held; nothing is drawn or charged.
        """
        return await self._device.asker.show(self._device.titles)

    async def ask(self: _Client, *, shown: Cost | None = None) -> Answer:
        """Return an Answer: results, the k best titles for this person, best first, and its pick.

        shown: what `cost` said; NotShown is raised, before anything is drawn, charged, fetched or
        sent, where the question would be more than that. Without it the settings decide, and
        NotShown is raised where a signal would be sent and the last question sent nothing, and for
        a second fresh signal within one month.
        """
        return await self._device.asker.ask(self._device.titles, shown=shown)

    async def refresh(self: _Client) -> Refreshed:
        """Look for the current version of what this device holds, if it is time, and return what is
        held then, a Refreshed: catalog_date (a date), part, size and fetched in bytes, and
        next_look (a datetime in UTC). For a timer, a few times a day.
        """
        return await self._device.titles.refresh()

    async def near(
        self: _Client,
        collection: str,
        place: str | Spot = "home",
        *,
        preferences: Preferences | str = NO_PREFERENCES,
        shown: Cost | None = None,
        again: bool = False,
    ) -> NearAnswer:
        """Return a NearAnswer: results, the best k items of a collection near a place, best first,
        and its pick, None where none passes the filters.

        place: a name, whose one signal is sent again for nothing, or a Position (or AxisValues)
        without a name: a fresh signal and a charge each time. preferences: never sent; text is read
        by `preferences_of`, such as "open, price <= 10". shown: what `near_cost` said, as for
        `ask`. again: send once more the signal that was charged for this very spot without a name
        and not answered; the server sees that it is the same spot.
        """
        _check("collection", collection, str, "a collection's name")
        if collection == ALL:
            raise ParameterError("collection", ALL, "one's name; `near_all` asks all of them")
        question = self._device.nearby.question(collection, place, preferences)
        return (await self._device.asker.ask(question, shown=shown, again=again))[0]

    async def near_all(
        self: _Client,
        place: str | Spot = "home",
        *,
        preferences: Preferences | str = NO_PREFERENCES,
        shown: Cost | None = None,
        again: bool = False,
    ) -> tuple[NearAnswer, ...]:
        """Return an answer as `near` does for each collection of the server, in the card's order,
        by one question with one signal.

        shown: what `near_cost("*")` said.
        """
        question = self._device.nearby.question(ALL, place, preferences)
        return await self._device.asker.ask(question, shown=shown, again=again)

    async def near_cost(
        self: _Client, collection: str, place: str | Spot = "home", *, again: bool = False
    ) -> Cost:
        """Return what `near`, with this `again`, would cost now; "*" is `near_all`. Connects if
        need be; nothing is drawn or charged.
        """
        _check("collection", collection, str, "a collection's name")
        question = self._device.nearby.question(collection, place)
        return await self._device.asker.show(question, again=again)


def _to_its_end(
    method: Callable[Concatenate[_Client, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[BlockingClient, _P], _T]:
    @wraps(method)
    def waits(client: BlockingClient, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return client._run(method(client, *args, **kwargs))

    return waits


class BlockingClient(_Client):
    """The same as AskewClient, for scripts: `with BlockingClient(settings) as client:`."""

    _runner: asyncio.Runner | None = None

    def __enter__(self) -> Self:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            runner = asyncio.Runner()
            try:
                runner.run(self._open())
            except BaseException:
                runner.close()
                raise
            self._runner = runner
            return self
        limit = "used without an event loop; with one, as in a notebook: async with AskewClient"
        raise ParameterError("BlockingClient", "a running event loop", limit)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._run(self._close(kind, error, trace))
        finally:
            if self._runner is not None:
                self._runner.close()
            self._runner = None

    def _run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        if self._runner is None:
            coroutine.close()
            raise _not_open()
        return self._runner.run(coroutine)

    cost = _to_its_end(AskewClient.cost)
    ask = _to_its_end(AskewClient.ask)
    refresh = _to_its_end(AskewClient.refresh)
    near = _to_its_end(AskewClient.near)
    near_all = _to_its_end(AskewClient.near_all)
    near_cost = _to_its_end(AskewClient.near_cost)


def _not_open() -> ParameterError:
    return ParameterError("client", None, "open: use it in a with statement")


def _check(name: str, value: object, kind: type, limit: str) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ParameterError(name, type(value), limit)
