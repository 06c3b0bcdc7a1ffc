"""How a server listens, and what it takes of callers.

Whom a server is to its callers, and whose certificates it asks of them.

What an operator sees of a server: where its numbers are read, and how its lines look.

What a server answers from: models, stored releases, and a log for analysts.

A whole configuration: values by the names of their keys, as objects that hold together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from askew.address import is_loopback
from askew.errors import ConfigError, ParameterError


@dataclass(frozen=True, kw_only=True)
class Tls:
    """A certificate with its chain, and its private key, each a file in PEM.

    client_authority: the authorities whose certificates a caller must bring; without it, none is
    asked for. The files are read by `front.credentials`, again whenever they change.
    """

    certificate: Path
    key: Path
    client_authority: Path | None = None


LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where numbers are read, in plain text. port: 0 takes a free one, None serves none.

    Raises ParameterError for a port out of range.
    """

    host: str = "127.0.0.1"
    port: int | None = None

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port <= 65535:
            raise ParameterError("metrics.port", self.port, "from 0 to 65535")


@dataclass(frozen=True, kw_only=True)
class Log:
    """How lines of the log are written, and the least of them that is. process: which of several
    on a port writes them.
    """

    format: LogFormat = "text"
    level: LogLevel = "info"
    process: int | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What callers may take of one process; each was measured against an attack.

    Bytes, seconds, and numbers at once. Raises ParameterError for any that is not positive.
    """

    request_bytes: int = 16 * 1024
    metadata_bytes: int = 8192
    streams: int = 32  # of one connection, that gRPC takes; beyond, it resets them
    proxy_streams: int = 1000  # the same, where proxies are named
    calls: int = 16  # of one connection but a proxy's, that are answered
    # Calls that have arrived and not begun; beyond twice as many, none. At least as many as one
    # connection may bring at a time, or it alone would turn others away.
    pending: int = 64
    message: float = 5.0  # from the headers of a call to its message
    unread_bytes: int = 32 * 1024 * 1024  # of large replies that nobody has read
    connections: int = 2000
    handshake: float = 5.0
    settings: float = 10.0
    idle: float = 300.0
    age: float = 120.0  # with the grace, the longest that a reply may stay unread
    age_grace: float = 30.0
    keepalive: float = 60.0
    keepalive_timeout: float = 20.0  # a connection that is dead is closed this long after a ping
    ping_interval: float = 30.0

    def __post_init__(self) -> None:
        _require_positive(self)


@dataclass(frozen=True, kw_only=True)
class LaneLimits:
    """How many jobs of a lane run at once, how many wait, and the longest that a call may take.

    threads: one leaves a core to the loop, which refuses; more cores are for more processes.
    patience: seconds that a job may be expected to wait; beyond, it is refused at once.
    Raises ParameterError for any that is not positive; nothing may wait where waiting is 0.
    """

    threads: int = 1
    waiting: int = 64
    patience: float = 0.25
    longest: float = 10.0  # seconds, whatever deadline the caller has

    def __post_init__(self) -> None:
        _require_positive(self, but=("waiting",))


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One server. Raises ParameterError, and ConfigError for plain text that nobody asked for.

    processes: how many answer on the port. grace: seconds for calls under way when it stops.
    tls: None speaks plain text. plain_text: the operator's word that plain text is meant on an
    address that others reach. proxies: addresses that limits of one connection spare.
    """

    host: str = "127.0.0.1"
    port: int = 0
    processes: int = 1
    reuse_port: bool = False  # several processes on one port; else a second one must fail
    grace: float = 5.0
    plain_text: bool = False
    tls: Tls | None = None
    proxies: tuple[str, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    log: Log = field(default_factory=Log)
    limits: Limits = field(default_factory=Limits)
    answers: LaneLimits = field(default_factory=LaneLimits)
    # One count at a time: analysts who wait must not take the threads of everybody's answers.
    analysts: LaneLimits = field(default_factory=lambda: LaneLimits(patience=600.0, longest=3600.0))

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ParameterError("port", self.port, "from 0 to 65535")
        if self.grace < 0:
            raise ParameterError("grace", self.grace, "at least 0")
        if self.processes < 1:
            raise ParameterError("processes", self.processes, "at least 1")
        if (self.metrics.port or 0) + self.processes > 65536:
            most = f"at most {65536 - self.processes}, with {self.processes} processes"
            raise ParameterError("metrics.port", self.metrics.port, most)
        if self.tls is not None and self.plain_text:
            raise ConfigError("--plain-text and a certificate exclude each other: name one")
        if self.tls is None and not (self.plain_text or is_loopback(self.host)):
            way_out = "name --tls-certificate and --tls-key, or, behind a TLS proxy, --plain-text"
            raise ConfigError(f"plain text is not spoken on {self.host}: {way_out}")

    def as_child(self, number: int) -> Self:
        """One of several processes on the port. Its numbers are read at a port of their own: that
        of the first, and the next ones. Its lines of the log have its number.
        """
        pages = self.metrics
        if pages.port:
            pages = replace(pages, port=pages.port + number)
        log = replace(self.log, process=number)
        return replace(self, processes=1, reuse_port=True, metrics=pages, log=log)

    @property
    def address(self) -> str:
        """As gRPC writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _require_positive(limits: Limits | LaneLimits, but: tuple[str, ...] = ()) -> None:
    for name, value in vars(limits).items():
        least = 0 if name in but else 1e-3
        if not value >= least:
            raise ParameterError(name, value, "above 0" if least else "at least 0")


_ONE = "name one model to serve: --model DIR, --models FOLDER or --demo"


@dataclass(frozen=True, kw_only=True)
class Models:
    """Directories of models, each with its Monday if it has one ("new@2026-11-23"); or a folder of
    directories that are named by their Mondays; or a demo. Raises ConfigError for two of them.
    """

    directories: tuple[str, ...] = ()
    folder: Path | None = None
    demo: Literal["films", "places"] | None = None

    def __post_init__(self) -> None:
        if self._ways() > 1:
            raise ConfigError(_ONE)

    def require(self) -> None:
        """Raises ConfigError where there is none."""
        if not self._ways():
            raise ConfigError(_ONE)

    def _ways(self) -> int:
        return [bool(self.directories), self.folder is not None, self.demo is not None].count(True)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The ledger whose stored releases are served, and its anchor; popularity: the charge of the
    one that orders a cold start. Raises ConfigError for a charge without a ledger.
    """

    ledger: Path | None = None
    anchor: Path | None = None
    popularity: int | None = None

    def __post_init__(self) -> None:
        if self.popularity is not None and self.ledger is None:
            raise ConfigError("--popularity names a release of the ledger in --releases")


@dataclass(frozen=True, kw_only=True)
class Analysts:
    """Whose tokens are believed (token_key), what may be asked about, and what counts it.

    Raises ConfigError where only a part of that is said.
    """

    token_key: Path | None = None
    dataset: str | None = None
    events: str | None = None
    unit_column: str = "unit"
    item_column: str = "item"
    max_items_per_unit: int = 100
    requests_per_minute: int = 60
    engine: str = field(default="duckdb:", repr=False)  # may hold a password
    memory_limit: str | None = None
    temp_directory: Path | None = None
    multi_line: bool = False
    bounding_key: Path | None = None

    def __post_init__(self) -> None:
        if self.token_key is not None and None in {self.dataset, self.events}:
            raise ConfigError("analysts need --dataset and --events")
        if self.token_key is None and (self.dataset or self.events):
            raise ConfigError("--dataset and --events are for analysts: name their --token-key")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How a server listens, and what it answers from."""

    server: ServerConfig
    models: Models
    releases: Releases
    analysts: Analysts


def configuration_of(values: Mapping[str, Any]) -> Configuration:
    """What values of keys come to; None is as if nothing was said.

    Raises ConfigError or ParameterError for values that do not go together.
    """
    plain = ServerConfig()
    server = replace(
        plain,
        **_table(values, "server", plain),
        tls=_tls(values),
        **{
            table: replace(own, **_table(values, table, own))
            for table in ("metrics", "log", "limits", "answers", "analysts")
            for own in (getattr(plain, table),)
        },
    )
    return Configuration(
        server=server,
        models=Models(**_table(values, "models", Models)),
        releases=Releases(**_table(values, "releases", Releases)),
        analysts=Analysts(**_table(values, "analysts", Analysts)),
    )


def _tls(values: Mapping[str, Any]) -> Tls | None:
    named = _table(values, "tls", Tls)
    if not named:
        return None
    if not {"certificate", "key"} <= set(named):
        raise ConfigError("TLS needs both --tls-certificate and --tls-key")
    return Tls(**named)


def _table(values: Mapping[str, Any], table: str, kind: Any) -> dict[str, Any]:
    """What is said in a table of the fields of a class, or of an object of it."""
    named = {each.name: values.get(f"{table}.{each.name}") for each in fields(kind)}
    return {name: value for name, value in named.items() if value is not None}
