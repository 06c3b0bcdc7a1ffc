"""Vectors in a file: the rows of a table of numbers, with or without the keys of what they are of.

    npz      arrays `vectors` (n, D) and optionally `keys` (n,), text or whole numbers
    parquet  columns `vector`, lists of D numbers, and optionally `key`

Data only: nothing here is ever executed. A file that is no such thing, is too large, or holds
anything but finite numbers is a DataError with one line of reason.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from askew.errors import DataError
from askew.limits import MAX_RANKING_DIMENSION
from askew_server.tables.files import failures_named
from askew_server.tables.parquet import as_texts

LARGEST = 1 << 32  # bytes, unpacked
_VECTORS, _KEYS = "vectors", "keys"
_Arrays = Mapping[str, NDArray[Any]]
_Numbers = NDArray[np.float64]


def read_vectors(path: Path) -> tuple[_Numbers, tuple[str, ...] | None]:
    """Return the vectors (n, D) of a file, .npz (array `vectors`) or .parquet (column `vector`), in
    its order, as float64, and their keys as texts (`keys`, or column `key`), None where it has
    none. Raises DataError for a file that cannot be read, fewer than 2 vectors, more than 256
    numbers in one, .npz of whole numbers, a number that is not finite, all of them 0, or a key that
    is missing or there twice.
    """
    readers = {".npz": _npz, ".parquet": _parquet}
    reader = readers.get(path.suffix)
    if reader is None:
        raise DataError(f"{path}: its name must end in .npz or .parquet")
    arrays = reader(path)
    if _VECTORS not in arrays:
        raise DataError(f"{path}: there are no {_VECTORS} in it, see `askew-server import --help`")
    keys = _checked_keys(path, arrays[_KEYS]) if _KEYS in arrays else None
    numbers = _checked_numbers(path, arrays[_VECTORS], keys)
    if keys is not None and len(keys) != len(numbers):
        raise DataError(f"{path}: {len(keys):,} keys for {len(numbers):,} vectors")
    return numbers, keys


def _checked_numbers(path: Path, numbers: NDArray[Any], keys: tuple[str, ...] | None) -> _Numbers:
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
    texts = tuple(map(str, keys.tolist()))
    if len(set(texts)) < len(texts):
        [(again, times)] = Counter(texts).most_common(1)
        raise DataError(f"{path}: the key {again!r} is there {times:,} times")
    return texts


def _npz(path: Path) -> _Arrays:
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(path, sum(part.file_size for part in archive.infolist()))
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in (_VECTORS, _KEYS) if name in arrays}
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
    ) as error:
        raise DataError(f"{path}: cannot be read as npz: {error}") from None


def _parquet(path: Path) -> _Arrays:
    with failures_named(str(path)), path.open("rb") as raw:
        file = parquet.ParquetFile(raw)
        names = [name for name in ("vector", "key") if name in file.schema_arrow.names]
        if "vector" not in names:
            return {}
        if twice := [name for name in names if file.schema_arrow.names.count(name) > 1]:
            raise DataError(
                f"{path}: it has two columns {twice[0]!r}, and which is meant it does not say; keep"
                " one"
            )
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        columns = [group.column(at) for group in groups for at in range(group.num_columns)]
        own = [column for column in columns if column.path_in_schema.split(".")[0] in names]
        # Of repeated values, only their number says how large they are when unpacked.
        _check_size(path, sum(max(8 * c.num_values, c.total_uncompressed_size) for c in own))
        table = file.read(columns=names)
        table.validate(full=True)
        lists = table["vector"].combine_chunks()
        sizes = compute.list_value_length(lists).fill_null(0).to_numpy()  # a null is no vector
        if not sizes.size or sizes.min() != sizes.max():
            raise DataError(f"{path}: its vectors must be one or more, all of one length")
        flat = compute.list_flatten(lists).cast(pa.float64(), safe=False)
        arrays = {_VECTORS: flat.to_numpy(zero_copy_only=False).reshape(len(sizes), -1)}
        if "key" in names:
            keys = table["key"].combine_chunks()
            if keys.null_count:
                row = keys.is_null().index(True).as_py() + 1
                raise DataError(f"{path}: the vector in row {row} has no key")
            arrays[_KEYS] = np.array(as_texts(keys).to_pylist(), dtype=object)
        return arrays


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise DataError(f"{path}: its arrays must be at most {LARGEST:,} bytes")
