"""How long ratings take to be read as codes, beside a bare sum and beside peers, in CPU seconds.

The floor is DuckDB's own count and sum of the ratings in the same files. The peers code people and
items too: DuckDB by hand, with tables of the different keys, and pandas where it is installed. None
of them keeps the order of people, finds bad rows, or tells who rated the same thing twice.

    python -m benchmarks.reading_speed 2.5e7
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import duckdb
from benchmarks.rows import OURS, Goal, Row, Work, finish, run

from askew_server.ratings import read_ratings

RATINGS_A_PERSON = 154
ITEMS = 61_600
PARTS = 16
SECONDS_A_ROW = 8 / 25e6
_UNPACKED = Goal(times=2.5)  # most of the time goes into unpacking, in the floor too
_RATINGS = f"""
SELECT i // {RATINGS_A_PERSON} + 1 AS userId,
  (hash(i // {RATINGS_A_PERSON}) % 400 + 400 * (i % {RATINGS_A_PERSON}) + 1)::BIGINT AS movieId,
  (1 + hash(i) % 10) / 2 AS rating, 1000000000 + hash(i + 1) % 500000000 AS timestamp
FROM range({{0}}, {{1}}) AS t(i)
"""
_TEXT_IDS = """
SELECT 'person ' || userId AS userId, 'item ' || movieId AS movieId, rating, timestamp FROM ({0})
"""
_CODED = """
CREATE TABLE ratings AS SELECT userId, movieId, rating FROM {0};
CREATE TABLE people AS
  SELECT userId, row_number() OVER () - 1 AS code FROM (SELECT DISTINCT userId FROM ratings);
CREATE TABLE items AS
  SELECT movieId, row_number() OVER () - 1 AS code FROM (SELECT DISTINCT movieId FROM ratings);
SELECT people.code::INTEGER AS person, items.code::INTEGER AS item, rating
FROM ratings JOIN people USING (userId) JOIN items USING (movieId)
"""


def main() -> None:
    """Writes the files, and prints a row for each kind of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=float, default=2.5e6, help="ratings in a file")
    count = int(parser.parse_args().rows)
    if not _has_pandas():
        print("pandas is not installed: its rows are left out")
    with tempfile.TemporaryDirectory(prefix="reading-speed-") as name:
        rows = [_row(kind, write(Path(name), count), count) for kind, write in _KINDS.items()]
        finish([run(f"reading {count:,} ratings as codes", rows)])


def _write(folder: Path, count: int, name: str, options: str, rows: str = "{0}") -> Path:
    path = folder / name
    query = rows.format(_RATINGS.format(0, count))
    duckdb.execute(f"COPY ({query}) TO '{path}' ({options})")
    return path


def _write_parts(folder: Path, count: int) -> Path:
    parts = folder / "parts"
    parts.mkdir()
    for part in range(PARTS):
        query = _RATINGS.format(part * count // PARTS, (part + 1) * count // PARTS)
        duckdb.execute(f"COPY ({query}) TO '{parts}/{part:02}.csv' (FORMAT csv)")
    return parts


_KINDS: dict[str, Callable[[Path, int], Path]] = {
    "csv": partial(_write, name="ratings.csv", options="FORMAT csv"),
    "csv, text ids": partial(_write, name="texts.csv", options="FORMAT csv", rows=_TEXT_IDS),
    "csv.gz": partial(_write, name="ratings.csv.gz", options="FORMAT csv, COMPRESSION gzip"),
    "parquet": partial(_write, name="ratings.parquet", options="FORMAT parquet"),
    f"folder of {PARTS}": _write_parts,
}


def _row(kind: str, path: Path, count: int) -> Row:
    return Row(
        kind,
        partial(_contenders, path),
        _UNPACKED if path.suffix == ".gz" else Goal(milliseconds=1000 * SECONDS_A_ROW * count),
        rounds=3,
        seconds=max(60, int(600 * count / 25e6)),
    )


def _contenders(path: Path) -> Mapping[str, Work]:
    pattern = path / "*.csv" if path.is_dir() else path
    reader = "read_parquet" if path.suffix == ".parquet" else "read_csv"
    relation = f"{reader}('{pattern}')"
    contenders: dict[str, Work] = {
        "floor": partial(_queried, f"SELECT count(*), sum(rating) FROM {relation}"),
        "DuckDB by hand": partial(_queried, _CODED.format(relation)),
    }
    if _has_pandas() and path.is_file():
        contenders["pandas"] = partial(_by_pandas, path)
    return contenders | {OURS: partial(read_ratings, path)}


def _queried(statements: str) -> object:
    with duckdb.connect() as connection:
        return connection.execute(statements).fetchnumpy()


def _has_pandas() -> bool:
    return importlib.util.find_spec("pandas") is not None


def _by_pandas(path: Path) -> object:
    pandas = importlib.import_module("pandas")

    columns = ["userId", "movieId", "rating"]
    if path.suffix == ".parquet":
        table = pandas.read_parquet(path, columns=columns)
    else:
        table = pandas.read_csv(path, usecols=columns)
    return *(pandas.factorize(table[name]) for name in columns[:2]), table["rating"].to_numpy()


if __name__ == "__main__":
    main()
