"""What is counted, what comes back, and what an engine must be able to do.

A task is public and safe to print. The key that decides which events are kept is not part of it:
it is an argument of `count_top`. Counts are private; an object that holds them prints without them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Protocol

from askew.errors import DataError, ParameterError

KEY_BYTES = 32
"""The length of the secret key of contribution bounding."""
MAX_ITEMS_OF_LIKES = 16_384
"""How many items a matrix of likes may have: 2 GB of 64-bit integers."""

# What a name ends in that is no table's, and that nobody counts: of JSON, one person's value makes
# the type of everybody's, and packed parquet is none.
_UNREAD = (
    *(".json", ".jsonl", ".ndjson", ".geojson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    *(".json.zst", ".jsonl.zst", ".ndjson.zst", ".parquet.gz", ".parquet.zst"),
    *(".bz2", ".xz", ".zip", ".xlsx", ".orc", ".avro"),
)

_TEXT_FILES = tuple(
    f".{kind}{packed}" for kind in ("csv", "tsv", "txt") for packed in ("", ".gz", ".zst")
)
_BARE_FILES = (".dat", ".data")
_FILES = (".parquet", *_TEXT_FILES)


@dataclass(frozen=True, kw_only=True)
class EventSource:
    """Where the events of a data set are, and what makes their items public, if anything does.

    events       a FILE (.parquet; .csv, .tsv or .txt, also .gz or .zst; patterns such as
                 log/*.parquet; a folder, log/) or a TABLE of the engine ("events", "schema.events";
                 parts exactly as they are written).
    engine       where files and tables are, without a secret (`engines.public_address`).
    encoding     of files of text, by its usual name (`tables.text.usual_encoding`).
    unit_column  whose history is protected: text, integers or UUIDs.
    item_column  what is counted: text, integers or UUIDs. "1" and "01" are two items.
    catalog      a FILE or TABLE with the same item column: every item there is. It is public, and
                 so is the domain: each of its items comes back, with a zero where nobody chose it;
                 events of other items are dropped before bounding.

    Raises ParameterError for a name that ends as a file of another kind does.
    """

    events: str
    engine: str = "duckdb:"
    encoding: str = "utf-8"
    unit_column: str = "unit"
    item_column: str = "item"
    catalog: str | None = None

    def __post_init__(self) -> None:
        for field_name, name in (("events", self.events), ("catalog", self.catalog or "")):
            if name.lower().endswith(_UNREAD):
                limit = "a file of parquet, csv, tsv or txt, or a table"
                raise ParameterError(field_name, name, limit)


@dataclass(frozen=True, kw_only=True)
class CountingTask(EventSource):
    """Count the distinct units of each item, after contribution bounding.

    max_items_per_unit  the contribution bound: so many items of one unit are counted at most, each
                        of them once. The counts of neighbors, with one unit more or less, differ by
                        at most one an item (linf_sensitivity 1), and in at most so many items
                        (l0_sensitivity). None: every item of a unit is counted, each of them once.
    limit               without a catalog: how many items come back, kbar + 1 for LimitDom. These
                        items are private: the domain is unknown. With a catalog it is None.

    Raises ParameterError for a bound or a limit below one, a limit beside a catalog, and neither of
    the two.
    """

    max_items_per_unit: int | None
    limit: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_items_per_unit is not None:
            _require_count("max_items_per_unit", self.max_items_per_unit)
        if self.catalog is None:
            _require_count("limit", self.limit)
        elif self.limit is not None:
            raise ParameterError("limit", self.limit, "None where a catalog is given")


@dataclass(frozen=True, kw_only=True)
class LikesTask(EventSource):
    """What people like together of a public catalog: G of `askew.mechanisms.covariance`.

    keys           the catalog, in the order of their UTF-8 bytes, which are the places of G. They
                   are an argument and no table of the engine: `catalog` is None.
    rating_column  numbers; in text files, what is no number is no like.
    least, most    a rating from the one to the other is a like. Of several ratings of one item by a
                   person one like is enough. No rating but these counts for anything.
    max_items_per_unit  a public cap on the likes of one person, or None. G has the same
                        sensitivity without it; it bounds the work.

    Raises ParameterError.
    """

    keys: tuple[str, ...] = field(repr=False)
    rating_column: str
    least: float
    most: float
    max_items_per_unit: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < len(self.keys) <= MAX_ITEMS_OF_LIKES:
            limit = f"from 1 to {MAX_ITEMS_OF_LIKES:,}: G has a number for each two"
            raise ParameterError("items of the catalog", len(self.keys), limit)
        if list(self.keys) != sorted(set(self.keys), key=str.encode):
            raise ParameterError("keys", "others", "different, in the order of their bytes")
        if odd := next((key for key in self.keys if not key or "\n" in key), None):
            raise ParameterError("a key", odd[:40], "without a line feed")
        if not -inf < self.least <= self.most < inf:
            raise ParameterError("least", self.least, "finite, and at most the highest rating")
        if self.max_items_per_unit is not None:
            _require_count("max_items_per_unit", self.max_items_per_unit)


@dataclass(frozen=True)
class TopCounts:
    """Items with their counts, by falling count and then by the bytes of the item's id (UTF-8).

    Private: neither the items nor the counts are printed. Items are text whatever their column is.
    """

    items: tuple[str, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.items)


class Engine(Protocol):
    """A database that has the events, or can read the files that have them.

    Every method raises DataError when the engine refuses; the message holds no value of a row.
    """

    @property
    def dialect(self) -> str:
        """Return the key of the engine's SQL in `statements`: duckdb, postgres or spark."""

    def table(self, name: str, *, public: bool = False) -> tuple[str, ...]:
        """Return the identifiers of the table `name`; a file gets one under a name of our own.

        public: a list of items. Its last line is a row, where a log's without an end is none.
        """

    def columns(self, table: tuple[str, ...]) -> dict[str, str]:
        """Return the types of a table's columns, as the engine writes them, by column, in its
        order. Raises DataError for a table that is not there.
        """

    def execute(
        self, sql: str, parameters: Mapping[str, str] | None = None
    ) -> Sequence[tuple[object, ...]]:
        """Return the rows of one statement in the engine's dialect. Parameters never become SQL
        text.
        """

    def look_through(self, name: str, columns: Collection[str] | None = None, /) -> None:
        """Read the files of a log once, as they are now: they are what is counted from now on, and
        of text these columns, or all. Do nothing for a table. Raises DataError for torn quotes,
        which would hide others.
        """

    def broken_lines(self, name: str, columns: Collection[str], /) -> int:
        """Return how many lines of a text file give no row of these columns, so are not counted.

        Private, like a count. 0 for what is no text, and where such lines come back as rows.
        """

    def close(self) -> None:
        """Let go of the engine's connection; a second call does nothing."""


def _require_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(name, value, "an integer of at least 1")


def driver(module: str, extra: str) -> ModuleType:
    """Return the module of an optional engine's driver. Raises DataError, which names pip install
    '.[extra]', where it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise DataError(
            f"this engine needs {module}, which is not installed: in a clone, pip install"
            f" '.[{extra}]'"
        ) from None


@contextmanager
def failures_named(
    where: str,
    failure: type[Exception] | tuple[type[Exception], ...],
    reason: Callable[[Exception], str],
) -> Iterator[None]:
    """Raise an engine's `failure` in the body of a `with` as a DataError, "WHERE: REASON", with
    what `reason` makes of it. The engine's own words may quote a row.
    """
    try:
        yield
    except failure as error:
        raise DataError(f"{where}: {reason(error)}") from None


def is_file(name: str) -> bool:
    """Return True for a name that ends in .parquet, .csv, .tsv or .txt, the last three also with
    .gz or .zst, there or not; for a folder that is there and has a slash in its name; and for a
    .dat or .data that is there. False for any other name, which is a table's.
    """
    return is_text_file(name) or name.lower().endswith(".parquet") or _is_folder(name)


def is_text_file(name: str) -> bool:
    """Return True for a name of files of text, whose column names are but their first line, if they
    have any: one that ends in .csv, .tsv or .txt, or these and .gz or .zst, in any case; .dat and
    .data only where the file is there. Of a folder written with a slash, True where any file in it
    is one.
    """
    if _is_folder(name):
        from askew_server.tables.files import files_of  # pyarrow takes a while

        return any(is_text_file(file) for file in files_of(name))
    lower = name.lower()
    return lower.endswith(_TEXT_FILES) or (lower.endswith(_BARE_FILES) and Path(name).is_file())


def _is_folder(name: str) -> bool:
    return "/" in name and Path(name).is_dir()


def is_pattern(name: str) -> bool:
    """Return True for a pattern such as log/*.parquet, a folder that is there and written with a
    slash, and a missing file, log.csv; False for a file that is there, and for a table.
    """
    return is_file(name) and not Path(name).is_file()


def table_parts(name: str) -> tuple[str, ...]:
    """Return the identifiers in "table", "schema.table" or "catalog.schema.table", as written.
    Raises DataError for an empty part, or more than three.
    """
    parts = tuple(name.split("."))
    if not all(parts) or len(parts) > 3:
        raise DataError(
            f"{name!r} names neither a file ({', '.join(_FILES)}) nor a table (schema.table)"
        )
    return parts


def digest_of(**public: object) -> bytes:
    """Return the SHA-256, 32 bytes, of public values and their names, whatever their order."""
    return hashlib.sha256(json.dumps(public, sort_keys=True, default=str).encode()).digest()


def named_in_full(source: EventSource) -> dict[str, object]:
    """Return every field of a source by its name, files, and with the engine "duckdb:" any name, by
    their absolute paths. Links are not followed: where they lead may depend on how a log grows.
    """
    named = {"events": source.events, "catalog": source.catalog}
    files = {name: file for name, file in named.items() if file and _is_file(source, file)}
    return {**vars(source), **{name: str(Path(file).absolute()) for name, file in files.items()}}


def _is_file(source: EventSource, name: str) -> bool:
    # Also where the file is gone: DuckDB without a database has no tables.
    return source.engine == "duckdb:" or is_file(name)


def place_of(source: EventSource) -> bytes:
    """Return the SHA-256, 32 bytes, of where the events are: the same for a file, with the engine
    "duckdb:" any name, by any name, link or engine, and for a table of an engine in large or small
    letters.
    """
    if _is_file(source, source.events):
        return digest_of(file=str(Path(source.events).resolve()))
    return digest_of(engine=source.engine, table=source.events.casefold())
