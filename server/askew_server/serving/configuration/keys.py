"""Every setting of a server by its name in the file: its kind, its default, its flag, its variable.

This table is the only place that knows them. The reader of the file, the commands' options and the
check of a configuration are made from it.

What a setting may be: how its text becomes a value, and which values a file may hold.

A flag and a variable of the environment are text; a file says a number as a number. Whatever the
source, the same values are refused, and the words of a kind say what would have been accepted.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from askew_server.serving.configuration.server import Analysts, Models, Releases, ServerConfig

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
