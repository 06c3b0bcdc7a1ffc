"""`askew profile`: titles in by standard input, out by standard output, never by an argument."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from client.conftest import Askew

RATINGS = b"title,rating\nAlien (1979),4.5\nCasablanca (1942),1.5\nMoon (2009),\n"
LISTED = [" like  Moon (2009)", "  1.5  Casablanca (1942)", "  4.5  Alien (1979)"]


def listed(askew: Askew) -> list[str]:
    return askew("profile", "list").out.splitlines()


@pytest.mark.parametrize("command", [["add"], ["import", "-"]], ids=" ".join)
def test_ratings_are_added_from_standard_input(askew: Askew, command: list[str]) -> None:
    found = askew("profile", *command, stdin=RATINGS)
    assert (found.code, found.out) == (0, "")
    assert "3 titles rated" in found.err
    assert listed(askew) == LISTED


def test_a_rating_beyond_the_usual_scale_is_kept_and_said(askew: Askew) -> None:
    """Another server's scale may reach it: none is held when ratings are typed."""
    found = askew("profile", "add", stdin=b"Alien (1979),9\nMoon (2009)\n")
    assert "2 titles rated" in found.err
    assert "1 above 5, which a server with a lower scale takes for its best" in found.err
    assert listed(askew) == [" like  Moon (2009)", "    9  Alien (1979)"]
    found = askew("profile", "add", stdin=b"Alien (1979),5\n")
    assert (found.err, found.code) == ("1 title rated; `askew profile undo` takes this back\n", 0)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"Alien (1979),5\nHeat (1995),x\n", "line 2 of standard input: a rating must be a number"),
        (b"The Good, the Bad and the Ugly (1966),5\n", "line 1 .* comma stands in quotes"),
    ],
)
def test_lines_of_added_titles_are_counted_as_they_were_typed(
    askew: Askew, typed: bytes, said: str
) -> None:
    assert re.search(said, askew("profile", "add", stdin=typed).err)


def test_titles_are_removed_and_an_undo_brings_them_back(askew: Askew) -> None:
    askew("profile", "add", stdin=RATINGS)
    removed = askew("profile", "remove", stdin=b"alien (1979)\n\nNever Rated\n")
    assert removed.err.startswith("1 rating removed; `askew profile undo` still knows them")
    assert "--for-good" in removed.err
    assert listed(askew) == LISTED[:2]
    askew("profile", "undo")
    assert sorted(listed(askew)) == sorted(LISTED)


def test_an_export_is_what_an_import_reads(askew: Askew) -> None:
    askew("profile", "add", stdin=RATINGS)
    exported = askew("profile", "export").out
    assert exported.encode() == RATINGS
    assert json.loads(askew("profile", "list", "--json").out)[0] == {
        "title": "Moon (2009)",
        "rating": None,
    }
    askew("profile", "add", stdin=b"Heat (1995),1.23456789\n")  # all digits
    assert "\nHeat (1995),1.23456789\n" in askew("profile", "export").out


def test_wiping_asks_first(askew: Askew, home: Path) -> None:
    askew("profile", "add", stdin=RATINGS)
    assert askew("profile", "wipe", stdin=b"n\n").code == 130
    assert listed(askew) == LISTED
    assert askew("profile", "wipe", stdin=b"y\n").code == 0
    assert [*home.rglob("profile*")] == []
