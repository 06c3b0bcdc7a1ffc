"""The settings of a server: one dataclass that declares them, and that it works with.

A setting of the file's table [tls] is a field whose name begins with `tls_`, and so on; what is of
no other table is of [server]. Limits that nobody needs to change are fields alone, and no setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final, Literal

from askew.errors import ConfigError, ParameterError
from askew.settings import (
    SWITCH,
    Kind,
    Table,
    is_loopback,
    number,
    one_of,
    setting,
    settings_of,
    several,
    tables_of,
    text,
    whole,
)


def _path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError
    return Path(value)


def _check_origin(origin: str) -> None:
    # With no path, as browsers write it.
    if not re.fullmatch(r"\*|https?://[a-z0-9.\[\]:-]+", origin):
        raise ValueError


_FILE = Kind("a path", _path, "PATH")
_PORT = whole(0, 65535)
_ADDRESS = text("an address")
_ORIGIN = text("an origin such as https://example.org, or *", _check_origin)
NO_MODEL: Final = "name one model to serve: --model DIR, --models FOLDER or --demo"


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """How a server listens, and what it answers from. Raises ParameterError for a port that leaves
    none for HTTP, and ConfigError for settings that do not go together.

    grace: seconds for calls under way when it stops. plain_text: the operator's word that plain
    text is meant on an address that others reach. http: whether there is a door for files that
    devices hold, and for callers without gRPC, on the next port. metrics_port: 0 takes a free one,
    None serves no numbers. releases_popularity: the charge of the release that orders a cold start.
    threads, waiting: of each queue, the jobs that run at once, and that wait.
    """

    host: str = setting(_ADDRESS, "127.0.0.1", "Address to listen on.", "--host")
    port: int = setting(_PORT, 0, "Port; 0 takes a free one.", "--port")
    grace: float = setting(number(0, 3600), 5.0, "Seconds for calls under way when it stops.")
    plain_text: bool = setting(
        SWITCH,
        False,
        "Speak plain text where others listen: for a TLS proxy in front.",
        "--plain-text",
    )
    models_directory: Path | None = setting(
        _FILE, None, "Model directory, which is always in force.", "--model"
    )
    models_folder: Path | None = setting(
        _FILE,
        None,
        "Folder of at most three model directories, each named by its Monday, as 2026-11-23.",
        "--models",
    )
    models_demo: Literal["films", "places"] | None = setting(
        one_of("films", "places"),
        None,
        "Serve films with simulated ratings, or simulated places in real towns.",
        "--demo",
        bare="films",
    )
    releases_ledger: Path | None = setting(
        _FILE,
        None,
        "Serve the stored releases of this ledger.",
        "--ledger",
        shared="ASKEW_LEDGER",
    )
    releases_mark: Path | None = setting(
        _FILE,
        None,
        "The ledger's mark.  [default: its name with .mark]",
        "--mark",
        shared="ASKEW_MARK",
    )
    releases_popularity: int | None = setting(
        whole(1), None, "The charge of the release shown on a cold start.", "--popularity"
    )
    analysts_tokens: Path | None = setting(
        _FILE, None, "Serve analysts by their tokens in it.", "--tokens"
    )
    analysts_dataset: str | None = setting(
        text(), None, "The data set that analysts may ask about.", "--dataset"
    )
    analysts_events: str | None = setting(
        text(), None, "Its events: FILE or TABLE of the engine.", "--events"
    )
    analysts_unit_column: str = setting(text(), "unit", "Whose event it is.", "--unit-column")
    analysts_item_column: str = setting(text(), "item", "What was chosen.", "--item-column")
    analysts_max_items_per_unit: int = setting(
        whole(1), 100, "Count no more of a person.", "--max-items-per-unit"
    )
    analysts_encoding: str = setting(
        text(), "utf-8", "Of files of text, such as latin-1.", "--encoding"
    )
    analysts_engine: str = setting(
        text(),
        "duckdb:",
        "What counts: duckdb:, duckdb:FILE, spark:MASTER or postgresql://...  "
        "A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
        "--engine",
        shared="ASKEW_ENGINE",
        secret=True,
    )
    tls_certificate: Path | None = setting(
        _FILE, None, "Speak TLS with this certificate.", "--tls-certificate"
    )
    tls_key: Path | None = setting(
        _FILE, None, "Its private key, which others cannot read.", "--tls-key"
    )
    http: bool = False
    http_origins: tuple[str, ...] = setting(
        several(_ORIGIN), (), "Origins of other pages that may read replies."
    )
    http_web: bool = setting(SWITCH, False, "Serve a page for browsers on the next port.", "--web")
    metrics_host: str = setting(_ADDRESS, "127.0.0.1", "Where numbers are read.")
    metrics_port: int | None = setting(
        _PORT, None, "Serve numbers to Prometheus on this port.", "--metrics-port"
    )
    threads: int = 1  # leaves a core to the loop, which refuses; more cores are for more servers
    waiting: int = 32  # of 5 ms: a sixth of a second

    def __post_init__(self) -> None:
        if self.http and self.port == 65535:
            raise ParameterError("server.port", self.port, "at most 65534: HTTP has the next one")
        has_tls = self.tls_certificate is not None
        if has_tls != (self.tls_key is not None):
            raise ConfigError("TLS needs both --tls-certificate and --tls-key")
        if has_tls and self.plain_text:
            raise ConfigError("--plain-text and a certificate exclude each other: name one")
        if not (has_tls or self.plain_text or is_loopback(self.host)):
            way_out = "name --tls-certificate and --tls-key, or, behind a TLS proxy, --plain-text"
            raise ConfigError(f"plain text is not spoken on {self.host}: {way_out}")
        if [self.models_directory, self.models_folder, self.models_demo].count(None) < 2:
            raise ConfigError(NO_MODEL)
        if self.releases_popularity is not None and self.releases_ledger is None:
            raise ConfigError("--popularity names a release of the ledger in --ledger")
        analysts = (self.analysts_tokens, self.analysts_dataset, self.analysts_events)
        if analysts.count(None) in {1, 2}:
            raise ConfigError("analysts need all of --tokens, --dataset and --events")


KEYS: Final = settings_of(
    ServerConfig,
    "ASKEW_SERVER_",
    ("server", "models", "releases", "analysts", "tls", "http", "metrics"),
)
SETTINGS: Final = Table(KEYS, "ASKEW_SERVER_", ("CONFIG",))


def second_ports(port: int) -> Iterator[int]:
    """Yield the ports to try, one after the other, for what listens beside a server: `port` + 1
    alone; or where `port` is 0, which means any free one, 0 fifty times and then odd ports below
    32,768, rising from one between 10,001 and 19,999, by the process.

    Linux gives odd ports to those who listen and even ones to connections that go out. Where many
    go out, no odd port has a free one before it; those below Linux's range are tried then.
    """
    if port:
        yield port + 1
        return
    yield from repeat(0, 50)
    # Servers that start at once begin at different ones.
    yield from range(10_001 + os.getpid() % 5_000 * 2, 32_768, 2)


def read_file(path: Path) -> dict[str, Any]:
    """Return the tables of a configuration file in TOML, with decimals as Decimal. Raises
    ConfigError where it cannot be read or is no TOML.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return tables_of(data, str(path))
