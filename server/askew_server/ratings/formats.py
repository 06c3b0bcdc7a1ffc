"""The files that ratings and items come in, recognized from their names and first lines.

Ratings:
    MovieLens csv     header userId,movieId,rating,timestamp
    generic csv       header with user, item and rating, in any order, extra columns allowed
    ml-1m             ratings.dat, user::item::rating::timestamp
    ml-100k           u.data, the same four fields separated by tabs
    parquet           columns user,item,rating or userId,movieId,rating (see `columns`)
Items:
    MovieLens csv     header movieId,title,genres
    generic csv       header with item and title, optionally year and genres
    ml-1m             movies.dat, item::title::genres
    ml-100k           u.item, 24 fields separated by "|", the last 19 are flags of genres

A row of csv is one line: a quoted field cannot hold a line break, so that a quote which never
closes costs one row and not the rest of the file.

Ratings may be a folder, which holds files of one kind and nothing else. Another kind is mostly the
same rows once more, and what is hidden, linked or a folder itself may be read by mistake or be
missed by one: all of them are refused, by name.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.errors import DataError
from askew_server.ratings.lines import TextFormat, first_bytes, first_line, is_packed

RATING_FORMATS = (
    "csv with the columns userId,movieId,rating or user,item,rating; "
    "ml-1m ratings.dat (user::item::rating::timestamp); "
    "ml-100k u.data (user, item, rating and timestamp separated by tabs); "
    "parquet with the columns userId,movieId,rating or user,item,rating"
)
ITEM_FORMATS = (
    "csv with the columns movieId,title,genres or item,title and optionally year,genres; "
    "ml-1m movies.dat (item::title::genres); "
    "ml-100k u.item (24 fields separated by |)"
)

ML_100K_GENRES = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)

_PARQUET = b"PAR1"
_RATING_NAMES = (("user", "item", "rating"), ("userId", "movieId", "rating"))
_TIME_NAME = "timestamp"
_ITEM_NAMES = (("item", "title"), ("movieId", "title"))


@dataclass(frozen=True, slots=True)
class RatingFormat:
    """Where the fields of a rating lie; time: None where there is none."""

    text: TextFormat
    user: int
    item: int
    rating: int
    time: int | None = None

    def words(self) -> str:
        """What tells one such format from the others."""
        if not self.text.has_header:
            return f"fields separated by {self.text.separator!r}"
        places = (self.user, self.item, self.rating, self.time)
        shown = ", ".join("none" if place is None else str(place + 1) for place in places)
        return f"csv of {self.text.n_fields} columns (user, item, rating and timestamp: {shown})"


@dataclass(frozen=True, slots=True)
class ItemFormat:
    """Where the fields of an item lie; with `flags`, genres is the first of their columns."""

    text: TextFormat
    item: int
    title: int
    year: int | None
    genres: int | None
    flags: tuple[str, ...] = ()


_ML_1M_RATINGS = RatingFormat(TextFormat("::", 4, "latin-1", False), 0, 1, 2, 3)
_ML_100K_RATINGS = RatingFormat(TextFormat("\t", 4, "latin-1", False), 0, 1, 2, 3)
_ML_1M_ITEMS = ItemFormat(TextFormat("::", 3, "latin-1", False), 0, 1, None, 2)
_ML_100K_ITEMS = ItemFormat(
    TextFormat("|", 24, "latin-1", False), 0, 1, None, 5, flags=ML_100K_GENRES
)


@dataclass(frozen=True)
class RatingFile:
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


def parts_of(path: Path) -> list[RatingFile]:
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


def rating_format(path: Path) -> RatingFormat:
    """The format of a text file of ratings."""
    line = first_line(path)
    header = csv_header(line)
    columns = rating_columns(header)
    if columns:
        user, item, rating = columns
        return RatingFormat(_csv_format(header), user, item, rating, time_column(header))
    if _ML_1M_RATINGS.text.suits(path, "ratings.dat", line):
        return _ML_1M_RATINGS
    if _ML_100K_RATINGS.text.suits(path, "u.data", line):
        return _ML_100K_RATINGS
    raise unrecognized_ratings(path, header)


def item_format(path: Path) -> ItemFormat:
    """The format of a text file of items."""
    line = first_line(path)
    header = csv_header(line)
    columns = _positions(header, _ITEM_NAMES)
    if columns:
        item, title = columns
        year, genres = _position(header, "year"), _position(header, "genres")
        return ItemFormat(_csv_format(header), item, title, year, genres)
    if _ML_1M_ITEMS.text.suits(path, "movies.dat", line):
        return _ML_1M_ITEMS
    if _ML_100K_ITEMS.text.suits(path, "u.item", line):
        return _ML_100K_ITEMS
    raise DataError(
        f"{path}: not a known format of items; accepted, gzipped or not: {ITEM_FORMATS}"
        f"{_named(header, _ITEM_NAMES)}"
    )


def rating_columns(header: Sequence[str]) -> tuple[int, ...] | None:
    """The positions of user, item and rating among named columns."""
    return _positions(header, _RATING_NAMES)


def time_column(header: Sequence[str]) -> int | None:
    """The position of the time of a rating among named columns."""
    return _position(header, _TIME_NAME)


def unrecognized_ratings(path: Path, header: Sequence[str]) -> DataError:
    """The error for a file of ratings in no accepted format."""
    return DataError(
        f"{path}: not a known format of ratings; accepted, text gzipped or not: {RATING_FORMATS}"
        f"{_named(header, _RATING_NAMES)}"
    )


def _named(header: Sequence[str], choices: Sequence[tuple[str, ...]]) -> str:
    """The columns that are there, where a wanted one is; else the line may be somebody's data."""
    if not {name for names in choices for name in names} & set(header):
        return ""
    return f"; this file has the columns {', '.join(header)}"


def csv_header(line: str) -> list[str]:
    """The names in a first line; none where it is no csv."""
    try:
        return [name.strip() for name in next(csv.reader((line,), strict=True))]
    except csv.Error:
        return []


def _csv_format(header: list[str]) -> TextFormat:
    return TextFormat(",", len(header), "utf-8-sig", has_header=True)


def _positions(header: Sequence[str], choices: Sequence[tuple[str, ...]]) -> tuple[int, ...] | None:
    for names in choices:
        if all(header.count(name) == 1 for name in names):
            return tuple(header.index(name) for name in names)
    return None


def _position(header: Sequence[str], name: str) -> int | None:
    return header.index(name) if name in header else None


def _part(path: Path) -> RatingFile:
    if first_bytes(path, len(_PARQUET)) == _PARQUET:
        return RatingFile(path, None)
    return RatingFile(path, rating_format(path), is_packed(path))


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
