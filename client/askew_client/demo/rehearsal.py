"""What else a server could answer, for the table of the demo: a second process that is asked.

A device holds no places, so it cannot play the rows beside its own. The process knows the demo's
places alone, and it is asked with fresh noise around a made-up home: nothing is charged for it.
"""

from __future__ import annotations

from asyncio.subprocess import Process
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

from askew.errors import ServerFailed
from askew.protocol.metric_card import MetricCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.wire.convert import query_to_bytes, slate_from_bytes
from askew_client.demo.server import last_words, server_process

Way = Literal["served", "nearest", "everybody"]


class Rehearsal:
    """Answers of the process to questions as they travel, a line each."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def answers(
        self, questions: Sequence[tuple[Way, Query]], card: MetricCard
    ) -> list[Slate]:
        """One slate a question, each answered in its way. Raises ServerFailed."""
        sender, answers = self._process.stdin, self._process.stdout
        if sender is None or answers is None:  # both are pipes: for the type checker
            raise ServerFailed("the rehearsal has no pipes")
        lines = [b"%s %s\n" % (way.encode(), b64encode(query_to_bytes(q))) for way, q in questions]
        found = []
        try:
            sender.writelines(lines)
            await sender.drain()
            for _, query in questions:
                line = b64decode(await answers.readuntil())
                found.append(slate_from_bytes(line, card, query.k, query.collection))
        except (OSError, EOFError):
            words = await last_words(self._process)
            raise ServerFailed(f"the demo's second process ended: {words}") from None
        return found


@asynccontextmanager
async def rehearsal() -> AsyncIterator[Rehearsal]:
    """A rehearsal in a process of its own; it is stopped on the way out, whatever happens."""
    async with server_process("rehearse") as process:
        yield Rehearsal(process)
