"""Three pages over plain HTTP, on a port of their own: /metrics, /live and /ready.

They are answered by the event loop that answers calls: a process whose loop stands still is not
live. Nothing of a request is used but its first line, and of that nothing is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from askew_server.serving.configuration.observed import Metrics
from askew_server.serving.observing.collector import exposition_of
from askew_server.serving.observing.observer import Observer

_TEXT = "text/plain; charset=utf-8"
_HEAD = 8192  # bytes of a request
_PATIENCE = 5.0  # seconds for a whole exchange
_AT_ONCE = 16  # connections
_Page = tuple[HTTPStatus, str, bytes]


class Endpoint:
    """Pages of one observer. There is no TLS and no password: see who can reach the address.

    reuse_port: while one process replaces another, both are on one port.
    """

    def __init__(self, config: Metrics, observer: Observer, *, reuse_port: bool = False) -> None:
        self._config, self._observer, self._reuse_port = config, observer, reuse_port
        self._open = 0
        self._server: asyncio.Server | None = None
        self._pages: dict[str, Callable[[], _Page]] = {
            "/metrics": self._metrics,
            "/live": lambda: (HTTPStatus.OK, _TEXT, b"live\n"),
            "/ready": self._ready,
        }

    @property
    def port(self) -> int:
        """Where it listens. 0 before it does."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server else 0

    async def start(self) -> None:
        """Raises OSError for a port that is taken."""
        self._server = await asyncio.start_server(
            self._exchange,
            self._config.host,
            self._config.port or 0,
            limit=_HEAD,
            reuse_port=self._reuse_port or None,
        )

    def stop(self) -> None:
        """Takes no more connections."""
        if self._server is not None:
            self._server.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one page, and the end of the connection, however slow the other side is."""
        self._open += 1
        try:
            if self._open <= _AT_ONCE:
                async with asyncio.timeout(_PATIENCE):
                    writer.write(_reply(await self._page(reader)))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError):
            pass
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _page(self, reader: asyncio.StreamReader) -> _Page:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            return _refusal(HTTPStatus.BAD_REQUEST)
        line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return _refusal(HTTPStatus.BAD_REQUEST)
        if line[0] != "GET":
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED)
        page = self._pages.get(line[1].partition("?")[0])
        return page() if page is not None else _refusal(HTTPStatus.NOT_FOUND)

    def _metrics(self) -> _Page:
        return HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, exposition_of(self._observer)

    def _ready(self) -> _Page:
        """Ready, where every service is."""
        states = self._observer.healths()
        lines = (
            f"{name} {'serving' if good else 'not serving'}\n" for name, good in states.items()
        )
        ready = bool(states) and all(states.values())
        code = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return code, _TEXT, "".join(lines).encode()


def _refusal(code: HTTPStatus) -> _Page:
    return code, _TEXT, f"{code.phrase}\n".encode()


def _reply(page: _Page) -> bytes:
    code, kind, body = page
    head = (
        f"HTTP/1.1 {code.value} {code.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + body
