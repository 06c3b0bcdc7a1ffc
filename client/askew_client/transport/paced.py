"""A network that is used at a public pace, whatever the device has to do between two calls.

How long a device works between a server's reply and its next call depends on the profile: ten
thousand ratings are matched to a catalog more slowly than three. So each call is sent a whole
number of `pace` seconds after the last reply, and the connection is closed at such a moment too.
Work that takes longer than one pace waits for the next. Only the catalog is asked for at once,
because the device does no such work between the card and it. How much public work a reply makes is
the server's choice, so that has beats of its own: where a catalog takes nearly one, a little more,
the profile's, would else pass it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from math import ceil
from typing import TypeVar

from askew.held_file import Part
from askew.metric_card import Card, MetricCard
from askew.ranking import Slate
from askew.signal import Query
from askew_client.held.source import HeldSource
from askew_client.transport.protocol import Transport

_Reply = TypeVar("_Reply")


class PacedTransport:
    """Another transport, used at a pace. Implements Transport. files: where what is held comes
    from, if not from the network; calls to either count for both, since they may belong together.
    """

    def __init__(self, network: Transport, pace: float, files: HeldSource | None = None) -> None:
        self._network, self._pace, self._files = network, pace, files or network
        self._since: float | None = None
        self._fetching = False  # whether the last call was for a piece of a file

    async def turn(self) -> None:
        """Wait for the next beat since the last reply or mark; not at all where there was none."""
        if self._since is not None:
            await asyncio.sleep(self._next_beat(self._since) - asyncio.get_running_loop().time())

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """As the files' source does: the first piece on the beat, others at once."""
        if start == 0 or not self._fetching:
            await self.turn()
        piece = await self._noted(self._files.held(edition, part, start))
        self._fetching = True
        return piece

    async def metric_card(self) -> MetricCard:
        """As the network does, on the beat."""
        await self.turn()
        return await self._noted(self._network.metric_card())

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """As the network does, on the beat."""
        await self.turn()
        return await self._noted(self._network.retrieve(query, card))

    def mark(self) -> None:
        """Beats count from the next one; what was done until now was public."""
        if self._since is not None:
            self._since = self._next_beat(self._since)

    def _next_beat(self, since: float) -> float:
        passed = asyncio.get_running_loop().time() - since
        beats = max(1, ceil(passed / self._pace))  # a coarse clock may see no work at all
        return since + beats * self._pace

    async def _noted(self, call: Awaitable[_Reply]) -> _Reply:
        """A reply, an error too, and the time at which it came."""
        self._fetching = False
        try:
            return await call
        finally:
            self._since = asyncio.get_running_loop().time()
