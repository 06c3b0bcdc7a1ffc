"""The statement as a file beside this one shows it, and as each dialect writes what differs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from askew.errors import DataError
from askew_server.counting import CountingTask
from askew_server.counting.bounding import require_countable
from askew_server.counting.statements import Names, carried, counting

SHOWN = Path(__file__).with_name("statement.sql")
NAMES = Names(
    {"events_table": ("events",)},
    {"unit_column": "unit", "item_column": "item"},
    frozenset({"unit_column", "item_column"}),
)
TASK = CountingTask(events="events", max_items_per_unit=10, limit=1001)


def test_the_statement_for_duckdb_is_the_one_that_people_have_read() -> None:
    assert SHOWN.read_text("utf-8").strip() == carried(counting(TASK, "duckdb"), NAMES, "duckdb")


@pytest.mark.parametrize(
    ("dialect", "parameter", "collation"),
    [
        ("duckdb", "$secret", 'COLLATE "C"'),
        ("postgres", "CAST($1 AS TEXT)", 'COLLATE "C"'),
        ("spark", ":secret", "COLLATE UTF8_BINARY"),
        ("clickhouse", "{secret: String}", None),
    ],
)
def test_parameters_and_collations_are_each_engines_own(
    dialect: str, parameter: str, collation: str | None
) -> None:
    sql = carried(counting(TASK, dialect), NAMES, dialect)
    assert sql.count(parameter) == 2
    assert sql.count("COLLATE") == (0 if collation is None else sql.count(collation))
    assert ("COLLATE" in sql) == (collation is not None)


class Typed:
    """An engine whose columns have a type, and which is never asked for a row."""

    def __init__(self, dialect: str, type_name: str) -> None:
        self.dialect, self._type = dialect, type_name

    def table(self, source: str, *, public: bool = False) -> tuple[str, ...]:
        return (source,)

    def columns(self, _: tuple[str, ...]) -> dict[str, str]:
        return {"unit": self._type, "item": "text"}

    def execute(self, *_: object) -> list[tuple[object, ...]]:
        raise AssertionError("a row was asked for")

    def mark(self, *_: object) -> None:
        """A table."""

    def broken_lines(self, *_: object) -> int:
        return 0

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("dialect", "type_name"),
    [("postgres", "bit(8)"), ("postgres", "bit varying(8)"), ("duckdb", "BIT")],
)
def test_strings_of_bits_are_no_ids(dialect: str, type_name: str) -> None:
    """Engines write them differently. Planted bug: bits that pass for integers."""
    with pytest.raises(DataError, match=re.escape(f"has the type {type_name}; ids must be text")):
        require_countable(Typed(dialect, type_name), TASK)
    require_countable(Typed(dialect, "bigint"), TASK)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "clickhouse"])
def test_events_are_looked_at_once(dialect: str) -> None:
    """Else what is taken off might not be what was counted, where a log grows in between. Planted
    bug: pairs that Spark and ClickHouse make anew for each of the places that name them."""
    sql = carried(counting(TASK, dialect), NAMES, dialect)
    assert len(re.findall(r"[\"`]events[\"`]", sql)) == 1
    assert (sql.count("WITH"), sql.count("pairs AS MATERIALIZED")) in ((0, 0), (1, 1))
    assert dialect in ("duckdb", "postgres") or "WITH" not in sql  # which these do not keep


def test_a_name_that_is_a_stand_in_is_not_replaced_again() -> None:
    names = Names(
        {"events_table": ("catalog_table", "events_table")},
        {"unit_column": "item_column", "item_column": "unit_column"},
        frozenset(),
    )
    sql = carried(counting(TASK, "duckdb"), names, "duckdb")
    assert '"catalog_table"."events_table"' in sql
    assert 'e."item_column" AS unit' in sql
    assert 'e."unit_column" AS item' in sql
