"""Items come with title, year and genres from every accepted format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from server.ratings.rating_files import written

from askew.errors import DataError
from askew_server.ratings import ItemRow, read_items

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
    "1,Heat,": "a row must have 4 fields separated by ','",
    ",Heat,,": f"item must be 1 to 200 {TEXT_LIMIT}",
    "1,,,": f"title must be 1 to 500 {TEXT_LIMIT}",
    f"1,{'t' * 501},,": f"title must be 1 to 500 {TEXT_LIMIT}",
    "1,He\x1bat,,": f"title must be 1 to 500 {TEXT_LIMIT}",
    f"1,e{ACUTE * 9},,": "title must be text with at most 8 combining marks in a row",
    "1,Heat,soon,": "year must be a whole number from 1 to 9999",
    "1,Heat,0,": "year must be a whole number from 1 to 9999",
    f"1,Heat,{'9' * 5000},": "year must be a whole number from 1 to 9999",
    "1,Heat,,Crime||War": f"genre must be 1 to 100 {TEXT_LIMIT}",
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_format_gives_the_items(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = written(tmp_path / name, pack(TEXTS[name]))
    items, left_out = read_items(path)
    assert (items, left_out.count) == (EXPECTED, 0)


TITLES = [
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
]


def test_a_year_at_the_end_of_the_title_is_taken_from_it(tmp_path: Path) -> None:
    rows = "".join(f"{at},{text}\n" for at, (text, _, _) in enumerate(TITLES))
    items, _ = read_items(written(tmp_path / "items.csv", f"item,title\n{rows}"))
    assert [(item.title, item.year) for item in items.values()] == [row[1:] for row in TITLES]


def test_a_year_column_goes_before_the_year_in_the_title(tmp_path: Path) -> None:
    rows = "1,Heat (1995),2017\n2,Heat (1995),\n3,Heat (1995), \n"
    items, _ = read_items(written(tmp_path / "items.csv", f"item,title,year\n{rows}"))
    assert [item.year for item in items.values()] == [2017, 1995, 1995]


@pytest.mark.parametrize("row", BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_a_bad_row_is_counted_with_line_and_reason(tmp_path: Path, row: str) -> None:
    path = written(tmp_path / "items.csv", f"item,title,year,genres\n{row}\n2,Ran,1985,War\n")
    items, left_out = read_items(path, most_bad=0.5)
    assert items == {"2": ItemRow("Ran", 1985, ("War",))}
    assert left_out.lines == (f"1: {BAD_ROWS[row]} (line 2)",)


def test_a_genre_flag_is_zero_or_one(tmp_path: Path) -> None:
    path = written(tmp_path / "u.item", f"1|Heat||||{FLAGS_1}\n2|Ran||||7{'|0' * 18}\n")
    _, left_out = read_items(path, most_bad=0.5)
    assert left_out.lines == ("1: the flag of genre unknown must be 0 or 1 (line 2)",)


def test_of_two_rows_of_one_item_the_last_stays(tmp_path: Path) -> None:
    path = written(tmp_path / "items.csv", "item,title\n1,Heat\n2,Ran\n1,Ronin\n")
    items, left_out = read_items(path)
    assert {"1": ItemRow("Ronin", None, ()), "2": ItemRow("Ran", None, ())} == items
    assert left_out.count == 1


def test_a_file_of_other_columns_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no table of items, .* item,title or movieId,title; it h"):
        read_items(written(tmp_path / "items.csv", "item,name\n1,Heat\n"))
