"""Files of ratings that tests write, and tables as lists, which compare as a whole."""

from __future__ import annotations

from pathlib import Path

import duckdb

from askew_server.ratings import RatingTable

ONE = 'SELECT 1 AS "user", 2 AS item, 3 AS rating'


def write_parquet(path: Path, select: str = ONE) -> Path:
    """A parquet file of the rows of a query."""
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def written(path: Path, content: str | bytes) -> Path:
    """A file of this text, in UTF-8, or of these bytes."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(table: RatingTable) -> tuple[object, ...]:
    columns = (table.person.tolist(), table.item.tolist(), table.rating.tolist())
    return (*columns, table.n_people, table.item_keys)
