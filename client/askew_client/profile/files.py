"""Ratings from files and to files: a csv of titles, or what Letterboxd exports of one person.

Titles are kept as they are written, whether or not a catalog has them. Messages name files and
lines, never a title or a rating.
"""

from __future__ import annotations

import csv
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from askew.errors import ProfileError
from askew.limits import FEW_MARKS, MAX_RATING, has_few_marks, is_visible
from askew_client.profile.document import MAX_RATINGS, State
from askew_client.views.answers import Rated

_MAX_BYTES = 2**30  # of a file in a zip, unpacked
_BLOCK = 2**20
_RATINGS: Final = "ratings.csv"
_TITLES: Final = ("title", "rating")
_LETTERBOXD: Final = ("Name", "Year", "Rating")


def read_titles(
    lines: Iterable[str], name: str = "the ratings", *, named: bool = True
) -> dict[str, State]:
    """Return the edits of a csv, by title, with the columns title and rating, or Letterboxd's Name,
    Year and Rating: (4.0,) for a rating, (None,) for an empty one, a like.

    The last line of a title counts. name: what messages call the file. named: the first line names
    the columns. Raises ProfileError, naming the line, for anything else.
    """
    edits: dict[str, State] = {}
    for line, row in _rows(lines, name, named=named):
        where = f"line {line} of {name}"
        if "title" in row:
            title, rating = row["title"], row["rating"]
        else:
            year, rating = row["Year"].strip(), row["Rating"]
            title = f"{row['Name']} ({year})" if year else row["Name"]
        liking = _rating(rating, where) if rating.strip() else None
        edits[_title(title, where)] = (liking,)
        if len(edits) > MAX_RATINGS:
            raise ProfileError(f"a profile holds at most {MAX_RATINGS} ratings")
    return edits


def read_export(path: Path) -> dict[str, State]:
    """Return the edits, by title, of a csv of titles, or of Letterboxd's ratings.csv: that file, or
    the zip or directory that it is in. Raises ProfileError, which names no title.
    """
    try:
        if zipfile.is_zipfile(path):
            return read_titles(_unzipped(path), _RATINGS)
        file = path / _RATINGS if path.is_dir() else path
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return read_titles(lines, file.name)
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


def _unzipped(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            data = _unpacked(archive)
    except _DAMAGED_ZIP:
        raise ProfileError(f"{path.name} is not a zip file that can be read") from None
    return io.StringIO(data.decode("utf-8-sig"), newline="").readlines()


def _unpacked(archive: zipfile.ZipFile) -> bytes:
    entries = [
        entry for entry in archive.infolist() if entry.filename.rpartition("/")[2] == _RATINGS
    ]
    if len(entries) != 1:
        raise ProfileError(f"an export has one {_RATINGS}, and this one has {len(entries)}")
    with archive.open(entries[0]) as file:
        parts = []
        # By blocks: a zip says how much there is, and room for all of that is made at once.
        while part := file.read(_BLOCK):
            parts.append(part)
            if sum(map(len, parts)) > _MAX_BYTES:
                raise ProfileError(f"{_RATINGS} is larger than {_MAX_BYTES} bytes")
    return b"".join(parts)


def _rows(
    lines: Iterable[str], name: str, *, named: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(lines, None if named else _TITLES, skipinitialspace=True)
    try:
        if not any(set(names) <= set(reader.fieldnames or ()) for names in (_TITLES, _LETTERBOXD)):
            sets = f"{','.join(_TITLES)} or {','.join(_LETTERBOXD)}"
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


def as_csv(ratings: Iterable[Rated]) -> str:
    """Return ratings, which come newest first, as csv text, oldest first, below a line
    "title,rating"; a like has no number. Private: for a file or pipe of the person's own.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("title", "rating"))
    for rating in reversed([*ratings]):
        writer.writerow((rating.label, "" if rating.rating is None else f"{rating.rating:g}"))
    return text.getvalue()
