"""A task beside the server that swaps the next snapshot in, as when live values change."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from askew_server.retrieval.snapshot import Serving, SnapshotHolder

_log = logging.getLogger(__name__)
_EVERY = 0.5  # seconds between two looks at the files


class SnapshotWatch:
    """Looks for the next snapshot every half second, and at once when woken."""

    def __init__(self, serving: Serving, holder: SnapshotHolder) -> None:
        self._serving, self._holder = serving, holder

    async def look(self) -> bool:
        """Swaps, if there is another. Files are read in a thread: calls go on."""
        changed = await asyncio.to_thread(self._serving.refresh, _log.warning)
        if changed:
            self._holder.swap(self._serving.snapshot)
        return changed

    async def run(self, wake: asyncio.Event) -> None:
        """Until cancelled; an error is told by its type alone and ends nothing."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EVERY):
                    await wake.wait()
            wake.clear()
            try:
                await self.look()
            except Exception as error:
                _log.error("no next snapshot: %s", type(error).__name__)
