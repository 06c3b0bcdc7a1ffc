"""The settings of a server: one table of them, and the objects that they make.

The table knows each setting's name, kind, range, flag and variable. The reader of the TOML file,
the options of the commands and the check of a configuration are made from it. A flag or a variable
is text; a file gives a number as a number. The same values are refused whatever the source. All
that is wrong with a file is found at once, each with its name, what was given and what would be
accepted.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from askew.address import is_loopback
from askew.errors import AccessError, ConfigError, ParameterError, shown


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


_LARGEST = 1_000_000_000  # gRPC takes twice as many


class Kind(Protocol):
    """A type of settings with its limit."""

    @property
    def words(self) -> str:
        """What is accepted, after "must be"."""

    def of_text(self, text: str) -> object:
        """The value that a text names. Raises ValueError."""

    def checked(self, value: object) -> object:
        """A value of a file, or one that was parsed. Raises ValueError."""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int = _LARGEST

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a whole number from {self.least} to {self.most}"

    def of_text(self, text: str) -> int:
        """Digits, and nothing else that Python would take."""
        if not (text.isascii() and text.removeprefix("-").isdigit()):
            raise ValueError
        return self.checked(int(text))

    def checked(self, value: object) -> int:
        """No bool, which is a number to Python."""
        if type(value) is not int or not self.least <= value <= self.most:
            raise ValueError
        return value


@dataclass(frozen=True)
class Number:
    """A number that need not be whole."""

    least: float
    most: float

    @property
    def words(self) -> str:
        """With both ends."""
        return f"a number from {self.least:g} to {self.most:g}"

    def of_text(self, text: str) -> float:
        """As Python reads it."""
        return self.checked(float(text))

    def checked(self, value: object) -> float:
        """Written so that NaN is refused too."""
        if type(value) not in {int, float} or not self.least <= value <= self.most:  # type: ignore[operator]
            raise ValueError
        return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Text:
    """Any text on one line but none."""

    words: str = "a text"

    def of_text(self, text: str) -> str:
        """As it is."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """Without controls."""
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ValueError
        return value


@dataclass(frozen=True)
class File:
    """The path of a file or a directory, which need not be there."""

    words: str = "a path"

    def of_text(self, text: str) -> Path:
        """From the working directory."""
        return self.checked(text)

    def checked(self, value: object) -> Path:
        """Text, or what it became."""
        if isinstance(value, Path):
            return value
        if not isinstance(value, str) or not value or "\0" in value:
            raise ValueError
        return Path(value)


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(self.names)}"

    def of_text(self, text: str) -> str:
        """One of them."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """One of them."""
        if not isinstance(value, str) or value not in self.names:
            raise ValueError
        return value


@dataclass(frozen=True)
class Switch:
    """Yes or no."""

    words: str = "true or false"

    def of_text(self, text: str) -> bool:
        """As TOML writes it."""
        if text.lower() not in {"true", "false"}:
            raise ValueError
        return text.lower() == "true"

    def checked(self, value: object) -> bool:
        """No number, which would be true to Python."""
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Network:
    """An address, or a network of them: 10.0.0.7, 10.0.0.0/8, fd00::/8."""

    words: str = "an IP address or network, such as 10.0.0.7 or 10.0.0.0/8"

    def of_text(self, text: str) -> str:
        """As it is written."""
        return self.checked(text)

    def checked(self, value: object) -> str:
        """With no bits beyond the network's."""
        ipaddress.ip_network(value if isinstance(value, str) else "")
        return str(value)


PORT = Whole(0, 65535)
_DAY = 86_400  # gRPC counts milliseconds, and no more than 24 days of them
_PLAIN = ServerConfig()
_LIMITS = {"limits": _PLAIN.limits, "answers": _PLAIN.answers, "analysts": _PLAIN.analysts}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "server": vars(_PLAIN),
    "models": vars(Models()),
    "releases": vars(Releases()),
    "tls": {},  # without a word there is none
    "metrics": vars(_PLAIN.metrics),
    "log": vars(_PLAIN.log),
    "limits": vars(_PLAIN.limits),
    "answers": vars(_PLAIN.answers),
    "analysts": vars(Analysts()) | vars(_PLAIN.analysts),
}


@dataclass(frozen=True)
class Key:
    """One setting. name: its table and its own, as "server.port".

    flags: without any, one is made of the name, and only the documents tell of it. shared: a
    variable of other commands that means the same. several: a list in the file, a flag that may be
    repeated. bare: what its flag alone means. secret: its value may hold a password, and is never
    shown.
    """

    name: str
    kind: Kind
    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    shared: str | None = None
    several: bool = False
    bare: str | None = None
    secret: bool = False

    @property
    def default(self) -> Any:
        """As the configuration's own class has it; None for what is then absent."""
        table, _, own = self.name.partition(".")
        return _DEFAULTS[table].get(own)

    @property
    def parameter(self) -> str:
        """Its name in Python."""
        return self.name.replace(".", "_")

    @property
    def all_flags(self) -> tuple[str, ...]:
        """As it is typed."""
        return self.flags or (f"--{self.name.replace('.', '-').replace('_', '-')}",)

    @property
    def variable(self) -> str:
        """Where the environment says it."""
        name = self.name.removeprefix("server.").replace(".", "_")
        return f"ASKEW_SERVER_{name.upper()}"

    @property
    def words(self) -> str:
        """What a file may say, after "must be"."""
        return f"a list, each {self.kind.words}" if self.several else self.kind.words


_NAMED = (
    Key("server.host", Text("an address"), "Address to listen on.", ("--host",)),
    Key("server.port", PORT, "Port; 0 takes a free one.", ("--port",)),
    Key("server.processes", Whole(1, 256), "How many answer on the port.", ("--processes",)),
    Key(
        "server.grace", Number(0, 3600), "Seconds for calls under way when it stops.", ("--grace",)
    ),
    Key(
        "server.plain_text",
        Switch(),
        "Speak plain text where others listen: for a TLS proxy in front.",
        ("--plain-text",),
    ),
    Key(
        "server.proxies",
        Network(),
        "A proxy, whose connections carry many callers.  May be repeated.",
        ("--proxy",),
        several=True,
    ),
    Key(
        "models.directories",
        Text("a directory, or one with its Monday: model@2026-11-23"),
        "Model directory; with @2026-11-23, in force from that Monday on. May be repeated.",
        ("--model",),
        "DIR[@MONDAY]",
        several=True,
    ),
    Key(
        "models.folder",
        File(),
        "Folder of model directories, each named by its Monday, as 2026-11-23.",
        ("--models",),
        "FOLDER",
    ),
    Key(
        "models.demo",
        Choice(("films", "places")),
        "Serve films with simulated ratings, or simulated places in real towns.",
        ("--demo",),
        bare="films",
    ),
    Key(
        "releases.ledger",
        File(),
        "Serve the stored releases of this ledger.",
        ("--releases", "--ledger"),
        shared="ASKEW_LEDGER",
    ),
    Key(
        "releases.anchor",
        File(),
        "The ledger's anchor.  [default: its name with .anchor]",
        ("--anchor",),
        shared="ASKEW_ANCHOR",
    ),
    Key(
        "releases.popularity",
        Whole(1),
        "The charge of the release shown on a cold start.",
        ("--popularity",),
    ),
    Key("analysts.token_key", File(), "Serve analysts, whom its tokens name.", ("--token-key",)),
    Key("analysts.dataset", Text(), "The data set that analysts may ask about.", ("--dataset",)),
    Key("analysts.events", Text(), "Its events: FILE or TABLE of the engine.", ("--events",)),
    Key("analysts.unit_column", Text(), "Whose event it is.", ("--unit-column",)),
    Key("analysts.item_column", Text(), "What was chosen.", ("--item-column",)),
    Key(
        "analysts.max_items_per_unit",
        Whole(1),
        "Count no more of a person.",
        ("--max-items-per-unit",),
    ),
    Key(
        "analysts.requests_per_minute",
        Whole(1),
        "Answer no analyst more often.",
        ("--requests-per-minute",),
    ),
    Key(
        "analysts.engine",
        Text(),
        "What counts, such as duckdb:, duckdb:FILE, spark:MASTER, postgresql://... or "
        "clickhouse://...  A password belongs in ASKEW_ENGINE or the engine's own files, not here.",
        ("--engine",),
        shared="ASKEW_ENGINE",
        secret=True,
    ),
    Key("analysts.memory_limit", Text(), 'DuckDB\'s, such as "4GB".', ("--memory-limit",)),
    Key(
        "analysts.temp_directory",
        File(),
        "Where copies and what is beyond it lie.",
        ("--temp-directory",),
    ),
    Key(
        "analysts.multi_line",
        Switch(),
        "Fields in quotes of a csv may span lines.",
        ("--multi-line",),
    ),
    Key(
        "analysts.bounding_key",
        File(),
        "The secret that chooses which events count; made where there is none.  "
        "[default: the ledger's name with .bounding-key]",
        ("--bounding-key",),
        shared="ASKEW_BOUNDING_KEY",
    ),
    Key("tls.certificate", File(), "Speak TLS with this certificate.", ("--tls-certificate",)),
    Key("tls.key", File(), "Its private key, which others cannot read.", ("--tls-key",)),
    Key(
        "tls.client_authority",
        File(),
        "Ask callers for a certificate of these authorities.",
        ("--tls-client-authority",),
    ),
    Key("metrics.host", Text("an address"), "Where numbers are read.", ("--metrics-host",)),
    Key("metrics.port", PORT, "Serve numbers to Prometheus on this port.", ("--metrics-port",)),
    Key(
        "log.format",
        Choice(("text", "json")),
        "How lines are written.",
        ("--log-format",),
    ),
    Key(
        "log.level",
        Choice(("debug", "info", "warning", "error")),
        "The least line that is written.",
        ("--log-level",),
    ),
)


def _limits(table: str) -> Iterator[Key]:
    """A key for each limit of a table, by the type of its default."""
    for name, default in vars(_LIMITS[table]).items():
        least = 0 if name == "waiting" else 1
        kind = Number(0.001, 20 * _DAY) if isinstance(default, float) else Whole(least)
        yield Key(f"{table}.{name}", kind)


KEYS: tuple[Key, ...] = (*_NAMED, *(key for table in _LIMITS for key in _limits(table)))
BY_NAME: Mapping[str, Key] = {each.name: each for each in KEYS}


_MOST = 1 << 20


def read_private(path: Path) -> bytes:
    """What a key file holds, a megabyte at most.

    Raises AccessError where others could read it. A file that root gave to a group, as one who
    mounts secrets does, may be read by that group.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_mode & _exposed(found.st_uid):
                raise AccessError(f"the key file {path} must be a regular file of mode 0600")
            return file.read(_MOST)
    except OSError as error:
        raise AccessError(f"the key file {path} cannot be read: {error.strerror}") from None


def _exposed(owner: int) -> int:
    """The bits of a mode that a file of this owner must not have."""
    given = owner == 0 and os.geteuid() != 0
    return 0o037 if given else 0o077


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: in order, worth a look, or wrong. text: one line."""

    health: Literal["ok", "warn", "fail"]
    name: str
    text: str


@dataclass(frozen=True)
class FileValues:
    """What a file says, by the names of keys, and what is wrong with the rest."""

    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_file(path: Path) -> FileValues:
    """Raises ConfigError for a file that cannot be read or is no TOML."""
    try:
        tables = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        place = str(error).rpartition(" (at ")[2].rstrip(")")  # the rest may repeat a secret
        raise ConfigError(f"{path} is no TOML, at {place}") from None
    except ValueError:
        raise ConfigError(f"{path} is no text") from None
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in _flat(tables):
        key = BY_NAME.get(name)
        if key is None:
            problems.append(_unknown(name))
            continue
        try:
            values[name] = checked(key, value)
        except ValueError:
            problems.append(wrong(key, value))
    return FileValues(values, tuple(problems))


def checked(key: Key, value: object) -> object:
    """A value of a key. Raises ValueError."""
    if not key.several:
        return key.kind.checked(value)
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(key.kind.checked(each) for each in value)


def wrong(key: Key, value: object) -> str:
    """What is wrong with a value, which is shown unless it may hold a password."""
    got = "something else" if key.secret else shown(value)
    return f"{key.name} must be {key.words}, got {got}"


def _flat(tables: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for table, content in tables.items():
        if isinstance(content, dict):
            for name, value in content.items():
                yield f"{table}.{name}", value
        else:
            yield table, content


def _unknown(name: str) -> str:
    """With the name that was probably meant: of the same table, or the same in another."""
    own = name.rpartition(".")[2]
    elsewhere = [each for each in BY_NAME if each.rpartition(".")[2] == own]
    near = elsewhere or difflib.get_close_matches(name, BY_NAME, n=1)
    advice = f"; did you mean {near[0]}?" if near else ""
    return f"{shown(name)} is no setting{advice}"


_PREFIX = "ASKEW_SERVER_"
_KNOWN = {each.variable for each in KEYS} | {"ASKEW_SERVER_CONFIG"}


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """A line for each, without its value, with the name that was probably meant."""
    for name in sorted(set(names) - _KNOWN):
        if name.startswith(_PREFIX):
            near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.8)
            advice = f"; did you mean {near[0]}?" if near else ""
            yield f"{name} is no setting{advice}"
