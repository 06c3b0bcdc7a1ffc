"""The address of a static host's directory, where files lie that devices hold, as one types it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from askew.address import is_loopback
from askew.errors import ParameterError

_BASE = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?"
    r"((?:/[A-Za-z0-9._~-]+)*)/?"
)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class StaticHost:
    """A directory on a host. path: "" or what follows it, without the last slash."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, base: str) -> StaticHost:
        """The directory that an address names: https://host[:port][/path], or http:// on this
        machine alone. Raises ParameterError for more, such as a user's name, a query or a fragment.
        """
        found = _BASE.fullmatch(base) if isinstance(base, str) else None
        scheme, host, port, path = found.groups() if found else ("", "", "", "")
        number = int(port) if port else _PORTS.get(scheme, 0)
        secret = scheme == "https" or is_loopback(host)
        if not (found and secret and 0 < number < 65536):
            limit = "https://host/path (http:// on this machine alone), with nothing else in it"
            raise ParameterError("held_from", base, limit)
        return cls(scheme, host.strip("[]"), number, path)
