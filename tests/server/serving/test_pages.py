"""The pages beside a server: what they say, and that those who read them slowly hold nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from askew_server.serving import endpoint
from askew_server.serving.endpoint import Endpoint, exposition_of
from askew_server.serving.observer import Observer
from askew_server.serving.settings import Metrics

PATIENCE = 20  # seconds; only ever waited for by pages that do not do what they should
RETRIEVAL = "askew.wire.v1.Retrieval"


@dataclass
class Pages:
    """Pages of an observer, and a state of health that a test sets."""

    observer: Observer = field(default_factory=Observer)
    states: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.observer.healths = lambda: self.states
        self.endpoint = Endpoint(Metrics(port=0), self.observer)

    async def say(self, request: bytes) -> tuple[str, bytes]:
        """The first line and the body that come back."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.endpoint.port)
        writer.write(request)
        writer.write_eof()
        heard = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        head, _, body = heard.partition(b"\r\n\r\n")
        return head.split(b"\r\n", 1)[0].decode(), body

    async def get(self, path: str) -> tuple[str, bytes]:
        return await self.say(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())


@pytest_asyncio.fixture
async def pages() -> AsyncIterator[Pages]:
    made = Pages()
    await made.endpoint.start()
    yield made
    made.endpoint.stop()


async def test_ready_is_what_every_service_is(pages: Pages) -> None:
    """Planted bug: a server without a service that is ready is ready."""
    assert await pages.get("/ready") == ("HTTP/1.1 503 Service Unavailable", b"")
    pages.states = {RETRIEVAL: True, "askew.wire.v1.Popularity": False}
    lines = b"askew.wire.v1.Retrieval serving\naskew.wire.v1.Popularity not serving\n"
    assert await pages.get("/ready") == ("HTTP/1.1 503 Service Unavailable", lines)
    pages.states = {RETRIEVAL: True}
    assert await pages.get("/ready?verbose") == (
        "HTTP/1.1 200 OK",
        b"askew.wire.v1.Retrieval serving\n",
    )


async def test_a_server_that_is_not_ready_is_live(pages: Pages) -> None:
    assert await pages.get("/live") == ("HTTP/1.1 200 OK", b"live\n")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"GET /secret-path HTTP/1.1\r\n\r\n", 404),
        (b"GET //live HTTP/1.1\r\n\r\n", 404),
        (b"GET /live\r\n\r\n", 400),
        (b"GET /live SPDY/3\r\n\r\n", 400),
        (b"GET /live HTTP/1.1\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\xff" * 5000, 400),
        (b"GET /live HTTP/1.1\r\n" + b"X-Long: y\r\n" * 5000 + b"\r\n", 400),
    ],
    ids=repr,
)
async def test_what_is_no_page_is_refused_and_not_repeated(
    pages: Pages, request_: bytes, code: int
) -> None:
    try:
        line, body = await pages.say(request_)
    except ConnectionError:  # closed while it was still written to
        return
    assert line in {"", f"HTTP/1.1 {code} {body.decode().strip()}"}
    assert b"secret" not in body


async def test_who_says_nothing_is_left_and_who_comes_in_crowds_waits_outside(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: no end of patience; no bound on connections."""
    monkeypatch.setattr(endpoint, "_PATIENCE", 0.2)
    silent = [await asyncio.open_connection("127.0.0.1", pages.endpoint.port) for _ in range(20)]
    heard = [await asyncio.wait_for(reader.read(), PATIENCE) for reader, _ in silent]
    assert heard == [b""] * 20
    for _, writer in silent:
        writer.close()
    assert (await pages.get("/live"))[0] == "HTTP/1.1 200 OK"


async def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    """Planted bug: the system's own words, which name no option."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"{port} for numbers: .* --metrics-port names another"):
            await Endpoint(Metrics(port=port), Observer()).start()


def samples(observer: Observer) -> dict[tuple[str, ...], float]:
    """By name and the values of labels, in the order of the labels' names."""
    families = text_string_to_metric_families(exposition_of(observer).decode())
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def test_what_was_counted_is_what_is_published() -> None:
    """Planted bugs: a range of durations that does not hold those below it; a status beside its
    own.
    """
    observer = Observer()
    counts = observer.method(RETRIEVAL, "Retrieve")
    for status, seconds in ((0, 0.0001), (0, 0.003), (0, 0.005), (8, 99.0)):
        counts.done(status, seconds)
    found = samples(observer)
    of = ("Retrieve", RETRIEVAL)
    number, lasted = ("askew_requests_total", *of), "askew_request_duration_seconds"
    calls = [found[*number, status] for status in ("OK", "RESOURCE_EXHAUSTED", "INTERNAL")]
    assert calls == [3, 1, 0]
    tops = ("0.0005", "0.0025", "0.005", "10.0", "+Inf")
    assert [found[f"{lasted}_bucket", top, *of] for top in tops] == [1, 1, 3, 3, 4]
    assert found[f"{lasted}_sum", *of] == pytest.approx(99.0081)
    assert found[f"{lasted}_count", *of] == 4


def test_a_server_says_which_model_it_serves_and_what_it_did_not_take() -> None:
    observer, days = Observer(), [20_500]
    assert ("askew_snapshot_swaps_total",) not in samples(observer)  # a server of releases alone
    observer.serves(lambda: days[-1], 1_000.0)
    days.append(20_507)
    observer.swapped(20_507, 2_000.0)
    observer.swap_refused(reason="manifest.json is altered")
    observer.certificates_refused("server.pem has expired")
    found = samples(observer)
    assert found["askew_snapshot_monday_timestamp_seconds",] == 20_507 * 86_400
    assert found["askew_snapshot_loaded_timestamp_seconds",] == 2_000
    assert found["askew_snapshot_swaps_total",] == 1
    assert found["askew_snapshot_swaps_refused_total",] == 1
    assert found["askew_certificates_refused_total",] == 1
