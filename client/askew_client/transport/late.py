"""A network that its first call opens: who is answered by what the device holds loads no gRPC."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from askew.held_file import Part
    from askew.metric_card import Card, MetricCard
    from askew.ranking import Slate
    from askew.signal import Query
    from askew_client.transport.protocol import Transport


class LateTransport:
    """Another transport, made and entered when it is first used. Implements Transport. Use as an
    async context manager.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[Transport]]) -> None:
        self._make, self._left = make, AsyncExitStack()
        self._made: Transport | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._left.__aexit__(kind, error, trace)

    async def network(self) -> Transport:
        """The other one, opened by now. Raises what making it raises."""
        if self._made is None:
            self._made = await self._left.enter_async_context(self._make())
        return self._made

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """As the network does."""
        return await (await self.network()).held(edition, part, start)

    async def metric_card(self) -> MetricCard:
        """As the network does."""
        return await (await self.network()).metric_card()

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """As the network does."""
        return await (await self.network()).retrieve(query, card)

    def mark(self) -> None:
        """As the network does, where there is one."""
        if self._made is not None:
            self._made.mark()
