"""What callers may take of one process: threads, connections, unread replies, file descriptors.

*Jobs.* A job takes a slot when it is admitted, and frees it when it ends, whether or not anybody
still waits for it: a caller who went away cannot make room for more work than there is. A job that
would be answered too late is refused at once. The oldest job is always next, and it is in time
because no more are let in than the pace of those before allows.

*Calls of one connection.* A call counts from its headers until its reply is taken or its connection
ends. So a message that never comes and a reply that nobody reads count as well.

*Connections.* One that finds no descriptor waits in the system, unanswered, for as long as its
caller does; gRPC closes one beyond its own limit at once. So that limit is below the system's. What
one address may take of them is for the proxy in front to limit.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from ipaddress import ip_address, ip_network
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

from askew.errors import AccessError, Overloaded, TooSlow, Unreachable
from askew_server.serving.call import Job
from askew_server.serving.settings import QueueLimits, ServerConfig

_MEMORY = 8
"""How many jobs the pace is an average of, roughly: later ones count more."""


class Admission:
    """One queue's threads and state. clock: seconds, never going back."""

    def __init__(self, name: str, limits: QueueLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._threads = ThreadPoolExecutor(limits.threads, name)
        self._taken, self._pace, self._lock = 0, 0.0, Lock()
        self.refused = 0  # calls that found no slot, ever

    @property
    def taken(self) -> int:
        """Slots of jobs that run or wait."""
        return self._taken

    @property
    def wait(self) -> float:
        """Seconds until a thread is free for one more job, by the pace of those before."""
        ahead = max(0, self._taken + 1 - self._limits.threads)
        return ahead * self._pace / self._limits.threads

    async def run(self, job: Job, remaining: float | None) -> bytes:
        """The reply that a job makes. remaining: seconds until its caller's deadline.

        Raises Overloaded where no slot is free, or none in time, TooSlow for a deadline that
        passes first, as no work begins after it, and Unreachable where the queue stops.
        """
        longest = self._limits.longest
        seconds = longest if remaining is None else min(remaining, longest)
        ends = self._clock() + seconds
        self._take(job.cost, seconds)
        try:
            future = self._threads.submit(self._run, job, ends)
        except RuntimeError:  # it stops
            self._free(job.cost)
            raise Unreachable("the server is stopping") from None
        future.add_done_callback(lambda _: self._free(job.cost))
        return await _awaited(future, seconds)

    def stop(self) -> None:
        """Begin no more jobs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _take(self, cost: int, seconds: float) -> None:
        if seconds <= 0:
            raise TooSlow("the deadline has passed")
        with self._lock:
            if not self._has_room(cost, seconds):
                self.refused += 1
                raise Overloaded("too many calls are under way")
            self._taken += cost

    def _has_room(self, cost: int, seconds: float) -> bool:
        """Whether a job may come in; one that finds nobody there always may."""
        limits, wait = self._limits, self.wait
        if not self._taken:
            return True
        fits = self._taken + cost <= limits.threads + limits.waiting
        return fits and wait <= limits.max_wait and wait + cost * self._pace <= seconds

    def _free(self, cost: int) -> None:
        with self._lock:
            self._taken -= cost

    def _run(self, job: Job, ends: float) -> bytes:
        begins = self._clock()
        if begins >= ends:
            raise TooSlow("the deadline passed before the work began")
        try:
            return job.run()
        finally:
            self._learn((self._clock() - begins) / job.cost)

    def _learn(self, seconds: float) -> None:
        with self._lock:
            self._pace += (seconds - self._pace) / _MEMORY


async def _awaited(future: Future[bytes], seconds: float) -> bytes:
    """What a future becomes. A job that has not begun is given up where nobody waits any more."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(future)
    except TimeoutError:
        raise TooSlow("the deadline passed") from None


SMALL = 4096
"""Bytes of a reply that is always given: the number of calls bounds how many wait to be read."""


class Connections:
    """Calls under way by connection, and bytes of large replies that nobody has read yet.

    calls: at most, of one connection. spared: addresses or networks of proxies, whose connections
    carry many people's calls. unread: bytes, of all connections. Peers are named as gRPC does, such
    as "ipv4:127.0.0.1:4711"; a name is forgotten with its last call. For one thread.
    """

    def __init__(self, calls: int, spared: Sequence[str], unread: int) -> None:
        self._most, self._most_unread = calls, unread
        self._spared = [ip_network(each, strict=False) for each in spared]
        self._calls = dict[str, int]()
        self._unread = 0

    @property
    def peers(self) -> int:
        """Connections with a call under way."""
        return len(self._calls)

    def enter(self, peer: str) -> None:
        """A call begins. Raises Overloaded where its connection has too many; it is not counted."""
        count = self._calls.get(peer, 0)
        if count >= self._most and not self.spares(peer):
            raise Overloaded("too many calls of one connection")
        self._calls[peer] = count + 1

    def leave(self, peer: str, held: int = 0) -> None:
        """A call that entered is over. held: what it was given to hold."""
        self.release(held)
        count = self._calls.pop(peer) - 1
        if count:
            self._calls[peer] = count

    def hold(self, size: int) -> int:
        """Room for a reply until it is read: the bytes to give back. Raises Overloaded."""
        if size <= SMALL:
            return 0
        if self._unread + size > self._most_unread:
            raise Overloaded("too many replies wait to be read")
        self._unread += size
        return size

    def release(self, held: int) -> None:
        """Give back what was held."""
        self._unread -= held

    def spares(self, peer: str) -> bool:
        """Whether a connection is a proxy's."""
        address = unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]").partition("%")[0]
        try:
            return any(ip_address(address) in network for network in self._spared)
        except ValueError:  # no address, as of a socket in a file system
            return False


METADATA_BYTES = 8192
"""The most that the headers of a request may take."""
_PROXY_STREAMS = 1000  # of a proxy's connection, at once
_SETTINGS = 10.0  # seconds until a connection has said how it speaks HTTP/2
_DEAD = 20.0  # seconds from a ping that nobody answers to the end of its connection
_PINGS = 30.0  # seconds between two pings of a caller
_NO_COMPRESSION = 1  # sizes must not depend on content


def options_of(config: ServerConfig) -> list[tuple[str, int]]:
    """What a gRPC server is started with."""
    limits = config.limits
    return [
        ("grpc.so_reuseport", 0),  # a second server must fail
        ("grpc.max_receive_message_length", limits.request_bytes),
        ("grpc.compression_enabled_algorithms_bitset", _NO_COMPRESSION),
        ("grpc.max_metadata_size", METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", METADATA_BYTES),
        ("grpc.max_concurrent_streams", _PROXY_STREAMS if config.proxies else limits.streams),
        ("grpc.server.max_pending_requests", limits.pending),
        ("grpc.server.max_pending_requests_hard_limit", 2 * limits.pending),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.server_handshake_timeout_ms", _ms(limits.handshake)),
        ("grpc.http2.settings_timeout", _ms(_SETTINGS)),
        ("grpc.max_connection_idle_ms", _ms(limits.idle)),
        ("grpc.max_connection_age_ms", _ms(limits.age)),
        ("grpc.max_connection_age_grace_ms", _ms(limits.age_grace)),
        ("grpc.keepalive_time_ms", _ms(limits.keepalive)),
        ("grpc.keepalive_timeout_ms", _ms(_DEAD)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.ping_timeout_ms", _ms(_DEAD)),
        ("grpc.http2.min_ping_interval_without_data_ms", _ms(_PINGS)),
    ]


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


_OTHER = 100  # descriptors beside connections and what is open at the start
_LEAST = 8  # connections below which a server is no use
_OPEN = Path("/proc/self/fd")


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


def peer_name(connection: socket.socket) -> str:
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


def why_not(error: OSError | UnicodeError, flag: str = "--port") -> str:
    """Return why nothing can listen at an address, and what to do."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return "this machine knows no such host"
    match error.errno:
        case errno.EADDRINUSE:
            return f"the port is taken by another program; {flag} names another"
        case errno.EADDRNOTAVAIL:
            return "this machine has no such address"
        case errno.EACCES:
            return f"a low port needs a privilege; {flag} names another"
    return os.strerror(error.errno or 0).lower()
