"""The numbers beside a server: what they say, and who is told that their port is taken."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from askew_server.serving.metrics import published, registry_of
from askew_server.serving.observer import Observer
from askew_server.serving.settings import Metrics

RETRIEVAL = "askew.wire.v1.Retrieval"


def test_numbers_are_served_where_they_are_asked_for_and_no_longer_than_that() -> None:
    with published(Metrics(), Observer()) as port:
        assert port is None
    with published(Metrics(port=0), Observer()) as port:
        page = urlopen(f"http://127.0.0.1:{port}/metrics").read()
        assert b"askew_requests_total" in page or b"# TYPE askew_requests" in page
        assert b"_created" not in page
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port)):
        pass


def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    """Planted bug: the system's own words, which name no option."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = f"{port} for numbers: .* --metrics-port names another"
        with pytest.raises(OSError, match=told), published(Metrics(port=port), Observer()):
            pass


def samples(observer: Observer) -> dict[tuple[str, ...], float]:
    """By name and the values of labels, in the order of the labels' names."""
    families = text_string_to_metric_families(generate_latest(registry_of(observer)).decode())
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
