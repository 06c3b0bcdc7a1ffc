"""The numbers beside a server: what they say, and who is told that their port is taken."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest

from askew_server.serving.metrics import Observer
from askew_server.serving.server import published

HERE = "127.0.0.1"
RETRIEVAL = "askew.wire.v1.Retrieval"


def test_numbers_are_served_where_they_are_asked_for_and_no_longer_than_that() -> None:
    observer = Observer()
    observer.method(RETRIEVAL, "Retrieve")("OK", 0.1)
    with published(HERE, None, observer) as port:
        assert port is None
    with published(HERE, 0, observer) as port:
        page = urlopen(f"http://{HERE}:{port}/metrics").read()
        assert b"askew_requests_total{" in page
        assert b"_created" not in page
    with pytest.raises(OSError, match="refused"), socket.create_connection((HERE, port)):
        pass


def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    """Planted bug: the system's own words, which name no option."""
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        told = f"{port} for numbers: .* --metrics-port names another"
        with pytest.raises(OSError, match=told), published(HERE, port, Observer()):
            pass


def test_what_was_counted_is_what_is_published() -> None:
    observer, days = Observer(), [20_500]
    done = observer.method(RETRIEVAL, "Retrieve")
    for status, seconds in (("OK", 0.003), ("OK", 0.005), ("RESOURCE_EXHAUSTED", 99.0)):
        done(status, seconds)
    observer.serves(lambda: days[-1], lambda: {days[-1]: "ab"})
    days.append(20_507)
    observer.swapped(20_507)
    observer.swap_refused("manifest.json is altered")
    observer.certificates_refused("server.pem has expired")
    of = {"service": RETRIEVAL, "method": "Retrieve"}
    duration = "askew_request_duration_seconds"
    for name, labels, value in (
        ("askew_requests_total", {**of, "status": "OK"}, 2),
        ("askew_requests_total", {**of, "status": "RESOURCE_EXHAUSTED"}, 1),
        (f"{duration}_bucket", {**of, "le": "0.005"}, 2),
        (f"{duration}_bucket", {**of, "le": "10.0"}, 2),
        (f"{duration}_count", of, 3),
        ("askew_snapshot_monday_timestamp_seconds", {}, 20_507 * 86_400),
        ("askew_snapshot_swaps_total", {}, 1),
        ("askew_snapshot_swaps_refused_total", {}, 1),
        ("askew_certificates_refused_total", {}, 1),
        ("askew_catalog_info", {"monday": "2026-02-23", "digest": "ab"}, 1),
    ):
        assert observer.registry.get_sample_value(name, labels) == value, name
