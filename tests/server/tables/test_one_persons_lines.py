"""Rows of text files are what RFC 4180 says, whatever the sizes of blocks.

One person's lines, whatever they hold, are nobody else's: in every format that is counted, all
other rows stay as they are, or the files are refused before anything is counted or charged, always
in one sentence.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askew.errors import DataError, ParameterError
from askew.mechanisms.covariance import UNIT
from askew_server import tables
from askew_server.counting import CountingTask, count_top
from askew_server.counting.contract import LikesTask
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.likes import columns_of_ratings, count_likes
from askew_server.tables import text as text_files

KEY = bytes(range(32))
Row = tuple[str, str, str]
OTHERS: list[Row] = [(f"p{n}", str(n % 3), "5") for n in range(9)]
COLUMNS = ("user", "item", "rating")


def text_of(between: str, *, head: bool = True, end: str = "\n") -> Callable[..., bytes]:
    """Lines as they are written by who escapes nothing."""

    def lines_of(rows: Sequence[Row], lines: Sequence[bytes]) -> bytes:
        wide = rows if head else [(*row, "0") for row in rows]
        own = [between.join(row).encode() for row in ([COLUMNS] if head else []) + list(wide)]
        middle = len(own) // 2
        return b"".join(line + end.encode() for line in [*own[:middle], *lines, *own[middle:]])

    return lines_of


FORMATS: dict[str, Callable[..., bytes]] = {
    "log.csv": text_of(","),
    "windows.csv": text_of(",", end="\r\n"),
    "log.csv.gz": lambda *rows: gzip.compress(text_of(",")(*rows)),
    "log.csv.zst": lambda *rows: pa.compress(text_of(",")(*rows), "zstd", asbytes=True),
    "log.tsv": text_of("\t"),
    "log.txt": text_of(";"),
    "folder/part.csv": text_of(","),
    "ratings.dat": text_of("::", head=False),
    "u.data": text_of("\t", head=False),
}
SEPARATORS = {"log.tsv": "\t", "log.txt": ";", "ratings.dat": "::", "u.data": "\t"}
_BYTES = st.sampled_from(
    b'"|""|,|\t|;|::|\r|\r\r|p1|2|5|\0|\xff|\x1a0|\x1a1|\x1f|{|p1,2,5|\rp1,2,5\r| |#'.split(b"|")
)
HOSTILE = st.lists(_BYTES, max_size=8).map(b"".join)


Rows = list[tuple[int, tuple[str, ...]]]


def begun(name: str) -> bytes:
    """What each line of m begins with."""
    return b"m" + SEPARATORS.get(name, ",").encode()


def rows_of(name: Path) -> Rows | None:
    """The rows with their numbers; None where they are refused in the one sentence."""
    table = tables.open_table(name, encoding="utf-8", private=True)
    rows: Rows = []
    try:
        for batch in table.batches(COLUMNS, table.omissions()):
            texts = zip(*[column.to_pylist() for column in batch.texts], strict=True)
            rows += zip(batch.rows.tolist(), texts, strict=True)
    except DataError as refusal:
        if str(refusal).endswith(f": {text_files.QUOTES}"):
            return None
        raise
    return rows


def others_in(name: Path) -> list[tuple[str, ...]] | None:
    rows = rows_of(name)
    return None if rows is None else [row for _, row in rows if row[0] != "m"]


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path.parent if name.startswith("folder/") else path


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(hostile=st.lists(HOSTILE, min_size=1, max_size=3), block=st.sampled_from([16, 1 << 22]))
@pytest.mark.parametrize("name", FORMATS)
def test_any_lines_of_one_person_leave_the_rows_of_others_or_refuse_the_file(
    tmp_path: Path, name: str, hostile: list[bytes], block: int
) -> None:
    """Planted bugs: a lone return ends a row; text after a closing quote is read on."""
    path = written(tmp_path, name, FORMATS[name](OTHERS, [begun(name) + line for line in hostile]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_files, "BLOCK", block)
        rows = others_in(path)
        if rows is None:
            assert b'"' in b"".join(hostile)
        else:
            assert rows == OTHERS


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(field=st.text(alphabet='"\n\r,\t;p125\0\x1a\ufeff', max_size=12))
def test_a_field_that_a_csv_writer_wrote_is_one_field(tmp_path: Path, field: str) -> None:
    """Also with line breaks in it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, ("m", field, "5"), *OTHERS])
    path = written(tmp_path, "log.csv", text.getvalue().encode())
    assert others_in(path) == OTHERS


def counted(path: Path) -> tuple[dict[str, int], int] | None:
    """The counts of a log, and the trace of G; None where it is refused before a charge."""
    task = CountingTask(events=str(path), unit_column="user", max_items_per_unit=1, limit=40)
    engine = DuckDBEngine()
    try:
        unit, item, rating = columns_of_ratings(engine, str(path))
        try:
            engine.look_through(str(path), COLUMNS)
        except DataError:
            return None
        top = count_top(engine, task, KEY)
        likes = LikesTask(
            events=str(path),
            unit_column=unit,
            item_column=item,
            rating_column=rating,
            keys=("0", "1", "2"),
            least=4.0,
            most=5.0,
        )
        matrix = count_likes(engine, likes, KEY)
    finally:
        engine.close()
    return dict(zip(top.items, top.counts, strict=True)), int(matrix.trace())


WRITTEN = [
    b"1\rp1,2,5\rp2,2,5\rx,5",
    b'"1\np7,2,5\np8,2,5\n",5',
    b"\xff,5",
    b"1,5\0",
    b"1,1e999",
    b"x" * 100_000 + b",5",
    b"1,5,5,5",
    b"",
    b'"1',
    b'"1"x,5',
]


@pytest.mark.parametrize("line", WRITTEN, ids=range(len(WRITTEN)))
@pytest.mark.parametrize("name", ["log.csv", "folder/part.csv", "u.data"])
def test_counts_and_likes_move_by_at_most_what_is_said(
    tmp_path: Path, name: str, line: bytes
) -> None:
    """One unit at a bound of one item. Planted bugs: text counted without a copy of ours; a folder
    that goes around the copy.
    """
    without = counted(written(tmp_path / "without", name, FORMATS[name](OTHERS, [])))
    with_it = counted(written(tmp_path / "with", name, FORMATS[name](OTHERS, [begun(name) + line])))
    assert without is not None
    assert (with_it is None) == (line in (b'"1', b'"1"x,5') and name != "u.data")
    if with_it is not None:
        moved = {
            item: abs(with_it[0].get(item, 0) - without[0].get(item, 0))
            for item in with_it[0] | without[0]
        }
        assert sum(moved.values()) <= 1
        assert 0 <= with_it[1] - without[1] <= UNIT


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_byte_order_mark_is_no_part_of_a_header(tmp_path: Path, encoding: str) -> None:
    """And people's lines do not decide an encoding. Planted bugs: behind it, a quote opens no
    field, and a line break in it ends the header; an encoding that is guessed.
    """
    path = written(tmp_path, "log.csv", '\ufeff"us\ner",item,rating\np,1,5\n'.encode())
    table = tables.open_table(path, encoding=encoding)
    assert table.columns == ("us\ner", "item", "rating")
    [batch] = table.batches(table.columns, table.omissions())
    assert (batch.rows.tolist(), batch.texts[0].to_pylist()) == ([3], ["p"])
    with pytest.raises(ParameterError, match="encoding must be named where a reading is private"):
        tables.open_table(path, private=True)


def by_the_book(text: str, n_fields: int) -> Rows | None:
    """The same, character by character; None where quotes are torn."""
    rows: Rows = []
    line, at = 1, 0
    while at < len(text):
        row, begun = [], line
        while True:
            if text[at : at + 1] == '"':
                end, value = at + 1, ""
                while text[end : end + 1] != '"' or text[end : end + 2] == '""':
                    if end >= len(text):
                        return None
                    value += text[end]
                    end += 2 if text[end : end + 2] == '""' else 1
                at = end + 1
                if text[at : at + 1] not in (",", "\n") and text[at : at + 2] != "\r\n":
                    return None
            else:
                ends = [end for end in (text.find(",", at), text.find("\n", at)) if end >= 0]
                end = min(ends)
                value, at = text[at:end], end
                if text[at] == "\n":
                    value = value.removesuffix("\r")
            row.append(value.replace("\r\n", "\n"))
            if text[at] != ",":
                at = text.index("\n", at) + 1
                break
            at += 1
        line = 1 + text.count("\n", 0, at)
        is_bad = "\0" in "".join(row) or len(row) != n_fields
        if begun > 1 and row != [""] and not is_bad:
            rows.append((begun, tuple(row)))
    return rows


_FIELDS = st.text(alphabet='ab1,"\r\n\x1a0\0é\ufeff', max_size=6)
_LINES = st.lists(
    st.lists(_FIELDS, min_size=1, max_size=4).map(",".join) | st.just('x,"a\nb,c,d\n","e""f"'),
    max_size=8,
)


@settings(max_examples=400, deadline=None)
@given(lines=_LINES, end=st.sampled_from(["\n", "\r\n"]), block=st.integers(8, 64))
def test_any_text_is_cut_as_rfc_4180_says_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, block: int
) -> None:
    """Planted bugs: a block ends a row; a lone return does; a quote ends with its line."""
    text = "".join(f"{line}{end}" for line in ["user,item,rating", *lines])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())
    wanted = by_the_book(text, 3)
    for size in (block, 1 << 20):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_files, "BLOCK", size)
            assert rows_of(path) == wanted
