"""The settings of a server: one table of them, and the objects that they make.

The file, the variables, the options of the commands and the check of a configuration are made from
the table. Limits that nobody needs to change stand in their classes alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

from askew.errors import ConfigError, ParameterError, maybe
from askew.settings import (
    FileValues,
    Number,
    OneOf,
    Setting,
    Switch,
    Text,
    ValueKind,
    Whole,
    file_values,
    is_loopback,
    tables_of,
)


@dataclass(frozen=True, kw_only=True)
class Tls:
    """A certificate with its chain, and its private key, each a file in PEM."""

    certificate: Path
    key: Path


LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where numbers are read, in plain text. port: 0 takes a free one, None serves none."""

    host: str = "127.0.0.1"
    port: int | None = None


@dataclass(frozen=True, kw_only=True)
class Http:
    """The door for files that devices hold, and for callers without gRPC: on the port after the
    server's. origins: of the pages of others that may read its replies, "*" for all. web: whether
    the page is there.
    """

    origins: tuple[str, ...] = ()
    web: bool = False


@dataclass(frozen=True, kw_only=True)
class Log:
    """The least line of the log that is written."""

    level: LogLevel = "info"


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """How many jobs of a queue run at once, how many wait, and the longest that a call may take.

    threads: one leaves a core to the loop, which refuses; more cores are for more servers.
    """

    threads: int = 1
    waiting: int = 32  # of 5 ms: a sixth of a second
    longest: float = 10.0  # seconds, whatever deadline the caller has


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One server. Raises ParameterError, and ConfigError for plain text that nobody asked for.

    grace: seconds for calls under way when it stops. tls: None speaks plain text. plain_text: the
    operator's word that plain text is meant on an address that others reach.
    """

    host: str = "127.0.0.1"
    port: int = 0
    grace: float = 5.0
    plain_text: bool = False
    tls: Tls | None = None
    http: Http | None = None  # no door
    metrics: Metrics = field(default_factory=Metrics)
    log: Log = field(default_factory=Log)
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
    """What is tried, one after the other, as the port after a server's own `port`. A 0 is any free
    one, as it is for `port`.

    Linux gives odd ports to those who listen and even ones to connections that go out. Where many
    go out, no odd port has a free one before it; those below Linux's range are tried then.
    """
    if port:
        yield port + 1
        return
    yield from repeat(0, 50)
    # Servers that start at once begin at different ones.
    yield from range(10_001 + os.getpid() % 5_000 * 2, 32_768, 2)


_ONE = "name one model to serve: --model DIR, --models FOLDER or --demo"


@dataclass(frozen=True, kw_only=True)
class Models:
    """The directory of a model; or a folder of such, which are named by their Mondays; or a demo.
    Raises ConfigError for two of them.
    """

    directory: Path | None = None
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
        return 3 - [self.directory, self.folder, self.demo].count(None)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The ledger whose stored releases are served, and its mark; popularity: the charge of the
    one that orders a cold start. Raises ConfigError for a charge without a ledger.
    """

    ledger: Path | None = None
    mark: Path | None = None
    popularity: int | None = None

    def __post_init__(self) -> None:
        if self.popularity is not None and self.ledger is None:
            raise ConfigError("--popularity names a release of the ledger in --ledger")


@dataclass(frozen=True, kw_only=True)
class Analysts:
    """Which tokens are good, what may be asked about, and what counts it.

    Raises ConfigError where only a part of that is said.
    """

    tokens: Path | None = None
    dataset: str | None = None
    events: str | None = None
    unit_column: str = "unit"
    item_column: str = "item"
    max_items_per_unit: int = 100
    engine: str = field(default="duckdb:", repr=False)  # may hold a password
    memory_limit: str | None = None

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


def configuration_of(values: Mapping[str, Any]) -> Configuration:
    """What values of keys come to; None is as if nothing was said.

    Raises ConfigError or ParameterError for values that do not go together.
    """
    plain = ServerConfig()
    http = _table(values, "http", Http)
    server = replace(
        plain,
        http=Http(**http) if http else None,
        **_table(values, "server", plain),
        tls=_tls(values),
        **{
            table: replace(own, **_table(values, table, own))
            for table in ("metrics", "log", "answers", "analysts")
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


@dataclass(frozen=True)
class File:
    """The path of a file or a directory, which need not be there."""

    words: str = "a path"

    def of(self, value: object) -> Path:
        """From the working directory."""
        if isinstance(value, Path):
            return value
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError
        return Path(value)


def _origin(text: str) -> None:
    """https://example.org, with no path, as browsers write it."""
    if not re.fullmatch(r"\*|https?://[a-z0-9.\[\]:-]+", text):
        raise ValueError


_PORT = Whole(0, 65535)
_PLAIN = ServerConfig()
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "server": vars(_PLAIN),
    "models": vars(Models()),
    "releases": vars(Releases()),
    "tls": {},  # without a word there is none
    "http": vars(Http()),
    "metrics": vars(_PLAIN.metrics),
    "log": vars(_PLAIN.log),
    "answers": vars(_PLAIN.answers),
    "analysts": vars(Analysts()) | vars(_PLAIN.analysts),
}


def _setting(name: str, kind: ValueKind, help: str, flag: str = "", **rest: Any) -> Setting:  # noqa: A002
    """A setting of a table, with the default of the class that it is made for."""
    table, _, own = name.partition(".")
    variable = f"ASKEW_SERVER_{name.removeprefix('server.').replace('.', '_').upper()}"
    flags = (flag,) if flag else ()
    default = _DEFAULTS[table].get(own)
    return Setting(name, kind, variable, default=default, help=help, flags=flags, **rest)


KEYS: tuple[Setting, ...] = (
    _setting("server.host", Text("an address"), "Address to listen on.", "--host"),
    _setting("server.port", _PORT, "Port; 0 takes a free one.", "--port"),
    _setting("server.grace", Number(0, 3600), "Seconds for calls under way when it stops."),
    _setting(
        "server.plain_text",
        Switch(),
        "Speak plain text where others listen: for a TLS proxy in front.",
        "--plain-text",
    ),
    _setting(
        "models.directory",
        File(),
        "Model directory, which is always in force.",
        "--model",
        metavar="DIR",
    ),
    _setting(
        "models.folder",
        File(),
        "Folder of at most three model directories, each named by its Monday, as 2026-11-23.",
        "--models",
        metavar="FOLDER",
    ),
    _setting(
        "models.demo",
        OneOf(("films", "places")),
        "Serve films with simulated ratings, or simulated places in real towns.",
        "--demo",
        bare="films",
    ),
    _setting(
        "releases.ledger",
        File(),
        "Serve the stored releases of this ledger.",
        "--ledger",
        shared="ASKEW_LEDGER",
    ),
    _setting(
        "releases.mark",
        File(),
        "The ledger's mark.  [default: its name with .mark]",
        "--mark",
        shared="ASKEW_MARK",
    ),
    _setting(
        "releases.popularity",
        Whole(1),
        "The charge of the release shown on a cold start.",
        "--popularity",
    ),
    _setting("analysts.tokens", File(), "Serve analysts by their tokens in it.", "--tokens"),
    _setting("analysts.dataset", Text(), "The data set that analysts may ask about.", "--dataset"),
    _setting("analysts.events", Text(), "Its events: FILE or TABLE of the engine.", "--events"),
    _setting("analysts.unit_column", Text(), "Whose event it is.", "--unit-column"),
    _setting("analysts.item_column", Text(), "What was chosen.", "--item-column"),
    _setting(
        "analysts.max_items_per_unit",
        Whole(1),
        "Count no more of a person.",
        "--max-items-per-unit",
    ),
    _setting(
        "analysts.engine",
        Text(),
        "What counts: duckdb:, duckdb:FILE, spark:MASTER or postgresql://...  "
        "A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
        "--engine",
        shared="ASKEW_ENGINE",
        secret=True,
    ),
    _setting(
        "analysts.memory_limit",
        Text(),
        'DuckDB\'s, such as "4GB"; what is beyond it lies in TMPDIR.',
        "--memory-limit",
    ),
    _setting("tls.certificate", File(), "Speak TLS with this certificate.", "--tls-certificate"),
    _setting("tls.key", File(), "Its private key, which others cannot read.", "--tls-key"),
    _setting(
        "http.origins",
        Text("an origin such as https://example.org, or *", _origin),
        "Origins of other pages that may read replies.",
        several=True,
    ),
    _setting("http.web", Switch(), "Serve a page for browsers on the next port.", "--web"),
    _setting("metrics.host", Text("an address"), "Where numbers are read."),
    _setting("metrics.port", _PORT, "Serve numbers to Prometheus on this port.", "--metrics-port"),
    _setting(
        "log.level",
        OneOf(("debug", "info", "warning", "error")),
        "The least line that is written.",
    ),
    _setting("answers.threads", Whole(1), "Answers made at once; more cores are for more servers."),
)
BY_NAME: Mapping[str, Setting] = {each.name: each for each in KEYS}


def read_file(path: Path) -> FileValues:
    """A configuration. Raises ConfigError for a file that cannot be read or is no TOML."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return file_values(tables_of(data, str(path)), KEYS, str(path))


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """A line for each variable that looks like a setting and is none, without its value, with the
    name that was probably meant: nothing would read it.
    """
    known = {each.variable for each in KEYS} | {"ASKEW_SERVER_CONFIG"}
    for name in sorted(set(names) - known):
        if name.startswith("ASKEW_SERVER_"):
            yield f"{name} is no setting{maybe(name, known)}"
