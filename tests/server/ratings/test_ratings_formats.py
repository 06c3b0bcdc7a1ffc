"""Every accepted format of ratings gives the same table for the same ratings."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from askew_server.ratings import RatingTable, Rejects, read_ratings

TEXTS = {
    "ratings.csv": ("userId,movieId,rating,timestamp\n7,10,4,1\n7,9,3.5,2\n3,10,1,3\n3,2,5,4\n"),
    "with-a-byte-order-mark.csv": (
        "\ufeffuserId,movieId,rating,timestamp\n7,10,4,1\n7,9,3.5,2\n3,10,1,3\n3,2,5,4\n"
    ),
    "generic.csv": "user,item,rating\n7,10,4\n7,9,3.5\n3,10,1\n3,2,5\n",
    "windows-lines.csv": "user,item,rating\r\n7,10,4\r\n7,9,3.5\r\n3,10,1\r\n3,2,5\r\n",
    "other-order.csv": (
        'note,rating,item,user\n"a, b",4,10,7\n,3.5,"9",7\n"""",1,10,3\nx, 5 , 2 , 3\n'
    ),
    "no-last-newline.csv": "user,item,rating\n7,10,4\n7,9,3.5\n3,10,1\n3,2,5",
    "u.data": "7\t10\t4\t1\n7\t9\t3.5\t2\n3\t10\t1\t3\n3\t2\t5\t4\n",
    "ua.base": "7\t10\t4\t1\n7\t9\t3.5\t2\n3\t10\t1\t3\n3\t2\t5\t4\n",
    "ratings.dat": "7::10::4::1\n7::9::3.5::2\n3::10::1::3\n3::2::5::4\n",
    "part.dat": "7::10::4::1\n7::9::3.5::2\n3::10::1::3\n3::2::5::4\n",
}
PARQUET = {
    "numbers": 'SELECT a AS "user", b AS item, c AS rating',
    "MovieLens names": "SELECT 0 AS timestamp, c AS rating, b AS movieId, a AS userId",
    "text": 'SELECT a::VARCHAR AS "user", b::VARCHAR AS item, c::VARCHAR AS rating',
    "floats": 'SELECT a AS "user", b AS item, c::FLOAT AS rating',
}
EXPECTED = ([0, 0, 1, 1], [2, 1, 2, 0], [4.0, 3.5, 1.0, 5.0], 2, ("2", "9", "10"))


def plain(table: RatingTable) -> tuple[object, ...]:
    """The table as lists, which compare as a whole."""
    columns = (table.person.tolist(), table.item.tolist(), table.rating.tolist())
    return (*columns, table.n_people, table.item_keys)


def write_parquet(path: Path, select: str) -> None:
    values = "VALUES (7, 10, 4.0), (7, 9, 3.5), (3, 10, 1.0), (3, 2, 5.0)"
    duckdb.execute(f"COPY ({select} FROM ({values}) AS t(a, b, c)) TO '{path}' (FORMAT parquet)")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_format_gives_the_table(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    """Gzipped or not, whatever its name."""
    path = tmp_path / name
    path.write_bytes(pack(TEXTS[name].encode()))
    table, rejects = read_ratings(path)
    assert (*EXPECTED, Rejects(0, ())) == (*plain(table), rejects)


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_gives_the_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ratings.parquet"
    write_parquet(path, PARQUET[name])
    table, rejects = read_ratings(path)
    assert (*EXPECTED, Rejects(0, ())) == (*plain(table), rejects)


def test_parquet_is_read_from_the_named_file_even_if_the_name_looks_like_a_pattern(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "user=3"
    folder.mkdir()
    path = folder / "ratings[1]*.parquet"
    write_parquet(path, PARQUET["numbers"])
    write_parquet(folder / "ratings1x.parquet", PARQUET["numbers"])
    table, rejects = read_ratings(path)
    assert (*EXPECTED, Rejects(0, ())) == (*plain(table), rejects)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("10", "9", "2"), ("2", "9", "10")),
        (("b", "a", "B"), ("B", "a", "b")),
        (("x", "10", "9", "-1"), ("9", "10", "-1", "x")),
        (("7", "007", "07"), ("007", "07", "7")),
    ],
    ids=["numbers by value", "text as text", "numbers before text", "equal numbers as text"],
)
def test_item_keys_are_sorted(
    tmp_path: Path, given: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n" + "".join(f"u,{key},1\n" for key in given))
    table, _ = read_ratings(path)
    assert expected == table.item_keys


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("b,9,2\na,10,1\n", ([0, 1], [0, 1], [2.0, 1.0], 2, ("9", "10"))),
        ("a,10,1\nb,9,2\n", ([0, 1], [1, 0], [1.0, 2.0], 2, ("9", "10"))),
    ],
    ids=["one order", "the other"],
)
def test_item_codes_do_not_depend_on_the_order_of_rows_but_person_codes_do(
    tmp_path: Path, rows: str, expected: tuple[object, ...]
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\n{rows}")
    table, _ = read_ratings(path)
    assert expected == plain(table)
