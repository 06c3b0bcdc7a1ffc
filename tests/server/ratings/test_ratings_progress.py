"""Progress is told in bytes of the file, now and then, and reaches the total."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

from askew_server.ratings import columns, lines, read_items, read_ratings

MANY = "user,item,rating\n" + "".join(f"{row},1,3\n" for row in range(450_000))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_text_tells_bytes_that_grow_to_the_size_of_the_file(
    tmp_path: Path, pack: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_BLOCK", 1 << 20)
    monkeypatch.setattr(lines, "_TOLD_EVERY", 1 << 10)
    path = tmp_path / "ratings.csv"
    path.write_bytes(pack(MANY.encode()))
    told: list[tuple[int, int]] = []
    read_ratings(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert sorted(told) == told  # a packed file may be read to its end before its last rows are
    assert told[0] < told[-1]


def test_parquet_tells_bytes_that_grow_to_the_size_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_BATCH", 200_000)
    path = tmp_path / "ratings.parquet"
    select = 'SELECT i AS "user", 1 AS item, 3 AS rating FROM range(450000) AS t(i)'
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    told: list[tuple[int, int]] = []
    read_ratings(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert sorted(set(told)) == told
    assert len(told) == 3


def test_items_tell_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,title\n1,Heat\n")
    told: list[tuple[int, int]] = []
    read_items(path, progress=lambda done, total: told.append((done, total)))
    expected = [(18, 18)]
    assert expected == told


def test_a_failure_of_the_callback_is_not_taken_for_one_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\na,b,1\n")

    def closed(done: int, total: int) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        read_ratings(path, progress=closed)
