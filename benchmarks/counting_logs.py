"""SIMULATED logs of events: people active by a power law, items popular by another."""

from __future__ import annotations

from pathlib import Path

import duckdb

from askew_server.counting import ContributionBound, CountingTask

LIMIT, DELTA = 1001, 10
MEMORY = "3GB"  # leaves a quarter of 4 GiB to what an engine does not count
# A tenth as many people as events, 10^5 items.
_PERSON = "floor({people} * pow((hash(i) % 1000000007) / 1000000007.0, 1.5))::BIGINT"
_ITEM = "floor(100000 * pow((hash(i + {rows}) % 1000000007) / 1000000007.0, 3))::BIGINT"
_TEXTS = f"'person-' || {_PERSON} AS unit, 'item-' || {_ITEM} AS item"
TEXTS = "text ids"
SHAPES = {
    TEXTS: _TEXTS,
    "integer ids": f"{_PERSON} AS unit, {_ITEM} AS item",
    # As a log has them: who comes back to an item makes another event.
    "text ids, each event 3 times": _TEXTS.replace("(i", "(i // 3"),
}


def made_log(folder: Path, shape: str, rows: int) -> Path:
    """A parquet file of so many events, made once."""
    path = folder / f"{shape}, {rows}.parquet"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    columns = SHAPES[shape].format(people=max(1, rows // 10), rows=rows)
    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": f"{path}.tmp"}) as made:
        made.execute("SET preserve_insertion_order = false")
        made.execute(
            f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{part}' (FORMAT parquet)"
        )
    part.rename(path)
    return path


def task(events: str) -> CountingTask:
    """The last statement: the top of an unknown domain, at most DELTA items of a person."""
    return CountingTask(events=events, bound=ContributionBound(DELTA), limit=LIMIT)


def bare(table: str) -> str:
    """The same without a bound, as anybody would write it."""
    return f"""SELECT item, COUNT(DISTINCT unit) AS n FROM {table}
               GROUP BY item ORDER BY n DESC, item LIMIT {LIMIT}"""
