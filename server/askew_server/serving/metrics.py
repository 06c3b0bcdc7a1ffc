"""The numbers of a server, by prometheus_client.

What is published is a public choice, in this one place. A call leaves its method, a status and a
duration behind. Everything else that differs between calls, as k, noise, catalog date, cell, caller
or address, would tell of one question on a server that is asked rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache, partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from askew import __version__
from askew_server.serving.log import log_event

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double what is published

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_DAY = 86_400  # seconds
Done = Callable[[str, float], None]
"""Told when a call ended: with which status, after how many seconds."""


class Observer:
    """Counts what the parts of one server report, and logs what an operator must know."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        counter = partial(Counter, registry=registry)
        self._gauge = partial(Gauge, registry=registry)
        ProcessCollector(registry=registry)
        Info("askew_server", "The program.", registry=registry).info({"version": __version__})
        of_method = ["service", "method"]
        self._requests = counter("askew_requests", "Calls that ended.", [*of_method, "status"])
        self._durations = Histogram(
            "askew_request_duration_seconds",
            "From the arrival of a call to its reply or refusal.",
            of_method,
            buckets=BUCKETS,
            registry=registry,
        )
        self.fetches = counter(
            "askew_file_fetches",
            "Requests for a file that devices hold, by the status of HTTP.",
            ["code"],
        )
        self.slots = self._gauge(
            "askew_admission_slots_taken", "Slots of jobs that run or wait.", ["queue"]
        )
        self.refusals = counter("askew_admission_refused", "Calls that found no slot.", ["queue"])
        self.serving = self._gauge(
            "askew_service_serving", "1 where a service can answer.", ["service"]
        )
        self._certificates_refused = counter(
            "askew_certificates_refused", "Certificates that changed and were no use."
        )
        self._swaps = counter("askew_snapshot_swaps", "Swaps of snapshots.")
        self._swaps_refused = counter(
            "askew_snapshot_swaps_refused", "Snapshots that were not good, and were not served."
        )

    def method(self, service: str, method: str) -> Done:
        """Return a function of a status and seconds, which returns None: it counts a call of a
        method that ended so, in askew_requests and askew_request_duration_seconds.
        """
        durations = self._durations.labels(service, method)
        requests = cache(partial(self._requests.labels, service, method))

        def done(status: str, seconds: float) -> None:
            requests(status).inc()
            durations.observe(seconds)

        return done

    def serves(self, monday: Callable[[], int], catalogs: Callable[[], Mapping[int, str]]) -> None:
        """Publish which Monday's model serves, as a Unix time in seconds, and of the catalogs that
        devices hold the digests, by their Mondays. `monday` and `catalogs` have Mondays in days
        since 1970-01-01, and are asked anew for each reading.
        """
        self._gauge(
            "askew_snapshot_monday_timestamp_seconds",
            "The Monday from which on what serves now is in force.",
        ).set_function(lambda: monday() * _DAY)
        self.registry.register(_Catalogs(catalogs))

    def swapped(self, day: int) -> None:
        """Count in askew_snapshot_swaps, and log as "swapped", that another snapshot serves, of the
        model of this Monday: in days since 1970-01-01, logged as `monday`, "2026-11-23".
        """
        self._swaps.inc()
        log_event("swapped", monday=_text_of_date(day))

    def withdrawn(self, day: int) -> None:
        """Log as "withdrawn" that the model of this Monday, in days since 1970-01-01, is answered
        from no more.
        """
        log_event("withdrawn", monday=_text_of_date(day))

    def swap_refused(self, reason: str, error: str = "refused") -> None:
        """Count in askew_snapshot_swaps_refused that what would have been next is not good, and log
        it as "swap_refused", with `error` and `reason`; what was served goes on being served.
        reason: of the operator's own files, for the operator. error: the name of an error's type.
        """
        self._swaps_refused.inc()
        log_event("swap_refused", error=error, reason=reason)

    def shows_certificate(self, days_left: Callable[[], float]) -> None:
        """Publish how many days the certificate that is shown is good, asked anew for each
        reading.
        """
        self._gauge(
            "askew_certificate_days_left", "Until the certificate that is shown expires."
        ).set_function(days_left)

    def certificates_refused(self, reason: str) -> None:
        """Count in askew_certificates_refused that files of certificates changed and are no use,
        and log it as "certificates_refused", with `reason`; what was there stays.
        """
        self._certificates_refused.inc()
        log_event("certificates_refused", reason=reason)


class _Catalogs(Collector):
    def __init__(self, catalogs: Callable[[], Mapping[int, str]]) -> None:
        self._catalogs = catalogs

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "askew_catalog_info",
            "What devices hold of a Monday, by the digest of its file.",
            labels=["monday", "digest"],
        )
        for day, digest in self._catalogs().items():
            family.add_metric([_text_of_date(day), digest], 1)
        yield family


def _text_of_date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
