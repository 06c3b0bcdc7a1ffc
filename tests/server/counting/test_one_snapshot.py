"""What is counted is one snapshot of the log: what is written meanwhile is no part of it.

Files are changed at the very seam: when all that a count looks at beforehand is looked at, and
before the engine reads its first row.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server.counting.contract import task
from server.counting.parquet import write_parquet
from server.counting.reference import KEY

from askew.errors import DataError
from askew_server.counting import TopCounts, count_top
from askew_server.counting.bounding import catalog_size
from askew_server.counting.engines import csv_files
from askew_server.counting.engines.csv_files import has_returns_at_ends
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.folders import PrivateFolder

LOG = b"unit,item\np,a\nq,a\n"
# One event, which read without a look for returns is 500 events of others.
ODD = b"r," + b"".join(b"x\rv%d,hidden" % n for n in range(500)) + b"\n"
COUNTED = TopCounts(("a",), (2,))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDBEngine]:
    (tmp_path / "work").mkdir()
    engine = DuckDBEngine(temp_directory=tmp_path / "work")
    yield engine
    engine.close()


def at_the_seam(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    """Has `act` happen before each statement that reads rows."""
    result = engine._statements.result

    def acted(statement: Callable[[], object]) -> object:
        act()
        return result(statement)

    monkeypatch.setattr(engine._statements, "result", acted)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_an_event_that_is_appended_while_a_log_is_counted_is_no_part_of_it(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Planted bug: the file read again after the look at its returns: hidden, 500."""
    path = tmp_path / name
    append(path, LOG)
    at_the_seam(engine, monkeypatch, lambda: append(path, ODD))
    assert count_top(engine, task(str(path)), KEY) == COUNTED


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_what_is_appended_while_a_log_is_copied_is_no_part_of_it(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Planted bug: a copy up to the end that the file has by then."""
    path = tmp_path / name
    append(path, LOG)
    look = has_returns_at_ends

    def looked(of: str) -> bool:
        append(path, ODD)
        return look(of)

    monkeypatch.setattr(csv_files, "has_returns_at_ends", looked)
    assert count_top(engine, task(str(path)), KEY) == COUNTED


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.parquet"])
def test_what_was_looked_through_is_what_is_counted(
    engine: DuckDBEngine, tmp_path: Path, name: str
) -> None:
    """And never one of it and one of what came later. Planted bugs: the files as they are when they
    are counted; a parquet file that was replaced, counted all the same.
    """
    path = tmp_path / name
    if name == "log.parquet":
        write_parquet(path, {"unit": ["p", "q"], "item": ["a", "a"]})
    else:
        append(path, LOG)
    engine.look_through(str(path))
    if name == "log.parquet":
        assert count_top(engine, task(str(path)), KEY) == COUNTED
        write_parquet(path, {"unit": ["p", "q"], "item": ["a", "b"]})
        with pytest.raises(DataError, match="it was changed while it was read"):
            count_top(engine, task(str(path)), KEY)
    else:
        append(path, ODD)
        assert count_top(engine, task(str(path)), KEY) == COUNTED


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


def test_a_csv_that_is_rewritten_while_it_is_copied_is_not_counted(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a name may be the name of somebody else. Planted bug: no look at it afterwards."""
    path = tmp_path / "log.csv"
    append(path, LOG)
    copy_of = csv_files.copy_of

    def copied(*arguments: object, **more: bool) -> bool:
        found = copy_of(*arguments, **more)  # type: ignore[arg-type]
        path.write_bytes(LOG.replace(b"q", b"p"))
        os.utime(path, ns=(1, 1))
        return found

    monkeypatch.setattr(csv_files, "copy_of", copied)
    with pytest.raises(DataError, match="it was changed while it was read"):
        count_top(engine, task(str(path)), KEY)


def test_a_last_line_without_an_end_is_nobodys_event_yet(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    """A log is written in pieces, and "ann" is half of "annabel". Planted bug: counted."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"item,unit\na,p\na,q\na,ann")
    assert count_top(engine, task(str(path)), KEY) == COUNTED
    engine.look_through(str(path))
    assert count_top(engine, task(str(path)), KEY) == COUNTED


WITHOUT_AN_END = [b"item\na\nb", b"item\r\na\r\nb", b"item\r\na\r\nb\r", b'item\na\n"b"']


@pytest.mark.thin
@pytest.mark.parametrize("name", ["items.csv", "items.csv.gz"])
@pytest.mark.parametrize("items", WITHOUT_AN_END)
def test_the_last_line_of_a_catalog_needs_no_end(
    engine: DuckDBEngine, tmp_path: Path, items: bytes, name: str
) -> None:
    """Many tools write none. Planted bug: refused as a line that is no row, which it was."""
    log, catalog = tmp_path / "log.csv", tmp_path / name
    append(log, LOG)
    append(catalog, items)
    asked = task(str(log), limit=None, catalog=str(catalog))
    assert catalog_size(engine, asked) == 2
    assert count_top(engine, asked, KEY) == TopCounts(("a", "b"), (2, 0))


def test_a_quote_that_the_last_line_of_a_catalog_opens_is_an_error(
    engine: DuckDBEngine, tmp_path: Path
) -> None:
    log, catalog = tmp_path / "log.csv", tmp_path / "items.csv"
    append(log, LOG)
    append(catalog, b'item\na\n"b')
    with pytest.raises(DataError, match=r"items\.csv, line 3: a quote is not closed"):
        catalog_size(engine, task(str(log), limit=None, catalog=str(catalog)))


@pytest.mark.parametrize("act", ["look", "count"])
def test_an_engine_that_is_closed_reads_no_log_to_its_end(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """A server that stops would wait for it: a look or a copy is no statement that DuckDB ends.
    Planted bug: read on, which it was.
    """
    path, blocks, ends = tmp_path / "log.csv", [], csv_files._end_of_rows
    path.write_bytes(LOG + b"q,a\n" * (4 << 18))

    def closed(*arguments: Any, **how: Any) -> int:
        blocks.append(1)
        engine.close()
        return ends(*arguments, **how)

    monkeypatch.setattr(csv_files, "_end_of_rows", closed)
    with pytest.raises(DataError, match="the engine was closed while a log was read"):
        engine.look_through(str(path)) if act == "look" else count_top(engine, task(str(path)), KEY)
    assert len(blocks) == 1


# -- quotes ---------------------------------------------------------------------------------------

GOOD_LINES = [b'p,"a"', b'p,"a ""b"""', b'p,x"y', b'"p","a"x', b'p,12" "b"', b'"",""', b'p,"",x']
BAD_LINES = [b'p,"a', b'"p,a', b'p,"a""', b'x"y,"a', b'p,"a"b"', b'p,"a""b']
# Whole fields, but with the lines of others in them.
CLOSED_LATER = [b'p,"a\nq,b\nr,c"', b'"p\nq",a']


@pytest.mark.thin
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("before", [1, 70_000])
@pytest.mark.parametrize("line", BAD_LINES + CLOSED_LATER)
def test_a_quote_that_is_not_closed_on_its_line_is_an_error_that_names_it(
    engine: DuckDBEngine, tmp_path: Path, line: bytes, before: int, ends: bytes
) -> None:
    """Planted bug: read on, which hides the rows of others up to the next quote."""
    path = tmp_path / "log.csv"
    rows = [b"unit,item", *[b"secret,a"] * before, line, *[b"q,a"] * 9, b'q,"b"', b'q,x"']
    path.write_bytes(ends.join(rows) + ends)
    with pytest.raises(DataError, match=rf"log\.csv, line {before + 2}: a quote is not") as refused:
        count_top(engine, task(str(path)), KEY)
    assert "secret" not in str(refused.value)
    with pytest.raises(DataError, match=rf"line {before + 2}: "):
        engine.look_through(str(path))


@pytest.mark.parametrize("line", GOOD_LINES)
def test_a_quote_that_is_closed_on_its_line_hides_nothing(
    engine: DuckDBEngine, tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"unit,item\n" + line + b"\nr,c\ns,c\n")
    counted = count_top(engine, task(str(path)), KEY)
    assert (counted.items[0], counted.counts[0]) == ("c", 2)


def test_no_line_that_passes_hides_the_next_ones(engine: DuckDBEngine, tmp_path: Path) -> None:
    """Every line of up to six of these characters. Planted bug: only an odd number of quotes
    refused, which lets x"y,"a pass.
    """
    import itertools

    path, lines = tmp_path / "log.csv", []
    for size in range(1, 7):
        for characters in itertools.product('x,"', repeat=size):
            line = "".join(characters).encode() + b"\n"
            try:
                csv_files._end_of_rows("", line, 1)
            except DataError:
                continue
            lines.append(line)
    path.write_bytes(
        b"unit,item\n" + b"".join(line + b"p%d,a\n" % n for n, line in enumerate(lines))
    )
    counted = count_top(engine, task(str(path), max_items=1), KEY)
    assert dict(zip(counted.items, counted.counts, strict=True))["a"] == len(lines)
    assert len(lines) > 400


def test_a_row_that_no_engine_reads_whole_is_an_error(engine: DuckDBEngine, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"unit,item\np," + b"x" * (33 << 20))
    with pytest.raises(DataError, match=r"log\.csv, line 2: a row over 32 MB cannot be read"):
        count_top(engine, task(str(path)), KEY)


# -- temporary files ------------------------------------------------------------------------------


def test_copies_and_what_does_not_fit_lie_in_a_folder_of_this_account_alone(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a statement runs, and no longer. Planted bugs: DuckDB's own folder, open to others;
    copies that a service keeps until it counts again.
    """
    work, seen = tmp_path / "work", []
    path = tmp_path / "log.csv"
    append(path, LOG)
    [[spilled]] = engine.execute("SELECT current_setting('temp_directory')")

    def look() -> None:
        [folder] = work.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert Path(str(spilled)).parent == folder
        seen.append(list(folder.rglob("*.csv")))

    at_the_seam(engine, monkeypatch, look)
    assert count_top(engine, task(str(path)), KEY) == COUNTED
    assert seen[0]
    assert not list(work.rglob("*.csv"))
    engine.close()
    assert not list(work.iterdir())


KILLED = """
import os, sys
from pathlib import Path
from askew_server.folders import PrivateFolder
folder = PrivateFolder(Path(sys.argv[1]))
(folder.path / "events").write_text("p,a")
os.kill(os.getpid(), 9)
"""


def test_what_a_process_that_was_killed_left_behind_is_removed_at_the_next_start(
    tmp_path: Path,
) -> None:
    """And nothing of one that lives. Planted bugs: nothing removed; the folder of another engine
    removed under it.
    """
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    [left] = tmp_path.glob("*/events")
    (tmp_path / "askew-count-of-a-user").write_text("a file of somebody's")
    first, second = PrivateFolder(tmp_path), PrivateFolder(tmp_path)
    assert not left.parent.exists()
    assert first.path.is_dir()
    assert second.path.is_dir()
    first.close()
    second.close()
    assert [path.name for path in tmp_path.iterdir()] == ["askew-count-of-a-user"]


def test_a_place_where_no_folder_can_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent: no folder for temporary files there \(No such"):
        DuckDBEngine(temp_directory=tmp_path / "absent")
