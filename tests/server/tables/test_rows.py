"""Rows of text files: what the one pass and Arrow make of any bytes is what RFC 4180 says, whatever
the sizes of blocks, and one person's lines are nobody else's.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import DataError
from askew_server import tables
from askew_server.tables import text as text_files

COLUMNS = ("user", "item", "rating")
Rows = list[tuple[int, tuple[str, ...]]]


def rows_of(name: Path, columns: Sequence[str] = COLUMNS, **how: object) -> Rows:
    """The rows with their numbers, as they are read."""
    table = tables.open_table(name, **how)  # type: ignore[arg-type]
    rows: Rows = []
    for batch in table.batches(columns, table.omissions()):
        texts = zip(*[column.to_pylist() for column in batch.texts], strict=True)
        rows += zip(batch.rows.tolist(), texts, strict=True)
    return rows


def by_the_book(text: str, n_fields: int) -> Rows | None:
    """The same, character by character; None where quotes are torn."""
    rows: Rows = []
    line, at = 1, 0
    while at < len(text):
        row, begun = [], line
        while True:
            if text[at : at + 1] == '"':
                end, value = at + 1, ""
                while text[end : end + 1] != '"' or text[end : end + 2] == '""':
                    if end >= len(text):
                        return None
                    value += text[end]
                    end += 2 if text[end : end + 2] == '""' else 1
                at = end + 1
                if text[at : at + 1] not in (",", "\n") and text[at : at + 2] != "\r\n":
                    return None
            else:
                ends = [end for end in (text.find(",", at), text.find("\n", at)) if end >= 0]
                end = min(ends)
                value, at = text[at:end], end
                if text[at] == "\n":
                    value = value.removesuffix("\r")
            row.append(value.replace("\r\n", "\n"))
            if text[at] != ",":
                at = text.index("\n", at) + 1
                break
            at += 1
        line = 1 + text.count("\n", 0, at)
        is_bad = "\0" in "".join(row) or len(row) != n_fields
        if begun > 1 and row != [""] and not is_bad:
            rows.append((begun, tuple(row)))
    return rows


_FIELDS = st.text(alphabet='ab1,"\r\n\x1a0\0é\ufeff', max_size=6)
_LINES = st.lists(
    st.lists(_FIELDS, min_size=1, max_size=4).map(",".join) | st.just('x,"a\nb,c,d\n","e""f"'),
    max_size=8,
)


@settings(max_examples=400, deadline=None)
@given(lines=_LINES, end=st.sampled_from(["\n", "\r\n"]), block=st.integers(8, 64))
def test_any_text_is_cut_as_rfc_4180_says_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, block: int
) -> None:
    """Planted bugs: a block ends a row; a lone return does; a quote ends with its line."""
    text = "".join(f"{line}{end}" for line in ["user,item,rating", *lines])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())
    wanted = by_the_book(text, 3)
    for size in (block, 1 << 20):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_files, "BLOCK", size)
            if wanted is None:
                with pytest.raises(DataError, match="a quote is not closed, or text follows"):
                    rows_of(path)
            else:
                assert rows_of(path) == wanted
