"""The person's own ratings, read from a csv: what is understood, and what is refused by line."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from askew.errors import ProfileError
from askew.model_card import Catalog, Item
from askew.vectors import RatingScale
from askew_client.profile_store import read_ratings

ITEMS = (
    Item("Alien", 1979),
    Item("Solaris", 1972),
    Item("Solaris", 2002),
    Item("Crouching Tiger, Hidden Dragon", 2000),
    Item("Die Große Straße", 1950),
    Item("The Untitled"),
    Item('The "Quoted" One', 1999),
)
N = len(ITEMS)
CATALOG = Catalog(ITEMS, np.zeros((N, 2), np.float32), np.ones(N, np.float32), ())
SCALE = RatingScale.between(0.5, 5.0)


def read(text: str) -> dict[int, float]:
    return read_ratings(text.splitlines(), CATALOG, SCALE)


UNDERSTOOD: dict[str, tuple[str, dict[int, float]]] = {
    "title and year": ("title,rating\nAlien (1979),5\n", {0: 5.0}),
    "the title alone": ("title,rating\nAlien,0.5\n", {0: 0.5}),
    "another case": ("title,rating\naLiEN (1979),4.5\n", {0: 4.5}),
    "case beyond ascii": ("title,rating\nDIE GROSSE STRASSE,4\n", {4: 4.0}),
    "spaces around": ("title, rating\n  Alien , 4 \n", {0: 4.0}),
    "a quoted comma": ('title,rating\n"Crouching Tiger, Hidden Dragon",3\n', {3: 3.0}),
    "a quoted quote": ('title,rating\n"The ""Quoted"" One",3\n', {6: 3.0}),
    "no year to write": ("title,rating\nThe Untitled,3\n", {5: 3.0}),
    "two of one title": ("title,rating\nSolaris (2002),2\nSolaris (1972),5\n", {2: 2.0, 1: 5.0}),
    "columns in another order": ("rating,title\n1,Alien\n", {0: 1.0}),
    "more columns": ("when,title,rating\n2026-11-21,Alien,1\n", {0: 1.0}),
    "blank lines": ("title,rating\n\nAlien,5\n\n", {0: 5.0}),
    "the last rating of an item counts": (
        "title,rating\nAlien,1\nSolaris (2002),2\nALIEN (1979),4\n",
        {0: 4.0, 2: 2.0},
    ),
}


@pytest.mark.parametrize("case", UNDERSTOOD)
def test_ratings_are_read(case: str) -> None:
    text, expected = UNDERSTOOD[case]
    assert read(text) == expected


SCALE_LIMITS = "a rating must be a number from 0.5 to 5"
REFUSED: dict[str, tuple[str, str]] = {
    "an unknown title": (
        "title,rating\nAlien,5\nSecret Film,5\n",
        "line 3 of the ratings: no such",
    ),
    "an empty title": ("title,rating\n,5\n", "line 2 of the ratings: no such title"),
    "another year": ("title,rating\nAlien (1980),5\n", "line 2 of the ratings: no such title"),
    "an unclear title": ("title,rating\nSolaris,5\n", "line 2 of the ratings: 2 items have this"),
    "no number": ("title,rating\nAlien,great\n", SCALE_LIMITS),
    "NaN": ("title,rating\nAlien,nan\n", SCALE_LIMITS),
    "an infinity": ("title,rating\nAlien,inf\n", SCALE_LIMITS),
    "above the scale": ("title,rating\nAlien,5.5\n", SCALE_LIMITS),
    "below the scale": ("title,rating\nAlien,0\n", SCALE_LIMITS),
    "huge": ("title,rating\nAlien,1e999\n", SCALE_LIMITS),
    "no rating": ("title,rating\nAlien\n", "line 2 of the ratings"),
    "an empty rating": ("title,rating\nAlien,\n", SCALE_LIMITS),
    "a decimal comma": ("title,rating\nAlien,4,5\n", "line 2 of the ratings"),
    "nothing": ("", "must begin with the line"),
    "another header": ("film,stars\nAlien,5\n", "must begin with the line"),
    "no header": ("Alien,5\n", "must begin with the line"),
    "a header alone": ("title,rating\n", "rate at least one title"),
    "an endless field": (f"title,rating\n{'x' * 200_000},5\n", "line 2 of the ratings is no csv"),
    "an endless header": (
        f"title,rating,{'x' * 200_000}\nAlien,5\n",
        "line 1 of the ratings is no csv",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_by_line(case: str) -> None:
    """Planted bug: a bad row that is skipped in silence, or taken for half of what it says."""
    text, reason = REFUSED[case]
    with pytest.raises(ProfileError, match=reason):
        read(text)


def test_a_line_is_counted_as_an_editor_counts_it() -> None:
    with pytest.raises(ProfileError, match="line 4 of"):
        read('title,rating\n"Alien",5\n\nSecret Film,5\n')


PRIVATE = {
    "a title": ("title,rating\nSecret Film,4.25\n", ("Secret", "4.25")),
    "an unclear title": ("title,rating\nSolaris,4.25\n", ("Solaris", "4.25")),
    "a rating": ("title,rating\nAlien,6.25\n", ("Alien", "6.25")),
    "a word for a rating": ("title,rating\nAlien,adored\n", ("Alien", "adored")),
    "a header": ("Secret Film,4.25\n", ("Secret", "4.25")),
}


@pytest.mark.parametrize("case", PRIVATE)
def test_a_message_names_the_line_and_never_a_title_or_a_rating(case: str) -> None:
    """Planted bug: f"unknown title {title!r}", which ends up in a log or a bug report."""
    text, private = PRIVATE[case]
    with pytest.raises(ProfileError) as refusal:
        read(text)
    assert not any(word in str(refusal.value) for word in private)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


def test_the_limit_of_a_csv_field_is_the_librarys_own() -> None:
    """The endless fields above must be beyond it."""
    assert csv.field_size_limit() < 200_000
