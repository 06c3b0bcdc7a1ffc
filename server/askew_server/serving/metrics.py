"""The numbers of a server for Prometheus: /metrics over plain HTTP, on a port of its own.

What is published is a public choice, in this one place: how often each method was called, with
which status and how long it took; how often files were fetched; how full the server is; which
version it serves; what the process uses. Nothing is split by what a call brought: by k, noise,
catalog date, cell, caller or address.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
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


def registry_of(observer: Observer) -> CollectorRegistry:
    """Return everything that is published."""
    registry = CollectorRegistry()
    registry.register(ObserverCollector(observer))
    ProcessCollector(registry=registry)
    return registry


@contextmanager
def published(config: Metrics, observer: Observer) -> Iterator[int | None]:
    """Serve /metrics from a thread of its own; the port, or None where none is asked for.

    There is no TLS and no password: see who can reach the address. Raises OSError.
    """
    if config.port is None:
        yield None
        return
    try:
        server, thread = start_http_server(config.port, config.host, registry_of(observer))
    except (OSError, UnicodeError) as error:
        why = why_not(error, "--metrics-port")
        where = f"{config.host}:{config.port}"
        raise OSError(f"cannot listen on {where} for numbers: {why}") from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
