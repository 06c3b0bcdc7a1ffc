"""Ratings from files and to files: a csv of titles, or what Letterboxd or MovieLens exports of one
person.

Titles are kept as they are written, whether or not a catalog has them. Messages name files and
lines, never a title or a rating.
"""

from __future__ import annotations

import csv
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Final, TextIO

from askew.errors import ProfileError
from askew.limits import FEW_MARKS, MAX_RATING, has_few_marks, is_visible
from askew_client.profile.document import MAX_RATINGS, State
from askew_client.views.answers import Rated

_MAX_BYTES = 2**30  # of a file in a zip, unpacked
_BLOCK = 2**20
_NAMES: Final = ("ratings.csv", "movies.csv")
_TITLES: Final = ("title", "rating")
_LETTERBOXD: Final = ("Name", "Year", "Rating")


def read_titles(
    lines: Iterable[str], name: str = "the ratings", *, named: bool = True
) -> dict[str, State]:
    """Return the edits of a csv, {"Alien (1979)": (4.5,)}, from the columns title and rating, or
    Letterboxd's Name, Year and Rating; an empty rating is a like, (None,).

    Spaces between words are made one; the last line of a title counts. name: what messages call the
    file. named: the first line names the columns, or ProfileError is raised; else they are title,
    rating. Raises ProfileError, with the line, for a rating that is no number from -1000 to 1000,
    more or fewer fields, and more than 100,000 titles.
    """
    edits: dict[str, State] = {}
    for line, row in _rows(lines, name, _TITLES, _LETTERBOXD, named=named):
        where = f"line {line} of {name}"
        if "title" in row:
            title, rating = row["title"], row["rating"]
        else:
            year, rating = row["Year"].strip(), row["Rating"]
            title = f"{row['Name']} ({year})" if year else row["Name"]
        liking = _rating(rating, where) if rating.strip() else None
        edits[_title(title, where)] = (liking,)
        _check_count(edits)
    return edits


def read_export(path: Path, user: str = "") -> dict[str, State]:
    """Return the edits, {"Alien (1979)": (4.5,)} with the number as it stands in the file, (None,)
    for a like: of a csv as `read_titles` reads it, or of an export in a directory or zip,
    Letterboxd's ratings.csv, or MovieLens' ratings.csv and movies.csv, of which the first may be
    named as well.

    user: whose ratings of MovieLens' data set, by their userId; "" where they are of one person.
    Raises ProfileError, which names no title: for a second person where user is "", a user without
    ratings or with a file of titles, and a file that is missing or cannot be read.
    """
    try:
        if zipfile.is_zipfile(path):
            return _export(_unzipped(path), user)
        of_movielens = path.name == _NAMES[0] and path.with_name(_NAMES[1]).exists()
        folder = path if path.is_dir() else path.parent
        with ExitStack() as stack:
            if path.is_dir() or of_movielens:
                files = [folder / name for name in _NAMES if (folder / name).exists()]
                texts = {file.name: stack.enter_context(_text(file)) for file in files}
                return _export(texts, user)
            return _titles_alone(stack.enter_context(_text(path)), path.name, user)
    except UnicodeDecodeError:
        raise ProfileError(f"{path.name} is not text in UTF-8") from None
    except OSError as error:
        raise ProfileError(f"{path.name} cannot be read: {error.strerror}") from None


_DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OverflowError,
    ValueError,
)


def _text(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", newline="")


def _export(files: Mapping[str, Iterable[str]], user: str) -> dict[str, State]:
    ratings, movies = map(files.get, _NAMES)
    if ratings is None:
        raise ProfileError("the export has no ratings.csv: name a zip file or folder that has one")
    if movies is None:
        return _titles_alone(ratings, _NAMES[0], user)
    return _movielens(ratings, movies, user)


def _titles_alone(ratings: Iterable[str], name: str, user: str) -> dict[str, State]:
    lines = iter(ratings)
    first = next(lines, "")
    if user or {"userId", "movieId"} <= {part.strip() for part in first.split(",")}:
        raise ProfileError(f"{name} has no titles: put MovieLens' movies.csv beside it")
    return read_titles(chain([first], lines), name)


def _movielens(ratings: Iterable[str], movies: Iterable[str], user: str) -> dict[str, State]:
    titles = {
        row["movieId"]: _title(row["title"], f"line {line} of movies.csv")
        for line, row in _rows(movies, "movies.csv", ("movieId", "title"))
    }
    edits: dict[str, State] = {}
    only = user
    for line, row in _rows(ratings, "ratings.csv", ("movieId", "rating")):
        where = f"line {line} of ratings.csv"
        person = row.get("userId", "")
        only = only or person
        if person != only and user:
            continue
        if person != only:
            raise ProfileError(
                f"{where}: the file has a second person: name by `--user` the one of this profile"
            )
        if row["movieId"] not in titles:
            raise ProfileError(f"{where}: movies.csv has no movie of this movieId")
        edits[titles[row["movieId"]]] = (_rating(row["rating"], where),)
        _check_count(edits)
    if user and not edits:
        raise ProfileError("ratings.csv has no ratings of this userId")
    return edits


def _unzipped(path: Path) -> dict[str, list[str]]:
    try:
        with zipfile.ZipFile(path) as archive:
            files = _unpacked(archive)
    except _DAMAGED_ZIP:
        raise ProfileError(f"{path.name} is not a zip file that can be read") from None
    return {
        name: io.StringIO(data.decode("utf-8-sig"), newline="").readlines()
        for name, data in files.items()
    }


def _unpacked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for entry in archive.infolist():
        name = entry.filename.rpartition("/")[2]
        if name not in _NAMES:
            continue
        if name in files:
            raise ProfileError(f"this export has two files {name}: leave one in it")
        with archive.open(entry) as file:
            parts = []
            # By blocks: a zip says how much there is, and room for all of that is made at once.
            while part := file.read(_BLOCK):
                parts.append(part)
                if sum(map(len, parts)) > _MAX_BYTES:
                    raise ProfileError(f"{name} is larger than {_MAX_BYTES} bytes")
        files[name] = b"".join(parts)
    return files


def _rows(
    lines: Iterable[str], name: str, *columns: tuple[str, ...], named: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    # The columns are those of one of the sets: of the first where no line names them.
    reader = csv.DictReader(lines, None if named else columns[0], skipinitialspace=True)
    try:
        if not any(set(names) <= set(reader.fieldnames or ()) for names in columns):
            sets = " or ".join(",".join(names) for names in columns)
            raise ProfileError(f"{name} must begin with a line of names, {sets}")
        for row in reader:
            if None in row or None in row.values():
                text = "more or fewer fields than columns; a title with a comma stands in quotes"
                raise ProfileError(f"line {reader.line_num} of {name}: {text}")
            yield reader.line_num, row
    except csv.Error:
        raise ProfileError(f"line {reader.line_num + 1} of {name} is no csv") from None


def _title(text: str, where: str) -> str:
    title = " ".join(text.split())
    if not is_visible(title):
        raise ProfileError(f"{where}: a title must be printable text")
    if not has_few_marks(title):
        raise ProfileError(f"{where}: a title must be {FEW_MARKS}")
    return title


def _rating(text: str, where: str) -> float:
    try:
        rating = float(text)
    except ValueError:
        rating = float("nan")
    if not abs(rating) <= MAX_RATING:
        raise ProfileError(f"{where}: a rating must be a number, at most {MAX_RATING:g} in size")
    return rating


def _check_count(edits: dict[str, State]) -> None:
    if len(edits) > MAX_RATINGS:
        raise ProfileError(f"a profile holds at most {MAX_RATINGS} ratings")


def as_csv(ratings: Iterable[Rated]) -> str:
    """Return ratings, which come newest first, as csv text, oldest first, each a line such as
    "Alien (1979),4" below the line "title,rating"; a like ends in the comma. Private: for a file or
    pipe of the person's own.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("title", "rating"))
    for rating in reversed([*ratings]):
        number = "" if rating.rating is None else str(rating.rating).removesuffix(".0")
        writer.writerow((rating.label, number))
    return text.getvalue()
