"""A catalog makes its items public, so it cannot be the event log: those items are people's."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from askew.errors import DataError
from askew_server.counting.engines import is_file, table_parts


def require_public(catalog: str, events: str) -> None:
    """Raises DataError for a catalog that is the event log, or a part of it.

    The same file by whatever name, link or pattern (device and inode), or the same table; a name
    without a schema may mean any schema's. A copy or a view of the log is not recognized.
    """
    same = _same_files if is_file(catalog) and is_file(events) else _same_table
    if is_file(catalog) == is_file(events) and same(catalog, events):
        raise DataError(
            f"{catalog}: it is the event log itself, or may be; its items are not public."
            " A catalog lists every item there is, whoever chose it"
        )


def _same_table(one: str, other: str) -> bool:
    parts, others = (table_parts(name.casefold()) for name in (one, other))
    known = min(len(parts), len(others))
    return parts[-known:] == others[-known:]


def _same_files(one: str, other: str) -> bool:
    return one == other or not set(_identities(one)).isdisjoint(_identities(other))


def _identities(name: str) -> Iterator[tuple[int, int]]:
    """Device and inode of every file that a name or a pattern stands for, in folders too."""
    found = [name] if Path(name).exists() else glob.glob(name, recursive=True)  # noqa: PTH207
    for path in map(Path, found):
        for file in path.rglob("*") if path.is_dir() else (path,):
            status = file.stat()
            yield status.st_dev, status.st_ino
