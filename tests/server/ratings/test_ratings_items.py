"""Items come with title, year and genres from every accepted format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from server.ratings.rating_files import written

from askew_server.ratings import BadRow, ItemRow, Rejects, read_items

FLAGS_1 = "0|0|0|1|1|1" + "|0" * 13
FLAGS_2 = "1" + "|0" * 18
TEXTS = {
    "movies.csv": (
        "movieId,title,genres\n"
        "1,Toy Story (1995),Animation|Children's|Comedy\n"
        '2,"Misérables, Les",(no genres listed)\n'
    ).encode(),
    "generic.csv": (
        "genres,year,note,title,item\n"
        "Animation|Children's|Comedy,1995,,Toy Story,1\n"
        ',,"x, y","Misérables, Les",2\n'
    ).encode(),
    "movies.dat": (
        "1::Toy Story (1995)::Animation|Children's|Comedy\n2::Misérables, Les::\n"
    ).encode("latin-1"),
    "u.item": (
        f"1|Toy Story (1995)|01-Jan-1995||http://example.org|{FLAGS_1}\n"
        f"2|Misérables, Les||||{FLAGS_2}\n"
    ).encode("latin-1"),
}
EXPECTED = {
    "1": ItemRow("Toy Story", 1995, ("Animation", "Children's", "Comedy")),
    "2": ItemRow("Misérables, Les", None, ()),
}
TEXT_LIMIT = "characters without control characters"
ACUTE = "\u0301"
BAD_ROWS = {
    "too few fields": ("1,Heat,", "row must be 4 fields separated by ',', got '1,Heat,'"),
    "an empty item": (",Heat,,", f"item must be 1 to 200 {TEXT_LIMIT}, got ''"),
    "an empty title": ("1,,,", f"title must be 1 to 500 {TEXT_LIMIT}, got ''"),
    "a long title": (
        f"1,{'t' * 501},,",
        f"title must be 1 to 500 {TEXT_LIMIT}, got '{'t' * 40}'...",
    ),
    "an escape in the title": (
        "1,He\x1bat,,",
        rf"title must be 1 to 500 {TEXT_LIMIT}, got 'He\x1bat'",
    ),
    "too many marks in a row": (
        f"1,e{ACUTE * 9},,",
        f"title must be text with at most 8 combining marks in a row, got 'e{ACUTE * 9}'",
    ),
    "no year": ("1,Heat,soon,", "year must be a whole number from 1 to 9999, got 'soon'"),
    "year zero": ("1,Heat,0,", "year must be a whole number from 1 to 9999, got '0'"),
    "a long year": (
        f"1,Heat,{'9' * 5000},",
        f"year must be a whole number from 1 to 9999, got '{'9' * 40}'...",
    ),
    "an empty genre": ("1,Heat,,Crime||War", f"genre must be 1 to 100 {TEXT_LIMIT}, got ''"),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_format_gives_the_items(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = written(tmp_path / name, pack(TEXTS[name]))
    assert (EXPECTED, Rejects(0, ())) == read_items(path)


@pytest.mark.parametrize(
    ("text", "title", "year"),
    [
        ("Heat (1995)", "Heat", 1995),
        ("  Heat  (1995)  ", "Heat", 1995),
        ("Heat(1995)", "Heat", 1995),
        ("Heat", "Heat", None),
        ("Heat (1995) again", "Heat (1995) again", None),
        ("Babylon (1994-1998)", "Babylon (1994-1998)", None),
        ("Heat (95)", "Heat (95)", None),
        ("Heat (١٩٩٥)", "Heat (١٩٩٥)", None),
        ("(1995)", "(1995)", None),
        ("1984 (1956)", "1984", 1956),
        ("Seven (Se7en) (1995)", "Seven (Se7en)", 1995),
    ],
)
def test_a_year_at_the_end_of_the_title_is_taken_from_it(
    tmp_path: Path, text: str, title: str, year: int | None
) -> None:
    path = written(tmp_path / "items.csv", f"item,title\n1,{text}\n")
    items, _ = read_items(path)
    assert {"1": ItemRow(title, year, ())} == items


@pytest.mark.parametrize(("column", "expected"), [("2017", 2017), ("", 1995), (" ", 1995)])
def test_a_year_column_goes_before_the_year_in_the_title(
    tmp_path: Path, column: str, expected: int
) -> None:
    path = written(tmp_path / "items.csv", f"item,title,year\n1,Heat (1995),{column}\n")
    items, _ = read_items(path)
    assert {"1": ItemRow("Heat", expected, ())} == items


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_counted_with_line_and_reason(tmp_path: Path, case: str) -> None:
    row, reason = BAD_ROWS[case]
    path = written(tmp_path / "items.csv", f"item,title,year,genres\n{row}\n2,Ran,1985,War\n")
    expected = ({"2": ItemRow("Ran", 1985, ("War",))}, Rejects(1, (BadRow(str(path), 2, reason),)))
    assert expected == read_items(path)


def test_a_genre_flag_is_zero_or_one(tmp_path: Path) -> None:
    path = written(tmp_path / "u.item", f"1|Heat||||{FLAGS_1}\n2|Ran||||7{'|0' * 18}\n")
    _, rejects = read_items(path)
    reason = "the flag of genre unknown must be 0 or 1, got '7'"
    expected = Rejects(1, (BadRow(str(path), 2, reason),))
    assert expected == rejects


def test_of_two_rows_of_one_item_the_last_stays(tmp_path: Path) -> None:
    path = written(tmp_path / "items.csv", "item,title\n1,Heat\n2,Ran\n1,Ronin\n")
    items, rejects = read_items(path)
    assert {"1": ItemRow("Ronin", None, ()), "2": ItemRow("Ran", None, ())} == items
    expected = Rejects(1, (BadRow(str(path), 2, "listed again on line 4"),))
    assert expected == rejects
