"""Ratings and items of every format: the same table, bad rows counted, files that are refused."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from askew.errors import DataError
from askew_server.ratings import ItemRow, RatingTable, read_items, read_ratings
from askew_server.tables import open_table
from askew_server.tables import text as text_files
from askew_server.tables.files import unpacked

HEADER = "user,item,rating\n"
ROWS = [("7", "10", "4", "1"), ("7", "9", "3.5", "2"), ("3", "10", "1", "3"), ("3", "2", "5", "4")]
EXPECTED = ([0, 0, 1, 1], [2, 1, 2, 0], [4.0, 3.5, 1.0, 5.0], 2, ("2", "9", "10"))


def write_parquet(path: Path, select: str) -> Path:
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def plain(table: RatingTable) -> tuple[object, ...]:
    columns = (table.person.tolist(), table.item.tolist(), table.rating.tolist())
    return (*columns, table.n_people, table.item_keys)


def lines(between: str, fields: int = 4) -> str:
    return "".join(between.join(row[:fields]) + "\n" for row in ROWS)


def objects() -> str:
    return "".join(f'{{"user":{u},"rating":"{r}","item":"{i}"}}\n' for u, i, r, _ in ROWS)


TEXTS = {
    "with-a-byte-order-mark.csv": "\ufeffuserId,movieId,rating,timestamp\n" + lines(","),
    "generic.csv": HEADER + lines(",", 3),
    "windows-lines.csv": (HEADER + lines(",", 3)).replace("\n", "\r\n"),
    "other-order.csv": (
        'note,rating,item,user\n"a,\nb",4,10,7\n,3.5,"9",7\n"""",1,10,3\nx, 5 , 2 , 3\n'
    ),
    "empty-lines.csv": "\n\n".join((HEADER + lines(",", 3)).split("\n")).rstrip(),
    "tabs.tsv": HEADER.replace(",", "\t") + lines("\t", 3),
    "u.data": lines("\t"),
    "ratings.dat": lines("::"),
    "part.dat": lines("::"),
    "ratings.jsonl": objects(),
}
PARQUET = {
    "numbers": "SELECT 0 AS timestamp, c AS rating, b AS movieId, a AS userId",
    "text": 'SELECT a::VARCHAR AS "user", b::VARCHAR AS item, c::VARCHAR AS rating',
    "floats": 'SELECT a::DOUBLE AS "user", b::DOUBLE AS item, c::FLOAT AS rating',
}


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_format_gives_the_table(tmp_path: Path, name: str) -> None:
    for pack in (bytes, gzip.compress, zstd):
        table, left_out = read_ratings(written(tmp_path / name, pack(TEXTS[name].encode())))
        assert (*EXPECTED, 0) == (*plain(table), left_out.count)


@pytest.mark.parametrize("name", PARQUET)
def test_parquet_gives_the_table(tmp_path: Path, name: str) -> None:
    rows = "(VALUES (7, 10, 4.0), (7, 9, 3.5), (3, 10, 1.0), (3, 2, 5.0)) AS t(a, b, c)"
    path = write_parquet(tmp_path / "ratings.parquet", f"{PARQUET[name]} FROM {rows}")
    table, left_out = read_ratings(path)
    assert (*EXPECTED, 0) == (*plain(table), left_out.count)


def test_of_several_ratings_of_one_item_the_last_stays(tmp_path: Path) -> None:
    """People are in the order of their first rows, items by their keys, numbers first. Planted bug:
    the first stays.
    """
    rows = "bob,1,1\nada,2,1\nbob,3,1\nbob,1,5\n"
    table, left_out = read_ratings(written(tmp_path / "r.csv", HEADER + rows), most_bad=0)
    assert plain(table) == ([1, 0, 0], [1, 2, 0], [1.0, 1.0, 5.0], 2, ("1", "2", "3"))
    keys = ("x", "10", "b", "7", "-1", "007", "B", "07", "2")
    more = HEADER + "".join(f"u,{key},1\n" for key in keys)
    sorted_keys = read_ratings(written(tmp_path / "keys.csv", more))[0].item_keys
    assert sorted_keys == ("2", "007", "07", "7", "10", "-1", "B", "b", "x")
    assert left_out.lines == ("1: the same person rates the same item again further down (line 2)",)


PLAIN = "characters without control characters"
KEY = f"must be 1 to 200 {PLAIN}"
FIELDS = "a row must have 3 fields separated by ','"
BAD = {
    b"1,2": FIELDS,
    b"1,2,3,4": FIELDS,
    b"  ,2,3": f"user {KEY}",
    b"1," + b"i" * 201 + b",3": f"item {KEY}",
    b"1,i\rj,3": f"item {KEY}",
    **{
        b"1,2," + rating: "rating must be a finite number"
        for rating in (b"", b"1_0", b"nan", b"1e999")
    },
    b"1,2,3\0": "a row must be text without NUL and control characters",
    b"1,\xff,3": "a row must be text in utf-8",
}


@pytest.mark.parametrize("row", BAD, ids=range(len(BAD)))
def test_a_bad_row_is_counted_with_line_and_reason(tmp_path: Path, row: bytes) -> None:
    """And leaves no trace. Planted bug: its keys are kept."""
    path = written(
        tmp_path / "r.csv", HEADER.encode() + "8,9,é\n8,9,1\n".encode() + row + b"\n8,10,2\n"
    )
    table, left_out = read_ratings(path, most_bad=0.5)
    assert plain(table) == ([0, 0], [0, 1], [1.0, 2.0], 1, ("9", "10"))
    assert f"1: {BAD[row]} (line 4)" in left_out.lines or (
        f"2: {BAD[row]} (lines 2, 4)" in left_out.lines
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("'nan'::DOUBLE, 2, 3", f"user {KEY}"),
        ("1, 'nan'::FLOAT, 3", f"item {KEY}"),
        ("1, 2, 'inf'::DOUBLE", "rating must be a finite number"),
    ],
)
def test_nan_is_null_is_missing(tmp_path: Path, row: str, reason: str) -> None:
    select = f'SELECT * FROM (VALUES ({row}), (8, 9, 1)) AS t("user", item, rating)'
    table, left_out = read_ratings(write_parquet(tmp_path / "r.parquet", select), most_bad=1)
    assert plain(table) == ([0], [0], [1.0], 1, ("9",))
    assert left_out.lines == (f"1: {reason} (row 1)",)


def test_a_file_of_which_many_rows_are_bad_is_refused(tmp_path: Path) -> None:
    rows = HEADER + "a,b,1\n" * 8 + "a,b\n"
    assert read_ratings(written(tmp_path / "r.csv", rows), most_bad=0.2)[1].count == 8
    with pytest.raises(DataError, match=r"1 of 9 rows cannot be used, .* --max-bad-rows names"):
        read_ratings(tmp_path / "r.csv")
    plays = "".join(f"{n:040x}\t{n:036x}\tU2\t{n}\n" for n in range(1, 9))
    with pytest.raises(DataError, match="no table of ratings"):
        read_ratings(written(tmp_path / "plays.tsv", plays))


@pytest.mark.parametrize(("rating", "counts"), [("1001", None), ("-1001", None), ("-1", 1.0)])
def test_another_scale_is_refused_with_its_line(
    tmp_path: Path, rating: str, counts: float | None
) -> None:
    """What is left without the strongest rows would be another file."""
    kept = written(tmp_path / "kept.csv", f"{HEADER}a,b,1e3\na,c,-1000\na,d,0\n")
    assert read_ratings(kept)[0].rating.tolist() == [1000.0, -1000.0, 0.0]
    path = written(tmp_path / "r.csv", f"{HEADER}a,b,1\na,c,{rating}\n")
    with pytest.raises(DataError, match=r"r\.csv, line 3: a (rating|count) must be"):
        read_ratings(path, counts=counts)


MANY = HEADER.encode() + b"".join(b"%d,%d,3\n" % (user, user) for user in range(20_000))
REFUSED = {
    "empty": (b"", "the file is empty"),
    "gzip cut in the first line": (gzip.compress(MANY)[:15], "what is packed in it is cut short"),
    "gzip cut at the end": (gzip.compress(MANY)[:-4], "what is packed in it is cut short"),
    "gzip with a wrong sum": (
        gzip.compress(MANY)[:-8] + bytes(8),
        "it cannot be read: what is packed in it is damaged",
    ),
    "zstd cut at the end": (zstd(MANY)[:-9], "what is packed in it is cut short"),
    "gzip twice": (gzip.compress(gzip.compress(MANY)), "it is packed twice"),
    "header only": (HEADER.encode(), "no row of it is usable: it has no rows"),
    "no good row": (HEADER.encode() + b"a,b,x\n", "no row of it is usable: 1: rating must be"),
    "a long first line": (b"x" * 2_000_000, "its first line is no header of utf-8"),
    "cut parquet": (b"PAR1 and then nothing", "it cannot be read: Parquet magic bytes not found"),
    "a first line that may be somebody's": (b"1,2,3\n", "userId,movieId,rating$"),
    "a column missing": (b"user,item\n1,2\n", "no table of ratings, .*; it has user, item$"),
    "a column twice": (b"user,item,item,rating\n1,2,2,3\n", "two of its columns have one name"),
    "text after a quote": (b'user,item,rating\n1,"2"x,3\n', "a quote is not closed, or text"),
    "a blank first line": (b"\nuser,item,rating\n1,2,3\n", "its first line is empty"),
    "returns alone": (b"user,item,rating\r1,2,3\r", "its lines end in returns alone"),
    "utf-16": ("user,item,rating\n1,2,3\n".encode("utf-16"), "it is text in UTF-16"),
    "only NUL": (bytes(1000), "it is no text"),
    "a zip": (b"PK\x03\x04..", "it is a zip archive or a workbook; what is read is csv, tsv,"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_file_of_ratings_is_refused_by_what_it_is(tmp_path: Path, case: str) -> None:
    content, reason = REFUSED[case]
    with pytest.raises(DataError, match=reason) as refusal:
        read_ratings(written(tmp_path / "data.csv", content))
    assert str(refusal.value).startswith(f"{tmp_path}/data.csv")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("reader", [read_ratings, read_items])
def test_a_missing_file_or_a_pipe_is_refused(
    tmp_path: Path, reader: Callable[[Path], object]
) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: there is no such file"):
        reader(tmp_path / "nowhere.csv")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="there is no regular file of this name"):
        reader(tmp_path / "pipe")


def test_progress_rises_over_all_files_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: each file from nothing to its own size."""
    monkeypatch.setattr(text_files, "BLOCK", 100)
    rows = "".join(f"{n},1,3\n" for n in range(50))
    shares: list[float] = []
    read_ratings(folder_of(tmp_path, a=rows, b=rows, c=rows), progress=shares.append)
    assert shares == sorted(shares)
    assert list(dict.fromkeys(shares)) == pytest.approx([1 / 3, 2 / 3, 1])
    assert len(shares) >= 6


def folder_of(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, rows in files.items():
        (folder / f"{name}.csv").write_text(HEADER + rows)
    return folder


def test_a_bad_row_is_told_with_its_own_file_and_line(tmp_path: Path) -> None:
    """And people are in the order of names and rows. Planted bugs: files in the order in which a
    disk lists them; codes of one file alone; lines counted on from file to file.
    """
    folder = folder_of(tmp_path, b='"bob\nby",10,2\nbob\nbob,x,none\n', a="cy,10,3\nada,9,1\n")
    table, left_out = read_ratings(folder, most_bad=1)
    assert plain(table) == ([0, 1], [1, 0], [3.0, 1.0], 2, ("9", "10"))
    assert plain(read_ratings(folder / "*.csv", most_bad=1)[0]) == plain(table)
    assert left_out.lines == (
        f"1: {FIELDS} (line 4 of b.csv)",
        "1: rating must be a finite number (line 5 of b.csv)",
        f"1: user {KEY} (line 2 of b.csv)",
    )


UNFIT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a hidden file": (lambda f: (f / ".a.csv.crc").write_text("x"), r"\.a\.csv\.crc is hidden"),
    "a link": (lambda f: (f / "z.csv").symlink_to(f / "a.csv"), "z.csv is a symbolic link"),
    "a folder": (lambda f: (f / "z").mkdir(), "z is a folder"),
    "another table": (lambda f: (f / "m.csv").write_text("movieId,title\n"), "the same columns"),
    "an empty file": (lambda f: (f / "_SUCCESS").write_text(""), "_SUCCESS: the file is empty"),
    "the same packed": (
        lambda f: (f / "a.csv.gz").write_bytes(gzip.compress(HEADER.encode() + b"1,2,3")),
        "it is packed text, .*a.csv text",
    ),
    "parquet": (
        lambda f: write_parquet(f / "z.parquet", "SELECT 1"),
        "it is parquet, .*a.csv",
    ),
    "nothing": (lambda f: (f / "a.csv").unlink(), "parts: the folder is empty"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path, case: str) -> None:
    """Nothing is left out unseen, nothing is read twice, and no link leads elsewhere."""
    folder = folder_of(tmp_path, a="ada,9,1\n")
    add, reason = UNFIT[case]
    add(folder)
    with pytest.raises(DataError, match=reason):
        read_ratings(folder)


def test_a_file_that_is_mostly_no_utf8_is_latin_1_and_says_so(tmp_path: Path) -> None:
    rows = HEADER + "é,1,5\nü,2,5\n"
    table, left_out = read_ratings(written(tmp_path / "old.csv", rows.encode("latin-1")))
    assert (table.n_people, left_out.count) == (2, 0)
    assert left_out.notes == (
        f"{tmp_path}/old.csv: most of its lines beyond ASCII are no UTF-8; it is read as latin-1",
    )
    new = written(tmp_path / "new.csv", rows.encode() + b"\xff,1,5\n")
    table, left_out = read_ratings(new, most_bad=0.5)
    assert (table.n_people, left_out.count, left_out.notes) == (2, 1, ())


@pytest.mark.parametrize(
    ("value", "kind", "key"),
    [
        ("'01'", "VARCHAR", "01"),
        ("3.7", "FLOAT", "3.7"),
        ("true", "BOOLEAN", "true"),
        ("9007199254740993", "BIGINT", "9007199254740993"),
        ("1e300", "DOUBLE", "1e+300"),
        ("'2026-11-29'", "DATE", "2026-11-29"),
    ],
)
def test_a_key_of_parquet_is_what_one_writes(
    tmp_path: Path, value: str, kind: str, key: str
) -> None:
    """Planted bugs: 3.7 in single precision read as 3.7000000477; the place behind the last of 128
    values, as a code of one byte.
    """
    select = f'SELECT 1 AS "user", {value}::{kind} AS item, 3.7::FLOAT AS rating'
    table, _ = read_ratings(write_parquet(tmp_path / "r.parquet", select))
    assert (table.item_keys, table.rating.tolist()) == ((key,), [3.7])
    texts = pa.array(list(map(str, range(128))))
    column = texts.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    coded = pa.table({"user": texts, "item": texts, "rating": column})
    parquet.write_table(coded, tmp_path / "r.parquet")
    assert read_ratings(tmp_path / "r.parquet")[0].rating.tolist() == list(range(128))


@pytest.mark.parametrize("is_coded", [False, True])
def test_a_column_of_parquet_that_is_gone_meanwhile_is_named(
    tmp_path: Path, is_coded: bool
) -> None:
    """And three rows are all there is to read. Planted bug: of three, four are read at the end."""
    path = write_parquet(tmp_path / "log.parquet", "SELECT unnest([1, 2, 3]) AS a, 2 AS b")
    table = open_table(path)
    batches = table.parts[0].read(["a"], table.omissions(), is_coded)
    assert [batch.progress for batch in batches] == [1.0]
    write_parquet(path, "SELECT 1 AS a")
    with pytest.raises(DataError, match="it has no one column 'b' any more"):
        [*table.batches(["a", "b"], table.omissions(), coded=is_coded)]


def test_a_mistake_of_a_program_is_not_called_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Planted bug: any KeyError while a file is open is a DataError."""
    path = written(tmp_path / "log.csv", "user")
    with pytest.raises(KeyError, match="mistaken"), unpacked(str(path)):
        raise KeyError("mistaken")


FLAGS_1 = "0|0|0|1|1|1" + "|0" * 13
FLAGS_2 = "1" + "|0" * 18
ITEM_TEXTS = {
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
ITEMS = {
    "1": ItemRow("Toy Story", 1995, ("Animation", "Children's", "Comedy")),
    "2": ItemRow("Misérables, Les", None, ()),
}
BAD_ITEMS = {
    "1,Heat,": "a row must have 4 fields separated by ','",
    ",Heat,,": f"item must be 1 to 200 {PLAIN}",
    "1,,,": f"title must be 1 to 500 {PLAIN}",
    f"1,{'t' * 501},,": f"title must be 1 to 500 {PLAIN}",
    f"1,e{chr(0x301) * 9},,": "title must be text with at most 8 combining marks in a row",
    "1,Heat,soon,": "year must be a whole number from 1 to 9999",
    "1,Heat,0,": "year must be a whole number from 1 to 9999",
    f"1,Heat,{'9' * 5000},": "year must be a whole number from 1 to 9999",
    "1,Heat,,Crime||War": f"genre must be 1 to 100 {PLAIN}",
}


@pytest.mark.parametrize("name", ITEM_TEXTS)
def test_a_format_gives_the_items(tmp_path: Path, name: str) -> None:
    items, left_out = read_items(written(tmp_path / name, ITEM_TEXTS[name]))
    assert (items, left_out.count) == (ITEMS, 0)


@pytest.mark.parametrize("row", BAD_ITEMS, ids=range(len(BAD_ITEMS)))
def test_a_bad_item_is_counted_with_line_and_reason(tmp_path: Path, row: str) -> None:
    path = written(tmp_path / "items.csv", f"item,title,year,genres\n{row}\n2,Ran,1985,War\n")
    items, left_out = read_items(path, most_bad=0.5)
    assert items == {"2": ItemRow("Ran", 1985, ("War",))}
    assert left_out.lines == (f"1: {BAD_ITEMS[row]} (line 2)",)


def test_a_year_at_the_end_of_the_title_is_taken_from_it(tmp_path: Path) -> None:
    """Where no column has it. Of two rows of one item, the last stays."""
    titles = [
        ("Ran,", "Ran", None),
        ("  Heat  (1995)  ,", "Heat", 1995),
        ("Heat(1995),2017", "Heat", 2017),
        ("Heat (1995) again, ", "Heat (1995) again", None),
        ("Babylon (1994-1998),", "Babylon (1994-1998)", None),
        ("Heat (95),", "Heat (95)", None),
        ("Heat (١٩٩٥),", "Heat (١٩٩٥)", None),
        ("(1995),", "(1995)", None),
        ("Seven (Se7en) (1995),", "Seven (Se7en)", 1995),
    ]
    rows = "".join(f"{at},{text}\n" for at, (text, _, _) in enumerate(titles))
    path = written(tmp_path / "items.csv", f"item,title,year\n0,Ronin,1998\n{rows}")
    items, left_out = read_items(path)
    read = [(items[str(at)].title, items[str(at)].year) for at in range(9)]
    assert read == [row[1:] for row in titles]
    assert left_out.count == 1


def test_a_file_of_items_has_their_columns_and_flags(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no table of items, .* item,title or movieId,title; it h"):
        read_items(written(tmp_path / "items.csv", "item,name\n1,Heat\n"))
    path = written(tmp_path / "u.item", f"1|Heat||||{FLAGS_1}\n2|Ran||||7{'|0' * 18}\n")
    _, left_out = read_items(path, most_bad=0.5)
    assert left_out.lines == ("1: the flag of genre unknown must be 0 or 1 (line 2)",)
