"""A host of files on this machine, static or beside a server, that writes down what it is sent."""

from __future__ import annotations

import datetime
import re
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from issuer import Issuer

from askew_server.serving.settings import second_ports

Answer = Callable[[str, int, int | None, bytes], bytes]


@dataclass
class StaticHost:
    """Files by path, and how they are sent. heard: each request, as it came."""

    find: Callable[[str], bytes | None]
    answer: Answer
    hear: Callable[[bytes], None] = lambda request: None
    base: str = ""
    heard: list[bytes] = field(default_factory=list)
    sessions_reused: list[bool] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])


def found_by(of: Callable[[int, str], bytes | None]) -> Callable[[str], bytes | None]:
    """Return what finds the files of a server's door by path, which are made by Monday and part."""

    def find(path: str) -> bytes | None:
        found = re.fullmatch(r"/catalog/(\d{4}-\d{2}-\d{2})\.([a-z]+)", path)
        assert found, path  # a device asks for nothing else
        day = datetime.date.fromisoformat(found[1]) - datetime.date(1970, 1, 1)
        return of(day.days, found[2])

    return find


def head(status: str, length: int | None, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def ranged(path: str, first: int, last: int | None, file: bytes) -> bytes:
    """What most hosts send: the part that was asked for, with marks that it would know again."""
    if first >= len(file):
        return head("416 Range Not Satisfiable", 0, f"Content-Range: bytes */{len(file)}")
    end = len(file) if last is None else min(last + 1, len(file))
    body = file[first:end]
    return (
        head(
            "206 Partial Content",
            len(body),
            f"Content-Range: bytes {first}-{end - 1}/{len(file)}",
            "Set-Cookie: device=7; Max-Age=99999999",
            'ETag: "device-7"',
            "Last-Modified: Mon, 23 Nov 2026 00:00:07 GMT",
            "Alt-Svc: h2=device-7",
        )
        + body
    )


def unranged(path: str, first: int, last: int | None, file: bytes) -> bytes:
    """What a host sends that knows no ranges: all of it, whatever was asked for."""
    return head("200 OK", len(file), "Set-Cookie: device=7") + file


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        host: StaticHost = self.server.host  # type: ignore[attr-defined]
        request = b""
        while b"\r\n\r\n" not in request:
            line = self.rfile.readline()
            if not line:
                return
            request += line
        host.heard.append(request)
        host.hear(request)
        if isinstance(self.connection, ssl.SSLSocket):
            host.sessions_reused.append(bool(self.connection.session_reused))
        path = request.split(b" ")[1].decode()
        ranges = [line for line in request.split(b"\r\n") if line.startswith(b"Range: bytes=")]
        first, last = (
            ranges[0].removeprefix(b"Range: bytes=").split(b"-") if ranges else (b"0", b"")
        )
        file = host.find(path)
        if file is None:
            self.wfile.write(head("404 Not Found", 0))
            return
        self.wfile.write(host.answer(path, int(first), int(last) if last else None, file))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the request, the handshake too."""
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        with request:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


@contextmanager
def serving(
    files: Mapping[str, bytes] | Callable[[str], bytes | None],
    answer: Answer = ranged,
    *,
    secret: bool = True,
    context: ssl.SSLContext | None = None,
    hear: Callable[[bytes], None] = lambda request: None,
    port: int = 0,
) -> Iterator[StaticHost]:
    """The host, on a port of its own. context: in place of a certificate that `trust` believes.
    hear: is told each request, as it came.
    """
    host = StaticHost(files.get if isinstance(files, Mapping) else files, answer, hear)
    with _Server(("127.0.0.1", port), _Handler) as server:
        server.host = host  # type: ignore[attr-defined]
        server.context = context or _certified()[0] if secret else None
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        scheme = "https" if secret else "http"
        host.base = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def beside(
    listen: Callable[[str], int],
    files: Mapping[str, bytes] | Callable[[int, str], bytes | None],
    answer: Answer = ranged,
    *,
    context: ssl.SSLContext | None = None,
    hear: Callable[[bytes], None] = lambda request: None,
) -> Iterator[StaticHost]:
    """The door for files of a server: on the port after the one on which gRPC was made to listen.

    context: speaks TLS. files: by path, or by Monday and part.
    """
    held = files if isinstance(files, Mapping) else found_by(files)
    secret = context is not None
    for number in second_ports(0):
        with ExitStack() as tried:
            door = serving(held, answer, secret=secret, context=context, hear=hear, port=number)
            try:
                host = tried.enter_context(door)
                listen(f"127.0.0.1:{host.port - 1}")
            except (OSError, RuntimeError):
                continue
            yield host
            return
    raise AssertionError("no two ports that follow each other are free")


def trust() -> ssl.SSLContext:
    return _certified()[1]


@cache
def _certified() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    issuer = Issuer(datetime.datetime.now(datetime.UTC), 1)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "both.pem"
        path.write_bytes(b"".join(issuer.server(["127.0.0.1"])))
        server.load_cert_chain(path)
    return server, ssl.create_default_context(cadata=issuer.certificate.decode())
