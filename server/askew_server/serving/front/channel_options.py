"""A configuration as gRPC's channel arguments."""

from __future__ import annotations

from askew_server.serving.configuration.server import ServerConfig

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
