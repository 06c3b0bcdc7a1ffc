"""By columns or row by row: the same table and the same rows left out, for any text at all."""

from __future__ import annotations

import gzip
import math
import os
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from server.ratings.rating_files import write_parquet, written

from askew.errors import DataError
from askew_server.ratings import RatingTable, Rejects, read_ratings, reader
from askew_server.ratings import lines as text_lines
from askew_server.ratings.builder import Flags, RatingRows
from askew_server.ratings.columns import TEXTS, Judge, RatingColumns, cut
from askew_server.ratings.formats import rating_format
from askew_server.ratings.lines import TextFormat, blocks_or_lines, split_rows
from askew_server.ratings.table import RejectLog

HEADER = "user,item,rating\n"
KEYS = ["1", "2", "10", "007", "-3", " 1", "1e2", "1.0", "99999999999", "0" * 20, "a b", "Amélie"]
KEYS += ["a person with a long name", "a person with a longer name", "x" * 129, "x" * 130]
FIELDS = st.one_of(
    st.sampled_from([*KEYS, '"x"', '"1"', "", "é\x85", "0.5", ":", "x:", "#", "\ufeff"]),
    st.text(max_size=4),
)
NUMBERS = st.sampled_from(
    ["1", "3.5", "-2", "1_0", "nan", "1e999", "+4", "+-4", " 5 ", ".5", "2e0"]
)
TIMES = st.sampled_from(["0", "978300760", "", "nan", "inf", "1_0", "+-1", "noon", "1e3"])
ROWS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS), NUMBERS, TIMES),
        st.tuples(FIELDS, FIELDS, NUMBERS, TIMES),
        st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS), NUMBERS, TIMES, st.just("")),
        st.tuples(st.sampled_from(['"1"', '"a, b"', '"']), st.sampled_from(KEYS), NUMBERS, TIMES),
        st.lists(FIELDS, max_size=6).map(tuple),
    ),
    min_size=1,
    max_size=12,
)
FORMATS = {
    "csv": ("ratings.csv", ",", "utf-8", "user,item,rating,timestamp"),
    "another order": ("ratings.csv", ",", "utf-8", "\ufeffrating,user,timestamp,item"),
    "ml-1m": ("ratings.dat", "::", "latin-1", None),
    "ml-100k": ("u.data", "\t", "latin-1", None),
}


def read(path: Path, *, counts: float | None = None, one_by_one: bool = False) -> object:
    """What is read of a file, by columns or with every row judged by itself."""
    with pytest.MonkeyPatch.context() as patches:
        if one_by_one:
            patches.setattr(text_lines, "_plain", lambda *_: None)
            patches.setattr(Judge, "judged", none_is_good)
        try:
            return shown(read_ratings(path, counts=counts, times=True))
        except DataError as error:
            return str(error)


def none_is_good(judge: Judge, found: RatingColumns) -> tuple[RatingRows, Flags]:
    empty = np.zeros(len(found.rating), np.int32)
    return RatingRows(empty, empty, empty.astype(float), empty.astype(float)), empty.astype(
        np.bool_
    )


def shown(found: tuple[RatingTable, Rejects]) -> object:
    table, rejects = found
    assert [table.person.dtype.name, table.item.dtype.name] == ["int32", "int32"]
    arrays = [column.tolist() for column in (table.person, table.item, table.rating)]
    assert table.time is not None
    return arrays, repr(table.time.tolist()), table.n_people, table.item_keys, rejects


@st.composite
def text_files(draw: st.DrawFn, most: int = 1) -> list[tuple[str, bytes]]:
    """Files of one kind, each with its name."""
    name, separator, encoding, header = FORMATS[draw(st.sampled_from(sorted(FORMATS)))]
    ending, packed = draw(st.sampled_from(["\n", "\r\n"])), draw(st.booleans())
    files = []
    for at in range(draw(st.integers(1, most))):
        lines = [separator.join(row) for row in draw(ROWS)]
        text = ending.join([header, *lines] if header else lines) + ending * draw(st.booleans())
        errors = "replace" if encoding == "latin-1" else "surrogatepass"
        content = text.encode(encoding, errors)
        files.append((f"{at * most or ''}{name}", gzip.compress(content) if packed else content))
    return files


ODD = {
    "a separator too many": ("ratings.csv", "1,3,4,"),
    "a field too few": ("ratings.csv", "1,3"),
    "nothing": ("ratings.csv", ""),
    "a quoted key": ("ratings.csv", '"1",3,4'),
    "a quote that is open": ("ratings.csv", '1,"3,4'),
    "a space": ("ratings.csv", " 1,3,4"),
    "digits in groups": ("ratings.csv", "1,3,1_0"),
    "a tab too many": ("u.data", "1\t3\t4\t0\t"),
    "colons too many": ("ratings.dat", "1::3::4::0::"),
    "three colons": ("ratings.dat", "1:::3::4::0"),
    "colons apart": ("ratings.dat", "1::3:x:4::0"),
    "a colon": ("ratings.dat", "1::x:::4::0"),
    "another separator": ("ratings.dat", "1::3::4\x1f0"),
    "a separator within": ("ratings.dat", "1\x1f::3::4::0"),
    "a byte beyond ASCII": ("ratings.dat", "1::\xe9::4::0"),
}
GOOD = {"ratings.csv": "{0},{1},3", "u.data": "{0}\t{1}\t3\t0", "ratings.dat": "{0}::{1}::3::0"}


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lines", "windows"])
@pytest.mark.parametrize("case", ODD)
def test_one_odd_line_among_good_ones_is_read_the_same(
    tmp_path: Path, case: str, ending: str
) -> None:
    """Planted bug: Arrow is given a line that it cuts otherwise."""
    name, odd = ODD[case]
    good = [GOOD[name].format(row % 7, 10 + row) for row in range(9)]
    lines = [HEADER.strip()] * (name == "ratings.csv") + [*good[:3], odd, *good[3:], good[0]]
    path = written(tmp_path / name, ending.join(lines).encode("latin-1"))
    assert read(path) == read(path, one_by_one=True)


def test_a_byte_order_mark_is_part_of_a_key_wherever_a_block_begins(tmp_path: Path) -> None:
    """Planted bug: Arrow leaves it out, so that two people are one."""
    path = written(tmp_path / "ratings.csv", HEADER + "\ufeffa,3,4\na,4,5\nb,4,5\n")
    table, _ = read_ratings(path)
    assert table.n_people == 3
    assert read(path) == read(path, one_by_one=True)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=text_files(),
    counts=st.sampled_from([None, 2.0]),
    block=st.sampled_from([1, 40, 1 << 18]),
)
def test_both_ways_read_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: list[tuple[str, bytes]],
    counts: float | None,
    block: int,
) -> None:
    """Planted bugs: an odd row taken for a good one, a line that is not counted, keys that are as
    one because they begin alike, or ratings that are forgotten from block to block.
    """
    monkeypatch.setattr(text_lines, "_BLOCK", block)
    [(name, content)] = files
    path = written(tmp_path / name, content)
    assert read(path, counts=counts) == read(path, counts=counts, one_by_one=True)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(files=text_files(most=3))
def test_both_ways_read_the_same_from_folders(
    tmp_path: Path, files: list[tuple[str, bytes]]
) -> None:
    """Planted bug: lines counted on from one file to the next, or keys coded anew in each."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        for name, content in files:
            (Path(folder) / name).write_bytes(content)
        assert read(Path(folder)) == read(Path(folder), one_by_one=True)


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
            st.one_of(st.none(), st.sampled_from(["1", "007", " a", "Amélie", "", "\x1b"])),
            st.one_of(st.none(), st.sampled_from([1.0, 3.7, -2.25, math.nan, math.inf])),
            st.one_of(st.none(), st.integers(0, 10)),
        ),
        min_size=1,
        max_size=12,
    ),
    kinds=st.sampled_from(
        [
            "BIGINT VARCHAR FLOAT BIGINT",
            "VARCHAR VARCHAR DOUBLE DOUBLE",
            "DOUBLE VARCHAR VARCHAR DATE",
            "BIGINT DECIMAL(20,1) DOUBLE BIGINT",
            "BIGINT BOOLEAN DOUBLE BIGINT",
        ]
    ),
)
@example(rows=[(1, "1", 1.0, 0)], kinds="BIGINT DOUBLE DOUBLE BIGINT")
@example(rows=[(1, "1", 1.0, 0)], kinds="BIGINT BOOLEAN DOUBLE BIGINT")
def test_both_ways_read_the_same_from_parquet(
    tmp_path: Path, rows: list[tuple[object, ...]], kinds: str
) -> None:
    """Planted bugs: 3.7 in single precision read as 3.7000000477; a null as a key; 1.0 or true as
    the key "1".
    """
    path = tmp_path / "ratings.parquet"
    user, item, rating, time = kinds.split()
    day = "DATE '2020-01-01' + e.time::INTEGER" if time == "DATE" else f"e.time::{time}"
    which = "i" if item == "VARCHAR" else "u"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE e (u BIGINT, i VARCHAR, r DOUBLE, time BIGINT)")
        connection.executemany("INSERT INTO e VALUES (?, ?, ?, ?)", rows)
        connection.execute(
            f'COPY (SELECT u::{user} AS "user", {which}::{item} AS item, r::{rating} AS rating, '
            f"{day} AS timestamp FROM e) TO '{path}' (FORMAT parquet)"
        )
    assert read(path) == read(path, one_by_one=True)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"{HEADER}1,2,3\n1,3,4\n", True),
        (f"{HEADER}1,2,3\n\n4,5\n", True),
        ("user,item,rating\r\n1,2,3\r\n1,3,4", True),
        (f"{HEADER}1,2,3\r1,3,4\n", False),
        (f"{HEADER}1,2,3\0\n", False),
    ],
    ids=["lines", "bad lines", "two characters a line end", "a lone return", "a NUL"],
)
def test_only_lines_that_can_be_counted_are_read_by_columns(
    tmp_path: Path, text: str, plain: bool
) -> None:
    path = written(tmp_path / "ratings.csv", text.encode())
    pieces = blocks_or_lines(path, rating_format(path).text, None)
    assert all(isinstance(piece, bytes) for _, piece in pieces) is plain


@pytest.mark.parametrize("name", [b"\xff.csv", b"\xff.parquet"])
def test_a_name_that_is_no_text_is_read_too(tmp_path: Path, name: bytes) -> None:
    other, path = tmp_path / "other", tmp_path / os.fsdecode(name)
    if name.endswith(b"csv"):
        other.write_text(f"{HEADER}1,2,3\n")
    else:
        duckdb.execute(
            f"COPY (SELECT 1 AS \"user\", 2 AS item, 3 AS rating) TO '{other}' (FORMAT parquet)"
        )
    other.rename(path)
    assert read_ratings(path)[0].item_keys == ("2",)


def test_good_rows_are_read_by_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to fall back to rows unnoticed."""
    path = written(
        tmp_path / "ratings.csv",
        HEADER + "".join(f"{row},{row % 7},3\n" for row in range(1000)) + "x,y\n",
    )
    judged = list[object]()

    def seen(rows: Any, *rest: Any) -> Any:
        judged.extend(rows)
        return split_rows(rows, *rest)

    monkeypatch.setattr(reader, "split_rows", seen)
    table, _ = read_ratings(path)
    assert (len(table), table.n_people, len(table.item_keys)) == (1000, 1000, 7)
    assert judged == [(1002, "x,y")]


KEYS_OF_VALUES = {
    "1": ("1", "INTEGER"),
    "1.0": ("1", "DOUBLE"),
    "true": ("true", "BOOLEAN"),
    "1.50": ("1.5", "DECIMAL(10,2)"),
    "2020-01-02": ("'2020-01-02'", "DATE"),
    "007": ("'007'", "VARCHAR"),
    "0.1": ("0.1", "FLOAT"),
}


@pytest.mark.parametrize("key", KEYS_OF_VALUES)
def test_a_key_of_parquet_is_what_one_writes(tmp_path: Path, key: str) -> None:
    """Planted bugs: 1.0 or true as the key "1"; 3.7 in single precision read as 3.7000000477."""
    value, kind = KEYS_OF_VALUES[key]
    path = tmp_path / "ratings.parquet"
    select = f'SELECT 1 AS "user", {value}::{kind} AS item, 3.7::FLOAT AS rating'
    write_parquet(path, select)
    table, _ = read_ratings(path)
    assert (table.item_keys, table.rating.tolist()) == ((key,), [3.7])


@pytest.mark.parametrize("value", ["'\\xFF'::BLOB", "{'a': 1}", "[1, 2]"])
def test_a_key_that_is_no_text_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "ratings.parquet"
    select = f'SELECT 1 AS "user", {value} AS item, 3 AS rating'
    write_parquet(path, select)
    with pytest.raises(DataError, match=r"ratings\.parquet: cannot be read as parquet"):
        read_ratings(path)


def test_ratings_in_a_full_dictionary_of_bytes_are_read(tmp_path: Path) -> None:
    """Planted bug: the place behind the last of 128 values, as a code of one byte."""
    ratings = pa.array(list(map(str, range(128)))).dictionary_encode()
    column = ratings.cast(pa.dictionary(pa.int8(), pa.string()))
    people = list(map(str, range(128)))
    path = tmp_path / "ratings.parquet"
    parquet.write_table(pa.table({"user": people, "item": ["x"] * 128, "rating": column}), path)
    table, rejects = read_ratings(path)
    assert (table.rating.tolist(), rejects.count) == ([*range(128)], 0)


def test_two_columns_of_times_are_refused(tmp_path: Path) -> None:
    columns = [pa.array([1])] * 5
    names = ["user", "item", "rating", "timestamp", "timestamp"]
    path = tmp_path / "ratings.parquet"
    parquet.write_table(pa.Table.from_arrays(columns, names), path)
    with pytest.raises(DataError, match=r"ratings\.parquet: cannot be read as parquet"):
        read_ratings(path, times=True)


def test_quotes_around_whole_fields_are_no_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many programs write them around every text. Planted bug: each such line judged by itself."""
    path = written(
        tmp_path / "ratings.csv",
        '"user","item","rating"\n1,"2","3"\n"a b",2,4\n"","2",1\n"a, b","2",5\n',
    )
    judged = list[object]()

    def seen(lines: Any, *rest: Any) -> Any:
        judged.extend(lines)
        return split_rows(lines, *rest)

    monkeypatch.setattr(reader, "split_rows", seen)
    table, rejects = read_ratings(path)
    assert (table.rating.tolist(), table.item_keys, rejects.count) == ([3, 4, 5], ("2",), 1)
    assert judged == [(4, '"","2",1'), (5, '"a, b","2",5')]


def test_every_short_line_of_quotes_and_separators_is_cut_as_one_by_one() -> None:
    """Planted bug: a quoted field whose text has a separator or another quote."""
    text = TextFormat(",", 2, "utf-8", has_header=False)
    lines = ["".join(line) for size in range(1, 8) for line in product(',"1', repeat=size)]
    found = cut("".join(f"{line}\n" for line in lines).encode(), text, {0: TEXTS, 1: TEXTS})
    regular = [line for line, is_regular in zip(lines, found.regular, strict=True) if is_regular]
    rows = split_rows(enumerate(regular), text, RejectLog(Path("none")).add)
    fields = zip(*(column.to_pylist() for column in found.columns), strict=True)
    assert [tuple(row) for _, row in rows] == list(fields)
    assert '"1","1"' in regular
