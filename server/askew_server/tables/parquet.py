"""Columns of parquet files: as texts, and copied without what is no UTF-8."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from askew.errors import DataError
from askew_server.tables.files import failures_named
from askew_server.tables.rows import TEXT, Batch, Omissions, is_utf8

PLAIN: Final = {"compression": "none", "use_dictionary": False, "write_statistics": False}
"""How a file is written that is read once: it is not worth a dictionary."""


def batches(path: str, names: Sequence[str], _: Omissions, coded: bool) -> Iterator[Batch]:
    """Yield batches of rows of a parquet file, numbered from 1 on, as `Table.batches` has them;
    nothing is left out. Raises DataError where the file cannot be read, or has no such column any
    more.
    """
    first = 1
    with failures_named(path), Path(path).open("rb") as raw:
        schema = parquet.read_schema(raw)
        if missing := [name for name in names if schema.names.count(name) != 1]:
            raise DataError(
                f"{path}: it has no one column {missing[0]!r} any more: it was rewritten while it"
                " was read; read a copy that nobody writes to"
            )
        # What repeats in the file is not to repeat in memory.
        texts = [name for name in names if coded and pa.types.is_string(schema.field(name).type)]
        file = parquet.ParquetFile(raw, read_dictionary=texts, buffer_size=1 << 20)
        for batch in file.iter_batches(1 << 18, columns=list(names), use_threads=False):
            batch.validate(full=True)
            columns = [batch.column(name) for name in names]
            columns = [_as_coded(column) if coded else as_texts(column) for column in columns]
            numbers = np.arange(first, first + len(batch))
            first += len(batch)
            yield Batch(numbers, columns, (first - 1) / max(file.metadata.num_rows, 1))


def _as_coded(column: pa.Array) -> pa.Array:
    numbered = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    # The text of a missing value is empty, as that of a value that is empty text.
    texts = pa.concat_arrays([as_texts(numbered.dictionary), pa.array([""], TEXT)])
    indices = numbered.indices.cast(pa.int32()).fill_null(len(texts) - 1)
    return pa.DictionaryArray.from_arrays(indices, texts)


def as_texts(values: pa.Array) -> pa.Array:
    """Return values as texts, as one writes them, `true` for True; a missing value, and NaN, is "".
    A whole number is written as one, 65 for 65.0, since a column of them becomes one of floating
    point where a value is missing; a number of single precision is what is written: 3.7, and not
    3.7000000477.
    """
    if not pa.types.is_floating(values.type):
        return values.cast(TEXT).fill_null("")
    numbers = values.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))
    texts = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(TEXT)
    if whole.all():
        return texts
    kind = values.type.to_pandas_dtype()
    others = ["" if np.isnan(v) else str(kind(v)) for v in numbers[~whole].tolist()]
    return compute.replace_with_mask(texts, pa.array(~whole), pa.array(others, TEXT))


def is_utf8_throughout(
    paths: Iterable[str], texts: Sequence[str], keep_going: Callable[[], None]
) -> bool:
    """Return True if these columns of text of parquet files are UTF-8 in every row, or no column is
    named. keep_going: is called with each batch, and raises where the reading is to stop.
    """
    for path in paths if texts else ():
        for batch in _stored_batches(path, texts):
            keep_going()
            if not all(_is_valid(_as_stored(column)) for column in batch.columns):
                return False
    return True


def copy_utf8(
    paths: Iterable[str],
    texts: Collection[str],
    names: Sequence[str],
    file: BinaryIO,
    keep_going: Callable[[], None],
) -> int:
    """Write the columns `names` of parquet files, in this order, as one file, with null where a
    text is no UTF-8; return how many such texts there were. texts: those of the columns that hold
    text; the others keep their types. keep_going: is called after each batch, and raises where the
    copy is to stop.
    """
    writer, left_out = None, 0
    for path in paths:
        for batch in _stored_batches(path, names):
            columns = [batch.column(name) for name in names]
            for at, name in enumerate(names):
                if name in texts:
                    stored = _as_stored(columns[at])
                    columns[at] = _without_bad_utf8(stored)
                    left_out += columns[at].null_count - stored.null_count
            if writer is None:
                schema = pa.schema([*zip(names, [c.type for c in columns], strict=True)])
                writer = parquet.ParquetWriter(file, schema, **PLAIN)
            alike = [c.cast(kind) for c, kind in zip(columns, schema.types, strict=True)]
            writer.write_batch(pa.record_batch(alike, schema))
            keep_going()
    if writer is not None:
        writer.close()
    file.flush()
    return left_out


def _stored_batches(path: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(1 << 16, columns=list(names), use_threads=False)
    except (OSError, pa.ArrowException) as error:  # whose words may quote a row
        raise DataError(f"{path}: it cannot be read ({type(error).__name__})") from None


def _as_stored(texts: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    return texts.cast(pa.large_binary()).cast(pa.large_string(), safe=False)


def _is_valid(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _without_bad_utf8(texts: pa.Array) -> pa.Array:
    if _is_valid(texts):
        return texts
    values = texts.cast(pa.large_binary()).to_pylist()
    kept = [value if value is not None and is_utf8(value) else None for value in values]
    return pa.array(kept, pa.large_binary()).cast(pa.large_string())
