"""What one connection, and all of them together, may hold of a server at once.

A call is counted from its headers until its reply is taken or its connection ends, so a message
that never comes and a reply that nobody reads count as well.

A configuration as gRPC's channel arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from urllib.parse import unquote

from askew.errors import Overloaded
from askew_server.serving.configuration.server import ServerConfig

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

    @property
    def busy(self) -> set[str]:
        """Connections with a call under way, without quotes."""
        return {unquote(each) for each in self._calls}

    def enter(self, peer: str) -> None:
        """A call begins. Raises Overloaded where its connection has too many; it is not counted."""
        count = self._calls.get(peer, 0)
        if count >= self._most and not self.spares(peer):
            raise Overloaded("too many calls of one connection")
        self._calls[peer] = count + 1

    def leave(self, peer: str, held: int = 0) -> None:
        """A call that entered is over. held: what it was given to hold."""
        self._unread -= held
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

    def spares(self, peer: str) -> bool:
        """Whether a connection is a proxy's."""
        address = unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]").partition("%")[0]
        try:
            return any(ip_address(address) in network for network in self._spared)
        except ValueError:  # no address, as of a socket in a file system
            return False


_NO_COMPRESSION = 1  # sizes must not depend on content


def options_of(config: ServerConfig) -> list[tuple[str, int]]:
    """What a gRPC server is started with."""
    limits = config.limits
    return [
        ("grpc.so_reuseport", int(config.reuse_port)),
        ("grpc.max_receive_message_length", limits.request_bytes),
        ("grpc.compression_enabled_algorithms_bitset", _NO_COMPRESSION),
        ("grpc.max_metadata_size", limits.metadata_bytes),
        ("grpc.absolute_max_metadata_size", limits.metadata_bytes),
        ("grpc.max_concurrent_streams", limits.proxy_streams if config.proxies else limits.streams),
        ("grpc.server.max_pending_requests", limits.pending),
        ("grpc.server.max_pending_requests_hard_limit", 2 * limits.pending),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.server_handshake_timeout_ms", _ms(limits.handshake)),
        ("grpc.http2.settings_timeout", _ms(limits.settings)),
        ("grpc.max_connection_idle_ms", _ms(limits.idle)),
        ("grpc.max_connection_age_ms", _ms(limits.age)),
        ("grpc.max_connection_age_grace_ms", _ms(limits.age_grace)),
        ("grpc.keepalive_time_ms", _ms(limits.keepalive)),
        ("grpc.keepalive_timeout_ms", _ms(limits.keepalive_timeout)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.ping_timeout_ms", _ms(limits.keepalive_timeout)),
        ("grpc.http2.min_ping_interval_without_data_ms", _ms(limits.ping_interval)),
    ]


def _ms(seconds: float) -> int:
    return round(1000 * seconds)
