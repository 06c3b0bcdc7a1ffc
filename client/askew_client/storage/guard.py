"""What keeps private work from being watched: apart from open connections, and out of core dumps.

How long a device works on its profile depends on the profile. So while one of its connections
exists, it does no such work: whoever watches the connection hears the network and nothing else.
What might still connect counts as a connection until it is gone.
Cancelling the wait for such work does not end its thread, and no connection opens until it has
ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from askew.errors import ConnectionOpen, NotReady

_Given = ParamSpec("_Given")
_Value = TypeVar("_Value")


async def in_thread(
    act: Callable[_Given, _Value], /, *arguments: _Given.args, **named: _Given.kwargs
) -> _Value:
    """Return `act(*arguments, **named)`, run in a thread; a cancelled caller waits for its end
    before the cancellation goes on.
    """
    import asyncio  # commands that show what is stored do without

    work = asyncio.ensure_future(asyncio.to_thread(act, *arguments, **named))
    try:
        return await asyncio.shield(work)
    finally:
        while not work.done():
            with suppress(asyncio.CancelledError):  # the first is raised after this
                await asyncio.wait((work,))
        if not work.cancelled():
            work.exception()  # of which nobody hears any more: a loop would print it


class Guard:
    """One device's private work and connections, of which one kind at a time is under way.

    alive: objects that may connect for as long as they exist, closed or not, as gRPC's calls do.
    """

    def __init__(self) -> None:
        self.alive: WeakSet[object] = WeakSet()
        self._lock = Lock()
        self._connections = self._working = 0  # work nests, and runs in several threads

    @property
    def connected(self) -> bool:
        """Return True if a connection of this device, or what might still connect, exists."""
        return self._connections > 0 or len(self.alive) > 0

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Count a connection, from before it is opened (entry) until its descriptor is closed
        (exit): meanwhile `private` raises ConnectionOpen.

        Raises NotReady on entry while private work is under way.
        """
        with self._lock:
            if self._working:
                raise NotReady
            self._connections += 1
        try:
            yield
        finally:
            with self._lock:
                self._connections -= 1

    @contextmanager
    def private(self) -> Iterator[None]:
        """Count private work, from entry to exit: meanwhile `connection` raises NotReady. Raises
        ConnectionOpen on entry while a connection exists.
        """
        with self._lock:
            if self.connected:
                raise ConnectionOpen
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1


_PR_SET_DUMPABLE = 4  # linux/prctl.h


def switch_off_core_dumps() -> None:
    """Set the soft limit of core dumps of this process, and of those that it starts, to 0; on Linux
    also make this process not dumpable (prctl).

    Linux gives a dump to a program (systemd-coredump, say) whatever the limit, but never that of a
    process that is not dumpable; other programs of the person cannot attach to that either. A
    system that refuses is left as it is. For the commands alone: a library changes no limits of
    somebody else's process.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
