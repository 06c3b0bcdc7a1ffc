"""Whom a server is to its callers, and whose certificates it asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Tls:
    """A certificate with its chain, and its private key, each a file in PEM.

    client_authority: the authorities whose certificates a caller must bring; without it, none is
    asked for. The files are read by `front.credentials`, again whenever they change.
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None
