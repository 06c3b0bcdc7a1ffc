"""PostgreSQL, a server of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from server.counting.conftest import require_driver, require_postgres
from server.counting.contract import FLOATS, UUID, Bench, CountingContract, task
from server.counting.reference import KEY, Columns, quoted, typed

from askew.errors import DataError
from askew_server.counting import count_top
from askew_server.counting.engines.postgres import PostgresEngine

pytestmark = pytest.mark.slow
require_driver("psycopg")
require_postgres()

TYPES = {"VARCHAR": "TEXT"}
TYPES_OF_OUR_OWN = {
    "TYPE mood": "ENUM ('text', 'a')",
    "DOMAIN padded": "CHAR(4)",
    "DOMAIN short": "VARCHAR(4)",
}


class PostgresBench(Bench):
    def __init__(self, address: str) -> None:
        import psycopg

        super().__init__(PostgresEngine(address))
        self.owner: Any = psycopg.connect(address, autocommit=True)
        for kind, definition in TYPES_OF_OUR_OWN.items():
            self.owner.execute(f"DROP {kind.replace(' ', ' IF EXISTS ')} CASCADE")
            self.owner.execute(f"CREATE {kind} AS {definition}")

    def load(self, name: str, columns: Columns, sql_type: str = "VARCHAR", last: str = "") -> str:
        table = quoted(name, "postgres")
        named = ", ".join(
            f"{quoted(column, 'postgres')} {TYPES.get(kind, kind)}"
            for column, kind in typed(columns, sql_type, last)
        )
        self.owner.execute(f"DROP TABLE IF EXISTS {table}")
        self.owner.execute(f"CREATE TABLE {table} ({named})")
        with self.owner.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
        return name

    def close(self) -> None:
        self.engine.close()
        self.owner.close()


class TestPostgresCounts(CountingContract):
    odd_ratings: ClassVar = {
        "NUMERIC": (*FLOATS, "1e400", "-1e400", "1e-400", "4e-1", "5.0000000000000000000000001"),
        "DOUBLE PRECISION": FLOATS,
        "REAL": ("NaN", "Infinity", "1e-30", None),
        "BIGINT": ("9223372036854775807", None),
    }
    refused_ids = (
        *("CHAR(4)", '"char"', "NAME", "OID", "BIT(4)", "mood", "TEXT[]", "JSON", "BYTEA"),
        *("NUMERIC", "DOUBLE PRECISION", "DATE", "BOOLEAN", "MONEY", "padded"),
    )
    accepted_ids: ClassVar = {
        "SMALLINT": ("-32768", "0"),
        "BIGINT": ("-9223372036854775808", "9223372036854775807"),
        "UUID": (UUID,),
        "TEXT": ("", " ", "01", "1", "1.0", "a", "a ", "NULL", "nan"),
        "VARCHAR(4)": ("a", "a "),
        "short": ("a", "a "),
    }

    @pytest.fixture
    def bench(self, postgres: str) -> Iterator[Bench]:
        bench = PostgresBench(postgres)
        yield bench
        bench.close()

    def test_a_column_that_compares_without_case_is_counted_by_its_bytes(
        self, bench: Bench
    ) -> None:
        assert isinstance(bench, PostgresBench)
        bench.owner.execute(
            "CREATE COLLATION caseless"
            " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        bench.owner.execute("CREATE TABLE c (unit TEXT COLLATE caseless, item TEXT)")
        bench.owner.execute("INSERT INTO c VALUES ('P', 'a'), ('p', 'a'), ('p', 'A')")
        assert bench.count(task("c")) == [("a", 2), ("A", 1)]

    def test_a_database_of_another_encoding_is_refused(self, postgres: str, bench: Bench) -> None:
        """MD5 of other bytes would keep other events."""
        assert isinstance(bench, PostgresBench)
        bench.owner.execute("DROP DATABASE IF EXISTS latin")
        bench.owner.execute(
            "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc"
            " TEMPLATE template0"
        )
        with pytest.raises(DataError, match="must be UTF8, it is LATIN1"):
            PostgresEngine(postgres.replace("dbname=postgres", "dbname=latin"))

    def test_a_connection_that_the_server_closed_is_made_anew(self, bench: Bench) -> None:
        """Planted bug: one connection for good. After the server's next restart, each question of
        an analyst is charged, and fails. The new one cannot write either."""
        assert isinstance(bench, PostgresBench)
        source = bench.events([("p", "a")])
        [[process]] = bench.engine.execute("SELECT pg_backend_pid()")
        bench.owner.execute(f"SELECT pg_terminate_backend({process}, 10000)")
        assert bench.count(task(source)) == [("a", 1)]
        with pytest.raises(DataError, match="ReadOnlySqlTransaction"):
            bench.engine.execute("CREATE TABLE t (c TEXT)")
        assert bench.count(task(source)) == [("a", 1)]

    def test_a_connection_that_is_closed_in_a_statement_is_one_line(self, bench: Bench) -> None:
        source = bench.events([("p", "hidden")])
        sql = f"SELECT pg_terminate_backend(pg_backend_pid()), item FROM {source}"
        with pytest.raises(DataError, match=r"^PostgreSQL: PostgreSQL could not do it \(\w+\)$"):
            bench.engine.execute(sql)
        assert bench.count(task(source)) == [("hidden", 1)]

    @pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
    def test_the_encoding_of_the_environment_changes_no_item(
        self, postgres: str, bench: Bench, encoding: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Planted bug: the encoding left to the environment: an item that it lacks fails the count,
        so that one person's event decides between an answer and an error.
        """
        source = bench.events([("p", "日本")])
        monkeypatch.setenv("PGCLIENTENCODING", encoding)
        engine = PostgresEngine(postgres)
        top = count_top(engine, task(source), KEY)
        engine.close()
        assert top.items == ("日本",)

    def test_a_table_may_get_a_column_while_a_service_runs(self, bench: Bench) -> None:
        """Planted bug: psycopg prepares what it has sent five times, and PostgreSQL then refuses
        it for good, after each charge: the plan that it kept has other columns."""
        assert isinstance(bench, PostgresBench)
        source = bench.events([("p", "a")])
        for _ in range(10):
            assert bench.count(task(source)) == [("a", 1)]
        bench.owner.execute(f"ALTER TABLE {source} ADD COLUMN note TEXT")
        assert bench.count(task(source)) == [("a", 1)]

    def test_a_file_is_refused(self, bench: Bench) -> None:
        with pytest.raises(DataError, match="load the file"):
            bench.engine.table("log.parquet")

    @pytest.mark.parametrize(
        "address",
        [
            "host password=hunter2",
            "postgresql://name:hunter2@127.0.0.1:1/base",
            "postgresql://name:some@hunter2@127.0.0.1:1/base",
            "postgresql://name:hunter2/more@127.0.0.1:1/base",
            "postgresql://127.0.0.1:hunter2",
            "postgresql://name:hunter2%zz@127.0.0.1/base",
        ],
    )
    def test_no_part_of_a_password_is_in_an_error(self, address: str) -> None:
        """Planted bug: libpq's words, which name the host: all after the first "@"."""
        with pytest.raises(DataError, match="no connection") as error:
            PostgresEngine(address)
        assert "hunter2" not in str(error.value)
        assert len(str(error.value).splitlines()) == 1

    def test_why_there_is_no_connection_is_said(self) -> None:
        with pytest.raises(DataError, match="connection refused"):
            PostgresEngine("postgresql://name@127.0.0.1:1/base")
