"""Connections as the system sees them: how many this process may have, and whose they are.

A connection that finds no descriptor waits in the system, unanswered, for as long as its caller
does; one beyond gRPC's own limit is closed at once. So that limit is below the system's. And where
connections get scarce no address keeps more than a share of them.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from askew.errors import AccessError

_OTHER = 100  # descriptors beside connections and what is open at the start
_LEAST = 8  # connections below which a server is no use
_SHARE = 8  # of the connections, that one address keeps when more than half are taken
_EVERY = 0.25  # seconds between two looks
_OPEN = Path("/proc/self/fd")
_LAST_RECEIVED = slice(52, 56)  # of Linux' tcp_info: milliseconds since something came


def connections_within(wanted: int) -> int:
    """How many connections the limit of open files allows, which is raised as far as it may be.

    Raises AccessError where it allows next to none.
    """
    own = _open_files() + _OTHER
    with suppress(OSError, ValueError):  # a sandbox may forbid both
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < own + wanted:
            most = own + wanted if hard == resource.RLIM_INFINITY else min(own + wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        if soft != resource.RLIM_INFINITY:
            wanted = min(wanted, soft - own)
    if wanted < _LEAST:
        raise AccessError(f"the limit of open files is too low: it must be {own + _LEAST} at least")
    return wanted


def _open_files() -> int:
    with suppress(OSError):
        return sum(1 for _ in _OPEN.iterdir())
    return 0


class Shares:
    """Of the connections to a port, `most` in all, what each address has.

    busy: connections with a call under way, as gRPC names them, which are left alone. spares:
    whether one belongs to a proxy.
    """

    def __init__(
        self, port: int, most: int, busy: Callable[[], set[str]], spares: Callable[[str], bool]
    ) -> None:
        self._port, self._most, self._busy, self._spares = port, most, busy, spares
        self._share = max(1, most // _SHARE)

    async def run(self, closed: Callable[[int], None]) -> None:
        """Looks again and again, until cancelled. closed: told how many were."""
        while True:
            await asyncio.sleep(_EVERY)
            if _open_files() > self._most // 2:
                await self._look(closed)

    async def _look(self, closed: Callable[[int], None]) -> None:
        count = await asyncio.to_thread(self.enforce, self._busy())
        if count:
            closed(count)

    def enforce(self, busy: set[str]) -> int:
        """Closes what is beyond a share, the longest silent first, where more than half of all are
        taken; how many.
        """
        with _Sockets(self._port) as found:
            if sum(map(len, found.values())) <= self._most // 2:
                return 0
            count = 0
            for address, sockets in found.items():
                if self._spares(f"{address}:0"):
                    continue
                idle = [each for each in sockets if _name(each) not in busy]
                idle.sort(key=_silence, reverse=True)
                for each in idle[: max(0, len(sockets) - self._share)]:
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)  # gRPC sees an end, and closes its own
                        count += 1
            return count


class _Sockets:
    """The connections to a port by their other side's address, each by a descriptor of its own, so
    that it is the same while it is looked at.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._found: dict[str, list[socket.socket]] = defaultdict(list)

    def __enter__(self) -> dict[str, list[socket.socket]]:
        for path in _OPEN.iterdir():
            each = _socket(int(path.name))
            if each is None:
                continue
            address = self._address(each)
            if address:
                self._found[address].append(each)
            else:
                each.close()
        return self._found

    def __exit__(self, *_: object) -> None:
        for sockets in self._found.values():
            for each in sockets:
                each.close()

    def _address(self, each: socket.socket) -> str:
        """Of the other side; nothing for what is no connection to the port."""
        with suppress(OSError):
            ours = each.family in {socket.AF_INET, socket.AF_INET6}
            if ours and each.getsockname()[1] == self._port:
                return _name(each).rpartition(":")[0]
        return ""


def _socket(descriptor: int) -> socket.socket | None:
    try:
        own = os.dup(descriptor)
    except OSError:  # closed meanwhile
        return None
    try:
        return socket.socket(fileno=own)
    except OSError:  # no socket
        os.close(own)
        return None


def _name(connection: socket.socket) -> str:
    """The other side as gRPC names it, unquoted: ipv4:127.0.0.1:4711, ipv6:[::1]:4711."""
    try:
        host, port, *_ = connection.getpeername()
    except OSError:
        return ""
    if connection.family == socket.AF_INET6:
        mapped = host.removeprefix("::ffff:")
        if "." in mapped:
            return f"ipv4:{mapped}:{port}"
        return f"ipv6:[{host}]:{port}"
    return f"ipv4:{host}:{port}"


def _silence(connection: socket.socket) -> int:
    """Milliseconds since something came."""
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    except OSError:
        return 0
    return int.from_bytes(told[_LAST_RECEIVED], "little")
