"""A port that one owner holds for all processes that will listen on it."""

from __future__ import annotations

import socket


class ReservedPort:
    """A port on which processes of the same user may listen together, and no other program.

    The socket never listens, so that no connection comes to it. It is bound as one that shares with
    nobody, which fails for a port that is taken; only then it allows others. While it is open, a
    server that does not want to share cannot take the port, nor can another owner. A program of the
    same effective user that asks for SO_REUSEPORT can: Linux looks at nothing else.
    """

    def __init__(self, host: str, port: int) -> None:
        """port: 0 takes a free one. Raises OSError."""
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = places[0]
        self._socket = socket.socket(family, kind, protocol)
        try:
            # Connections of a server before this one may still be on their way out.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(place)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        except OSError:
            self._socket.close()
            raise
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Hold it no more."""
        self._socket.close()
