"""What keeps private work and open connections apart.

How long a device works on its profile depends on the profile. So while one of its connections
exists, it does no such work: whoever watches the connection hears the network and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from askew.errors import ConnectionOpen, NotReady


class Guard:
    """One device's private work and connections, of which one kind at a time is under way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connections = self._working = 0

    @property
    def connected(self) -> bool:
        """Whether a connection exists."""
        return self._connections > 0

    @contextmanager
    def connection(self) -> Iterator[None]:
        """A connection, from before it is opened until its descriptor is closed.

        Raises NotReady while private work is under way.
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
        """Work on something private. Raises ConnectionOpen while a connection exists."""
        with self._lock:
            if self._connections:
                raise ConnectionOpen
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
