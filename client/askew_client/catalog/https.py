"""A server's door for files, or a static HTTPS host: files called 2026-11-23.whole and
2026-11-23.default.

A request says Host, Accept-Encoding: identity, Range, and a User-Agent that is the same for all.
The device sends nothing again that the host said before: no cookie, ETag, Last-Modified or TLS
session. It sends no referer, asks no proxy, and takes a redirect for an error: it could name the
device. A `Download` is one request and its answer; it blocks, in a thread.
"""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import ssl
from contextlib import suppress
from http.client import HTTPException, IncompleteRead
from pathlib import Path

from askew.catalog.catalog_file import Part
from askew.errors import (
    AskewError,
    Malformed,
    NotFound,
    OtherKind,
    ParameterError,
    ServerFailed,
    StaleSpace,
    TooSlow,
    Unreachable,
)
from askew_client.catalog.cache import CatalogSource, name_of
from askew_client.settings.settings import StaticHost

_AGENT = "askew"  # without a version, which would tell devices apart
_BUFFER = 1 << 16


class Download:
    """`size` bytes of a file from byte `start` on. Nothing happens before they are read.

    `close` may be called from another thread, and ends a read that is under way.
    """

    def __init__(self, host: StaticHost, path: str, start: int, size: int) -> None:
        self._host, self._path, self._start, self._size = host, path, start, size
        self._socket: socket.socket | None = None
        self._response: http.client.HTTPResponse | None = None
        self._closed = False

    def read(self, timeout: float, trust: ssl.SSLContext | None) -> bytes:
        """Return `size` bytes of the file from byte `start` on, fewer at its end, and read no more.

        timeout: seconds. trust: None for the system's certificates. Raises NotFound for status 404
        or 410, Malformed for a start past the end; else WireError, TransportError, OSError or
        HTTPException.
        """
        self._response = response = self._opened(timeout, trust)
        _check(response)
        if response.status == http.client.OK:  # all of it, from a host that knows no ranges
            _exactly(response, self._start)
        else:
            first = re.match(r"bytes (\d{1,19})-", response.headers.get("Content-Range", ""))
            if first is None or int(first[1]) != self._start:
                raise Malformed("the host sent another part of the file than this device asked for")
        return _exactly(response, self._size)

    def close(self) -> None:
        """End the connection, and with it a read that is under way in another thread."""
        self._closed = True
        if self._socket is not None:
            with suppress(OSError):  # past a TLS socket's own, which a reading thread may be in
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if self._response is not None:
            self._response.close()
        if self._socket is not None:
            self._socket.close()

    def _opened(self, timeout: float, trust: ssl.SSLContext | None) -> http.client.HTTPResponse:
        connection = self._connected(timeout, trust)
        if self._closed:  # nobody waits any more
            raise Unreachable(f"the connection to {self._host.host} was given up")
        connection.sock = self._socket
        # The head alone, or all that follows it: the length that a host says is not said to it.
        last = "" if self._start else self._size - 1
        headers = {"Range": f"bytes={self._start}-{last}", "User-Agent": _AGENT}
        connection.request("GET", self._path, headers=headers)
        return connection.getresponse()

    def _connected(
        self, timeout: float, trust: ssl.SSLContext | None
    ) -> http.client.HTTPConnection:
        # The socket is opened here, so that it can be closed meanwhile.
        name, port = self._host.host, self._host.port
        self._socket = plain = socket.create_connection((name, port), timeout)
        if self._host.scheme == "http":
            return http.client.HTTPConnection(name, port)
        context = trust or ssl.create_default_context()
        self._socket = secret = context.wrap_socket(
            plain, server_hostname=name, do_handshake_on_connect=False
        )
        secret.do_handshake()
        return http.client.HTTPSConnection(name, port, context=context)


def _check(response: http.client.HTTPResponse) -> None:
    status = response.status
    if status in {http.client.NOT_FOUND, http.client.GONE}:
        raise NotFound("catalog file on this host")
    if status == http.client.CONFLICT:
        raise StaleSpace
    if status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise Malformed("the host sent less of the file than it announced")
    if 300 <= status < 400:
        raise Malformed("the host redirects to another address, and devices follow no redirect")
    if status not in {http.client.OK, http.client.PARTIAL_CONTENT}:
        raise ServerFailed(f"the host answers with {status}")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Malformed("the host sent the file in an encoding that this device did not ask for")


def _exactly(response: http.client.HTTPResponse, size: int) -> bytes:
    # Fewer at the end of the file. Raises Unreachable where it breaks off.
    pieces: list[bytes] = []
    while size > 0:
        piece = response.read1(min(size, _BUFFER))
        if not piece:
            if response.length:
                raise Unreachable("the connection broke off")
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


_SLOWEST = 1 << 13  # bytes a second, below which a host is given up
# Seconds until a host is tried again that refuses connections: a server that starts again is there
# within a second. Nothing was sent to it, and all devices wait as long.
_AGAIN = (0.1, 0.2, 0.4)


class HttpsSource(CatalogSource):
    """Files of one host, for one call at a time.

    timeout: seconds for an answer to begin and to go on. trust: whose certificates are believed, by
    default those that the system trusts. is_server: whether the host is a server of ours, which may
    have nothing to be held. named: what errors call it, the address that the caller gave.
    """

    def __init__(
        self,
        host: StaticHost,
        timeout: float,
        trust: ssl.SSLContext | None = None,
        *,
        is_server: bool = False,
        named: str = "",
    ) -> None:
        self._host, self._timeout, self._trust = host, timeout, trust
        self._is_server, self._named = is_server, named or f"{host.host}:{host.port}"

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from byte `start` on, fewer at its end. Raises NotFound, or
        OtherKind from a server of ours, where there is no such file, Malformed for a start past its
        end; else TransportError or WireError. A connection that is refused is tried three times
        more, within a second.
        """
        path = f"{self._host.path}/{name_of(catalog_date, part)}"
        try:
            for pause in _AGAIN:
                with suppress(ConnectionRefusedError):
                    return await self._once(path, start, size)
                await asyncio.sleep(pause)
            return await self._once(path, start, size)
        except NotFound:
            if self._is_server:
                none = "this server has no items for devices to hold"
                raise OtherKind(none, places=True) from None
            raise
        except Exception as error:
            raise as_ours(error, self._named) from None

    async def _once(self, path: str, start: int, size: int) -> bytes:
        download = Download(self._host, path, start, size)
        try:
            reading = asyncio.to_thread(download.read, self._timeout, self._trust)
            return await asyncio.wait_for(reading, self._timeout + size / _SLOWEST)
        finally:
            download.close()  # which ends the thread too, where it still reads


def trusted(authority: str, *, others: bool = False) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates of this file in PEM, and no others.

    others: trust those of the system too. Raises ParameterError for a file that is not there or not
    PEM.
    """
    try:
        context = ssl.create_default_context(cafile=str(Path(authority).expanduser()))
        if others:
            context.load_default_certs()
        return context
    except ssl.SSLError:
        raise ParameterError("authority", authority, "a file of certificates in PEM") from None
    except (OSError, RuntimeError):  # no such file, or no such home
        raise ParameterError("authority", authority, "a file that can be read") from None


_DISTRUST = {  # OpenSSL's numbers
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    62: "its certificate is for another host",
    64: "its certificate is for another host",
}


def as_ours(error: Exception, host: str) -> Exception:
    """Return a failure of the network or the host as an error of ours that names `host`: TooSlow
    for a TimeoutError, Unreachable for another OSError, also TLS's, an IncompleteRead and a
    UnicodeError, Malformed for another HTTPException; an AskewError, and anything else, as it is.
    """
    match error:
        case AskewError():
            return error
        case TimeoutError():
            return TooSlow(f"{host} did not send the file in time")
        case ssl.SSLCertVerificationError():
            other = "its certificate is of no authority that is trusted here"
            why = _DISTRUST.get(error.verify_code, other)
            return Unreachable(f"no connection to {host}", why)
        case ssl.SSLError():
            return Unreachable(f"no connection to {host}", "it does not speak TLS")
        case ConnectionRefusedError():
            return Unreachable(f"no connection to {host}")
        case ConnectionResetError():  # http.client.RemoteDisconnected is one
            why = "it closed the connection; if it speaks TLS, name its authority"
            return Unreachable(f"no connection to {host}", why)
        case OSError() | IncompleteRead() | UnicodeError():
            return Unreachable(f"no connection to {host}, or it broke off")
        case HTTPException():
            return Malformed(f"what {host} answers is not HTTP")
    return error
