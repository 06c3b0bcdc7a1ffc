"""Returns within the fields of csv files, which DuckDB takes for the end of a line.

A file's lines end as its header line does: in a line feed, or in a return and a line feed. Any
other return is a character of somebody's field, and csv writers do not always quote it (Python's
does not, where lines end in line feeds). Read as the end of a line, one unit's event is the event
of another unit that it names, and no bound on what a unit can change holds. Such files are read
from a copy in which returns are written otherwise, one to one:

    the mark, 0x1A         0x1A 0
    a return in a field    0x1A 1
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from askew.errors import DataError
from askew_server.counting.engines.csv_header import has_returns_at_ends

MARK, RETURN = "\x1a", "\r"
MARKED_MARK, MARKED_RETURN = MARK + "0", MARK + "1"
_BLOCK = 1 << 20
_ANY = re.compile(rb"\r")
_ALONE = re.compile(rb"\r(?=[^\n])")  # at the end of a file it may be half of a line's end


def has_returns(path: str) -> bool:
    """Whether a return stands in a field, quoted or not. Reads the file up to the first."""
    returns = _returns(path)
    return any(returns.search(block) for block in _blocks(path))


def copy_marked(path: str, copy: Path) -> None:
    """Writes the copy, never compressed."""
    returns = _returns(path)
    with copy.open("xb") as file:
        for block in _blocks(path):
            marked = block.replace(MARK.encode(), MARKED_MARK.encode())
            file.write(returns.sub(MARKED_RETURN.encode(), marked))


def unmarked(text: str) -> str:
    """What a text of the copy stands for."""
    return text.replace(MARKED_RETURN, RETURN).replace(MARKED_MARK, MARK)


def _returns(path: str) -> re.Pattern[bytes]:
    return _ALONE if has_returns_at_ends(path) else _ANY


def _blocks(path: str) -> Iterator[bytes]:
    """The content in parts, none of which ends in a return that something follows."""
    opened = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        while block := file.read(_BLOCK):
            while block.endswith(b"\r") and (following := file.read(1)):
                block += following
            yield block


class CsvCopies:
    """Copies of the files that need one: this account's alone, until the next or `close`."""

    def __init__(self, folder: Path | None) -> None:
        """folder: where they are, or the system's place for temporary files."""
        self._within = folder
        self._folders: dict[tuple[str, ...], TemporaryDirectory[str]] = {}

    def of(self, files: tuple[str, ...]) -> tuple[str, ...]:
        """Copies of all of these as they are now, in their order, if a return stands in a field of
        any; else none. Raises DataError for a file that cannot be read or copied.
        """
        if files in self._folders:
            self._folders.pop(files).cleanup()
        try:
            return self._copied(files) if any(map(has_returns, files)) else ()
        except (OSError, EOFError, zlib.error) as error:
            names = ", ".join(files)
            raise DataError(f"{names}: it cannot be read ({type(error).__name__})") from None

    def close(self) -> None:
        """Removes them."""
        while self._folders:
            self._folders.popitem()[1].cleanup()

    def _copied(self, files: tuple[str, ...]) -> tuple[str, ...]:
        folder = TemporaryDirectory(prefix="askew-csv-", dir=self._within)
        self._folders[files] = folder
        copies = [Path(folder.name) / f"{number}.csv" for number in range(len(files))]
        for file, copy in zip(files, copies, strict=True):
            copy_marked(file, copy)
        return tuple(map(str, copies))
