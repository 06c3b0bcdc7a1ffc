"""The device in another program: ask, then pick, with everything private kept here.

    async with AskewClient(settings) as client:
        slate = await client.ask()
        item = client.pick(slate)

`BlockingClient` is the same for scripts without an event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from askew_client.companion import Companion
from askew_client.outcomes import Answer, Result, SharedAnswer, Title
from askew_client.settings import ClientSettings
from askew_client.transport import Transport

DEFAULT_SERVER = "127.0.0.1:7571"


@asynccontextmanager
async def open_companion(
    settings: ClientSettings,
    *,
    server: str = DEFAULT_SERVER,
    directory: Path | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[Companion]:
    """A companion with a real network (or the given transport) and the stores of a directory.

    directory: where the profile and the ledger are kept; None is the platform's own place.
    """
    raise NotImplementedError
    yield


class AskewClient:
    """Ask in private from an event loop. Raises AskewError where a Companion has a Setback."""

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        server: str = DEFAULT_SERVER,
        directory: Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        """Nothing is opened before `async with`."""

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    @property
    def companion(self) -> Companion:
        """The whole facade, for what this class has no word for."""
        raise NotImplementedError

    def rate(self, label: str, rating: float) -> None:
        """Rate a title, "Alien (1979)". Kept on this device. Raises ProfileError."""
        raise NotImplementedError

    async def ask(self) -> Answer | SharedAnswer:
        """The slate of this slot's question; what anybody is shown when nothing is rated."""
        raise NotImplementedError

    def pick(self, slate: Answer | SharedAnswer) -> Title:
        """The best title of a slate for this person. Never sent."""
        raise NotImplementedError

    def rank(self, slate: Answer) -> tuple[Result, ...]:
        """The slate from best to worst for this person. Never sent."""
        raise NotImplementedError


class BlockingClient:
    """The same as AskewClient, for scripts: `with BlockingClient(settings) as client:`."""
