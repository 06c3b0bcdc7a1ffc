"""Ratings and items of a table, as parallel arrays and by key, and the limits of their fields.

Bad rows are left out and counted. Keys become codes by Arrow's dictionaries, without a Python
object a row: each different text of a column is judged once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askew.errors import DataError
from askew.limits import FEW_MARKS, has_few_marks
from askew.spaces.vectors import RatingScale
from askew_server.tables import Table, open_table
from askew_server.tables.rows import CODED, MOST_BAD, SHOWN, BadField, Omissions, Progress, number
from askew_server.tables.text import MOVIELENS_GENRES

LIKED_OR_NOT = RatingScale(0.0, 1.0, 1.0)
"""The scale that counts become: on a device too, everything from 1 on is a like."""


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings as three parallel arrays; a person rates an item at most once.

    Persons are coded 0..n_people-1 in the order of their first row. Items are coded by their
    place in `item_keys`, which is sorted, so the item codes do not depend on the order of rows.
    scale: the one that they were read on, or None where only their range tells.
    """

    person: NDArray[np.signedinteger]
    item: NDArray[np.signedinteger]
    rating: NDArray[np.float64]
    n_people: int
    item_keys: tuple[str, ...]
    scale: RatingScale | None = None

    def __len__(self) -> int:
        """Return the number of ratings."""
        return len(self.rating)

    def only(self, people: NDArray[np.integer]) -> RatingTable:
        """Return the ratings of these people, who are coded anew from 0 in the order of their old
        codes. Items stay, also those that nobody of them rated.
        """
        wanted = np.zeros(self.n_people, dtype=np.bool_)
        wanted[people] = True
        table, code = self._at(wanted[self.person]), np.cumsum(wanted) - 1
        return replace(table, person=code[table.person], n_people=int(wanted.sum()))

    def likes_of_counts(self, least: float) -> RatingTable:
        """Return counts as ratings on the scale from 0 to 1, one a person and item, in the order of
        their first rows: 1, a like, where a person's counts of a thing add up to `least` or more,
        else 0.
        """
        pairs = self.person.astype(np.int64) * len(self.item_keys) + self.item
        _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
        totals = np.bincount(place, weights=self.rating)
        by_row = np.argsort(first)
        liked = (totals >= least)[by_row].astype(np.float64)
        return replace(self._at(first[by_row]), rating=liked, scale=LIKED_OR_NOT)

    def _at(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> RatingTable:
        return replace(
            self,
            person=self.person[rows],
            item=self.item[rows],
            rating=self.rating[rows],
        )


@dataclass(frozen=True, slots=True)
class ItemRow:
    """The public words of one item."""

    title: str
    year: int | None
    genres: tuple[str, ...]


KEY_LIMIT = 200
TITLE_LIMIT = 500
GENRE_LIMIT = 100
RATING_LIMIT = 1000
YEAR_LIMIT = 9999
RATING_COLUMNS = (("user", "item", "rating"), ("userId", "movieId", "rating"))
ITEM_COLUMNS = (("item", "title"), ("movieId", "title"))

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_YEAR_AT_END = re.compile(r"\(([0-9]{4})\)$")
_NO_GENRE = frozenset({"", "(no genres listed)", "unknown"})
"""How MovieLens says that an item has no genre."""
_TEXT = "characters without control characters"
_RULES = {
    "user": f"user must be 1 to {KEY_LIMIT} {_TEXT}",
    "item": f"item must be 1 to {KEY_LIMIT} {_TEXT}",
    "rating": "rating must be a finite number",
}
_AGAIN = "the same person rates the same item again further down"
_Codes = NDArray[np.int32]
_Flags = NDArray[np.bool_]


def read_ratings(
    path: Path | Table,
    *,
    counts: float | None = None,
    progress: Progress = lambda _: None,
    most_bad: float = MOST_BAD,
) -> tuple[RatingTable, Omissions]:
    """Return the ratings of a table, columns user, item, rating or userId, movieId, rating, and
    what was left out: bad rows, and what the same person rated again further down; the last row
    stays. progress: is called with how much of the table, from 0 to 1, was read.

    counts: where the column of ratings holds counts, such as plays, the least that is a like; those
    of a person and item are added up. most_bad: the share of rows that may be bad, by default .1.

    Raises DataError for a table without the columns, of which too many rows are bad, and for a
    rating beyond -1000 to 1000 or a count below 0, since what remains without the strongest rows
    would be another table.
    """
    table = path if isinstance(path, Table) else open_table(path)
    names = list(chosen_columns(table, RATING_COLUMNS, "ratings"))
    left_out, rows = table.omissions(), _Origins()
    chunks: list[list[pa.Array]] = [[] for _ in names]
    for batch in table.batches(names, left_out, coded=True):
        rows.add(batch.file, batch.rows)
        for chunk, column in zip(chunks, batch.texts, strict=True):
            chunk.append(column)
        progress(batch.progress)
    columns = [_unified(chunk) for chunk in chunks]
    (person, people), (item, items) = (_keys(*column) for column in columns[:2])
    codes, texts = columns[2]
    rating = np.array([_rating(text) for text in texts], np.float64)[codes]
    good = np.ones(len(rating), np.bool_)
    for name, wrong in (("rating", np.isnan(rating)), ("user", person < 0), ("item", item < 0)):
        rows.leave_out(np.flatnonzero(good & wrong), _RULES[name], left_out)
        good &= ~wrong
    left_out.refuse_many(int(good.sum()), most_bad)
    _check_scale(rating, good, rows, counts=counts is not None)
    person, of_people = _ranked(person[good], np.arange(len(people)))
    by_key = sorted(range(len(items)), key=lambda code: key_order(items[code]))
    item, of_items = _ranked(item[good], np.array(by_key, np.int64))
    keys = tuple([items[code] for code in of_items.tolist()])
    ratings = RatingTable(person, item, rating[good], len(of_people), keys)
    if counts is not None:
        return ratings.likes_of_counts(counts), left_out
    again = _rated_again(person, item, len(keys))
    if again.size:
        rows.leave_out(np.flatnonzero(good)[again], _AGAIN, left_out)
        ratings = ratings._at(np.delete(np.arange(len(ratings)), again))
    return ratings, left_out


def read_items(
    path: Path, *, progress: Progress = lambda _: None, most_bad: float = MOST_BAD
) -> tuple[dict[str, ItemRow], Omissions]:
    """Return the items of a table by key, in the order of their first rows, and what was left out.
    Of rows with one key the last stays, and counts as left out. Columns: item or movieId, title,
    and where they are there year and genres. progress: is called with the share that was read, to
    1.

    Raises DataError for a table without the columns, or of which more than most_bad are bad rows,
    by default .1; rows with one key are none.
    """
    table = open_table(path)
    names = list(chosen_columns(table, ITEM_COLUMNS, "items"))
    names += [name for name in ("year", "genres", *MOVIELENS_GENRES) if name in table.columns]
    left_out, items = table.omissions(), dict[str, ItemRow]()
    good, again = 0, []
    for batch in table.batches(names, left_out):
        texts = zip(*[column.to_pylist() for column in batch.texts], strict=True)
        for row, fields in zip(batch.rows.tolist(), texts, strict=True):
            try:
                key, item = _item(dict(zip(names, fields, strict=True)))
            except BadField as reason:
                left_out.add(row, reason, batch.file)
                continue
            good += 1
            if key in items:
                again.append((row, batch.file))
            items[key] = item
        progress(batch.progress)
    left_out.refuse_many(good, most_bad)
    for row, file in again:
        left_out.add(row, "it lists an item that was listed before, and stands for it", file)
    return items, left_out


def chosen_columns(table: Table, choices: Sequence[tuple[str, ...]], what: str) -> tuple[str, ...]:
    """Return the first of these sets of columns of which a table has all. Raises DataError where it
    has none whole; what: words for the table in the message, such as "ratings".
    """
    for names in choices:
        if set(names) <= set(table.columns):
            return names
    # The message names the columns that a table has only where a wanted one is among them: else its
    # first line may be somebody's ratings.
    wanted = " or ".join(map(",".join, choices))
    there = {name for names in choices for name in names} & set(table.columns)
    it_has = f"; it has {', '.join(table.columns)}" if there else ""
    raise DataError(f"{table.name}: no table of {what}, which has the columns {wanted}{it_has}")


def titled(key: str) -> ItemRow:
    """Return the item of a key that is a title: "Heat (1995)" is Heat of 1995, without
    genres; the year is None, and the title the whole key, where it does not end in four digits in
    parentheses, or is nothing else.
    """
    title, year = _title_and_year(key)
    return ItemRow(title, year, ())


def key_order(text: str) -> tuple[int, int, str]:
    """Return what sorts keys, those of digits 0 to 9 alone first and by value, then the others as
    text: (0, 10, "10") for "10", (1, 0, "a") for "a", and (1, 0, "-5") for "-5".
    """
    return (0, int(text), text) if _is_number(text) else (1, 0, text)


class _Origins:
    # From which row of which file each row of a table is.

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._runs: list[tuple[str, int | NDArray[np.int64]]] = []
        self._size = 0

    def add(self, file: str, rows: NDArray[np.int64]) -> None:
        """Note the numbers, ascending, of the next rows, and their file. Where the numbers follow
        each other the first is kept alone, else all of them.
        """
        if rows.size:
            first = int(rows[0])
            follow = int(rows[-1]) - first + 1 == rows.size
            self._starts.append(self._size)
            self._runs.append((file, first if follow else rows))
            self._size += rows.size

    def of(self, row: int) -> tuple[int, str]:
        """Return the number in its file of the row at this place of the table, from 0 on, and the
        file.
        """
        run = int(np.searchsorted(self._starts, row, "right")) - 1
        file, numbers = self._runs[run]
        at = row - self._starts[run]
        return (numbers + at if isinstance(numbers, int) else int(numbers[at])), file

    def leave_out(self, rows: NDArray[np.intp], reason: str, left_out: Omissions) -> None:
        """Count rows, places in the table in their order, as left out for this reason, and name the
        first SHOWN of them.
        """
        for row in rows[:SHOWN].tolist():
            number, file = self.of(row)
            left_out.add(number, reason, file)
        if len(rows) > SHOWN:
            left_out.add(0, reason, times=len(rows) - SHOWN)


def _unified(chunks: list[pa.Array]) -> tuple[_Codes, list[str]]:
    if not chunks:
        return np.empty(0, np.int32), []
    column = pa.chunked_array(chunks, CODED).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return codes, column.chunk(0).dictionary.to_pylist()


def _keys(codes: _Codes, texts: list[str]) -> tuple[_Codes, list[str]]:
    # -1 for a text that is no key.
    codes_of: dict[str, int] = {}
    of_text = np.empty(len(texts), np.int32)
    for at, text in enumerate(texts):
        try:
            of_text[at] = codes_of.setdefault(_plain_text("key", text, KEY_LIMIT), len(codes_of))
        except BadField:
            of_text[at] = -1
    return of_text[codes], list(codes_of)


def _rating(text: str) -> float:
    try:
        return number(text)
    except BadField:
        return np.nan


def _check_scale(
    rating: NDArray[np.float64], good: _Flags, rows: _Origins, *, counts: bool
) -> None:
    low, high = (0.0, np.inf) if counts else (-RATING_LIMIT, RATING_LIMIT)
    beyond = np.flatnonzero(good & ((rating < low) | (rating > high)))
    if beyond.size:
        row, file = rows.of(int(beyond[0]))
        limit = "a count must be at least 0"
        if not counts:
            limit = (
                f"a rating must be between -{RATING_LIMIT} and {RATING_LIMIT}; counts, such as"
                " plays, are read by `train --counts`"
            )
        raise DataError(f"{file}, line {row}: {limit}. Nothing of the file was used")


def _ranked(codes: _Codes, order: NDArray[np.integer[Any]]) -> tuple[_Codes, NDArray[np.intp]]:
    # Each code's rank among the used codes of an order, and those codes in that order.
    used = np.zeros(len(order), np.bool_)
    used[codes] = True
    kept = order[used[order]]
    rank = np.zeros(len(order), np.int32)
    rank[kept] = np.arange(len(kept))
    return rank[codes], kept


def _rated_again(person: _Codes, item: _Codes, n_items: int) -> NDArray[np.intp]:
    pair = person.astype(np.int64) * n_items + item
    ascending = np.sort(pair)  # far quicker than the order, which is rarely needed
    if not (ascending[:-1] == ascending[1:]).any():
        return np.empty(0, np.intp)
    order = np.argsort(pair, kind="stable")  # equal pairs stay in the order of their rows
    pair = pair[order]
    return np.sort(order[:-1][pair[:-1] == pair[1:]])


def _item(row: dict[str, str]) -> tuple[str, ItemRow]:
    key = _plain_text("item", row.get("item", row.get("movieId", "")), KEY_LIMIT)
    if not has_few_marks(row["title"]):
        raise BadField("title", FEW_MARKS, row["title"])
    title, year = _title_and_year(row["title"])
    year = _year(row.get("year", "")) or year
    if MOVIELENS_GENRES[0] in row:
        for name in MOVIELENS_GENRES:
            if row[name] not in ("0", "1"):
                raise BadField(f"the flag of genre {name}", "0 or 1", row[name])
        genres = [name for name in MOVIELENS_GENRES if row[name] == "1" and name not in _NO_GENRE]
    else:
        joined = row.get("genres", "")
        names = [] if joined.strip() in _NO_GENRE else joined.split("|")
        genres = [_plain_text("genre", name, GENRE_LIMIT) for name in names]
    return key, ItemRow(title, year, tuple(genres))


def _title_and_year(text: str) -> tuple[str, int | None]:
    title = _plain_text("title", text, TITLE_LIMIT)
    match = _YEAR_AT_END.search(title)
    if match is None or match.start() == 0:
        return title, None
    return title[: match.start()].rstrip(), int(match[1])


def _year(text: str) -> int | None:
    digits = text.strip()
    if not digits:
        return None
    # The length comes first: int() refuses thousands of digits with an error of its own.
    if len(digits) > 4 or not _is_number(digits) or int(digits) == 0:
        raise BadField("year", f"a whole number from 1 to {YEAR_LIMIT}", text)
    return int(digits)


def _plain_text(field: str, text: str, limit: int) -> str:
    plain = text.strip()
    # isprintable() is quick but also refuses harmless marks such as a no-break space.
    acceptable = plain.isprintable() or not _CONTROL.search(plain)
    if not acceptable or not 0 < len(plain) <= limit:
        raise BadField(field, f"1 to {limit} {_TEXT}", text)
    return plain


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
