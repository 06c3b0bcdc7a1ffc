"""Texts get numbers: the same text the same one, and another text another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.randomness import ReplayBits, SystemBits
from askew_server.ratings.words import LONGEST, WORD, TextTable, Words, texts_of, words_of

SAME_PLACE = bytes(LONGEST + WORD)
"""Factors of 1, with which all short texts want the first place."""
TEXTS = st.lists(st.binary(max_size=20).map(lambda text: text.replace(b"\0", b"x")), min_size=1)


@pytest.fixture(autouse=True)
def way() -> str:
    """There is one alone here."""
    return "columns"


def as_words(texts: list[bytes]) -> Words:
    sizes = np.array([len(text) for text in texts], np.intp)
    return words_of(b"".join(texts) + bytes(LONGEST), np.cumsum(sizes) - sizes, sizes)


@given(texts=TEXTS)
def test_words_are_the_texts(texts: list[bytes]) -> None:
    assert texts_of(as_words(texts)) == texts


@pytest.mark.parametrize("factors", [None, SAME_PLACE], ids=["by chance", "one place for all"])
@given(columns=st.lists(TEXTS, min_size=1, max_size=3))
def test_each_different_text_has_its_own_number(
    factors: bytes | None, columns: list[list[bytes]]
) -> None:
    """Planted bugs: only the first word is compared; a place that is taken is not passed by; a text
    of fewer words than another that begins like it.
    """
    table = TextTable(ReplayBits(factors) if factors else SystemBits())
    for texts in columns:
        numbers = table.numbers(as_words(texts))
        known = table.texts(0)
        assert [known[number] for number in numbers.tolist()] == texts
    assert sorted(known[1:]) == sorted({*known[1:]})


def test_numbers_stay_when_the_table_grows() -> None:
    """Planted bug: texts that lose their places."""
    table, texts = TextTable(SystemBits()), [b"item %d" % at for at in range(100_000)]
    first = table.numbers(as_words(texts[:1000]))
    every = table.numbers(as_words(texts))
    assert (every[:1000] == first).all()
    assert np.unique(every).size == len(texts) == len(table) - 1
