"""By columns or row by row: the same table and the same rows left out, for any text at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askew.errors import DataError
from askew_server.ratings import RatingTable, Rejects, read_ratings, reader
from askew_server.ratings.columns import Columns, text_columns
from askew_server.ratings.formats import rating_format
from askew_server.ratings.parts import Asked

HEADER = "user,item,rating\n"
FIELDS = st.one_of(
    st.sampled_from(["1", "2", "10", " 1", "a b", "Amélie", '"x"', "", "é\x85", "0.5", "1e2"]),
    st.text(max_size=4),
)
ROWS = st.lists(
    st.one_of(
        st.tuples(FIELDS, FIELDS, st.sampled_from(["1", "3.5", "-2", "1_0", "nan", "1e999", "+4"])),
        st.lists(FIELDS, max_size=5).map(tuple),
    ),
    min_size=1,
    max_size=12,
)
Read = tuple[RatingTable, Rejects] | str


@pytest.fixture(autouse=True)
def way() -> str:
    """Once is enough here: both ways are compared."""
    return "columns"


def outcome(path: Path) -> Read:
    try:
        return read_ratings(path)
    except DataError as error:
        return str(error)


def by(path: Path, monkeypatch: pytest.MonkeyPatch, least: int) -> Read:
    monkeypatch.setattr(reader, "LEAST_BYTES", least)
    return outcome(path)


def shown(read: Read) -> object:
    if isinstance(read, str):
        return read
    table, rejects = read
    columns = [column.tolist() for column in (table.person, table.item, table.rating)]
    return columns, table.n_people, table.item_keys, rejects


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, ending=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
def test_both_ways_read_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, ...]],
    ending: str,
    last: bool,
) -> None:
    """Planted bug: an odd row taken for a good one, or a line that is not counted."""
    path = tmp_path / "ratings.csv"
    lines = [HEADER.strip(), *(",".join(row) for row in rows)]
    text = ending.join(lines) + ending * last
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert shown(by(path, monkeypatch, 1 << 60)) == shown(by(path, monkeypatch, 0))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"{HEADER}1,2,3\n1,3,4\n", True),
        (f"{HEADER}1,2,3\n\n4,5\n", True),
        ("user,item,rating\r\n1,2,3\r\n1,3,4", True),
        (f"{HEADER}1,2,3\r1,3,4\n", False),
        (f"{HEADER}1,2,3\0\n", False),
    ],
    ids=["lines", "bad lines", "two characters a line end", "a lone return", "a NUL"],
)
def test_only_lines_that_can_be_counted_are_read_by_columns(
    tmp_path: Path, text: str, plain: bool
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_bytes(text.encode())
    found = text_columns(path, rating_format(path), Asked())
    assert isinstance(found, Columns) is plain


def test_a_name_that_is_a_pattern_is_the_name_of_one_file(tmp_path: Path) -> None:
    """Planted bug: the file that the pattern matches is read in place of the one that was named."""
    path, other = tmp_path / "[ab].csv", tmp_path / "a.csv"
    path.write_text(f"{HEADER}1,2,3\n")
    other.write_text(f"{HEADER}9,9,1\n")
    found = text_columns(path, rating_format(path), Asked())
    assert found is not None
    assert (found.people, found.items) == (["1"], ["2"])


def test_a_large_file_is_read_by_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to fall back to rows unnoticed."""
    monkeypatch.setattr(reader, "LEAST_BYTES", 0)
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "".join(f"{row},{row % 7},3\n" for row in range(1000)) + "x,y\n")

    def never(*_: object) -> None:
        raise AssertionError("row by row")

    monkeypatch.setattr(reader, "numbered_lines", never)
    table, rejects = read_ratings(path)
    assert (len(table), table.n_people, len(table.item_keys), rejects.count) == (1000, 1000, 7, 1)
