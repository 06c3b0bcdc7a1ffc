"""Oblivious HTTP for tests: keys of a gateway, and a relay, which is never ours elsewhere."""

from __future__ import annotations

import base64
import http.client
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

GATEWAY = "/.well-known/ohttp-gateway"
HERE = "127.0.0.1"
PATIENCE = 20.0


def new_key() -> bytes:
    """A private key in PEM."""
    key = X25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_file(path: Path, *keys: bytes) -> Path:
    """A file of keys that only its owner reads."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(b"".join(keys))
    return path


def asked(
    port: int, method: str, body: bytes = b"", kind: str = "message/ohttp-req"
) -> tuple[int, str, bytes]:
    """What a gateway says: status, kind, body."""
    connection = http.client.HTTPConnection(HERE, port, timeout=PATIENCE)
    try:
        connection.request(method, GATEWAY, body, {"content-type": kind})
        reply = connection.getresponse()
        return reply.status, reply.headers["content-type"], reply.read()
    finally:
        connection.close()


@dataclass
class Relay:
    """What a relay saw: headers, ephemeral keys, and sizes. mangle: what it does to replies.

    instead: a whole reply, in place of the gateway's.
    """

    gateway: int
    port: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    mangled: bool = False
    instead: tuple[int, str, bytes] | None = None

    def setting(self) -> str:
        """What devices are told."""
        keys = base64.urlsafe_b64encode(asked(self.gateway, "GET")[2]).decode()
        return f"http://{HERE}:{self.port}/askew#{keys}"

    def passed_on(self, headers: dict[str, str], sealed: bytes) -> tuple[int, str, bytes]:
        """The reply to a sealed request."""
        self.headers.append(headers)
        status, kind, body = self.instead or asked(
            self.gateway, "POST", sealed, headers["content-type"]
        )
        self.sizes.append((len(sealed), len(body)))
        self.keys.append(sealed[7:39])
        return status, kind, bytes([body[0] ^ 1]) + body[1:] if self.mangled else body


@contextmanager
def relaying(gateway: int, kind: type[Relay] = Relay) -> Iterator[Relay]:
    """A relay to a gateway's port."""
    relay = kind(gateway)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, kind, reply = relay.passed_on(headers, body)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((HERE, 0), Handler)
    server.daemon_threads = True
    relay.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
