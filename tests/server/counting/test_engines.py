"""Engines by address, their drivers, and what their failures say."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from server.counting.contract import task

from askew.errors import DataError, ParameterError
from askew_server.cli.options import Workplace
from askew_server.counting import CountingTask
from askew_server.counting.bounding import require_countable, require_public
from askew_server.counting.contract import driver
from askew_server.counting.engines import open_engine, public_address
from askew_server.counting.engines.duckdb import DuckDBEngine
from askew_server.counting.statements import carried, counting


def test_a_missing_driver_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(DataError, match=r"pip install '\.\[spark\]'"):
        driver("a_driver_that_nobody_wrote.sql", "spark")


def test_a_duckdb_file_is_opened_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "events.duckdb"
    with duckdb.connect(path) as owner:
        owner.execute("CREATE TABLE events (unit VARCHAR, item VARCHAR)")
    engine = open_engine(f"duckdb:{path}")
    assert engine.columns(("events",)) == {"unit": "VARCHAR", "item": "VARCHAR"}
    with pytest.raises(DataError):
        engine.execute("DROP TABLE events")
    engine.close()


def test_an_unknown_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(ParameterError, match="postgresql://") as error:
        open_engine("mysql://name:hunter2@host")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("duckdb:some where/e@f.duckdb", "duckdb:some where/e@f.duckdb"),
        ("spark:local[2]", "spark:local"),
        ("spark:spark://hunter2@host:7077", "spark:spark://host:7077"),
        ("postgresql://name:hunter2@Host:5432/base", "postgresql://host/base"),
        ("postgres://host/base", "postgresql://host/base"),
        ("postgresql://name:hun?ter2#hunter2@host/base", "postgresql://host/base"),
        ("postgresql://name:some@hunter2@host/base", "postgresql://host/base"),
        ("postgresql://host/base?password=hunter2&user=x", "postgresql://host/base"),
        ("postgresql:///base?port=1&host=/run", "postgresql:///base?host=/run&port=1"),
        ("mysql:hunter2", "mysql:"),
    ],
)
def test_an_address_without_its_secrets_names_one_place(address: str, public: str) -> None:
    """Planted bugs: the address as it is; a name that splits one place into two."""
    assert public_address(address) == public
    assert "hunter2" not in repr(Workplace(ledger=Path("ledger"), engine=address))


@pytest.mark.parametrize(
    ("line", "is_shown"),
    [
        ("Person ID,Film", True),
        ("item,x1,x2", True),  # one of the columns asked for
        ("alice,book", False),  # an item may be called as a column is
    ],
)
def test_a_first_line_is_shown_where_it_can_be_no_event(
    engine: DuckDBEngine, tmp_path: Path, line: str, is_shown: bool
) -> None:
    """Planted bugs: one usual word enough; nothing shown of a csv file."""
    path = tmp_path / "log.csv"
    path.write_text(f"{line}\np,a,1,2\n")
    with pytest.raises(DataError, match="no column 'unit'") as refused:
        require_countable(engine, task(str(path)))
    columns = ", ".join(map(repr, line.split(",")))
    assert (f"it has {columns}" in str(refused.value)) == is_shown
    assert ("its first line must name the columns" in str(refused.value)) != is_shown


def test_progress_is_a_share_that_ends_at_one() -> None:
    shares: list[float] = []
    DuckDBEngine(progress=shares.append).execute("SELECT sum(hash(i)) FROM range(50000000) t(i)")
    assert shares[-1] == 1
    assert all(0 <= share <= 1 for share in shares)


NAMES = {"events_table": '"events"', "unit_column": '"unit"', "item_column": '"item"'}
TASK = CountingTask(events="events", max_items_per_unit=10, limit=1001)


def typed(dialect: str, type_name: str) -> Any:
    """An engine whose units have this type, and which cannot be asked for a row."""
    columns = {"unit": type_name, "item": "uuid"}
    return SimpleNamespace(dialect=dialect, table=lambda name: (name,), columns=lambda _: columns)


@pytest.mark.parametrize(
    ("dialect", "type_name"),
    [
        *(("postgres", kind) for kind in ("bpchar(4)", "char", "16402", "date")),
        *(("duckdb", kind) for kind in ("BIT", "ENUM('varchar')", "VARCHAR[]")),
        *(("spark", kind) for kind in ("string collate UTF8_LCASE", "varchar(3)")),
    ],
)
def test_types_that_engines_compare_or_write_in_their_own_way_are_no_ids(
    dialect: str, type_name: str
) -> None:
    """`postgres` and `duckdb` have tables of them."""
    with pytest.raises(DataError, match=re.escape(f"has the type {type_name}; ids must be text")):
        require_countable(typed(dialect, type_name), TASK)
    require_countable(typed(dialect, "uuid"), TASK)


def test_events_are_looked_at_once() -> None:
    """Else what is taken off might not be what was counted, where a log grows in between. Planted
    bug: pairs that Spark makes anew for each of the places that name them."""
    for dialect in ("duckdb", "postgres", "spark"):
        sql = carried(counting(TASK, dialect), NAMES, dialect)
        assert len(re.findall('"events"', sql)) == 1
        assert (sql.count("WITH"), sql.count("pairs AS MATERIALIZED")) in ((0, 0), (1, 1))
        assert dialect != "spark" or "WITH" not in sql  # which it does not keep


ITSELF = "it is the event log itself, or may be; its items are not public"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two days of events, a catalog, and other names of the log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").mkdir()
    for name in ("log/day1.csv", "log/day2.csv"):
        (tmp_path / name).write_text("unit,item\np,a\n")
    (tmp_path / "films.csv").write_text("item\na\n")
    (tmp_path / "linked.csv").symlink_to("log/day1.csv")
    os.link("log/day1.csv", "same.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("catalog", "events"),
    [
        ("log/day1.csv", "log/day1.csv"),
        ("linked.csv", "log/day1.csv"),
        ("log/day2.csv", "log/*.csv"),
        ("same.csv", "log/*.csv"),
        ("log/*.csv", "**/day1.csv"),
    ],
)
def test_the_log_under_any_name_is_no_catalog(
    engine: DuckDBEngine, folder: Path, catalog: str, events: str
) -> None:
    with pytest.raises(DataError, match=ITSELF):
        require_countable(engine, task(events, catalog=catalog))


@pytest.mark.parametrize(
    ("catalog", "events"),
    [
        ("hdfs://far/log.parquet", "hdfs://far/log.parquet"),  # a name that only a cluster knows
        ("log.parquet", "log.parquet"),
        ("all.parquet/part-0.parquet", "all.parquet"),  # a folder, as Spark reads one
        *((name, "events") for name in ("events", "main.events", "shop.main.events", "EVENTS")),
    ],
)
def test_the_table_of_events_under_any_name_is_no_catalog(
    folder: Path, catalog: str, events: str
) -> None:
    (folder / "all.parquet").mkdir()
    (folder / "all.parquet" / "part-0.parquet").write_bytes(b"")
    with pytest.raises(DataError, match=ITSELF):
        require_public(catalog, events)


def test_another_table_or_file_is_a_catalog(folder: Path) -> None:
    require_public("films", "events")
    require_public("other.events", "main.events")
    require_public("films.csv", "log/*.csv")
    require_public("films.csv", "events")
    require_public("log.parquet", "hdfs://far/other.parquet")
