"""Memory that was freed goes back to the system.

The allocator keeps it in pieces otherwise: a thousand connections that have gone leave 16 MB, of
which 6 MB remain after this.
"""

from __future__ import annotations

import asyncio
import ctypes

EVERY = 20.0  # seconds; a look takes a few milliseconds, in a thread, without the interpreter


async def give_back(every: float = EVERY) -> None:
    """Again and again, until cancelled; nothing where the allocator has no such call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:
        await asyncio.sleep(every)
        await asyncio.to_thread(trim, 0)


def give_back_now() -> None:
    """As after a model was read, and before the files of it that devices hold are made."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
