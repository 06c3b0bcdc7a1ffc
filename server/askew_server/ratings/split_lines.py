"""Lines of text split into fields, one by one; those that cannot be are counted as bad."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import TextFormat
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.source import Progress, numbered_lines


def text_rows(
    path: Path, text: TextFormat, rejects: RejectLog, progress: Progress | None
) -> Iterator[tuple[int, list[str]]]:
    """The rows with the right number of fields; the others go to the rejects."""
    lines = numbered_lines(path, text.encoding, progress)
    if text.has_header:
        next(lines)
    return split_rows(lines, text, rejects)


def split_rows(
    lines: Iterable[tuple[int, str]], text: TextFormat, rejects: RejectLog
) -> Iterator[tuple[int, list[str]]]:
    """The same of lines with their numbers."""
    for number, line in lines:
        try:
            row = _split(line, text)
        except BadField as reason:
            rejects.add(number, reason)
            continue
        yield number, row


def _split(line: str, text: TextFormat) -> list[str]:
    if "\0" in line:
        raise BadField("row", "text without NUL characters", line)
    row = line.split(text.separator)
    # The csv module is only needed, and several times slower, where there are quotes.
    if text.separator == "," and '"' in line:
        row = _split_quoted(line)
    if len(row) != text.n_fields:
        raise BadField("row", f"{text.n_fields} fields separated by {text.separator!r}", line)
    return row


def _split_quoted(line: str) -> list[str]:
    try:
        return next(csv.reader((line,), strict=True))
    except csv.Error as error:
        raise BadField("row", f"one line of csv ({error})", line) from error
