"""A server with everything on is asked in every way, and tells nobody of it but those who asked.

Whatever it writes, publishes or refuses with is searched for planted values in many spellings. The
same search finds every one of the leaks that are planted in a second server.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from end_to_end.observed_process import (
    ANSWERS,
    DATASET,
    DAWDLES,
    EXPLODED,
    EXPLODES,
    PRINCIPAL,
    STRAYS,
    TITLE,
    WORDS,
)
from grpc_health.v1 import health_pb2
from prometheus_client.parser import text_string_to_metric_families

from askew import __version__
from askew.catalog.catalog_file import FIRST
from askew.dp.analyst import TopKQuestion
from askew.wire.releases import budget_request_to_bytes, question_to_bytes
from askew.wire.v1 import popularity_pb2
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.serving.metrics import BUCKETS

PATIENCE = 120  # seconds; only ever waited for by a server that does not do what it should
SIGNAL = (-701_337_193, 1_302_884_417)  # in steps of 1/1024
KEY, HEADER, FALSE_TOKEN = "question-of-a-lyrebird", "header-of-a-pangolin", "token-of-a-wombat"
PART, PATH, GARBAGE = "part-of-a-narwhal", "/path-of-an-axolotl", b"garbage of an okapi"
TESTS = Path(__file__).parents[1]


def of_text(text: str | bytes) -> set[bytes]:
    """A text as it stands, and as it would be in hexadecimal, base64 or an address."""
    data = text.encode() if isinstance(text, str) else text
    plain = {data, quote(data).encode(), data.hex().encode(), data.hex().upper().encode()}
    coded = {base64.b64encode(b"\0" * skip + data)[4:-4] for skip in range(3)}
    return plain | coded | {each.translate(bytes.maketrans(b"+/", b"-_")) for each in coded}


def of_number(value: int) -> set[bytes]:
    """A coordinate as digits, as the number that it stands for, and as bytes of the wire."""
    varint = pb.RetrieveRequest(values=[value]).SerializeToString()[2:]
    little, big = (value.to_bytes(4, order, signed=True) for order in ("little", "big"))
    size, steps = abs(value), abs(value) / 1024
    shown = {str(size), f"{size:x}", repr(steps), f"{steps:.3f}"}
    raw = {form for each in (little, big, varint) for form in (each, each.hex().encode())}
    return {each.encode() for each in shown} | raw


TEXTS: dict[str, str | bytes] = {
    "title": TITLE,
    "exception": EXPLODED,
    "stray words": WORDS,
    "dataset": DATASET,
    "principal": PRINCIPAL,
    "key": KEY,
    "header": HEADER,
    "false token": FALSE_TOKEN,
    "part": PART,
    "path": PATH,
    "garbage": GARBAGE,
}
CANARIES = {name: of_text(text) for name, text in TEXTS.items()}
CANARIES["signal"] = of_number(SIGNAL[0]) | of_number(SIGNAL[1])


@dataclass
class Told:
    """All that a server let out, by where, and what was planted."""

    canaries: dict[str, set[bytes]]
    ports: set[int] = field(default_factory=set)  # of those who called
    places: dict[str, list[bytes]] = field(default_factory=dict)

    def add(self, place: str, *texts: str | bytes) -> None:
        data = [text.encode() if isinstance(text, str) else text for text in texts]
        self.places.setdefault(place, []).extend(data)

    @property
    def found(self) -> set[tuple[str, str]]:
        found = set()
        for place, texts in self.places.items():
            text = b"\n".join(texts)
            for name, words in self.canaries.items():
                if any(word in text for word in words):
                    found.add((name, place))
            if re.search(rb"ipv[46]:|127\.0\.0\.1|\[::1\]", text):
                found.add(("address", place))
            numbers = {int(digits) for digits in re.findall(rb"(?<![\d.])\d{4,5}(?![\d.])", text)}
            if numbers & self.ports:
                found.add(("port", place))
        return found


@dataclass
class Asked:
    """A client that keeps all that it is told beside answers."""

    told: Told
    channel: grpc.Channel

    def call(
        self, method: str, request: bytes, *metadata: tuple[str, str], timeout: float = PATIENCE
    ) -> grpc.StatusCode:
        stub: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        stub = self.channel.unary_unary(f"/{method}")
        try:
            sent = (("x-canary", HEADER), *metadata)
            call: Any = stub.with_call(request, timeout=timeout, metadata=sent)[1]
        except grpc.RpcError as error:
            call = error
        self.told.add("status", call.details() or "")
        for key, value in (*call.initial_metadata(), *call.trailing_metadata()):
            self.told.add("headers", f"{key}: {value!r}")
        code: grpc.StatusCode = call.code()
        return code

    def retrieve(self, k: int, timeout: float = PATIENCE, **fields: object) -> grpc.StatusCode:
        noise = pb.LatticeNoise(step_exponent=10, inverse_rate=1024)
        wanted: dict[str, object] = {"catalog_date": FIRST, "lattice": noise, "values": SIGNAL}
        message = pb.RetrieveRequest(k=k, **{**wanted, **fields})  # type: ignore[arg-type]
        return self.call(f"{RETRIEVAL}/Retrieve", message.SerializeToString(), timeout=timeout)


RETRIEVAL, POPULARITY, ANALYST = (
    f"askew.wire.v1.{name}" for name in ("Retrieval", "Popularity", "Analyst")
)
Code = grpc.StatusCode


def ask_devices_questions(asked: Asked) -> set[grpc.StatusCode]:
    codes = {
        asked.retrieve(ANSWERS),
        asked.retrieve(EXPLODES),
        asked.retrieve(STRAYS),
        asked.retrieve(ANSWERS, catalog_date=FIRST + 7 * 5000),
        asked.retrieve(60),
        asked.retrieve(ANSWERS, values=[*SIGNAL, *SIGNAL]),
        asked.call(f"{RETRIEVAL}/Retrieve", GARBAGE),
        asked.call(f"{RETRIEVAL}/Retrieve", GARBAGE * 2000),
        asked.call(f"{RETRIEVAL}/{PART}", GARBAGE),
        asked.call(f"{RETRIEVAL}/Retrieve", GARBAGE, ("x-long", HEADER * 500)),
        asked.call(f"{RETRIEVAL}/GetModelCard", GARBAGE),
        asked.retrieve(DAWDLES, timeout=0.2),
    }
    with ThreadPoolExecutor(6) as several:
        codes |= set(several.map(asked.retrieve, [DAWDLES] * 6))
    return codes


PAGE_OF_RELEASES = popularity_pb2.ListReleasesRequest(dataset=DATASET).SerializeToString()


def ask_for_releases(asked: Asked, token: str) -> set[grpc.StatusCode]:
    bearer = ("authorization", f"Bearer {token}")
    question = question_to_bytes(TopKQuestion(DATASET, 2, KEY))
    budget = budget_request_to_bytes(DATASET)
    release = popularity_pb2.GetReleaseRequest(charge=77).SerializeToString()
    return {
        asked.call(f"{POPULARITY}/ListReleases", PAGE_OF_RELEASES),
        asked.call(f"{POPULARITY}/GetRelease", release),
        asked.call(f"{ANALYST}/TopK", question, bearer),
        asked.call(f"{ANALYST}/GetBudget", budget, ("authorization", f"Bearer {FALSE_TOKEN}")),
        asked.call(f"{ANALYST}/GetBudget", budget, bearer),
        asked.call(f"{ANALYST}/GetBudget", budget_request_to_bytes(KEY), bearer),
        asked.call(f"{ANALYST}/GetBudget", budget, bearer),  # more often than may be
    }


def ask_for_health(asked: Asked) -> set[grpc.StatusCode]:
    names = (PART, "")
    checks = [health_pb2.HealthCheckRequest(service=name).SerializeToString() for name in names]
    return {asked.call("grpc.health.v1.Health/Check", check) for check in checks}


def ask_for_pages(told: Told, port: int) -> dict[str, int]:
    codes = {}
    for verb, path in (("GET", PATH), ("POST", "/metrics"), ("GET", "/metrics")):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request(verb, path, headers={"X-Canary": HEADER})
        told.ports.add(connection.sock.getsockname()[1])
        reply = connection.getresponse()
        codes[f"{verb} {path}"] = reply.status
        told.add(path if reply.status == 200 else "refused page", str(reply.headers), reply.read())
        connection.close()
    for odd in (GARBAGE + b"\r\n\r\n", GARBAGE * 1000, b"GET /metrics"):
        told.add("refused page", *replies_to(odd, port))
    return codes


def replies_to(odd: bytes, port: int) -> Iterator[bytes]:
    place = ("127.0.0.1", port)
    with suppress(OSError), socket.create_connection(place, timeout=PATIENCE) as line:
        line.sendall(odd)
        line.shutdown(socket.SHUT_WR)
        while chunk := line.recv(4096):
            yield chunk


def callers_of(port: int) -> set[int]:
    """The local ports of connections to a port of this machine."""
    tables = [Path("/proc/self/net") / name for name in ("tcp", "tcp6")]
    lines = [line for table in tables for line in table.read_text().splitlines()[1:]]
    rows = [line.split() for line in lines]
    ends = [[int(end.split(":")[1], 16) for end in row[1:3]] for row in rows]
    return {local for local, remote in ends if remote == port} - {port}


@dataclass
class Life:
    told: Told
    codes: set[grpc.StatusCode]
    pages: dict[str, int]
    lines: list[dict[str, Any]]


def life(folder: Path, *words: str) -> Life:
    program = [sys.executable, str(TESTS / "end_to_end" / "observed_process.py"), str(folder)]
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    written = folder / "stderr"
    with (
        written.open("wb") as errors,
        subprocess.Popen(
            [*program, *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"PYTHONPATH": path},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            token = (folder / "token").read_text()
            told = Told(CANARIES | {"token": of_text(token)})
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                asked = Asked(told, channel)
                codes = ask_devices_questions(asked) | ask_for_releases(asked, token)
                codes |= ask_for_health(asked)
                (folder / "ledger.sqlite").write_bytes(GARBAGE)
                codes.add(asked.call(f"{POPULARITY}/ListReleases", PAGE_OF_RELEASES))
                told.ports |= callers_of(port)
                assert told.ports
                [ready] = [line for line in lines_of(written) if line["event"] == "ready"]
                pages = ask_for_pages(told, ready["metrics_port"])
            process.terminate()
            told.add("stdout", process.communicate(timeout=PATIENCE)[0])
        finally:
            process.kill()
    told.add("stderr", written.read_bytes())
    return Life(told, codes, pages, lines_of(written))


def lines_of(written: Path) -> list[dict[str, Any]]:
    lines = written.read_bytes().splitlines()
    return [json.loads(line) for line in lines if line.startswith(b"{")]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return life(tmp_path_factory.mktemp("quiet"))


def test_nothing_of_a_question_is_in_what_a_server_lets_out(quiet: Life) -> None:
    assert quiet.told.found == set()
    written = b"".join(quiet.told.places["stderr"]).splitlines()
    assert all(line.startswith(b"{") for line in written)  # JSON from the first


def test_every_kind_of_answer_and_failure_was_among_them(quiet: Life) -> None:
    codes = "INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND RESOURCE_EXHAUSTED FAILED_PRECONDITION"
    codes += " OK OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAUTHENTICATED"
    assert {code.name for code in quiet.codes} >= {*codes.split()}
    # The first: of any path.
    assert quiet.pages == {f"GET {PATH}": 200, "POST /metrics": 405, "GET /metrics": 200}


def labels_of(told: Told) -> dict[str, set[str]]:
    page = told.places["/metrics"][-1].decode()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            for name, value in sample.labels.items():
                found.setdefault(name, set()).add(value)
    return found


METHODS = {"Retrieve", "GetModelCard", "GetRelease", "ListReleases", "TopK", "GetBudget"}


def test_metrics_are_split_by_what_is_the_same_for_all_and_by_nothing_else(quiet: Life) -> None:
    """A count by k, noise, catalog date or cell would tell what the one caller of an hour asked."""
    found = labels_of(quiet.told)
    assert found.pop("le") == {*map(str, BUCKETS), "+Inf"}
    assert found.pop("status") <= {code.name for code in Code}
    assert found == {
        "service": {RETRIEVAL, POPULARITY, ANALYST},
        "method": METHODS,
        "queue": {"answers", "analysts"},
        "version": {__version__},
    }


def test_every_trouble_is_told_by_its_kind_and_its_line_of_code(quiet: Life) -> None:
    """Planted bugs: a field that an event may not have; what other packages say is lost."""
    assert not [line for line in quiet.lines if "dropped" in line]
    told = {(line["event"], line.get("method"), line.get("error")) for line in quiet.lines}
    assert told >= {
        ("ready", None, None),
        ("call_failed", "Retrieve", "LookupError"),
        ("call_failed", "ListReleases", "LedgerError"),
        ("library", None, "OSError"),
        ("library", None, "UserWarning"),
        ("crashed", None, "RuntimeError"),
        ("crashed", None, "KeyError"),
        ("stopped", None, None),
    }


@pytest.mark.slow
def test_the_search_finds_every_leak_that_is_planted(tmp_path: Path) -> None:
    leaky = life(tmp_path, "leaky")
    assert leaky.told.found >= {
        ("signal", "stderr"),
        ("signal", "status"),
        ("exception", "stderr"),
        ("exception", "status"),
        ("stray words", "stderr"),
        ("principal", "stderr"),
        ("token", "stderr"),
        ("address", "stderr"),
        ("port", "stderr"),
    }
    assert labels_of(leaky.told)["method"] - METHODS == {"k1", "k2", "k3", "k4"}
