"""A static HTTPS host as a source: files called 2026-11-23.whole and 2026-11-23.starter.

A request says Host, Accept-Encoding: identity, Range, and a User-Agent that is the same for all.
Nothing that the host said before is sent again: no cookie, ETag, Last-Modified or TLS session.
There is no referer, no proxy is asked, and a redirect is an error: it could name the device.
"""

from __future__ import annotations

import asyncio
import ssl
from http.client import HTTPException, IncompleteRead
from types import TracebackType
from typing import Self

from askew.catalog.held_file import HEAD_BYTES, PIECE_BYTES, Part
from askew.errors import AskewError, Malformed, TooSlow, Unreachable
from askew_client.catalog.download import Download
from askew_client.catalog.source import name_of
from askew_client.settings.static_host import StaticHost

_SLOWEST = 1 << 13  # bytes a second, below which a host is given up


class HttpsSource:
    """Files of one host. Implements HeldSource. An async context manager, for one call at a time.

    timeout: seconds for an answer to begin and to go on. trust: whose certificates are believed, by
    default those that the system trusts.
    """

    def __init__(self, base: str, timeout: float, trust: ssl.SSLContext | None = None) -> None:
        self._host, self._timeout, self._trust = StaticHost.of(base), timeout, trust
        self._download: Download | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of a file. Raises TransportError or WireError."""
        path = f"{self._host.path}/{name_of(edition, part)}"
        size = HEAD_BYTES - start if start < HEAD_BYTES else PIECE_BYTES
        # The header alone, or all the rest: one request, however many pieces a body has.
        last = HEAD_BYTES - 1 if start < HEAD_BYTES else None
        if self._download is None or not self._download.goes_on(path, start):
            self._close()
            self._download = Download(self._host, path, start, last)
        try:
            reading = asyncio.to_thread(self._download.read, size, self._timeout, self._trust)
            return await asyncio.wait_for(reading, self._timeout + size / _SLOWEST)
        except asyncio.CancelledError:
            self._close()
            raise
        except Exception as error:
            self._close()  # which ends the thread too, where it still reads
            raise _as_ours(error, self._host.host) from None

    def _close(self) -> None:
        download, self._download = self._download, None
        if download is not None:
            download.close()


def _as_ours(error: Exception, host: str) -> Exception:
    """What is wrong with the network or the host, as one of our errors; a bug as it is."""
    match error:
        case AskewError():
            return error
        case TimeoutError():
            return TooSlow(f"{host} did not send the file in time")
        case ssl.SSLError():
            return Unreachable(f"no connection to {host} that can be trusted")
        case OSError() | IncompleteRead() | UnicodeError():
            return Unreachable(f"no connection to {host}, or it broke off")
        case HTTPException():
            return Malformed(f"what {host} answers is not HTTP")
    return error
