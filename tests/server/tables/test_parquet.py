"""Parquet files: how much of one is read, and one that changes meanwhile."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from askew.errors import DataError
from askew_server.tables import open_table
from askew_server.tables.files import unpacked


def written(path: Path, **columns: list[str]) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path


def test_a_file_that_was_read_is_read_once(tmp_path: Path) -> None:
    """Planted bug: of three rows, four are read at the end."""
    table = open_table(written(tmp_path / "log.parquet", user=["a", "b", "c"]))
    batches = [*table.parts[0].read(["user"], table.omissions(), False)]
    assert [batch.progress for batch in batches] == [1.0]


@pytest.mark.parametrize("is_coded", [False, True])
def test_a_column_that_is_gone_meanwhile_is_named(tmp_path: Path, is_coded: bool) -> None:
    path = written(tmp_path / "log.parquet", user=["a"], item=["x"])
    table = open_table(path)
    written(path, user=["a"])
    with pytest.raises(DataError, match="it has no one column 'item' any more"):
        [*table.batches(["user", "item"], table.omissions(), coded=is_coded)]


def test_a_mistake_of_a_program_is_not_called_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Planted bug: any KeyError while a file is open is a DataError."""
    path = tmp_path / "log.csv"
    path.write_text("user")
    with pytest.raises(KeyError, match="mistaken"), unpacked(str(path)):
        raise KeyError("mistaken")
