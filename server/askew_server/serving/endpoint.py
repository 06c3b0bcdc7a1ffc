"""Three pages over plain HTTP, on a port of their own: /metrics, /live and /ready.

The event loop that answers calls answers them too: a process whose loop stands still is not live.
A page uses nothing of a request but its first line, and repeats nothing of that.

What the pages publish is a public choice, in this one place: how often each method was called, with
which status and how long it took; how often files were fetched; how full the server is; which
version it serves; what the process uses. Nothing is split by what a call brought: by k, noise,
catalog date, cell, caller or address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from askew import __version__
from askew_server.serving.limits import why_not
from askew_server.serving.observer import (
    BOUNDS,
    STATUSES,
    MethodCounts,
    Observer,
    monday_of,
)
from askew_server.serving.settings import Metrics

_DAY = 86_400  # seconds
_UPPER = (*(str(bound) for bound in BOUNDS), "+Inf")


class ObserverCollector(Collector):
    """Reads one observer."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        """Every family, whether anything was counted yet or not."""
        yield self._requests()
        yield self._durations()
        yield self._fetches()
        yield from self._queues()
        yield GaugeMetricFamily(
            "askew_connections_busy",
            "Connections with a call under way.",
            self._observer.callers(),
        )
        yield from self._snapshot()
        yield self._services()
        yield CounterMetricFamily(
            "askew_certificates_refused",
            "Certificates that changed and were no use.",
            self._observer.certificates_refusals,
        )
        if self._observer.certificate_days is not None:
            yield GaugeMetricFamily(
                "askew_certificate_days_left",
                "Until the certificate that is shown expires.",
                self._observer.certificate_days(),
            )
        yield InfoMetricFamily("askew_server", "The program.", value={"version": __version__})

    def _requests(self) -> Metric:
        family = CounterMetricFamily(
            "askew_requests", "Calls that ended.", labels=["service", "method", "status"]
        )
        for counts in self._observer.methods:
            for status, number in zip(STATUSES, counts.statuses, strict=True):
                family.add_metric([counts.service, counts.method, status], number)
        return family

    def _durations(self) -> Metric:
        family = HistogramMetricFamily(
            "askew_request_duration_seconds",
            "From the arrival of a call to its reply or refusal.",
            labels=["service", "method"],
        )
        for counts in self._observer.methods:
            labels = [counts.service, counts.method]
            family.add_metric(labels, _cumulative(counts), sum_value=counts.seconds)
        return family

    def _fetches(self) -> Metric:
        family = CounterMetricFamily(
            "askew_file_fetches",
            "Requests for a file that devices hold, by the status of HTTP.",
            labels=["code"],
        )
        for status, number in self._observer.fetches.items():
            family.add_metric([str(status)], number)
        return family

    def _queues(self) -> Iterator[Metric]:
        taken = GaugeMetricFamily(
            "askew_admission_slots_taken", "Slots of jobs that run or wait.", labels=["queue"]
        )
        refused = CounterMetricFamily(
            "askew_admission_refused", "Calls that found no slot.", labels=["queue"]
        )
        wait = GaugeMetricFamily(
            "askew_admission_wait_seconds", "Until one more job would begin.", labels=["queue"]
        )
        for queue, state in self._observer.queues.items():
            taken.add_metric([queue], state.taken)
            refused.add_metric([queue], state.refused)
            wait.add_metric([queue], state.wait)
        yield taken
        yield wait
        yield refused

    def _snapshot(self) -> Iterator[Metric]:
        seen = self._observer
        if seen.version is None:  # a server of releases alone
            return
        yield GaugeMetricFamily(
            "askew_snapshot_monday_timestamp_seconds",
            "The Monday from which on what serves now is in force.",
            seen.version() * _DAY,
        )
        yield GaugeMetricFamily(
            "askew_snapshot_loaded_timestamp_seconds",
            "When what serves now was loaded.",
            seen.loaded,
        )
        catalogs = InfoMetricFamily(
            "askew_catalog",
            "What devices hold of a Monday, by the digest of its file.",
            labels=["monday", "digest"],
        )
        for day, digest in seen.catalogs().items():
            catalogs.add_metric([monday_of(day), digest], {})
        yield catalogs
        yield CounterMetricFamily("askew_snapshot_swaps", "Swaps of snapshots.", seen.swaps)
        yield CounterMetricFamily(
            "askew_snapshot_swaps_refused",
            "Snapshots that were not good, and were not served.",
            seen.swaps_refused,
        )

    def _services(self) -> Metric:
        family = GaugeMetricFamily(
            "askew_service_serving", "1 where a service can answer.", labels=["service"]
        )
        for service, serving in self._observer.healths().items():
            family.add_metric([service], serving)
        return family


def _cumulative(counts: MethodCounts) -> list[tuple[str, float]]:
    return list(zip(_UPPER, accumulate(counts.durations), strict=True))


def exposition_of(observer: Observer) -> bytes:
    """Everything, in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(ObserverCollector(observer))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


_TEXT = "text/plain; charset=utf-8"
_NUMBERS = "text/plain; version=0.0.4; charset=utf-8"  # of Prometheus
_HEAD = 8192  # bytes of a request
_PATIENCE = 5.0  # seconds for a whole exchange
_AT_ONCE = 16  # connections
_Page = tuple[HTTPStatus, str, bytes]


class Endpoint:
    """Pages of one observer. There is no TLS and no password: see who can reach the address."""

    def __init__(self, config: Metrics, observer: Observer) -> None:
        self._config, self._observer = config, observer
        self._open = 0
        self._server: asyncio.Server | None = None
        self._pages: dict[str, Callable[[], _Page]] = {
            "/metrics": self._metrics,
            "/live": lambda: (HTTPStatus.OK, _TEXT, b"live\n"),
            "/ready": self._ready,
        }

    @property
    def port(self) -> int:
        """Where it listens. 0 before it does."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server else 0

    async def start(self) -> None:
        """Raises OSError for a port that is taken."""
        host, port = self._config.host, self._config.port or 0
        try:
            self._server = await asyncio.start_server(self._exchange, host, port, limit=_HEAD)
        except (OSError, UnicodeError) as error:
            why = why_not(error, "--metrics-port")
            raise OSError(f"cannot listen on {host}:{port} for numbers: {why}") from None

    def stop(self) -> None:
        """Takes no more connections."""
        if self._server is not None:
            self._server.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, one page, and the end of the connection, however slow the other side is."""
        self._open += 1
        try:
            if self._open <= _AT_ONCE:
                async with asyncio.timeout(_PATIENCE):
                    writer.write(_reply(await self._page(reader)))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError):
            pass
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _page(self, reader: asyncio.StreamReader) -> _Page:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            return _refusal(HTTPStatus.BAD_REQUEST)
        line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return _refusal(HTTPStatus.BAD_REQUEST)
        if line[0] != "GET":
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED)
        page = self._pages.get(line[1].partition("?")[0])
        return page() if page is not None else _refusal(HTTPStatus.NOT_FOUND)

    def _metrics(self) -> _Page:
        return HTTPStatus.OK, _NUMBERS, exposition_of(self._observer)

    def _ready(self) -> _Page:
        """Ready, where every service is."""
        states = self._observer.healths()
        lines = (
            f"{name} {'serving' if good else 'not serving'}\n" for name, good in states.items()
        )
        ready = bool(states) and all(states.values())
        code = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return code, _TEXT, "".join(lines).encode()


def _refusal(code: HTTPStatus) -> _Page:
    return code, _TEXT, f"{code.phrase}\n".encode()


def _reply(page: _Page) -> bytes:
    code, kind, body = page
    head = (
        f"HTTP/1.1 {code.value} {code.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + body
