"""A ClickHouse server as its driver meets it: over HTTP, and when it breaks off in the middle.

What answers is ClickHouse inside this process, behind the least of HTTP that the driver needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from server.counting.availability import require_driver
from server.counting.contract import task
from server.counting.reference import KEY, reference_counts, varied_events

from askew.errors import DataError
from askew_server.counting import count_top
from askew_server.counting.engines.clickhouse import ClickHouseEngine

require_driver("clickhouse_connect")
require_driver("chdb")

EVENTS = [event for event in varied_events() if all(event)]


class Handler(BaseHTTPRequestHandler):
    """Answers as `breaks` says; the statements that have a parameter are the ones that count."""

    protocol_version = "HTTP/1.1"
    breaks: ClassVar[str] = ""

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = parse_qs(urlsplit(self.path).query)
        secret = asked.get("param_secret")
        rows = answered(statement, {"secret": secret[0]} if secret else {})
        match self.breaks if secret else "":
            case "":
                self.reply(200, rows)
            case "refused":
                self.reply(500, b"Code: 241. DB::Exception: hidden: Memory limit exceeded")
            case "of something else":
                self.reply(200, b"\xff\xfecanary-hidden" * 50)
            case "cut":
                self.close_connection = True
                self.reply(200, rows[: len(rows) // 2], length=len(rows))
            case "none":
                self.close_connection = True

    def reply(self, code: int, body: bytes, *, length: int | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: what is shown is what the engine shows."""


def answered(statement: str, parameters: dict[str, str]) -> bytes:
    import chdb

    query: Any = chdb.query
    rows: bytes = query(statement, "Native", params=parameters).bytes()
    return rows


@pytest.fixture
def engine(clickhouse: ClickHouseEngine) -> Iterator[ClickHouseEngine]:
    """The log is in a table; `clickhouse` keeps it."""
    clickhouse.execute("CREATE DATABASE IF NOT EXISTS askew")
    clickhouse.execute("DROP TABLE IF EXISTS askew.log")
    clickhouse.execute("CREATE TABLE askew.log (unit String, item String) ENGINE = Memory")
    clickhouse._client.insert("askew.log", EVENTS, ["unit", "item"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        engine = ClickHouseEngine(f"clickhouse://name@127.0.0.1:{server.server_port}/default")
        yield engine
        engine.close()
        server.shutdown()
        thread.join()


def test_a_count_over_http_is_that_of_the_definition(engine: ClickHouseEngine) -> None:
    top = count_top(engine, task("askew.log"), KEY)
    assert list(zip(top.items, top.counts, strict=True)) == reference_counts(EVENTS, 3, limit=40)


@pytest.mark.parametrize("breaks", ["refused", "of something else", "cut", "none"])
def test_an_answer_that_breaks_off_is_one_line_without_what_it_said(
    engine: ClickHouseEngine,
    breaks: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Planted bugs: the driver's own errors alone, as bytes that are no answer raise others; its
    log on standard error; the rows that came taken for all."""
    monkeypatch.setattr(Handler, "breaks", breaks)
    with pytest.raises(DataError, match=r"^ClickHouse: ClickHouse could not do it: ") as error:
        count_top(engine, task("askew.log"), KEY)
    shown = capfd.readouterr()
    assert "hidden" not in str(error.value) + shown.out + shown.err
    assert len(str(error.value).splitlines()) == 1
    assert error.value.__suppress_context__
    assert shown.err == ""
    assert caplog.records == []  # without a handler, as here, they go to standard error
