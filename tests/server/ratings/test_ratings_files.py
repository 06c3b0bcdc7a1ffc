"""A file that cannot be read as a whole raises DataError with its name and the reason."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from askew.errors import DataError, ParameterError
from askew_server.ratings import RatingTable, read_items, read_ratings

Reader = Callable[[Path], object]
HEADER = b"user,item,rating\n"
ROWS = HEADER + b"".join(b"%d,%d,3\n" % (user, user) for user in range(20_000))
BROKEN = {
    "empty": (b"", "the file is empty"),
    "empty gzip": (gzip.compress(b""), "the file is empty"),
    "broken encoding": (
        HEADER + b"a,\xff,3\n",
        "no usable rating in the file, bad rows: 1; line 2: row must be text in utf-8, got",
    ),
    "cut utf-8": (HEADER + b"a,\xc3", "no usable rating in the file, bad rows: 1; line 2: row"),
    "gzip cut in the first line": (gzip.compress(ROWS)[:15], "the gzip data is cut short"),
    "gzip cut at the end": (gzip.compress(ROWS)[:-4], "the gzip data is cut short"),
    "gzip with a wrong sum": (gzip.compress(ROWS)[:-8] + bytes(8), "cannot be read: CRC"),
    "gzip of nonsense": (gzip.compress(ROWS)[:10] + b"\xff" * 99, "cannot be read: Error -3"),
    "header only": (HEADER, "no usable rating in the file, bad rows: 0"),
    "no good row": (
        HEADER + b"a,b,x\n,b,1\n",
        "no usable rating in the file, bad rows: 2; line 2: rating must be a finite number, got",
    ),
    "a long line in gzip": (
        gzip.compress(HEADER + b"x" * 5_000_000),
        "no usable rating in the file, bad rows: 1; line 2: row must be at most 1000000 characters",
    ),
    "a long first line": (b"x" * 2_000_000, "not a known format of ratings"),
    "cut parquet": (b"PAR1 and then nothing", "cannot be read as parquet"),
}
UNKNOWN = {
    "no header": b"1,2,3\n",
    "semicolons": b"user;item;rating\n1;2;3\n",
    "a column missing": b"user,item\n1,2\n",
    "a column twice": b"user,item,item,rating\n1,2,2,3\n",
    "an open quote": b'"user,item,rating\n1,2,3\n',
    "a blank first line": b"\nuser,item,rating\n1,2,3\n",
    "utf-16": "user,item,rating\n1,2,3\n".encode("utf-16"),
    "only NUL": bytes(1000),
    "gzip twice": gzip.compress(gzip.compress(ROWS)),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_of_ratings_is_refused(tmp_path: Path, case: str) -> None:
    content, reason = BROKEN[case]
    path = tmp_path / "ratings"
    path.write_bytes(content)
    with pytest.raises(DataError) as refusal:
        read_ratings(path)
    assert str(refusal.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(refusal.value), "DuckDB adds its query on lines of their own"


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_format_of_ratings_is_refused_with_what_is_accepted(
    tmp_path: Path, case: str
) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(UNKNOWN[case])
    with pytest.raises(DataError) as refusal:
        read_ratings(path)
    expected = (
        f"{path}: not a known format of ratings; accepted, text gzipped or not: "
        "csv with the columns userId,movieId,rating or user,item,rating; "
        "ml-1m ratings.dat (user::item::rating::timestamp); "
        "ml-100k u.data (user, item, rating and timestamp separated by tabs); "
        "parquet with the columns userId,movieId,rating or user,item,rating"
    )
    assert expected == str(refusal.value).partition("; this file has the columns ")[0]


def test_a_wrong_column_is_told_beside_those_that_are_there(tmp_path: Path) -> None:
    """Planted bug: a list of what is accepted, from which one has to guess what is wrong."""
    path = tmp_path / "plays.csv"
    path.write_text("user,item,plays\nada,Heat,7\n")
    with pytest.raises(DataError, match=r"; this file has the columns user, item, plays$"):
        read_ratings(path)


def test_a_first_line_that_may_be_data_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "plays.csv"
    path.write_text("ada,Heat,7\n")
    with pytest.raises(DataError) as refusal:
        read_ratings(path)
    assert "Heat" not in str(refusal.value)


def test_parquet_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    duckdb.execute(f"COPY (SELECT 1 AS a, 2 AS b) TO '{path}' (FORMAT parquet)")
    with pytest.raises(DataError, match="not a known format of ratings; accepted"):
        read_ratings(path)


def test_parquet_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    select = 'SELECT 1 AS "user", 2 AS item, 3 AS rating LIMIT 0'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    with pytest.raises(DataError, match="no usable rating in the file, bad rows: 0"):
        read_ratings(path)


def test_an_unknown_format_of_items_is_refused_with_what_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,name\n1,Heat\n")
    with pytest.raises(DataError) as refusal:
        read_items(path)
    expected = (
        f"{path}: not a known format of items; accepted, gzipped or not: "
        "csv with the columns movieId,title,genres or item,title and optionally year,genres; "
        "ml-1m movies.dat (item::title::genres); "
        "ml-100k u.item (24 fields separated by |); this file has the columns item, name"
    )
    assert expected == str(refusal.value)


def test_a_file_of_items_without_a_good_row_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,title\n,Heat\n")
    with pytest.raises(DataError, match="no usable item in the file, bad rows: 1; line 2: item"):
        read_items(path)


@pytest.mark.parametrize("reader", [read_ratings, read_items])
def test_a_missing_file_is_refused(tmp_path: Path, reader: Reader) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: there is no regular file of this name"):
        reader(tmp_path / "nowhere.csv")


def test_a_folder_of_items_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no regular file of this name"):
        read_items(tmp_path)


@pytest.mark.parametrize("reader", [read_ratings, read_items])
def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DataError, match="there is no regular file of this name"):
        reader(path)


@pytest.mark.parametrize(
    ("person", "item", "rating", "name"),
    [
        ([0, 0], [0], [1.0, 2.0], "item"),
        ([0], [0], [1.0, 2.0], "rating"),
        ([1], [0], [1.0], "person"),
        ([-1], [0], [1.0], "person"),
        ([0], [1], [1.0], "item"),
    ],
)
def test_a_table_of_unfit_columns_is_refused(
    person: list[int], item: list[int], rating: list[float], name: str
) -> None:
    with pytest.raises(ParameterError) as refusal:
        RatingTable(np.array(person), np.array(item), np.array(rating), 1, ("a",))
    assert name == refusal.value.name
