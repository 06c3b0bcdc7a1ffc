"""The statement as the documents show it, and as each dialect writes what differs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from askew_server.counting import ContributionBound, CountingTask
from askew_server.counting.statements import Names, carried, counting

DOCUMENT = Path(__file__).parents[3] / "docs" / "counting.md"
NAMES = Names(
    {"events_table": ("events",)},
    {"unit_column": "unit", "item_column": "item"},
    frozenset({"unit_column", "item_column"}),
)
TASK = CountingTask(events="events", bound=ContributionBound(10), limit=1001)


def test_the_document_shows_the_statement() -> None:
    [shown] = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert shown.strip() == carried(counting(TASK, "duckdb"), NAMES, "duckdb")


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
