"""Versions on the wire: digests of a fixed size."""

from __future__ import annotations

from askew.errors import Malformed
from askew.limits import VERSION_BYTES


def version_from_bytes(digest: bytes) -> str:
    """Its hexadecimal digits. Raises Malformed for another size."""
    if len(digest) != VERSION_BYTES:
        raise Malformed(f"a version must be {VERSION_BYTES} bytes")
    return digest.hex()
