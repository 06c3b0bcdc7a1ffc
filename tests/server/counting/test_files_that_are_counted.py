"""Files that DuckDB counts: what is looked at before a charge, and that what is counted is one
snapshot, of which nothing stays.

Files are changed at the very seam: when all that a count looks at beforehand is looked at, and
before the engine reads its first row.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest
from pyarrow import parquet
from server.counting.contract import task
from server.counting.reference import KEY, reference_counts, write_parquet

from askew.errors import DataError, ParameterError
from askew_server.counting import CountingTask, TopCounts, count_top
from askew_server.counting.bounding import catalog_size, require_countable
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.folders import PrivateFolder
from askew_server.tables import text as text_files

LOG = b"unit,item\np,a\nq,a\n"
MORE = b"r,b\n"
COUNTED = TopCounts(("a",), (2,))


def append(path: Path, data: bytes) -> str:
    with path.open("ab") as file:
        file.write(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def count(engine: DuckDBEngine, asked: CountingTask) -> dict[str, int]:
    top = count_top(engine, asked, KEY)
    return dict(zip(top.items, top.counts, strict=True))


def at_the_seam(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    """Has `act` happen before each statement that reads rows."""
    result = engine._statements.result

    def acted(statement: Callable[[], object]) -> object:
        act()
        return result(statement)

    monkeypatch.setattr(engine._statements, "result", acted)


# Lines, how many of them are no rows, and what is counted besides p and q, who have a.
LINES: dict[str, tuple[bytes, int, list[tuple[str, str]]]] = {
    "too few fields": (b"hidden\n", 1, []),
    "too many fields": (b"r,b,c\n", 1, []),
    "not UTF-8": (b"r,hidden\xff\n", 1, []),
    "longer than any": (b"x" * 5000 + b",b\n", 1, []),
    "longer than any, in quotes": (b'r,"' + b"q,b\n" * 2000 + b'"\n', 1, []),
    "a NUL": (b"r,b\0\n", 1, []),
    "a quote within": (b'r,b"c\n', 0, [("r", 'b"c')]),
    "a return in quotes": (b'r,"b\rc"\n', 0, [("r", "b\rc")]),
    "a line break in quotes": (b'r,"b\nq,c"\n', 0, [("r", "b\nq,c")]),
    "no number": (b"1,01\n2,1\nabc,1\n", 0, [("1", "01"), ("2", "1"), ("abc", "1")]),
    "neither unit nor item, and nothing": (b',b\nr,""\n\n\n', 0, []),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_no_row_fails_nothing_and_takes_no_other_with_it(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Planted bugs: a long row refused, for which one person's event decides about an answer; its
    rest taken for rows; types guessed from first rows.
    """
    monkeypatch.setattr(text_files, "LONGEST_ROW", 1 << 10)
    monkeypatch.setattr(text_files, "BLOCK", 1 << 8)
    odd, broken, counted = LINES[line]
    asked = task(append(tmp_path / "log.csv", b"unit,item\np,a\n" + odd + b"q,a\n"))
    require_countable(engine, asked)
    engine.look_through(asked.events, ("unit", "item"))
    wanted = reference_counts([*counted, ("p", "a"), ("q", "a")], 3)
    assert [*count(engine, asked).items()] == wanted
    assert engine.broken_lines(asked.events, {"unit", "item"}) == broken


@pytest.mark.parametrize("torn", [b'r,"b\n', b'r,"b"c\n', b'r,"b" \n', b'"r" ,b\n'])
def test_torn_quotes_are_refused_before_the_charge_in_one_sentence(
    engine: DuckDBEngine, tmp_path: Path, torn: bytes
) -> None:
    path = tmp_path / "log.csv"
    asked = task(append(path, b"unit,item\np,a\n" + torn + b"q,a\nq,b\n"))
    require_countable(engine, asked)
    with pytest.raises(DataError) as refused:
        engine.look_through(asked.events)
    assert str(refused.value) == f"{path}: {text_files.QUOTES}"


def test_an_encoding_is_the_operators_word(tmp_path: Path) -> None:
    """And no byte of a log decides it."""
    path = append(tmp_path / "log.csv", "unit,item\np,é\nq,é\n".encode("latin-1"))
    for encoding, wanted in (("latin-1", {"é": 2}), ("utf-8", {})):
        engine = DuckDBEngine(encoding=encoding)
        assert count(engine, task(path)) == wanted
        engine.close()


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "mac_arabic", "klingon"])
def test_an_encoding_in_which_other_bytes_are_quotes_is_refused(
    tmp_path: Path, encoding: str
) -> None:
    path = append(tmp_path / "log.csv", b"unit,item\np,a\nr,\xa2\nq,a\ns,\xa2\n")
    with pytest.raises(ParameterError, match="utf-8, or one of a byte a character"):
        require_countable(DuckDBEngine(encoding=encoding), task(path))


@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-6"])
def test_every_byte_of_an_encoding_is_a_character_or_leaves_out_its_row(
    tmp_path: Path, encoding: str
) -> None:
    """Planted bug: in cp1252, a\\x81 and a\\x8d are one person, a with a replacement."""
    names = [b"a" + bytes([byte]) for byte in range(128, 256)]
    path = append(tmp_path / "log.csv", b"unit,item\n" + b"".join(b"%b,x\n" % n for n in names))
    good = {
        name.decode(encoding) for name in names if "\ufffd" not in name.decode(encoding, "replace")
    }
    engine = DuckDBEngine(encoding=encoding)
    assert count_top(engine, task(path), KEY).counts == (len(good),)
    assert engine.broken_lines(path, {"unit", "item"}) == len(names) - len(good)
    engine.close()


FIRST = {
    "a row": b"1",
    "a zip": b"PK\x03\x04",
    "JSON": b'{"a":1}',
    "gzip": b"\x1f\x8b",
    "zstd": b"\x28\xb5\x2f\xfd",
}


@pytest.mark.parametrize("first", FIRST)
def test_what_a_file_of_movielens_is_its_first_row_does_not_decide(
    engine: DuckDBEngine, tmp_path: Path, first: str
) -> None:
    """It is somebody's. Planted bugs: a first row that looks like JSON, or packed, refuses it."""
    row = FIRST[first] + b"\t2\t5\t0"
    path = append(tmp_path / "u.data", row + b"\n7\t2\t5\t0\n")
    engine.look_through(path)
    wanted = 1 if first in ("gzip", "zstd") else 2
    assert count_top(engine, task(path, unit_column="user"), KEY).counts == (wanted,)
    other = task(append(tmp_path / "other.txt", row + b"\n"), unit_column="user")
    refused = r"there is no column 'user'|a zip archive|JSON is not|cannot be read|cut short"
    with pytest.raises(DataError, match=refused):
        require_countable(engine, other)


def test_a_first_person_without_a_header_keeps_every_byte(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    rows = b"".join(b"%b\t2\t5\t0\n" % person for person in (b"\xef\xbb\xbf7", b"7", b"8"))
    asked = task(append(tmp_path / "u.data", rows), unit_column="user")
    engine.look_through(asked.events)
    assert count_top(engine, asked, KEY).counts == (3,)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "the file is empty"),
        (b"secret\xff,item\n", "its first line is no header of utf-8 text"),
        (b"unit,item\rsecret,a\r", "its lines end in returns alone; end them in line feeds"),
        (b"unit,item,secret,Secret\n", "two of its columns have one name"),
        (b"secret\n", "there is no column 'unit'"),
        (b'{"unit":"secret"}\n', "JSON is not counted"),
    ],
)
def test_a_header_that_names_no_columns_is_refused_and_not_shown(
    engine: DuckDBEngine, tmp_path: Path, header: bytes, message: str
) -> None:
    """It may be somebody's event."""
    with pytest.raises(DataError, match=message) as refused:
        require_countable(engine, task(append(tmp_path / "log.csv", header)))
    assert "secret" not in str(refused.value).lower()


def test_files_of_a_pattern_must_have_one_header(engine: DuckDBEngine, tmp_path: Path) -> None:
    append(tmp_path / "day1.csv", b"unit,item\np,a\n")
    append(tmp_path / "day2.csv", b"item,unit\na,p\n")
    with pytest.raises(DataError, match=r"day2\.csv: the files of a table .* the same columns"):
        require_countable(engine, task(str(tmp_path / "day*.csv")))


@pytest.mark.parametrize("name", ["log.json", "log.jsonl.gz", "log.xlsx"])
def test_what_is_not_counted_is_refused_by_the_end_of_its_name(name: str) -> None:
    with pytest.raises(ParameterError, match="a file of parquet, csv, tsv or txt, or a table"):
        task(name)


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_an_event_that_is_appended_while_a_log_is_counted_is_no_part_of_it(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    append(path, LOG)
    at_the_seam(engine, monkeypatch, lambda: append(path, MORE))
    assert count_top(engine, task(str(path)), KEY) == COUNTED
    engine.look_through(str(path))
    append(path, b"s,c\n")
    assert count_top(engine, task(str(path)), KEY).items == ("a", "b")


def test_what_is_appended_while_a_log_is_copied_is_no_part_of_it(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, more = tmp_path / "log.csv", [MORE]
    append(path, LOG)
    monkeypatch.setattr(engine, "_keep_going", lambda: append(path, more.pop() if more else b""))
    assert count_top(engine, task(str(path)), KEY) == COUNTED
    assert not more


def test_a_csv_that_is_rewritten_while_it_is_copied_is_not_counted(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a name may be the name of somebody else."""
    path = tmp_path / "log.csv"
    append(path, LOG)

    def rewrite() -> None:
        path.write_bytes(LOG.replace(b"q", b"p"))
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(engine, "_keep_going", rewrite)
    with pytest.raises(DataError, match="it was changed while it was read"):
        engine.look_through(str(path))


def test_a_parquet_file_that_is_replaced_after_a_look_is_not_counted(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    path = tmp_path / "log.parquet"
    write_parquet(path, {"unit": ["p", "q"], "item": ["a", "a"]})
    engine.look_through(str(path))
    assert count_top(engine, task(str(path)), KEY) == COUNTED
    write_parquet(path, {"unit": ["p", "q"], "item": ["a", "b"]})
    with pytest.raises(DataError, match="it was changed while it was read"):
        count_top(engine, task(str(path)), KEY)


def test_a_parquet_file_that_is_replaced_while_it_is_counted_is_counted_again(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a service may find it. Planted bug: a count of what is partly the one and partly the
    other; without an end, no answer.
    """
    path, draft, times = tmp_path / "log.parquet", tmp_path / "draft.parquet", [0, 9]
    write_parquet(path, {"unit": ["p", "q"], "item": ["a", "a"]})

    def replace() -> None:
        if times[0] < times[1]:
            times[0] += 1
            write_parquet(
                draft, {"unit": [f"p{n}" for n in range(times[0])], "item": ["b"] * times[0]}
            )
            draft.replace(path)

    at_the_seam(engine, monkeypatch, replace)
    with pytest.raises(DataError, match="it was changed while it was read"):
        count_top(engine, task(str(path)), KEY)
    times[:] = [0, 2]
    assert count_top(engine, task(str(path)), KEY) == TopCounts(("b",), (2,))


def test_a_last_line_without_an_end_is_nobodys_event_yet(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    """A log is written in pieces, and "ann" is half of "annabel"; of a catalog it is an item, since
    many tools write no end. Planted bugs: counted; left out of both.
    """
    path = tmp_path / "log.csv"
    for last in (b"a,ann", b'a,"an', b'a,"ann"', b'a,"an\nn"'):
        path.write_bytes(b"item,unit\na,p\na,q\n" + last)
        assert count_top(engine, task(str(path)), KEY) == COUNTED
        assert engine.broken_lines(str(path), {"unit", "item"}) == 1
    log = append(tmp_path / "whole.csv", LOG)
    for n, items in enumerate((b"item\na\nb", b"item\r\na\r\nb", b'item\na\n"b"')):
        asked = task(log, catalog=append(tmp_path / f"items{n}.csv", items))
        assert catalog_size(engine, asked) == 2
        assert count(engine, asked) == {"a": 2, "b": 0}
    # And a catalog is public, so that a hole in it may be told.
    holed = append(tmp_path / "films.csv", b"year,item\n1979,a\n1980\n")
    with pytest.raises(DataError, match=r"films\.csv: 1 lines do not have its columns"):
        require_countable(engine, task(log, catalog=holed))


def test_what_stands_behind_a_packed_log_is_refused_and_not_shown(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    """And it is counted when it can be: a service counts on. Planted bugs: gzip's own words, which
    quote two bytes of it before the charge; the view of a copy that went with the failure.
    """
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(LOG) + b"ZQ,secret")
    with pytest.raises(DataError, match="damaged, or more stands behind its end") as refused:
        require_countable(engine, task(str(path)))
    assert "ZQ" not in str(refused.value)
    path.write_bytes(gzip.compress(LOG)[:-9])
    with pytest.raises(DataError, match="what is packed in it is cut short"):
        count_top(engine, task(str(path)), KEY)
    path.write_bytes(gzip.compress(LOG))
    assert count_top(engine, task(str(path)), KEY) == COUNTED


def test_a_parquet_file_that_is_called_a_text_is_refused(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    write_parquet(tmp_path / "log.csv", {"unit": [1.5], "item": ["a"]})
    with pytest.raises(DataError, match=r"it is parquet with the name of a text file: rename it"):
        require_countable(engine, task(str(tmp_path / "log.csv")))


def test_an_engine_that_is_closed_reads_no_log_to_its_end(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that stops would wait for it: a copy is no statement that DuckDB ends."""
    blocks, read = [], text_files.Text._cut
    path = append(tmp_path / "log.csv", LOG + b"q,a\n" * 1000)

    def closed(*arguments: object) -> object:
        blocks.append(1)
        engine.close()
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(text_files, "BLOCK", 1 << 8)
    monkeypatch.setattr(text_files.Text, "_cut", closed)
    with pytest.raises(DataError, match="the engine was closed while a log was read"):
        engine.look_through(path)
    assert len(blocks) == 1


TEXTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "text": lambda texts: texts.cast(pa.string(), safe=False),
    "long text": lambda texts: texts.cast(pa.large_string(), safe=False),
    "a dictionary": lambda texts: pa.DictionaryArray.from_arrays(
        texts.dictionary_encode().indices,
        texts.dictionary_encode().dictionary.cast(pa.string(), safe=False),
    ),
}
# Texts of which none is UTF-8: no byte of it, a surrogate, two ways to write one, beyond Unicode.
TORN = [b"\xff", b"a\xed\xa0\x80", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf4\x90\x80\x80", b"caf\xe9"]


@pytest.mark.parametrize("is_looked_through", [True, False])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_of_parquet_that_is_not_utf8_leaves_out_its_row_alone(
    engine: DuckDBEngine, tmp_path: Path, kind: str, is_looked_through: bool
) -> None:
    """As of a person or an item, and whether it is looked at before the charge, or with each
    question of a service. Planted bugs: read by DuckDB, which ends there, after the charge; ids of
    other columns as text, or a UUID as its bytes.
    """
    text, folder = TEXTS[kind], tmp_path / "log"
    folder.mkdir()
    good = [(b"p", "ä€😀".encode()), (b"q", "ä€😀".encode()), (b"p", b"b"), (b"r", b"")]
    events = [
        *good,
        *((b"p", torn) for torn in TORN),
        *((torn, b"b") for torn in TORN),
        (b"q", None),
    ]
    for name, part in (("1.parquet", good[:1]), ("2.parquet", [*events[1:], *good])):
        units, items = (text(pa.array(column, pa.binary())) for column in zip(*part, strict=True))
        # A column that does not count may hold anything.
        columns = {"unit": units, "item": items, "note": text(pa.array([b"\xff"] * len(part)))}
        columns["who"] = pa.array([UUID(int=7).bytes] * len(part), pa.uuid())
        columns["rating"] = pa.array([4] * len(part), pa.decimal128(4, 1))
        parquet.write_table(pa.table(columns), folder / name)
    asked = task(f"{folder}/")
    require_countable(engine, asked)
    if is_looked_through:  # other columns keep their types
        engine.look_through(asked.events, ("unit", "item", "who", "rating"))
        kinds = "SELECT DISTINCT who::VARCHAR, typeof(who), typeof(rating) FROM askew_file_1"
        assert engine.execute(kinds) == [(str(UUID(int=7)), "UUID", "DECIMAL(4,1)")]
    decoded = [(unit.decode(), item.decode()) for unit, item in good]
    assert [*count(engine, asked).items()] == reference_counts(decoded, 3)


KILLED = """
import os, sys
from pathlib import Path
from askew_server.counting.engines.duckdb import DuckDBEngine
engine = DuckDBEngine(temp_directory=Path(sys.argv[1]))
engine.look_through(sys.argv[2])
[folder] = Path(sys.argv[1]).iterdir()
assert folder.stat().st_mode & 0o777 == 0o700
print([path for path in folder.rglob("*") if path.is_file()])
os.kill(os.getpid(), 9)
"""


def test_a_copy_has_no_name_and_is_gone_after_kill_9(tmp_path: Path) -> None:
    work, path = tmp_path / "work", tmp_path / "log.csv"
    work.mkdir()
    append(path, LOG * 100_000)
    command = [sys.executable, "-c", KILLED, str(work), str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (-9, "[]"), done.stderr
    assert not [path_left for path_left in work.rglob("*") if path_left.is_file()]
    first, second = PrivateFolder(work), PrivateFolder(work)
    assert len([*work.iterdir()]) == 2  # what it left is removed, and none of one that lives
    first.close()
    second.close()
    work.rmdir()
    with pytest.raises(DataError, match=r"work: no folder for temporary files there \(No such"):
        DuckDBEngine(temp_directory=work)
