"""A network that its first call opens: who is answered by what the device holds loads no gRPC."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew.held_file import Part
    from askew.metric_card import Card, MetricCard
    from askew.ranking import Slate
    from askew.signal import Query
    from askew_client.transport.protocol import Transport


class LateTransport:
    """Another transport, opened when it is first used; whoever gave `open_it` closes it.
    Implements Transport.
    """

    def __init__(self, open_it: Callable[[], Awaitable[Transport]]) -> None:
        self._open = open_it
        self._opened: Transport | None = None

    async def network(self) -> Transport:
        """The other one, opened by now. Raises what opening it raises."""
        if self._opened is None:
            self._opened = await self._open()
        return self._opened

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
        if self._opened is not None:
            self._opened.mark()
