"""Vectors in a file: the rows of a table of numbers, with or without the keys of what they are of.

    npz           arrays `vectors` (n, D) and optionally `keys` (n,), text or whole numbers
    safetensors   tensors `vectors` (n, D) and optionally `keys` (n,), whole numbers
    parquet       columns `vector`, lists of D numbers, and optionally `key`

Data only: nothing here is ever executed. A file that is no such thing, is too large, or holds
anything but finite numbers is a DataError with one line of reason.
"""

from __future__ import annotations

import glob
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.sizes import MAX_RANKING_DIMENSION

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LARGEST = 1 << 32  # bytes, unpacked
_VECTORS, _KEYS = "vectors", "keys"
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Checked vectors (n, D), finite, not all zero; keys where the file has them, each once."""

    numbers: Numbers = field(repr=False)
    keys: tuple[str, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """The number n of vectors."""
        return len(self.numbers)


def read_vectors(path: Path) -> Vectors:
    """The vectors of a file. Raises DataError."""
    readers = {".npz": _npz, ".safetensors": _safetensors, ".parquet": _parquet}
    reader = readers.get(path.suffix)
    if reader is None:
        raise DataError(f"{path}: its name must end in .npz, .safetensors or .parquet")
    arrays = reader(path)
    if _VECTORS not in arrays:
        raise DataError(f"{path}: there are no {_VECTORS} in it, see `askew-server import --help`")
    keys = _checked_keys(path, arrays[_KEYS]) if _KEYS in arrays else None
    numbers = _checked_numbers(path, arrays[_VECTORS], keys)
    if keys is not None and len(keys) != len(numbers):
        raise DataError(f"{path}: {len(keys):,} keys for {len(numbers):,} vectors")
    return Vectors(numbers, keys)


def _checked_numbers(path: Path, numbers: NDArray[Any], keys: tuple[str, ...] | None) -> Numbers:
    if numbers.dtype.kind != "f":
        raise DataError(f"{path}: vectors must be floating-point numbers, not {numbers.dtype}")
    if numbers.ndim != 2 or len(numbers) < 2:
        raise DataError(f"{path}: vectors must be a table of 2 rows or more, not {numbers.shape}")
    if not 1 <= numbers.shape[1] <= MAX_RANKING_DIMENSION:
        raise DataError(
            f"{path}: vectors of {numbers.shape[1]} numbers, and devices hold 1 to "
            f"{MAX_RANKING_DIMENSION}: keep the first principal axes of all of them, for example"
        )
    wide = numbers.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(wide).all(axis=1))
    if bad.size:
        name = f"row {bad[0] + 1}" if keys is None else f"of {keys[bad[0]]!r}"
        raise DataError(f"{path}: {bad.size:,} vectors are not finite, the first is {name}")
    if not wide.any():
        raise DataError(f"{path}: all vectors are zero")
    return wide


def _checked_keys(path: Path, keys: NDArray[Any]) -> tuple[str, ...]:
    if keys.ndim != 1 or keys.dtype.kind not in "iuTUO":
        raise DataError(f"{path}: keys must be one text or whole number a vector")
    if missing := [row for row, key in enumerate(keys.tolist(), 1) if key is None]:
        raise DataError(f"{path}: the vector in row {missing[0]} has no key")
    texts = tuple(str(key) for key in keys.tolist())
    if len(set(texts)) < len(texts):
        [(again, times)] = Counter(texts).most_common(1)
        raise DataError(f"{path}: the key {again!r} is there {times:,} times")
    return texts


def _npz(path: Path) -> Mapping[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > LARGEST:
                raise DataError(f"{path}: its arrays must be at most {LARGEST:,} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in (_VECTORS, _KEYS) if name in arrays}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as npz: {error}") from None


def _safetensors(path: Path) -> Mapping[str, NDArray[Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: must be at most {LARGEST:,} bytes")
        with safe_open(path, framework="numpy") as tensors:
            names = [name for name in (_VECTORS, _KEYS) if name in tensors.keys()]  # noqa: SIM118
            return {name: tensors.get_tensor(name) for name in names}
    except (OSError, SafetensorError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read as safetensors: {error}") from None


def _parquet(path: Path) -> Mapping[str, NDArray[Any]]:
    import duckdb

    try:
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")  # in the order of the file
            return _columns(path, connection)
    except (duckdb.Error, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read as parquet: {reason}") from None


def _columns(path: Path, connection: DuckDBPyConnection) -> Mapping[str, NDArray[Any]]:
    # A name is a pattern to duckdb, and folders such as "user=3" would become columns.
    file = [glob.escape(str(path.resolve()))]
    source = "FROM read_parquet(?, hive_partitioning = false)"
    names = [
        name for name, *_ in connection.execute(f"DESCRIBE SELECT * {source}", file).fetchall()
    ]
    if "vector" not in names:
        return {}
    lengths = connection.execute(f"SELECT len(vector) AS n {source}", file).fetchnumpy()["n"]
    sizes = np.ma.filled(np.ma.asarray(lengths), 0)  # a null is no vector
    if not sizes.size or sizes.min() != sizes.max():
        raise DataError(f"{path}: its vectors must be one or more, all of one length")
    if 8 * sizes.sum() > LARGEST:
        raise DataError(f"{path}: its vectors must be at most {LARGEST:,} bytes")
    flat = f"SELECT unnest(CAST(vector AS DOUBLE[])) AS x {source}"
    column = connection.execute(flat, file).fetchnumpy()["x"]
    numbers = np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)
    found = {_VECTORS: numbers.reshape(len(sizes), -1)}
    if "key" in names:
        keys = connection.execute(f"SELECT CAST(key AS VARCHAR) {source}", file).fetchall()
        found[_KEYS] = np.array([key for (key,) in keys], dtype=object)
    return found
