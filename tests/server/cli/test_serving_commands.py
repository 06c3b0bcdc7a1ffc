"""The commands `train` and `serve`, as an operator types them: steps, threads, ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from server.release.typed import USAGE, Captured, Run

from askew_server.cli import serve
from askew_server.cli.progress import Steps
from askew_server.taste import artifact, people

STARTED = re.compile(r"listening on 127\.0\.0\.1:(\d+), http://127\.0\.0\.1:\d+, 24 items, .*\n")
Start = Callable[..., subprocess.Popen[str]]
PATIENCE = 30  # seconds; only ever waited for by a process that does not do what it should


RATINGS = [
    (100 + person, 1 + item, 1 + (3 * person * item + (person + item) % 2 * 2 + item) % 5)
    for person in range(12)
    for item in range(8)
    if (person + 2 * item) % 7
]
LABELS = [f"Film {i} ({1950 + i})" for i in range(1, 9)]


@pytest.fixture
def train(tmp_path: Path, run: Run) -> Run:
    """Trains a model of ratings.csv and movies.csv in this folder."""
    ratings, items = tmp_path / "ratings.csv", tmp_path / "movies.csv"
    rows = "".join(f"{user},{item},{rating},881250949\n" for user, item, rating in RATINGS)
    titles = "".join(f"{key},{label},Drama|War\n" for key, label in enumerate(LABELS, start=1))
    ratings.write_text("userId,movieId,rating,timestamp\n" + rows)
    items.write_text("movieId,title,genres\n" + titles)

    def command(*more: object, **files: object) -> int:
        named = {"ratings": ratings, "items": items, "out": tmp_path / "model"} | files
        options = [part for name, path in named.items() for part in (f"--{name}", path)]
        return run("train", *options, "--min-ratings", 2, *more)

    return command


def test_a_training_says_what_it_read_its_steps_and_what_epsilon_means(
    tmp_path: Path, train: Run, capsys: Captured
) -> None:
    assert not train("-k", 5, "--like-from", 3.5)
    out, err = capsys.readouterr()
    model = artifact.load(tmp_path / "model")
    assert model.training == replace(model.training, k=5, min_ratings=2, like_from=3.5)
    assert [item.label for item in model.catalog.items] == LABELS
    assert model.card.source == "ratings of fewer than 100 people"
    assert f"{len(RATINGS)} by 12 people of 8 items" in out
    assert str(tmp_path / "model") in out
    assert "left out" not in err
    median, widest = model.card.median_distance, float(model.card.space.diameter)
    assert f"in ratings: {median:g} the median of two people, {widest:.2f} the farthest" in out
    assert f"0.8, {0.8 * median:.3g}, {0.8 * widest:.3g};" in out
    steps = [line.partition(" s  ")[2] for line in err.splitlines() if " s  " in line]
    assert steps == [
        "reading ratings",
        "reading items",
        "training: item vectors",
        "training: signal directions and the space",
        "training: the shared slate",
        "training: what it gives people held out",
        "writing the model",
    ]


@pytest.mark.slow
def test_the_same_ratings_make_the_same_bytes(tmp_path: Path, train: Run) -> None:
    """In another process too, so that nothing of this one's state is in them."""
    assert not train()
    files = ["--ratings", "ratings.csv", "--items", "movies.csv", "--out", "elsewhere"]
    elsewhere = [sys.executable, "-m", "askew_server", "train", *files, "--min-ratings", "2"]
    subprocess.run(elsewhere, check=True, capture_output=True, cwd=tmp_path)
    for file in sorted((tmp_path / "model").iterdir()):
        assert file.read_bytes() == (tmp_path / "elsewhere" / file.name).read_bytes()


def test_an_update_keeps_the_space_and_tells_what_changed(
    tmp_path: Path, run: Run, train: Run, capsys: Captured
) -> None:
    old, new, ratings = tmp_path / "model", tmp_path / "model-2", tmp_path / "ratings.csv"
    assert not train()
    lines = [line for line in ratings.read_text().splitlines() if line.split(",")[1] != "1"]
    more = [f"{person},99,{5 - person % 2},0" for person in range(12)]
    ratings.write_text("\n".join([*lines, *more]) + "\n")
    files = ("--ratings", ratings, "--items", tmp_path / "movies.csv", "--out", new)
    assert not run("update", "--model", old, *files)
    assert "items      1 new, 1 dropped" in capsys.readouterr().out
    before, after = artifact.load(old), artifact.load(new)
    assert before.card.space.version == after.card.space.version
    assert before.card.catalog_version != after.card.catalog_version


def test_bad_rows_are_counted_and_shown_with_line_and_reason(
    tmp_path: Path, train: Run, capsys: Captured
) -> None:
    """And a file of which more rows are bad is refused, unless the operator takes it as it is."""
    with (tmp_path / "ratings.csv").open("a") as file:
        file.write("100,1,lots,0\n100,1\n")
    with (tmp_path / "movies.csv").open("a") as file:
        file.write("9,,Drama\n")
    assert train() == 1
    assert "--max-bad-rows names another share" in capsys.readouterr().err
    assert not train("--max-bad-rows", 0.2)
    out, err = capsys.readouterr()
    assert f"{len(RATINGS)} by 12 people of 8 items" in out
    assert "2 rows of ratings.csv left out:\n" in err
    assert f"  1: rating must be a finite number (line {len(RATINGS) + 2})\n" in err
    assert "1 row of movies.csv left out:\n  1: title must be 1 to 500 characters" in err


@pytest.mark.parametrize("kept", ["a folder", "a link to nothing"])
def test_an_existing_out_is_refused_before_anything_is_read_or_written(
    tmp_path: Path, train: Run, capsys: Captured, kept: str
) -> None:
    """The files to train on do not even exist here: whoever reads them first says so."""
    out = tmp_path / "model"
    out.mkdir() if kept == "a folder" else out.symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    assert train(ratings="no.csv", items="no.csv") == USAGE
    shown = capsys.readouterr()
    reason = f"'--out': it must be a directory that does not exist yet, got '{out}'"
    assert shown.out == ""
    assert shown.err.splitlines()[-1] == f"Error: Invalid value for {reason}"
    assert sorted(tmp_path.rglob("*")) == before


def test_what_cannot_be_trained_on_is_one_line_and_leaves_no_model(
    tmp_path: Path, train: Run, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the error of numpy with its traceback."""
    too_few = "12 people and 0 items with at least 20 ratings do not make 4 dimensions"
    (tmp_path / "missing").write_text("a file, so that nothing can be below it")
    no_use = [("", {file: tmp_path / "missing/file"}) for file in ("ratings", "items", "out")]
    for said, files in (*no_use, ("", {"out": tmp_path / ("x" * 300)}), (too_few, {})):
        assert train(*(["--min-ratings", 20] if said else []), **files) == 1
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"askew-server: {said}")
    monkeypatch.setattr(people, "csr_array", lambda *_, **__: np.empty(1 << 57))  # an exabyte
    assert train() == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("askew-server: this takes more memory than there is")
    assert not (tmp_path / "model").exists()


@pytest.fixture
def start(directory: Path) -> Iterator[Start]:
    """Starts real processes of the server; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def process(*arguments: object, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "askew_server", "serve", "--model", str(directory)]
        command = [*program, *map(str, arguments)]
        pipe = subprocess.PIPE
        running = subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe, text=True)
        started.append(running)
        return running

    yield process
    for running in started:
        running.kill()
        running.communicate()


def port_of(server: subprocess.Popen[str]) -> int:
    """From the first line of its log, which is JSON as all are."""
    assert server.stderr is not None
    ready = json.loads(server.stderr.readline())
    assert ready["event"] == "ready"
    return int(ready["port"])


LIFE = ["stopping", "stopped"]  # what its log tells from then on


def health_of(port: int) -> int:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        request = health_pb2.HealthCheckRequest(service="askew.wire.v1.Retrieval")
        return int(health_pb2_grpc.HealthStub(channel).Check(request, timeout=PATIENCE).status)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "inherited"),
    [
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_IGN),  # as in the background of a script
    ],
)
def test_a_signal_stops_the_server_cleanly(
    start: Start, number: signal.Signals, inherited: signal.Handlers
) -> None:
    """Its standard input is closed from the beginning, which does not stop it by itself. inherited:
    what SIGINT did where it was started.
    """
    before = signal.signal(signal.SIGINT, inherited)
    server = start("--port", 0)
    signal.signal(signal.SIGINT, before)
    assert health_of(port_of(server)) == health_pb2.HealthCheckResponse.SERVING
    server.send_signal(number)
    rest = server.communicate(timeout=PATIENCE)
    assert (server.returncode, rest[0]) == (0, "")
    assert [json.loads(line)["event"] for line in rest[1].splitlines()] == LIFE


@pytest.mark.slow
def test_a_server_that_belongs_to_a_parent_stops_when_its_input_closes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_WITH_PARENT", "1")
    server = start("--port", 0, stdin=subprocess.PIPE)
    assert health_of(port_of(server)) == health_pb2.HealthCheckResponse.SERVING
    assert server.stdin is not None
    server.stdin.close()
    server.stdin = None
    rest = server.communicate(timeout=PATIENCE)
    assert server.returncode == 0
    assert STARTED.fullmatch(rest[0])  # who started it is told where it listens
    assert [json.loads(line)["event"] for line in rest[1].splitlines()] == LIFE


def test_a_port_of_http_that_is_taken_is_said_to_be_that_of_http(
    start: Start,
) -> None:
    """Nobody typed it. Planted bug: a number without a word about whose it is."""
    with ExitStack() as taken:
        while True:
            port = taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            with suppress(OSError), socket.create_server(("127.0.0.1", port - 1)):
                break
        _, err = start("--port", port - 1).communicate(timeout=PATIENCE)
    assert f":{port}: the port is taken" in err
    assert "(HTTP has the port after that of gRPC)" in err


@pytest.mark.slow
def test_a_host_that_is_none_is_named_with_the_reason(
    start: Start,
) -> None:
    server = start("--port", 0, "--host", "no-such-host.invalid", "--plain-text")
    out, err = server.communicate(timeout=PATIENCE)
    assert (server.returncode, out) == (1, "")
    where = "no-such-host.invalid:0"
    assert err == f"askew-server: cannot listen on {where}: this machine knows no such host\n"


def test_the_two_servers_have_ports_of_their_own() -> None:
    """With one for both, whoever follows the README cannot start the second."""
    of_both = (serve._SERVE, serve._RELEASES)
    assert [settings.configuration(None, {}).port for settings in of_both] == [7571, 7575]


PROGRAM = """
import json, sys
import numpy
from threadpoolctl import threadpool_info
from askew_server.cli.serve import ModelReader
from askew_server.demo.simulation import demo_model

def threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

before = threads()
ModelReader(None, print).model(demo_model())
print(json.dumps([before, threads()]))
"""


@pytest.mark.slow
def test_a_server_computes_on_one_thread_whatever_the_environment_says() -> None:
    """Planted bug: no limit, which leaves as many as there are cores."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, env=environment
    )
    before, after = json.loads(ran.stdout)
    assert set(before) <= {1, 2}
    assert set(after) == {1}


def test_a_log_has_a_line_for_each_step(capsys: Captured) -> None:
    """And, within a long one, no more than one in ten seconds."""
    clock = [100.0]
    steps = Steps(lambda: clock[0])
    steps.step("charging")
    clock[0] += 3
    steps.step("counting")
    for share in range(40):
        clock[0] += 1
        steps.share(share / 40)
    assert capsys.readouterr().err.splitlines() == [
        "     0 s  charging",
        "     3 s  counting",
        "    13 s  counting, 22%",
        "    23 s  counting, 48%",
        "    33 s  counting, 72%",
        "    43 s  counting, 98%",
    ]
