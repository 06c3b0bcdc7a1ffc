"""The person's own ratings, read from a file that stays on the device.

A csv with a header: `title,rating`. A title is written as the catalog writes it, "Alien (1979)";
the year may be left out where the title alone is clear. Messages name lines, never titles.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from math import nan

from askew.errors import ProfileError
from askew.model_card import Catalog
from askew.vectors import RatingScale
from askew_client.title_search import title_key


def read_ratings(lines: Iterable[str], catalog: Catalog, scale: RatingScale) -> dict[int, float]:
    """The ratings {item id: rating} of a csv file; the last rating of an item counts.

    Raises ProfileError, naming the line, for an unknown or unclear title, a rating that is no
    number on the scale, a missing column, or no ratings at all.
    """
    reader = csv.DictReader(lines, skipinitialspace=True)
    try:
        if not {"title", "rating"} <= set(reader.fieldnames or ()):
            raise ProfileError('the file of ratings must begin with the line "title,rating"')
        ratings = _ratings(reader, _titles(catalog), scale)
    except csv.Error:
        raise ProfileError(f"line {reader.line_num + 1} of the ratings is no csv") from None
    if not ratings:
        raise ProfileError("there are no ratings yet: rate at least one title")
    return ratings


def _ratings(
    reader: csv.DictReader[str], titles: dict[str, set[int]], scale: RatingScale
) -> dict[int, float]:
    ratings: dict[int, float] = {}
    for row in reader:
        where = f"line {reader.line_num} of the ratings"
        if None in row or None in row.values():
            raise ProfileError(f"{where}: more or fewer fields than the first line")
        ratings[_item(titles, row["title"], where)] = _rating(row["rating"], scale, where)
    return ratings


def _titles(catalog: Catalog) -> dict[str, set[int]]:
    """Every way to write a title, by `title_key`, with the items that it may mean."""
    titles: dict[str, set[int]] = {}
    for number, item in enumerate(catalog.items):
        for text in (item.title, item.label):
            titles.setdefault(title_key(text), set()).add(number)
    return titles


def _item(titles: dict[str, set[int]], text: str, where: str) -> int:
    found = titles.get(title_key(text), set())
    if not found:
        raise ProfileError(f"{where}: no such title in this catalog (`askew catalog` lists them)")
    if len(found) > 1:
        raise ProfileError(f"{where}: {len(found)} items have this title; add the year")
    return min(found)


def _rating(text: str, scale: RatingScale, where: str) -> float:
    try:
        rating = float(text)
    except ValueError:
        rating = nan
    if not scale.lowest <= rating <= scale.highest:
        limits = f"from {scale.lowest:g} to {scale.highest:g}"
        raise ProfileError(f"{where}: a rating must be a number {limits}")
    return rating
