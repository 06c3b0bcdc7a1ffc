"""Who stops a count ends it at once, in order, and nothing that it copied stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import click
import duckdb
import pytest
from server.ledger.scenes import ENVIRONMENT

from askew.errors import DataError
from askew_server.cli.progress import when_stopped
from askew_server.counting.engines.duckdb import DuckDBEngine

ENDLESS = "SELECT sum(hash(i)) FROM range(10_000_000_000_000) t(i)"
PATIENCE = 120  # seconds; only a hang waits for it


def test_ctrl_c_while_duckdb_works_is_ctrl_c_and_the_next_statement_works() -> None:
    """Planted bug: the statement in the thread that asks, where DuckDB makes a RuntimeError of it,
    or hears it when a sort has ended.
    """
    numbers = [signal.SIGINT]

    def interrupt(_: float) -> None:
        if numbers:
            os.kill(os.getpid(), numbers.pop())

    engine = DuckDBEngine(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        engine.execute(ENDLESS)
    assert engine.execute("SELECT 1") == [(1,)]
    engine.close()


def test_sigterm_at_a_question_ends_with_143_and_a_no_is_left_to_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """click makes the same error of both. Planted bug: SIGTERM is taken for a no."""

    def answered(_: str) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return "n"

    monkeypatch.setattr("click.termui.visible_prompt_func", answered)
    with pytest.raises(SystemExit) as end, when_stopped():
        click.confirm("Spend it?", abort=True, err=True)
    assert end.value.code == 143
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    with pytest.raises(click.Abort), when_stopped():
        click.confirm("Spend it?", abort=True, err=True)


def test_whoever_closes_an_engine_ends_what_another_thread_asked() -> None:
    """As a service does that stops while it counts. Planted bug: the connection closed as it is,
    which DuckDB refuses while it works, and goes on.
    """
    began, failures = Event(), []
    engine = DuckDBEngine(progress=lambda _: began.set())

    def ask() -> None:
        try:
            engine.execute(ENDLESS)
        except DataError as error:
            failures.append(str(error))

    thread = Thread(target=ask, daemon=True)
    thread.start()
    began.wait(PATIENCE)
    engine.close()
    thread.join(PATIENCE)
    assert failures == ["DuckDB: DuckDB cannot read this (InterruptException)"]


STOPPED = """
import os, sys
from pathlib import Path
from askew_server.cli import release_run
from askew_server.cli.main import main
from askew_server import interruptible as interruptible

number, counting = int(sys.argv.pop(1)), []
count, tell = release_run.count_events, interruptible.tell

def counted(*arguments):
    counting.append(True)
    return count(*arguments)

def told(*arguments):
    if counting:  # the log has no end
        os.kill(os.getpid(), number)
    tell(*arguments)

release_run.count_events, interruptible.tell = counted, told
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_release_that_is_stopped_leaves_no_copy_and_says_that_its_charge_stays(
    tmp_path: Path, number: int, code: int
) -> None:
    """Planted bugs: SIGTERM ends the process at once; DuckDB goes on; a traceback."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "films.csv").write_text("item,note\na,of\rtwo lines\nb,\n")
    with duckdb.connect(tmp_path / "log.duckdb") as owner:
        owner.execute(f"CREATE VIEW events AS SELECT *, 'a' AS item FROM ({ENDLESS}) AS t(unit)")
    asked = ["--engine", "duckdb:log.duckdb", "--events", "events", "--catalog", "films.csv"]
    asked += ["--as-of", "now", "--epsilon", "1", "-k", "1"]
    budget = ["--dataset", "plays", "--epsilon", "40", "--delta", "1/100"]
    run(tmp_path, ["-m", "askew_server", "ledger", "open", *budget])
    done = run(tmp_path, ["-c", STOPPED, str(number), "release", *asked])
    assert (done.returncode, [*(tmp_path / "copies").iterdir()]) == (code, []), done.stderr
    assert done.stderr.splitlines()[-1].startswith("stopped; a charge that was made stays spent")
    assert "Traceback" not in done.stderr
    shown = run(tmp_path, ["-m", "askew_server", "ledger", "show", "--json"])
    assert [charge["epsilon"] for charge in json.loads(shown.stdout)["charges"]] == ["1"]


def run(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=ENVIRONMENT | {"TMPDIR": str(folder / "copies")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
