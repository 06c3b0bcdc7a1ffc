"""Files of vectors: what is accepted reads the same in all three formats, all else is one line."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from askew.errors import DataError
from askew_server.ratings import vectors as vector_files
from askew_server.ratings.vectors import read_vectors

NUMBERS = np.array([[0.5, -1.0, 2.0], [0.0, 0.25, 4.0], [1.0, 1.0, -8.0]], dtype=np.float32)
KEYS = ("3", "20", "100")


def written(folder: Path, content: str | dict[str, Any]) -> Path:
    """A file of the rows of a query, or of arrays."""
    if isinstance(content, str):
        duckdb.execute(f"COPY ({content}) TO '{folder}/v.parquet' (FORMAT parquet)")
        return folder / "v.parquet"
    np.savez(folder / "v.npz", **content)
    return folder / "v.npz"


LISTS = ", ".join(f"('{key}', {row})" for key, row in zip(KEYS, NUMBERS.tolist(), strict=True))
TABLE = f"SELECT * FROM (VALUES {LISTS}) AS t(key, vector)"
CODES = np.array([3, 20, 100])


@pytest.mark.parametrize(
    "content",
    [
        {"vectors": NUMBERS, "keys": np.array(KEYS)},
        {"vectors": NUMBERS.astype(np.float16), "keys": CODES.astype(np.uint16)},
        TABLE,
        f"SELECT key, vector::FLOAT[3] AS vector FROM ({TABLE})",
        f"SELECT key::BIGINT AS key, vector FROM ({TABLE})",
    ],
)
def test_the_same_vectors_read_the_same_from_every_format(
    tmp_path: Path, content: str | dict[str, Any]
) -> None:
    numbers, keys = read_vectors(written(tmp_path, content))
    assert keys == KEYS
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, NUMBERS)


def test_rows_of_a_large_parquet_file_stay_in_order(tmp_path: Path) -> None:
    """Of more than one group of rows, and without keys."""
    path = written(tmp_path, "SELECT [i, 1.5] AS vector FROM range(150_000) AS t(i)")
    numbers, keys = read_vectors(path)
    assert keys is None
    np.testing.assert_array_equal(numbers[:, 0], np.arange(150_000))


BAD: dict[str, tuple[str | dict[str, Any], str]] = {
    "whole numbers": ({"vectors": np.ones((2, 2), np.int8)}, "not int8"),
    "one dimension": ({"vectors": NUMBERS[0]}, "table of 2 rows or more"),
    "one row": ({"vectors": NUMBERS[:1]}, "table of 2 rows or more"),
    "no numbers": ({"vectors": NUMBERS[:, :0]}, "vectors of 0 numbers"),
    "too wide": ({"vectors": np.ones((2, 257), np.float32)}, "of 257 numbers, and devices hold"),
    "nan by key": ({"vectors": NUMBERS + np.inf, "keys": np.array(KEYS)}, "not finite.* of '3'"),
    "zero": ({"vectors": 0 * NUMBERS}, "all vectors are zero"),
    "too few keys": ({"vectors": NUMBERS, "keys": np.arange(2)}, "2 keys for 3 vectors"),
    "a key twice": ({"vectors": NUMBERS, "keys": np.array([7, 8, 7])}, "key '7' is there 2 times"),
    "keys of floats": ({"vectors": NUMBERS, "keys": np.ones(3)}, "whole number"),
    "other arrays": ({"embeddings": NUMBERS}, "no vectors in it"),
    "objects": ({"vectors": np.array([[1, None]], dtype=object)}, "cannot be read as npz"),
    "ragged lists": ("SELECT unnest([[1.5], [1.5, 2.5]]) AS vector", "all of one length"),
    "a null list": ("SELECT unnest([[1.5], NULL]) AS vector", "all of one length"),
    "a null number": (
        "SELECT unnest([[1.5, 2.5], [1.5, NULL]]) AS vector",
        "1 vectors are not finite.* row 2",
    ),
    "a null key": (
        "SELECT unnest(['a', NULL]) AS key, [1.5] AS vector",
        "vector in row 2 has no key",
    ),
    "no lists": ("SELECT 1 AS vector", "it cannot be read"),
    "no column": ("SELECT 1 AS x", "no vectors in it"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_devices_cannot_hold_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    content, reason = BAD[case]
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=reason) as refusal:
        read_vectors(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("twice", ["vector", "key"])
def test_a_column_that_is_there_twice_is_refused_by_its_name(tmp_path: Path, twice: str) -> None:
    names = ["vector", "key", twice]
    columns = [pa.array(NUMBERS.tolist()) if name == "vector" else pa.array(KEYS) for name in names]
    parquet.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "v.parquet")
    with pytest.raises(DataError, match=f"v.parquet: it has two columns '{twice}'"):
        read_vectors(tmp_path / "v.parquet")


@pytest.mark.parametrize("name", ["v.npz", "v.parquet"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"PAR1" + bytes(60) + b"PAR1"])
def test_damage_is_refused_in_one_line(name: str, content: bytes, tmp_path: Path) -> None:
    for absent in (name, "v.csv"):
        with pytest.raises(DataError, match=absent):
            read_vectors(tmp_path / absent)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="cannot be read") as refusal:
        read_vectors(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is unpacked."""
    monkeypatch.setattr(vector_files, "LARGEST", 1 << 20)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 13, 64)}
    )
    with zipfile.ZipFile(tmp_path / "v.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", header.getvalue() + bytes(1 << 21))
    assert (tmp_path / "v.npz").stat().st_size < 1 << 14
    with pytest.raises(DataError, match="at most 1,048,576 bytes"):
        read_vectors(tmp_path / "v.npz")


def test_repeated_values_that_unpack_to_large_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: only the bytes on the disk, or those of different values, are counted."""
    monkeypatch.setattr(vector_files, "LARGEST", 1 << 20)
    path = written(tmp_path, "SELECT [1.5, 1.5] AS vector FROM range(100_000)")
    assert path.stat().st_size < 1 << 16
    with pytest.raises(DataError, match="at most 1,048,576 bytes"):
        read_vectors(path)
