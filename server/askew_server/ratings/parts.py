"""The files that ratings come in: one, or those of a folder, in the order of their names.

A folder holds files of one kind and nothing else. Another kind is mostly the same rows once more,
and what is hidden, linked or a folder itself may be read by mistake or be missed by one: all of
them are refused, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from askew.errors import DataError
from askew_server.ratings.formats import RatingFormat, rating_format
from askew_server.ratings.parquet import is_parquet
from askew_server.ratings.source import is_packed


@dataclass(frozen=True)
class Asked:
    """What is wanted of files: counts or ratings, and whether with times."""

    counts: bool = False
    times: bool = False


@dataclass(frozen=True)
class Part:
    """A file of ratings; layout: None for parquet."""

    path: Path
    layout: RatingFormat | None
    packed: bool = False

    @property
    def kind(self) -> str:
        """What the file is, in words."""
        if self.layout is None:
            return "parquet"
        return f"{'gzipped ' * self.packed}{self.layout.words()}"


def parts_of(path: Path) -> list[Part]:
    """The files at a path, each recognized, in order. Raises DataError."""
    try:
        files = _files(path) if path.is_dir() else [path]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    parts = [_part(file) for file in files]
    if not parts:
        raise DataError(f"{path}: the folder is empty")
    first = parts[0]
    for part in parts:
        if part.kind != first.kind:
            raise DataError(
                f"{path}: the files of a folder must be of one kind, and {first.path.name} is "
                f"{first.kind}, {part.path.name} {part.kind}"
            )
    return parts


def size_at(path: Path) -> int:
    """How many bytes a file has, or the files of a folder have; 0 for what cannot be read."""
    try:
        files = path.iterdir() if path.is_dir() else (path,)
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0


def _part(path: Path) -> Part:
    if is_parquet(path):
        return Part(path, None)
    return Part(path, rating_format(path), is_packed(path))


def _files(folder: Path) -> list[Path]:
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    for file in files:
        if (reason := _unfit(file)) is not None:
            raise DataError(
                f"{folder}: a folder holds files of ratings alone; {file.name} {reason}"
            )
    return files


def _unfit(file: Path) -> str | None:
    if file.name.startswith("."):
        return "is hidden"
    if file.is_symlink():
        return "is a symbolic link"
    if file.is_dir():
        return "is a folder"
    return None if file.is_file() else "is no regular file"
