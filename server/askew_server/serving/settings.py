"""The settings of a server: the dataclasses that declare them, and that it works with.

Limits that nobody needs to change are fields alone, and no setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class Tls:
    """A certificate with its chain, and its private key, each a file in PEM."""

    certificate: Path = setting(
        _FILE, None, "Speak TLS with this certificate.", "--tls-certificate"
    )
    key: Path = setting(_FILE, None, "Its private key, which others cannot read.", "--tls-key")


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where numbers are read, in plain text. port: 0 takes a free one, None serves none."""

    host: str = setting(_ADDRESS, "127.0.0.1", "Where numbers are read.")
    port: int | None = setting(
        _PORT, None, "Serve numbers to Prometheus on this port.", "--metrics-port"
    )


@dataclass(frozen=True, kw_only=True)
class Http:
    """The door for files that devices hold, and for callers without gRPC: on the port after the
    server's. origins: of the pages of others that may read its replies, "*" for all.
    """

    origins: tuple[str, ...] = setting(
        several(_ORIGIN), (), "Origins of other pages that may read replies."
    )
    web: bool = setting(SWITCH, False, "Serve a page for browsers on the next port.", "--web")


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """How many jobs of a queue run at once, how many wait, and the longest that a call may take."""

    threads: int = 1  # leaves a core to the loop, which refuses; more cores are for more servers
    waiting: int = 32  # of 5 ms: a sixth of a second
    longest: float = 10.0  # seconds, whatever deadline the caller has


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One server. Raises ParameterError, and ConfigError for plain text that nobody asked for.

    grace: seconds for calls under way when it stops. tls: None speaks plain text. plain_text: the
    operator's word that plain text is meant on an address that others reach.
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
    tls: Tls | None = None
    http: Http | None = None  # no door
    metrics: Metrics = field(default_factory=Metrics)
    answers: QueueLimits = field(default_factory=QueueLimits)
    # One count at a time: analysts who wait must not take the threads of everybody's answers.
    analysts: QueueLimits = field(default_factory=lambda: QueueLimits(longest=3600.0))

    def __post_init__(self) -> None:
        if self.http is not None and self.port == 65535:
            raise ParameterError("server.port", self.port, "at most 65534: HTTP has the next one")
        if self.tls is not None and self.plain_text:
            raise ConfigError("--plain-text and a certificate exclude each other: name one")
        if self.tls is None and not (self.plain_text or is_loopback(self.host)):
            way_out = "name --tls-certificate and --tls-key, or, behind a TLS proxy, --plain-text"
            raise ConfigError(f"plain text is not spoken on {self.host}: {way_out}")


def second_ports(port: int) -> Iterator[int]:
    """Yield the ports to try, one after the other, for what listens beside a server: `port` + 1
    alone; or where `port` is 0, which means any free one, 0 fifty times and then odd ports below
    32,768.

    Linux gives odd ports to those who listen and even ones to connections that go out. Where many
    go out, no odd port has a free one before it; those below Linux's range are tried then.
    """
    if port:
        yield port + 1
        return
    yield from repeat(0, 50)
    # Servers that start at once begin at different ones.
    yield from range(10_001 + os.getpid() % 5_000 * 2, 32_768, 2)


NO_MODEL: Final = "name one model to serve: --model DIR, --models FOLDER or --demo"


@dataclass(frozen=True, kw_only=True)
class Models:
    """The directory of a model; or a folder of such, which are named by their Mondays; or a demo.
    Raises ConfigError for two of them.
    """

    directory: Path | None = setting(
        _FILE, None, "Model directory, which is always in force.", "--model"
    )
    folder: Path | None = setting(
        _FILE,
        None,
        "Folder of at most three model directories, each named by its Monday, as 2026-11-23.",
        "--models",
    )
    demo: Literal["films", "places"] | None = setting(
        one_of("films", "places"),
        None,
        "Serve films with simulated ratings, or simulated places in real towns.",
        "--demo",
        bare="films",
    )

    def __post_init__(self) -> None:
        if [self.directory, self.folder, self.demo].count(None) < 2:
            raise ConfigError(NO_MODEL)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The ledger whose stored releases are served, and its mark; popularity: the charge of the
    one that orders a cold start. Raises ConfigError for a charge without a ledger.
    """

    ledger: Path | None = setting(
        _FILE,
        None,
        "Serve the stored releases of this ledger.",
        "--ledger",
        shared="ASKEW_LEDGER",
    )
    mark: Path | None = setting(
        _FILE,
        None,
        "The ledger's mark.  [default: its name with .mark]",
        "--mark",
        shared="ASKEW_MARK",
    )
    popularity: int | None = setting(
        whole(1), None, "The charge of the release shown on a cold start.", "--popularity"
    )

    def __post_init__(self) -> None:
        if self.popularity is not None and self.ledger is None:
            raise ConfigError("--popularity names a release of the ledger in --ledger")


@dataclass(frozen=True, kw_only=True)
class Analysts:
    """Which tokens are good, what may be asked about, and what counts it.

    Raises ConfigError where only a part of that is said.
    """

    tokens: Path | None = setting(_FILE, None, "Serve analysts by their tokens in it.", "--tokens")
    dataset: str | None = setting(
        text(), None, "The data set that analysts may ask about.", "--dataset"
    )
    events: str | None = setting(
        text(), None, "Its events: FILE or TABLE of the engine.", "--events"
    )
    unit_column: str = setting(text(), "unit", "Whose event it is.", "--unit-column")
    item_column: str = setting(text(), "item", "What was chosen.", "--item-column")
    max_items_per_unit: int = setting(
        whole(1), 100, "Count no more of a person.", "--max-items-per-unit"
    )
    encoding: str = setting(text(), "utf-8", "Of files of text, such as latin-1.", "--encoding")
    engine: str = setting(
        text(),
        "duckdb:",
        "What counts: duckdb:, duckdb:FILE, spark:MASTER or postgresql://...  "
        "A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
        "--engine",
        shared="ASKEW_ENGINE",
        secret=True,
    )

    def __post_init__(self) -> None:
        if self.tokens is not None and None in {self.dataset, self.events}:
            raise ConfigError("analysts need --dataset and --events")
        if self.tokens is None and (self.dataset or self.events):
            raise ConfigError("--dataset and --events are for analysts: name their --tokens")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How a server listens, and what it answers from."""

    server: ServerConfig
    models: Models
    releases: Releases
    analysts: Analysts


_TABLES: Final = {
    "server": ServerConfig,
    "models": Models,
    "releases": Releases,
    "analysts": Analysts,
    "tls": Tls,
    "http": Http,
    "metrics": Metrics,
}
KEYS: Final = tuple(
    key
    for table, role in _TABLES.items()
    for key in settings_of(
        role, "ASKEW_SERVER_" + (f"{table.upper()}_" if table != "server" else ""), table
    )
)
SETTINGS: Final = Table(KEYS, "ASKEW_SERVER_", ("CONFIG",))


def configuration_of(values: Mapping[str, Any]) -> Configuration:
    """Return the configuration of values by the keys of `KEYS`, such as {"server.port": 7571}; None
    is as if nothing was said.

    Raises ConfigError or ParameterError for values that do not go together.
    """
    stated: dict[str, dict[str, Any]] = {table: {} for table in _TABLES}
    for name, value in values.items():
        table, _, own = name.partition(".")
        if value is not None:
            stated[table][own] = value
    tls, http = stated["tls"], stated["http"]
    if tls and not {"certificate", "key"} <= tls.keys():
        raise ConfigError("TLS needs both --tls-certificate and --tls-key")
    server = ServerConfig(
        **stated["server"],
        tls=Tls(**tls) if tls else None,
        http=Http(**http) if http else None,
        metrics=Metrics(**stated["metrics"]),
    )
    return Configuration(
        server=server,
        models=Models(**stated["models"]),
        releases=Releases(**stated["releases"]),
        analysts=Analysts(**stated["analysts"]),
    )


def read_file(path: Path) -> dict[str, Any]:
    """Return the tables of a configuration file in TOML. Raises ConfigError where it cannot be
    read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return tables_of(data, str(path))
