"""A bad row of ratings is left out, counted, and shown with its file, line and reason."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from askew_server.ratings import BadRow, Rejects, read_ratings

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
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\n8,9,1\n{row}\n8,10,2\n")
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
    path = tmp_path / name
    path.write_text(f"{bad}\n{good}\n")
    _, rejects = read_ratings(path)
    reason = f"row must be 4 fields separated by {separator}, got '{bad}'"
    expected = Rejects(1, (BadRow(str(path), 1, reason),))
    assert expected == rejects


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_a_bad_row_of_parquet_is_counted_with_row_and_reason(tmp_path: Path, case: str) -> None:
    row, reason = BAD_PARQUET[case]
    path = tmp_path / "ratings.parquet"
    select = f'SELECT * FROM (VALUES (8, 9, 1), ({row})) AS t("user", item, rating)'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    table, rejects = read_ratings(path)
    expected = Rejects(1, (BadRow(str(path), 2, reason),))
    assert (expected, ("9",), 1) == (rejects, table.item_keys, table.n_people)


def test_a_bad_row_leaves_no_trace_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\nstranger,unseen,abc\nstranger,,1\na,b,1\n")
    table, _ = read_ratings(path)
    expected = (1, ("b",), [0])
    assert expected == (table.n_people, table.item_keys, table.person.tolist())


def test_of_several_ratings_of_one_item_the_last_stays(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\na,x,1\nb,x,2\na,y,3\na,x,4\na,x,5\n")
    table, rejects = read_ratings(path)
    examples = (
        BadRow(str(path), 2, "rated again on line 5"),
        BadRow(str(path), 5, "rated again on line 6"),
    )
    assert Rejects(2, examples) == rejects
    expected = ([1, 0, 0], [0, 1, 0], [2.0, 3.0, 5.0])
    assert expected == (table.person.tolist(), table.item.tolist(), table.rating.tolist())


def test_only_the_first_twenty_bad_rows_are_kept_as_examples(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n" + "bad\n" * 30 + "a,b,1\n")
    _, rejects = read_ratings(path)
    assert (30, list(range(2, 22))) == (rejects.count, [bad.line for bad in rejects.examples])


@pytest.mark.parametrize("rating", ["1000", "-1000", "0", "4.5", "1e3"])
def test_a_rating_within_the_limit_is_kept(tmp_path: Path, rating: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\na,b,{rating}\n")
    table, rejects = read_ratings(path)
    assert ([float(rating)], 0) == (table.rating.tolist(), rejects.count)
