"""Counting from its definition, in plain Python, and the events that engines are asked to count, as
they are and in parquet files.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from askew_server.counting.statements import DIALECTS

KEY = bytes(range(32))
Pair = tuple[str, str]
Columns = Mapping[str, Sequence[object]]

# Ids that an engine could confuse, cut, fold, trim, parse, compare by a locale or run.
ODD_IDS = (
    *("", " ", "a", "a ", " a", "A", "Z", "é", "e\u0301", "ß", "\uffff", "\U00010000", "日本"),
    *("1", "01", "1.0", "+1", "1e0", "NULL", "null", "true"),
    *("\x1b[2J", "\u202e", "\u2028", "a\tb", "a\nb", 'a"b', "a'b", "a,b", "a\\b", "a%sb"),
    *("$1", ":secret", "{secret:String}", "'; DROP TABLE events; --", "x" * 5000),
)


def reference_counts(
    events: Iterable[Pair],
    max_items: int,
    *,
    limit: int | None = None,
    catalog: Iterable[str] | None = None,
    key: bytes = KEY,
) -> list[tuple[str, int]]:
    """The rows that a task asks for."""
    secret = hmac.digest(key, b"askew contribution bounding", "sha256").hex()[:32]
    items_of: dict[str, set[str]] = defaultdict(set)
    wanted = None if catalog is None else set(catalog)
    for unit, item in events:
        if wanted is None or item in wanted:
            items_of[unit].add(item)
    counts = Counter(dict.fromkeys(wanted or (), 0))
    for unit, items in items_of.items():
        counts.update(sorted(items, key=lambda item: place(secret, unit, item))[:max_items])
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0].encode()))
    return rows[:limit]


def reference_likes(
    rows: Iterable[tuple[int | None, int | None, int | None]],
    keys: Sequence[str],
    most: int | None = None,
) -> list[list[int]]:
    """The places of each person's ratings of 4 and 5, at most so many of them."""
    secret = hmac.digest(KEY, b"askew contribution bounding", "sha256").hex()[:32]
    likes: dict[int, set[int]] = defaultdict(set)
    for unit, item, rating in rows:
        if unit is not None and rating in (4, 5) and str(item) in keys:
            likes[unit].add(keys.index(str(item)))
    ranked: dict[int, list[tuple[tuple[int, bytes], int]]] = {
        unit: sorted((place(secret, str(unit), str(at)), at) for at in places)
        for unit, places in likes.items()
    }
    return [[at for _, at in some[:most]] for some in ranked.values()]


def place(secret: str, unit: str, item: str) -> tuple[int, bytes]:
    """What an item of a unit is ordered by."""
    return hashed(secret, unit) * hashed(secret, item) % (2**31 - 1), item.encode()


def hashed(secret: str, text: str) -> int:
    return int(hashlib.md5(f"{secret}{text}".encode()).hexdigest()[:7], 16)


def varied_events() -> list[Pair]:
    """1,500 events: odd units and items, light and heavy units, duplicates, and ties."""
    units = [*ODD_IDS, *(f"person {n}" for n in range(30))]
    items = [*ODD_IDS, *(str(n) for n in range(20))]
    pairs = [
        (unit, items[(7 * n + step * (1 + n % 5)) % len(items)])
        for n, unit in enumerate(units)
        for step in range(1 + (n * n) % 40)
    ]
    return [*pairs, *pairs[::3], *pairs[::7]]


def columns_of(events: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [unit for unit, _ in events], [item for _, item in events]


def write_parquet(path: Path, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> None:
    """One file with these columns, all of one type, or the last one of its own."""
    named = ", ".join(
        f"unnest(CAST($c{n} AS {kind}[])) AS {quoted(name)}"
        for n, (name, kind) in enumerate(typed(columns, sql_type, last))
    )
    values = {f"c{n}": list(column) for n, column in enumerate(columns.values())}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {named}", values)
        target = str(path).replace("'", "''")
        connection.execute(f"COPY t TO '{target}' (FORMAT parquet)")


def typed(columns: Columns, sql_type: str, last: str) -> list[tuple[str, str]]:
    names = list(columns)
    return [(name, last if last and name == names[-1] else sql_type) for name in names]


def quoted(name: str, dialect: str = "duckdb") -> str:
    return DIALECTS[dialect].quoted(name)


def write_parquet_of_bytes(path: Path, unit: str, item: bytes) -> None:
    """One event whose item is any six bytes, also such that are no text."""
    write_parquet(path, {"unit": [unit], "item": ["MARKER"]})  # too short to be compressed
    data = path.read_bytes()
    if b"MARKER" not in data or len(item) != 6:
        raise ValueError(item)
    path.write_bytes(data.replace(b"MARKER", item))
