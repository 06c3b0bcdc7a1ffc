"""An authority of the tests, whose certificates are good for a time that a test chooses."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import trustme

from askew_server.serving.settings import ServerConfig


class Tls(NamedTuple):
    """The files of a server's certificate and key."""

    certificate: Path
    key: Path

    def config(self, **more: Any) -> ServerConfig:
        return ServerConfig(tls_certificate=self.certificate, tls_key=self.key, grace=0, **more)


class Issuer:
    """Signs until `days` after `now`."""

    def __init__(self, now: datetime.datetime, days: int) -> None:
        self._authority = trustme.CA()
        self._begins = now - datetime.timedelta(minutes=5)
        self._ends = now + datetime.timedelta(days=days)

    @property
    def certificate(self) -> bytes:
        return self._authority.cert_pem.bytes()

    def server(self, hosts: Sequence[str]) -> tuple[bytes, bytes]:
        """A certificate for these hosts, or none, and its key, in PEM."""
        return self._signed(*hosts, common_name=None if hosts else "a name that is no host")

    def client(self, name: str) -> tuple[bytes, bytes]:
        return self._signed(common_name=name)

    def _signed(self, *hosts: str, common_name: str | None = None) -> tuple[bytes, bytes]:
        made = self._authority.issue_cert(
            *hosts, common_name=common_name, not_before=self._begins, not_after=self._ends
        )
        return made.cert_chain_pems[0].bytes(), made.private_key_pem.bytes()
