"""Files and folders of ratings: formats, bad rows, files that are refused, times, progress."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from server.ratings.rating_files import plain, write_parquet, written

from askew.errors import DataError, ParameterError
from askew_server.ratings import (
    BadRow,
    RatingTable,
    Rejects,
    columns,
    lines,
    read_items,
    read_ratings,
)

# -- formats -----------------------------------------------------------------------------------
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


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_format_gives_the_table(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    """Gzipped or not, whatever its name."""
    path = written(tmp_path / name, pack(TEXTS[name].encode()))
    table, rejects = read_ratings(path)
    assert (*EXPECTED, Rejects(0, ())) == (*plain(table), rejects)


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_gives_the_table(tmp_path: Path, name: str) -> None:
    rows = "(VALUES (7, 10, 4.0), (7, 9, 3.5), (3, 10, 1.0), (3, 2, 5.0)) AS t(a, b, c)"
    path = write_parquet(tmp_path / "ratings.parquet", f"{PARQUET[name]} FROM {rows}")
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
    path = written(
        tmp_path / "ratings.csv", "user,item,rating\n" + "".join(f"u,{key},1\n" for key in given)
    )
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
    path = written(tmp_path / "ratings.csv", f"user,item,rating\n{rows}")
    table, _ = read_ratings(path)
    assert expected == plain(table)


# -- lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["line feeds", "windows"])
@pytest.mark.parametrize("name", ["ratings.dat", "u.data", "ratings.csv"])
def test_a_return_in_a_field_makes_nobody_elses_row(
    tmp_path: Path, name: str, end: str, pack: Callable[[bytes], bytes]
) -> None:
    """Planted bug: a lone return ends a line, so that one person writes the rows of fifty."""
    between = {"ratings.dat": "::", "u.data": "\t", "ratings.csv": ","}[name]
    tail = [] if name.endswith("csv") else ["0"]

    def row(*fields: str) -> str:
        return between.join([*fields, "5", *tail])

    others = "\r".join(row(f"ghost{number}", "3") for number in range(50))
    head = [] if tail else ["user,item,rating"]
    lines = [*head, row("1", "2"), row("m", f"1\r{others}\rx"), row("7", "3")]
    path = written(tmp_path / name, pack("".join(line + end for line in lines).encode()))
    table, rejects = read_ratings(path)
    assert plain(table) == ([0, 1], [0, 1], [5.0, 5.0], 2, ("2", "3"))
    assert rejects.count == 1


def test_a_file_whose_lines_end_in_returns_alone_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "ratings.csv", b"user,item,rating\r1,2,3\r")
    with pytest.raises(DataError, match="not a known format"):
        read_ratings(path)


# -- bad rows ----------------------------------------------------------------------------------


KEY_LIMIT = "must be 1 to 200 characters without control characters"
BAD_CSV = {
    "too few fields": ("1,2", "row must be 3 fields separated by ',', got '1,2'"),
    "too many fields": ("1,2,3,4", "row must be 3 fields separated by ',', got '1,2,3,4'"),
    "an empty line": ("", "row must be 3 fields separated by ',', got ''"),
    "an empty user": (",2,3", f"user {KEY_LIMIT}, got ''"),
    "a blank user": ("  ,2,3", f"user {KEY_LIMIT}, got '  '"),
    "an empty item": ("1,,3", f"item {KEY_LIMIT}, got ''"),
    "a long item": (f"1,{'i' * 201},3", f"item {KEY_LIMIT}, got '{'i' * 40}'..."),
    "a control character": ("1,i\x1b[31m,3", rf"item {KEY_LIMIT}, got 'i\x1b[31m'"),
    "no number": ("1,2,abc", "rating must be a finite number, got 'abc'"),
    "an empty rating": ("1,2,", "rating must be a finite number, got ''"),
    "a digit group": ("1,2,1_0", "rating must be a finite number, got '1_0'"),
    "not a number": ("1,2,nan", "rating must be a finite number, got 'nan'"),
    "infinite": ("1,2,-inf", "rating must be a finite number, got '-inf'"),
    "overflowing": ("1,2,1e999", "rating must be a finite number, got '1e999'"),
    "a long rating": (f"1,2,{'x' * 50}", f"rating must be a finite number, got '{'x' * 40}'..."),
    "a NUL": ("1,2,3\0", r"row must be text without NUL characters, got '1,2,3\x00'"),
    "an open quote": (
        '1,"2,3',
        "row must be one line of csv (unexpected end of data), got '1,\"2,3'",
    ),
    "text after a quote": (
        '1,"2"x,3',
        "row must be one line of csv (',' expected after '\"'), got '1,\"2\"x,3'",
    ),
}
BAD_PARQUET = {
    "a null user": ("NULL, 2, 3", f"user {KEY_LIMIT}, got ''"),
    "a null item": ("1, NULL, 3", f"item {KEY_LIMIT}, got ''"),
    "a null rating": ("1, 2, NULL", "rating must be a finite number, got ''"),
    "not a number": ("1, 2, 'nan'::DOUBLE", "rating must be a finite number, got 'nan'"),
    "infinite": ("1, 2, 'inf'::DOUBLE", "rating must be a finite number, got 'inf'"),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_bad_row_of_csv_is_counted_with_line_and_reason(tmp_path: Path, case: str) -> None:
    row, reason = BAD_CSV[case]
    path = written(tmp_path / "ratings.csv", f"user,item,rating\n8,9,1\n{row}\n8,10,2\n")
    table, rejects = read_ratings(path)
    expected = Rejects(1, (BadRow(str(path), 3, reason),))
    assert (expected, ("9", "10"), 1) == (rejects, table.item_keys, table.n_people)


def test_lines_that_cannot_be_read_are_bad_rows(tmp_path: Path) -> None:
    """Planted bug: the rest of a long line is taken for a line."""
    path = tmp_path / "ratings.csv"
    long = b"1,2," + b"9" * 3_000_000
    path.write_bytes(b"user,item,rating\n8,9,1\n1,\xff,3\n" + long + b"\n8,10,2\n1,2\n")
    table, rejects = read_ratings(path)
    assert (len(table), [bad.line for bad in rejects.examples]) == (2, [3, 4, 6])
    assert [bad.reason.partition(",")[0] for bad in rejects.examples] == [
        "row must be text in utf-8",
        "row must be at most 1000000 characters long",
        "row must be 3 fields separated by '",
    ]


@pytest.mark.parametrize(
    ("name", "good", "bad", "separator"),
    [("ratings.dat", "8::9::1::0", "1::2::3", "'::'"), ("u.data", "8\t9\t1\t0", "1 2 3", r"'\t'")],
    ids=["ml-1m", "ml-100k"],
)
def test_a_bad_first_row_is_counted_in_a_format_without_header(
    tmp_path: Path, name: str, good: str, bad: str, separator: str
) -> None:
    path = written(tmp_path / name, f"{bad}\n{good}\n")
    _, rejects = read_ratings(path)
    reason = f"row must be 4 fields separated by {separator}, got '{bad}'"
    expected = Rejects(1, (BadRow(str(path), 1, reason),))
    assert expected == rejects


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_a_bad_row_of_parquet_is_counted_with_row_and_reason(tmp_path: Path, case: str) -> None:
    row, reason = BAD_PARQUET[case]
    path = tmp_path / "ratings.parquet"
    select = f'SELECT * FROM (VALUES (8, 9, 1), ({row})) AS t("user", item, rating)'
    write_parquet(path, select)
    table, rejects = read_ratings(path)
    expected = Rejects(1, (BadRow(str(path), 2, reason),))
    assert (expected, ("9",), 1) == (rejects, table.item_keys, table.n_people)


def test_a_bad_row_leaves_no_trace_in_the_table(tmp_path: Path) -> None:
    path = written(
        tmp_path / "ratings.csv", "user,item,rating\nstranger,unseen,abc\nstranger,,1\na,b,1\n"
    )
    table, _ = read_ratings(path)
    expected = (1, ("b",), [0])
    assert expected == (table.n_people, table.item_keys, table.person.tolist())


def test_of_several_ratings_of_one_item_the_last_stays(tmp_path: Path) -> None:
    path = written(
        tmp_path / "ratings.csv", "user,item,rating\na,x,1\nb,x,2\na,y,3\na,x,4\na,x,5\n"
    )
    table, rejects = read_ratings(path)
    examples = (
        BadRow(str(path), 2, "rated again on line 5"),
        BadRow(str(path), 5, "rated again on line 6"),
    )
    assert Rejects(2, examples) == rejects
    expected = ([1, 0, 0], [0, 1, 0], [2.0, 3.0, 5.0])
    assert expected == (table.person.tolist(), table.item.tolist(), table.rating.tolist())


def test_only_the_first_twenty_bad_rows_are_kept_as_examples(tmp_path: Path) -> None:
    path = written(tmp_path / "ratings.csv", HEADER + "bad\n" * 30 + "a,b,1\n")
    _, rejects = read_ratings(path)
    assert (30, list(range(2, 22))) == (rejects.count, [bad.line for bad in rejects.examples])


@pytest.mark.parametrize("rating", ["1000", "-1000", "0", "4.5", "1e3"])
def test_a_rating_within_the_limit_is_kept(tmp_path: Path, rating: str) -> None:
    path = written(tmp_path / "ratings.csv", f"user,item,rating\na,b,{rating}\n")
    table, rejects = read_ratings(path)
    assert ([float(rating)], 0) == (table.rating.tolist(), rejects.count)


# -- files that are refused --------------------------------------------------------------------


Reader = Callable[[Path], object]
HEADER_LINE = b"user,item,rating\n"
ROWS = HEADER_LINE + b"".join(b"%d,%d,3\n" % (user, user) for user in range(20_000))
BROKEN = {
    "empty": (b"", "the file is empty"),
    "empty gzip": (gzip.compress(b""), "the file is empty"),
    "broken encoding": (
        HEADER_LINE + b"a,\xff,3\n",
        "no usable rating in the file, bad rows: 1; line 2: row must be text in utf-8, got",
    ),
    "cut utf-8": (
        HEADER_LINE + b"a,\xc3",
        "no usable rating in the file, bad rows: 1; line 2: row",
    ),
    "gzip cut in the first line": (gzip.compress(ROWS)[:15], "the gzip data is cut short"),
    "gzip cut at the end": (gzip.compress(ROWS)[:-4], "the gzip data is cut short"),
    "gzip with a wrong sum": (gzip.compress(ROWS)[:-8] + bytes(8), "cannot be read: CRC"),
    "gzip of nonsense": (gzip.compress(ROWS)[:10] + b"\xff" * 99, "cannot be read: Error -3"),
    "header only": (HEADER_LINE, "no usable rating in the file, bad rows: 0"),
    "no good row": (
        HEADER_LINE + b"a,b,x\n,b,1\n",
        "no usable rating in the file, bad rows: 2; line 2: rating must be a finite number, got",
    ),
    "a long line in gzip": (
        gzip.compress(HEADER_LINE + b"x" * 5_000_000),
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
    path = written(tmp_path / "ratings", content)
    with pytest.raises(DataError) as refusal:
        read_ratings(path)
    assert str(refusal.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(refusal.value), "DuckDB adds its query on lines of their own"


@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_format_of_ratings_is_refused_with_what_is_accepted(
    tmp_path: Path, case: str
) -> None:
    path = written(tmp_path / "data.txt", UNKNOWN[case])
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
    path = written(tmp_path / "plays.csv", "user,item,plays\nada,Heat,7\n")
    with pytest.raises(DataError, match=r"; this file has the columns user, item, plays$"):
        read_ratings(path)


def test_a_first_line_that_may_be_data_is_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "plays.csv", "ada,Heat,7\n")
    with pytest.raises(DataError) as refusal:
        read_ratings(path)
    assert "Heat" not in str(refusal.value)


def test_parquet_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    write_parquet(path, "SELECT 1 AS a, 2 AS b")
    with pytest.raises(DataError, match="not a known format of ratings; accepted"):
        read_ratings(path)


def test_parquet_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    select = 'SELECT 1 AS "user", 2 AS item, 3 AS rating LIMIT 0'
    write_parquet(path, select)
    with pytest.raises(DataError, match="no usable rating in the file, bad rows: 0"):
        read_ratings(path)


def test_an_unknown_format_of_items_is_refused_with_what_is_accepted(tmp_path: Path) -> None:
    path = written(tmp_path / "items.csv", "item,name\n1,Heat\n")
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
    path = written(tmp_path / "items.csv", "item,title\n,Heat\n")
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


# -- times -------------------------------------------------------------------------------------


TIMED_ROWS = [("a", "x", 5, 30), ("b", "y", 4, 10), ("a", "y", 3, 20), ("a", "x", 2, 40)]
TIMED = "user,timestamp,item,rating\n" + "".join(f"{u},{t},{i},{r}\n" for u, i, r, t in TIMED_ROWS)


def times(table: RatingTable) -> dict[tuple[int, str], float]:
    assert table.time is not None
    keys = [table.item_keys[item] for item in table.item]
    return dict(zip(zip(table.person.tolist(), keys, strict=True), table.time, strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", TIMED),
        ("ratings.dat", "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in TIMED_ROWS)),
        ("u.data", "".join(f"{u}\t{i}\t{r}\t{t}\n" for u, i, r, t in TIMED_ROWS)),
    ],
)
def test_every_text_format_has_times(tmp_path: Path, name: str, text: str) -> None:
    """Of a rating that was made again, the last. Planted bug: times not left out with their row."""
    path = written(tmp_path / name, text)
    table, rejects = read_ratings(path, times=True)
    assert times(table) == {(0, "x"): 40, (0, "y"): 20, (1, "y"): 10}
    assert rejects.count == 1
    assert read_ratings(path)[0].time is None


def test_parquet_has_times(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(TIMED)
    path = tmp_path / "r.parquet"
    write_parquet(path, f"FROM read_csv('{tmp_path}/r.csv')")
    table, _ = read_ratings(path, times=True)
    assert times(table) == {(0, "x"): 40, (0, "y"): 20, (1, "y"): 10}


@pytest.mark.parametrize("text", ["user,item,rating\na,x,5\n", TIMED.replace("10", "yesterday")])
def test_a_time_that_nobody_knows_costs_no_rating(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "r.csv", text)
    table, _ = read_ratings(path, times=True)
    plain, _ = read_ratings(path)
    assert table.time is not None
    assert np.isnan(table.time).any()
    assert table.rating.tolist() == plain.rating.tolist()


def test_likes_of_counts_keep_their_times(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv", TIMED)
    table, _ = read_ratings(path, counts=1, times=True)
    assert times(table) == {(0, "x"): 30, (0, "y"): 20, (1, "y"): 10}


# -- progress ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_text_tells_bytes_that_grow_to_the_size_of_the_file(
    tmp_path: Path, pack: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_BLOCK", 1 << 20)
    monkeypatch.setattr(lines, "_TOLD_EVERY", 1 << 10)
    many = "user,item,rating\n" + "".join(f"{row},1,3\n" for row in range(450_000))
    path = written(tmp_path / "ratings.csv", pack(many.encode()))
    told: list[tuple[int, int]] = []
    read_ratings(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert sorted(told) == told  # a packed file may be read to its end before its last rows are
    assert told[0] < told[-1]


@pytest.mark.slow
def test_parquet_tells_bytes_that_grow_to_the_size_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_BATCH", 200_000)
    path = tmp_path / "ratings.parquet"
    select = 'SELECT i AS "user", 1 AS item, 3 AS rating FROM range(450000) AS t(i)'
    write_parquet(path, select)
    told: list[tuple[int, int]] = []
    read_ratings(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert sorted(set(told)) == told
    assert len(told) == 3


def test_items_tell_the_size_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "items.csv", "item,title\n1,Heat\n")
    told: list[tuple[int, int]] = []
    read_items(path, progress=lambda done, total: told.append((done, total)))
    expected = [(18, 18)]
    assert expected == told


def test_a_failure_of_the_callback_is_not_taken_for_one_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "ratings.csv", HEADER + "a,b,1\n")

    def closed(done: int, total: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        read_ratings(path, progress=closed)


# -- stopping ----------------------------------------------------------------------------------


STOPPED = """
import os, signal
from askew_server.cli.main import main
from askew_server.ratings import columns

columns.Judge.judged = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
main()
"""


@pytest.mark.slow
def test_a_command_that_is_stopped_while_it_reads_ends_in_order(tmp_path: Path) -> None:
    """Planted bug: SIGTERM ends the process at once, without a word."""
    path = tmp_path / "ratings.parquet"
    write_parquet(path)
    options = ["--ratings", str(path), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", STOPPED, "train", *options],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "stopped" in done.stderr) == (143, True)


HEADER = "user,item,rating\n"


def folder_of(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, rows in files.items():
        (folder / f"{name}.csv").write_text(HEADER + rows)
    return folder


def test_people_are_in_the_order_of_names_and_rows(tmp_path: Path) -> None:
    """Planted bug: files in the order in which a disk lists them, or codes of one file alone."""
    folder = folder_of(tmp_path, b="ada,9,1\nbob,10,2\n", a="cy,10,3\nada,2,4\n")
    table, rejects = read_ratings(folder)
    expected = ([0, 1, 1, 2], [2, 0, 1, 2], [3.0, 4.0, 1.0, 2.0], 3, ("2", "9", "10"))
    assert (expected, Rejects(0, ())) == (plain(table), rejects)


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "ratings.dat"])
def test_folders_of_other_kinds_are_read(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, user in (("1", "ada"), ("2", "bob")):
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            select = f"SELECT '{user}' AS \"user\", 7 AS item, 3 AS rating"
            write_parquet(path, select)
        elif kind == "csv.gz":
            path.write_bytes(gzip.compress(f"{HEADER}{user},7,3\n".encode()))
        else:
            path.write_text(f"{user}::7::3::0\n")
    table, _ = read_ratings(folder)
    assert plain(table) == ([0, 1], [0, 0], [3.0, 3.0], 2, ("7",))


def test_a_bad_row_is_told_with_its_own_file_and_line(tmp_path: Path) -> None:
    """Planted bug: the name of the folder, or lines counted on from file to file."""
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2\nbob\nbob,x,none\n")
    _, rejects = read_ratings(folder)
    path = str(folder / "b.csv")
    fields = BadRow(path, 3, "row must be 3 fields separated by ',', got 'bob'")
    number = BadRow(path, 4, "rating must be a finite number, got 'none'")
    assert rejects == Rejects(2, (fields, number))


def test_what_is_rated_again_in_another_file_is_told_with_both(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="bob,9,1\n\nada,9,1\n", b="x\nada,9,2\nada,9,3\n")
    table, rejects = read_ratings(folder)
    again = [bad for bad in rejects.examples if bad.reason.startswith("rated again")]
    assert again == [
        BadRow(str(folder / "a.csv"), 4, "rated again on line 3 of b.csv"),
        BadRow(str(folder / "b.csv"), 3, "rated again on line 4"),
    ]
    assert (rejects.count, table.rating.tolist()) == (4, [1.0, 3.0])


def test_another_scale_is_told_with_the_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2000\n")
    with pytest.raises(DataError, match=r"parts/b\.csv, line 2: a rating must be between"):
        read_ratings(folder)


def test_a_folder_without_a_good_row_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a="", b=",9,1\n")
    reason = r"parts: no usable rating in the folder, bad rows: 1; b\.csv, line 2: user must be"
    with pytest.raises(DataError, match=reason):
        read_ratings(folder)


def test_progress_grows_to_the_size_of_all_files(tmp_path: Path) -> None:
    """Planted bug: each file from nothing to its own size."""
    folder = folder_of(tmp_path, a="ada,9,1\n", b="bob,10,2\n")
    told: list[tuple[int, int]] = []
    read_ratings(folder, progress=lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert told[-1] == (size, size)
    assert sorted(told) == told


def _link(folder: Path) -> None:
    (folder / "z.csv").symlink_to(folder / "a.csv")


def _parquet(folder: Path) -> None:
    select = 'SELECT 1 AS "user", 7 AS item, 3 AS rating'
    write_parquet(folder / "z.parquet", select)


UNFIT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a hidden file": (
        lambda folder: (folder / ".a.csv.crc").write_text("x"),
        r"parts: a folder holds files of ratings alone; \.a\.csv\.crc is hidden",
    ),
    "a link": (_link, r"ratings alone; z\.csv is a symbolic link"),
    "a folder": (lambda folder: (folder / "z").mkdir(), "ratings alone; z is a folder"),
    "another kind of file": (
        lambda folder: (folder / "movies.csv").write_text("movieId,title,genres\n"),
        r"movies\.csv: not a known format of ratings",
    ),
    "an empty file": (
        lambda folder: (folder / "_SUCCESS").write_text(""),
        "_SUCCESS: the file is empty",
    ),
    "the same packed": (
        lambda folder: (folder / "a.csv.gz").write_bytes(gzip.compress(f"{HEADER}1,2,3".encode())),
        r"of one kind, and a\.csv is csv of 3 columns .*, a\.csv\.gz gzipped csv",
    ),
    "other columns": (
        lambda folder: (folder / "b.csv").write_text("item,user,rating\n1,2,3\n"),
        r"of one kind, .*timestamp: 1, 2, 3, none\), b\.csv .*timestamp: 2, 1, 3, none\)$",
    ),
    "parquet": (_parquet, r"of one kind, .*, z\.parquet parquet$"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path, case: str) -> None:
    """Nothing is left out unseen, nothing is read twice, and no link leads elsewhere."""
    folder = folder_of(tmp_path, a="ada,9,1\n")
    add, reason = UNFIT[case]
    add(folder)
    with pytest.raises(DataError, match=reason):
        read_ratings(folder)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"parts: the folder is empty"):
        read_ratings(folder_of(tmp_path))


def test_people_are_in_the_order_of_their_first_rows(tmp_path: Path) -> None:
    """Planted bug: of their last rows."""
    table, _ = read_ratings(folder_of(tmp_path, a="bob,1,1\nada,2,1\nbob,3,1\n"))
    assert table.person.tolist() == [0, 1, 0]
