"""Where a server is, as people write it: host:port."""

from __future__ import annotations

import ipaddress
import re

from askew.errors import ParameterError


def host_of(server: str) -> str:
    """The host of "host:port". Raises ParameterError for anything else."""
    host, colon, port = server.rpartition(":") if isinstance(server, str) else ("", "", "")
    if not (
        colon
        and host
        and "/" not in host
        and re.fullmatch("[0-9]{1,5}", port)
        and 0 < int(port) < 65536
    ):
        raise ParameterError("server", server, "host:port, such as 127.0.0.1:7571")
    return host


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
