"""Ratings from files: a csv of titles, or what MovieLens exports of one person.

Titles are kept as they are written, whether or not a catalog has them. Messages name files and
lines, never a title or a rating.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TextIO

from askew.errors import ProfileError
from askew.plain_text import FEW_MARKS, has_few_marks
from askew_client.profile.document import MAX_RATINGS, State

_MAX_BYTES = 2**30  # of a file in a zip, unpacked


def read_titles(lines: Iterable[str], name: str = "the ratings") -> dict[str, State]:
    """The edits that a csv with the columns title and rating stands for; no rating is a like.

    Raises ProfileError, naming the line, for anything else.
    """
    found: dict[str, State] = {}
    for line, row in _rows(lines, name, {"title", "rating"}):
        where = f"line {line} of {name}"
        found[_title(row["title"], where)] = (
            (_rating(row["rating"], where),) if row["rating"].strip() else (None,)
        )
        _check_count(found)
    return found


def read_export(path: Path) -> dict[str, State]:
    """The edits of a file or directory: a csv, or ratings.csv and movies.csv, zipped or not."""
    try:
        if path.is_dir():
            with _texts(path / "ratings.csv", path / "movies.csv") as (ratings, movies):
                return _movielens(ratings, movies)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _zipped(archive)
        with path.open(encoding="utf-8-sig", newline="") as file:
            return read_titles(file, path.name)
    except UnicodeDecodeError:
        raise ProfileError(f"{path.name} is not text in UTF-8") from None
    except OSError as error:
        raise ProfileError(f"{path.name} cannot be read: {error.strerror}") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError):
        raise ProfileError(f"{path.name} is not a zip file that can be read") from None


def _movielens(ratings: Iterable[str], movies: Iterable[str]) -> dict[str, State]:
    """One person's ratings by movie id, and the titles of the ids."""
    titles = {
        row["movieId"]: _title(row["title"], f"line {line} of movies.csv")
        for line, row in _rows(movies, "movies.csv", {"movieId", "title"})
    }
    found: dict[str, State] = {}
    people: set[str] = set()
    for line, row in _rows(ratings, "ratings.csv", {"movieId", "rating"}):
        where = f"line {line} of ratings.csv"
        people.add(row.get("userId", ""))
        if len(people) > 1:
            raise ProfileError(f"{where}: a second person; a profile is of one")
        if row["movieId"] not in titles:
            raise ProfileError(f"{where}: a movie that movies.csv does not have")
        found[titles[row["movieId"]]] = (_rating(row["rating"], where),)
        _check_count(found)
    return found


@contextmanager
def _texts(*paths: Path) -> Iterator[Sequence[TextIO]]:
    files = [path.open(encoding="utf-8-sig", newline="") for path in paths if path.exists()]
    try:
        if len(files) < len(paths):
            raise ProfileError("a MovieLens export has ratings.csv and movies.csv")
        yield files
    finally:
        for file in files:
            file.close()


def _zipped(archive: zipfile.ZipFile) -> dict[str, State]:
    lines: list[list[str]] = []
    for name in ("ratings.csv", "movies.csv"):
        found = [each for each in archive.infolist() if each.filename.rpartition("/")[2] == name]
        if len(found) != 1:
            raise ProfileError("a MovieLens export has one ratings.csv and one movies.csv")
        with archive.open(found[0]) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ProfileError(f"{name} is larger than {_MAX_BYTES} bytes")
        lines.append(io.StringIO(data.decode("utf-8-sig"), newline="").readlines())
    return _movielens(*lines)


def _rows(
    lines: Iterable[str], name: str, columns: set[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(lines, skipinitialspace=True)
    try:
        if not columns <= set(reader.fieldnames or ()):
            raise ProfileError(
                f"{name} must begin with a line of names, {', '.join(sorted(columns))}"
            )
        for row in reader:
            if None in row or None in row.values():
                text = "more or fewer fields than the first line"
                raise ProfileError(f"line {reader.line_num} of {name}: {text}")
            yield reader.line_num, row
    except csv.Error:
        raise ProfileError(f"line {reader.line_num + 1} of {name} is no csv") from None


def _title(text: str, where: str) -> str:
    title = " ".join(text.split())
    if not title or not title.isprintable():
        raise ProfileError(f"{where}: a title must be printable text")
    if not has_few_marks(title):
        raise ProfileError(f"{where}: a title must be {FEW_MARKS}")
    return title


def _rating(text: str, where: str) -> float:
    try:
        rating = float(text)
    except ValueError:
        rating = float("nan")
    if not isfinite(rating):
        raise ProfileError(f"{where}: a rating must be a number")
    return rating


def _check_count(found: dict[str, State]) -> None:
    if len(found) > MAX_RATINGS:
        raise ProfileError(f"a profile holds at most {MAX_RATINGS} ratings")
