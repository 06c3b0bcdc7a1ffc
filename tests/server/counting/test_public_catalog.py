"""A catalog that is the event log makes private items public, so it is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from server.counting.contract import task

from askew.errors import DataError
from askew_server.counting.bounding import require_countable, require_public
from askew_server.counting.engines.duckdb import DuckDBEngine

ITSELF = "it is the event log itself, or may be; its items are not public"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two days of events, a catalog, and other names of the log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").mkdir()
    for name in ("log/day1.csv", "log/day2.csv"):
        (tmp_path / name).write_text("unit,item\np,a\n")
    (tmp_path / "films.csv").write_text("item\na\nb\n")
    (tmp_path / "linked.csv").symlink_to("log/day1.csv")
    os.link("log/day1.csv", "same.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("catalog", "events"),
    [
        ("log/day1.csv", "log/day1.csv"),
        ("log/../log/day1.csv", "log/day1.csv"),
        ("linked.csv", "log/day1.csv"),
        ("same.csv", "log/day1.csv"),
        ("log/day2.csv", "log/*.csv"),
        ("same.csv", "log/*.csv"),
        ("log/*.csv", "**/day1.csv"),
    ],
)
def test_the_log_under_any_name_is_no_catalog(folder: Path, catalog: str, events: str) -> None:
    """Planted bug: names compared, and not the files."""
    engine = DuckDBEngine()
    with pytest.raises(DataError, match=ITSELF):
        require_countable(engine, task(events, limit=None, catalog=catalog))
    engine.close()


@pytest.mark.parametrize("catalog", ["hdfs://far/log.parquet", "log.parquet"])
def test_a_name_that_only_a_cluster_knows_is_compared_as_text(folder: Path, catalog: str) -> None:
    with pytest.raises(DataError, match=ITSELF):
        require_public(catalog, catalog)
    require_public(catalog, "hdfs://far/other.parquet")


def test_a_part_of_a_folder_of_events_is_no_catalog(folder: Path) -> None:
    """Spark reads a folder whose name ends like a file's."""
    (folder / "all.parquet").mkdir()
    (folder / "all.parquet" / "part-0.parquet").write_bytes(b"")
    with pytest.raises(DataError, match=ITSELF):
        require_public("all.parquet/part-0.parquet", "all.parquet")


def test_a_catalog_of_its_own_is_counted(folder: Path) -> None:
    engine = DuckDBEngine()
    assert require_countable(engine, task("log/*.csv", limit=None, catalog="films.csv")) == 2
    engine.close()


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[DuckDBEngine]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE TABLE events AS SELECT 'p' AS unit, 'a' AS item")
        database.execute("CREATE TABLE films AS SELECT 'a' AS item")
        database.execute("CREATE SCHEMA other")
        database.execute("CREATE TABLE other.events AS SELECT 'a' AS item")
    engine = DuckDBEngine(tmp_path / "shop.duckdb")
    yield engine
    engine.close()


@pytest.mark.parametrize("catalog", ["events", "main.events", "shop.main.events", "EVENTS"])
def test_the_table_of_events_under_any_name_is_no_catalog(
    tables: DuckDBEngine, catalog: str
) -> None:
    with pytest.raises(DataError, match=ITSELF):
        require_countable(tables, task("events", limit=None, catalog=catalog))


@pytest.mark.parametrize(
    ("events", "catalog"), [("events", "films"), ("main.events", "other.events")]
)
def test_another_table_is_a_catalog(tables: DuckDBEngine, events: str, catalog: str) -> None:
    assert require_countable(tables, task(events, limit=None, catalog=catalog)) == 1
