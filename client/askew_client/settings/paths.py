"""Where files lie: a device's own, and those that a static host has for devices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from askew.errors import ParameterError
from askew.settings import host_of, is_loopback


@dataclass(frozen=True)
class DeviceFiles:
    """The files of one person: profile, ledger, the ledger's mark in another directory, and the
    directory of what is held of each server's catalog.
    """

    profile: Path
    ledger: Path
    mark: Path
    held: Path


def places(directory: str | Path | None) -> DeviceFiles:
    """Return the paths of the files in a directory, or (None) in the platform's places for data and
    for state; nothing is made.

    Raises ParameterError for what is no path.
    """
    # No text at all is no path: it would be the directory where one stands.
    if directory is not None and (
        not isinstance(directory, str | Path) or not str(directory) or "\0" in str(directory)
    ):
        raise ParameterError("directory", directory, "a path, or None for the platform's own")
    named = None if directory is None else Path(directory).expanduser()
    data = named or data_directory()
    state = named or Path(platformdirs.user_state_dir("askew", appauthor=False))
    mark = state / "mark" / "signals.json"
    return DeviceFiles(data / "profile.sqlite", ledger_file(data), mark, data / "held")


def absolute(path: object) -> Path:
    """Return text as an absolute path, with ~ replaced by the home. Raises ValueError for a path
    that a working folder would change.

    A Path is returned as it is: that of a flag, which is typed for one run.
    """
    if isinstance(path, Path):
        return path
    if not isinstance(path, str) or "\0" in path:
        raise ValueError
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # nobody of that name
        raise ValueError from None
    if not place.is_absolute():
        raise ValueError
    return place


def data_directory() -> Path:
    """Return the platform's directory for this program's private data."""
    return Path(platformdirs.user_data_dir("askew", appauthor=False))


def config_file() -> Path:
    """Return the path of the person's configuration, "config.toml" in the platform's place."""
    return Path(platformdirs.user_config_dir("askew", appauthor=False)) / "config.toml"


def ledger_file(directory: Path) -> Path:
    """Return the path of the ledger, "signals.sqlite" in this directory."""
    return directory / "signals.sqlite"


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
        """Return the directory that an address names: https://host[:port][/path], or http:// on
        this machine alone. Raises ParameterError for more, such as a user's name or a query.
        """
        match = _BASE.fullmatch(base) if isinstance(base, str) else None
        scheme, host, port, path = match.groups() if match else ("", "", "", "")
        number = int(port) if port else _PORTS.get(scheme, 0)
        is_private = scheme == "https" or is_loopback(host)
        if not (match and is_private and 0 < number < 65536):
            limit = "https://host/path (http:// on this machine alone), with nothing else in it"
            raise ParameterError("held_from", base, limit)
        return cls(scheme, host.strip("[]"), number, path)

    @classmethod
    def of_server(cls, server: str, *, tls: bool) -> StaticHost:
        """Return a server's own files, "/catalog" on the port after its own, or on 443 itself.
        https, but http to this machine unless `tls`. Raises ParameterError for a server that is not
        host:port below 65535.
        """
        host, port = host_of(server), int(server.rpartition(":")[2])
        if port == 65535:
            raise ParameterError("server", server, "on a port below 65535: files have the next one")
        scheme = "https" if tls or not is_loopback(host) else "http"
        return cls(scheme, host.strip("[]"), port if port == 443 else port + 1, "/catalog")
