"""Addresses to listen on, and why nothing can listen there."""

from __future__ import annotations

import errno
import os
import socket


def bound_socket(host: str, port: int, note: str = "") -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one. note: said of a port
    that nobody typed.

    Raises OSError, which says why not and what to do.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(place)
            bound.listen()  # or another could bind it too
        except OSError:
            bound.close()
            raise
    except (OSError, UnicodeError) as error:
        raise OSError(f"cannot listen on {host}:{port}: {why_not(error)}{note}") from None
    return bound


def why_not(error: OSError | UnicodeError, flag: str = "--port") -> str:
    """Return in words why nothing can listen at an address, and what to do: `flag` names another
    port.
    """
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
