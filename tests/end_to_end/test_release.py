"""From a log of events to a reader, through real processes: release, serve, ask, be refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import duckdb
import grpc
import pytest
from end_to_end.server_process import served
from server.ledger.scenes import releases_of

from askew.catalog.catalog_file import HEAD_BYTES
from askew.dp.analyst import TopKQuestion
from askew.dp.release import release_from_bytes
from askew.wire import releases
from askew.wire.catalog_file import catalog_from_body
from askew.wire.v1 import popularity_pb2
from askew_server.cli.options import DEFAULT_LEDGER, Workplace
from askew_server.demo.simulation import write_events
from askew_server.ledger import Ledger

PATIENCE = 120  # seconds; only ever waited for by a process that does not do what it should
Start = Callable[..., int]
Ran = subprocess.CompletedProcess[bytes]
# Nine outputs in five questions, for whoever is named last.
GRANT = (
    *("ledger", "grant", "--dataset", "films", "--outputs", 9, "--questions", 5),
    *("--epsilon", 9, "--delta", "5e-9", "--slack", "1e-8"),
)
MINT = ("analyst", "add", "--tokens", "analysts.tokens")
REMOVE = ("analyst", "remove", "--tokens", "analysts.tokens")
OFFER = ("--tokens", "analysts.tokens", "--dataset", "films", "--events", "events.csv")


def command(folder: Path, *arguments: object) -> Ran:
    return subprocess.run(
        [sys.executable, "-m", "askew_server", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("operator")
    write_events(place)
    budget = ("ledger", "open", "--dataset", "films", "--epsilon", 100, "--delta", "1e-6")
    opened = command(place, *budget)
    assert opened.returncode == 0, opened.stderr
    return place


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:
        yield lambda folder, *words: running.enter_context(served(folder, *words)).port


def call(port: int, method: str, request: bytes, token: str | None = None) -> bytes:
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        stub = channel.unary_unary(f"/askew.wire.v1.{method}")
        return stub(request, timeout=PATIENCE, metadata=metadata)


RELEASE = ("release", "--events", "events.csv", "--catalog", "catalog.csv", "--epsilon", 1)


@pytest.fixture(scope="module")
def published(folder: Path) -> bytes:
    """A release of 20 films, as the operator saw it."""
    made = command(folder, *RELEASE, "--mechanism", "joint", "--json")
    assert made.returncode == 0, made.stderr
    charge = json.loads(made.stdout)["release"]["charge"]
    return command(folder, "releases", "show", charge, "--json").stdout.removesuffix(b"\n")


def test_a_reader_gets_the_bytes_that_the_operator_saw(
    folder: Path, published: bytes, start: Start
) -> None:
    """And the operator gets them again for the same request, at no cost."""
    port = start(folder, "serve-releases")
    charge = release_from_bytes(published).charge
    reply = call(
        port,
        "Popularity/GetRelease",
        popularity_pb2.GetReleaseRequest(charge=charge).SerializeToString(),
    )
    assert popularity_pb2.GetReleaseResponse.FromString(reply).document == published
    again = json.loads(command(folder, *RELEASE, "--mechanism", "joint", "--json").stdout)
    assert (again["is_repeat"], again["release"]) == (True, json.loads(published))
    listed = call(port, "Popularity/ListReleases", b"")
    page = popularity_pb2.ListReleasesResponse.FromString(listed)
    assert [each.charge for each in page.releases] == [charge]
    with pytest.raises(grpc.RpcError) as refused:
        call(port, "Analyst/GetBudget", releases.budget_request_to_bytes("films"))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def grant_of(folder: Path, name: str) -> str:
    """The token of an analyst who has nine outputs of their own."""
    assert command(folder, *GRANT, name).returncode == 0
    return command(folder, *MINT, name).stdout.decode().strip()


WAITS = """
import threading
from askew_server.release import job

job.FIRST_MOMENT = 6000.0
waited = threading.Event.wait

def wait(event, seconds=None):
    if seconds and seconds > 5000:
        print("waiting", flush=True)
    return waited(event, seconds)

threading.Event.wait = wait
from askew_server.cli.main import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("grace", [0, 1])
def test_a_server_that_stops_while_an_answer_waits_for_its_moment_stores_it(
    folder: Path, grace: int
) -> None:
    """And does not wait with it. Planted bugs: a beat that does not end when the server stops; a
    ledger that is closed before the answer is stored.
    """
    name = f"cy {grace}"
    token, question = grant_of(folder, name), TopKQuestion("films", 5, "a")
    with duckdb.connect() as connection:  # no look before the charge: only one moment is waited for
        events = f"read_csv('{folder}/events.csv', all_varchar=true)"
        connection.execute(f"COPY (FROM {events}) TO '{folder}/events.parquet'")
    words = ("serve-releases", *OFFER[:-1], "events.parquet")
    said = {"ASKEW_SERVER_GRACE": str(grace)}
    with (
        served(folder, *words, program=("-c", WAITS), said=said) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(
            call, server.port, "Analyst/TopK", releases.question_to_bytes(question), token
        )
        assert server.line() == "waiting\n"
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        assert isinstance(asked.exception(), grpc.RpcError)
    place = Workplace(ledger=folder / DEFAULT_LEDGER)
    with Ledger(place.ledger, place.mark_path) as ledger:
        [answer] = releases_of(ledger, name)
    assert len(release_from_bytes(answer.payload).items) == 5


def test_a_new_file_of_a_pattern_with_other_types_costs_no_analyst_anything(folder: Path) -> None:
    """A key that paid is not answered again. Planted bug: only csv is looked at again."""
    token, question = grant_of(folder, "di"), TopKQuestion("films", 5, "a")
    good, bad = folder / "part1.parquet", folder / "part2.parquet"
    request = releases.question_to_bytes(question)
    events = f"read_csv('{folder}/events.csv', all_varchar=true)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM {events}) TO '{good}'")
        words = ("serve-releases", *OFFER[:-1], "part*.parquet")
        with served(folder, *words, fails=True) as server:
            connection.execute(f"COPY (SELECT unit, 1.5::DOUBLE AS item FROM {events}) TO '{bad}'")
            with pytest.raises(grpc.RpcError):
                call(server.port, "Analyst/TopK", request, token)
            bad.unlink()
            assert call(server.port, "Analyst/TopK", request, token)


@pytest.mark.slow
def test_an_analyst_asks_with_a_token_until_it_is_taken_away(
    folder: Path, start: Start, tmp_path: Path
) -> None:
    """Of nine outputs; what may not be is one line and an exit code."""
    (tmp_path / "bob.token").write_text(grant_of(folder, "bob"))
    (tmp_path / "no.token").write_text("nobody")
    port = start(folder, "serve-releases", *OFFER)

    def ask(verb: str, *options: object, token: str = "bob.token") -> Ran:
        where = ("--server", f"127.0.0.1:{port}", "--dataset", "films", "--token", token)
        return command(tmp_path, "analyst", verb, *where, *options)

    first = json.loads(ask("top-k", "-k", 5, "--key", "first", "--json").stdout)
    assert len(first["release"]["items"]) == first["release"]["k"] == 5
    assert (first["budget"]["outputs"], first["budget"]["outputs_left"]) == (5, 4)
    again = ask("top-k", "-k", 5, "--key", "first").stdout.decode()
    for part in (
        first["release"]["items"][4],
        "5 of 9 spent, 4 left",
        "paid       5 outputs of epsilon 1: 5",
    ):
        assert part in again
    assert json.loads(ask("budget", "--json").stdout) == first["budget"]
    shown = ask("budget").stdout.decode()
    assert "epsilon 9, delta 1.5e-08 in all, beside the data set's own slack" in shown
    outputs = "9 outputs of epsilon 1, by zCDP at slack 1e-08; 5 questions of delta 1e-09"
    assert f"that is    {outputs}" in shown

    too_much = ask("top-k", "-k", 10, "--key", "second")
    assert (too_much.returncode, too_much.stdout) == (3, b"")
    assert b"5 of the analyst's grant of 9 is spent" in too_much.stderr
    stranger = ask("budget", token="no.token")
    said = b"askew-server: valid credentials are needed\n"
    assert (stranger.returncode, stranger.stderr) == (1, said)
    assert command(folder, "ledger", "revoke", "--dataset", "films", "bob").returncode == 0
    closed = ask("top-k", "-k", 1, "--key", "third")
    said = b"askew-server: the operator closed this budget\n"
    assert (closed.returncode, closed.stderr) == (3, said)
    assert b"may not be asked: the budget is closed" in ask("budget").stdout
    assert command(folder, *REMOVE, "bob").returncode == 0
    assert ask("budget").returncode == 1


@pytest.mark.slow
def test_a_release_is_what_a_device_sees_on_a_cold_start(
    folder: Path, published: bytes, start: Start, tmp_path: Path
) -> None:
    """From a copy of the ledger's file alone: no events, no key and no mark are there to read."""
    copy = tmp_path / "readers"
    copy.mkdir()
    shutil.copy(folder / "askew-ledger.sqlite", copy / "ledger.sqlite")
    (copy / "ledger.sqlite").chmod(0o400)
    before = (copy / "ledger.sqlite").read_bytes()
    release = release_from_bytes(published)
    options = ("--ledger", "ledger.sqlite", "--popularity", release.charge)
    plain, popular = start(copy, "serve", "--demo"), start(copy, "serve", "--demo", *options)
    cards, slates = {}, {}
    for port in (plain, popular):
        file = urlopen(f"http://127.0.0.1:{port + 1}/catalog/1970-01-05.whole").read()
        cards[port], catalog = catalog_from_body(file[HEAD_BYTES:])
        slates[port] = [catalog.items[item].label for item in catalog.shared_slate]
    assert slates[popular][:20] == [*release.items]
    assert slates[plain][:20] != [*release.items]
    assert len(slates[plain]) == len(slates[popular])
    assert cards[plain].space == cards[popular].space
    assert cards[plain].catalog_version != cards[popular].catalog_version
    reply = call(
        popular,
        "Popularity/GetRelease",
        popularity_pb2.GetReleaseRequest(charge=release.charge).SerializeToString(),
    )
    assert popularity_pb2.GetReleaseResponse.FromString(reply).document == published
    assert (copy / "ledger.sqlite").read_bytes() == before
