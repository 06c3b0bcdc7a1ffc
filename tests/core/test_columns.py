"""Items in columns are the items that they were made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.catalog.catalog import ItemColumns
from askew.catalog.item import Item
from askew.errors import OutOfRange
from askew.limits import is_visible

TEXT = st.text("aé漢😀 '\u200d", min_size=1, max_size=9).filter(is_visible)
ITEMS = st.lists(
    st.builds(Item, TEXT, st.none() | st.integers(1, 9999), st.lists(TEXT, max_size=2).map(tuple)),
    min_size=1,
    max_size=9,
)


@given(ITEMS, st.slices(12))
def test_columns_give_every_item_back(items: list[Item], some: slice) -> None:
    packed = ItemColumns.of(items)
    assert [*packed] == items
    assert [packed[at] for at in range(-len(items), len(items))] == items + items
    assert [*packed[some]] == items[some]
    assert packed == items
    assert packed != [*items, Item("one more")]


@given(ITEMS, st.lists(st.just(Item("one more", 1999, ("new",))), max_size=2))
def test_joined_columns_are_those_of_all_items(items: list[Item], more: list[Item]) -> None:
    """Planted bugs: the lists of genres of the first items for the others; lines that run on."""
    both = ItemColumns.of(items).joined(more)
    assert [*both] == [*items, *more]
    assert [*both.joined(items)] == [*items, *more, *items]


@pytest.mark.parametrize(
    ("titles", "years", "genres"),
    [
        ("a\n\x1bb", [1, 2], [0, 0]),
        ("a\n", [1, 2], [0, 0]),
        ("a\n" + 501 * "é", [1, 2], [0, 0]),
        ("a\nb", [1, 10_000], [0, 0]),
        ("a\nb", [1, 2], [0, 2]),
        ("a\nb", [1], [0, 0]),
        ("a\nb", [1, 2], [0]),
    ],
)
def test_columns_that_no_items_have_are_refused(
    titles: str, years: list[int], genres: list[int]
) -> None:
    with pytest.raises(OutOfRange):
        ItemColumns(titles.encode(), years, genres, [(), ("drama",)])
    with pytest.raises(OutOfRange):
        ItemColumns(b"a", [1], [0], [("\x1b",)])


def test_a_title_as_long_as_may_be_is_kept_whatever_bytes_it_takes() -> None:
    assert ItemColumns(("a\n" + 500 * "漢").encode(), [0, 0], [0, 0], [()])[1].title == 500 * "漢"
