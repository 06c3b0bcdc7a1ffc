"""Words as numbers find the lines that looking at every word finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew_client.profile import title_words, vocabulary
from askew_client.profile.title_words import WordLines

WORDS = st.sampled_from(["a", "b", "ab", "ba", "aab", "é", "abb", "aba"])
LINES = st.lists(st.lists(WORDS, max_size=4), max_size=9)


def begins(line: list[str], typed: list[str]) -> bool:
    """With these words, the last one cut off at will."""
    if not typed:
        return True
    *whole, last = typed
    return line[: len(whole)] == whole and [*line, ""][len(whole)].startswith(last)


@given(
    lines=LINES,
    typed=st.lists(WORDS, max_size=3),
    among=st.sets(st.integers(0, 8)),
    often=st.sampled_from([0, 2, 1000]),
    many=st.sampled_from([1, 1000]),
)
def test_lines_are_found_by_parts_and_by_beginnings(
    lines: list[list[str]], typed: list[str], *, among: set[int], often: int, many: int
) -> None:
    """Planted bugs: a word that must be whole, cut off; the last one, not; lines of some that were
    not asked about; of several parts the rarest alone.
    """
    having = [at for at, line in enumerate(lines) if all(any(p in w for w in line) for p in typed)]
    begun = [at for at, line in enumerate(lines) if begins(line, typed)]
    some = sorted(at for at in among if at < len(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(title_words, "_FIRST", 1)  # lines at once, so that there are several pieces
        patch.setattr(title_words, "_MOST", 3)
        patch.setattr(title_words, "_INVERTED", 2)
        patch.setattr(title_words, "_OFTEN", often)  # all rare, some, or none
        patch.setattr(vocabulary, "_MANY", many)
        found = WordLines(lines)
        assert [*found.having(typed)] == having
        assert [*found.beginning(typed)] == begun
        assert [*found.beginning(typed, some)] == [at for at in begun if at in some]
