"""Titles are short, and cheap to compare: few combining marks stand in a row."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest

from askew.catalog.attributes import Titles
from askew.catalog.catalog import ItemColumns
from askew.catalog.item import Item, Listing
from askew.errors import OutOfRange
from askew.limits import MAX_MARKS, has_few_marks, is_mark, is_visible

ABOVE, BELOW = "\u0301", "\u0316"  # of two classes, so that they are sorted
MARKED = "e" + ABOVE * MAX_MARKS
TOO_MANY = {
    "two classes": "e" + (ABOVE + BELOW) * 240,
    "in the middle of a title": f"Amelie{ABOVE * 9} again",
    "marks that are no marks until they are decomposed": "e" + "\u0f73" * 9,
}


def test_what_begins_with_a_mark_is_one() -> None:
    """All of Unicode. Planted bug: the class of a character, which three of Tibetan hide."""
    characters = [chr(code) for code in range(0x110000)]
    begins = [unicodedata.normalize("NFKD", each.casefold())[:1] for each in characters]
    marks = [each for each, first in zip(characters, begins, strict=True) if is_mark(each)]
    assert {each for each in marks if each != "\u0345"} == {  # which folds to a letter
        each
        for each, first in zip(characters, begins, strict=True)
        if first and unicodedata.combining(first)
    }
    assert min(marks) == "\u0300"


@pytest.mark.parametrize("name", TOO_MANY)
def test_more_marks_in_a_row_than_a_script_needs_are_refused(name: str) -> None:
    """In a reply of either kind, in a held file, wherever it stands."""
    text = TOO_MANY[name]
    said = "text with at most 8 combining marks in a row"
    with pytest.raises(OutOfRange, match=said):
        Item(text)
    with pytest.raises(OutOfRange, match=said):
        Listing(0, text, (0.0, 0.0))
    with pytest.raises(OutOfRange, match=said):
        ItemColumns(f"{MARKED}\n{text}\n{MARKED}".encode(), [0] * 3, [0] * 3, [()])


def test_marks_that_scripts_need_are_taken() -> None:
    """Marks at the end of a line and at the start of the next are of two titles."""
    titles = [MARKED, ABOVE * MAX_MARKS, "Tiếng Việt".encode().decode(), "ガギグ", "बाज़ीराव"]
    assert all(map(has_few_marks, titles))
    assert len(ItemColumns("\n".join(titles).encode(), [0] * 5, [0] * 5, [()])) == 5


SHOWN = ["a", "می\u200cشود", "👨\u200d👩\u200d👧", "Soft\u00adly", "\u200fקפה"]
HIDDEN = ["", "  ", "\u200b\u00ad", "a\x1b[2J", "a\u202eb", "\u2066x", "a\u2028b", "\ue000"]


def test_text_of_any_script_is_taken_and_what_hides_or_turns_it_is_refused() -> None:
    """In an item, a place and columns of both. Planted bug: what may join letters alone is text."""

    doors: list[Callable[[str], object]] = [
        Item,
        lambda text: Listing(0, text, (0.0, 0.0)),
        lambda text: Titles.of(["a", text]).check("a title"),
        lambda text: ItemColumns(f"a\n{text}".encode(), [0] * 2, [0] * 2, [()]),
    ]
    assert all(map(is_visible, SHOWN))
    assert not any(map(is_visible, HIDDEN))
    for door in doors:
        for text in SHOWN:
            door(text)
        for text in HIDDEN:
            with pytest.raises(OutOfRange):
                door(text)
