"""A log tells events of a table in fields of a form, and can be made to tell nothing else."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings
from dataclasses import dataclass, field
from typing import TextIO

import pytest

from askew_server.serving.event_log import EVENTS, FIELDS, EventLog, take_over
from askew_server.serving.observer import Observer, Overloads
from askew_server.serving.settings import Log, LogLevel

SIGNAL = "(-701337193, 1302884417)"


@dataclass
class Written:
    """A log and its lines, at a time that a test sets."""

    level: LogLevel = "debug"
    now: float = 1_800_000_000.0
    stream: TextIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.log = EventLog(self.stream, Log(format="json", level=self.level), lambda: self.now)

    @property
    def lines(self) -> list[dict[str, object]]:
        assert isinstance(self.stream, io.StringIO)
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_an_event_is_one_line_with_its_fields() -> None:
    written = Written()
    written.log.log_event("ready", port=7571, metrics_port=None)
    assert written.lines == [
        {
            "time": "2027-01-15T08:00:00.000+00:00",
            "level": "info",
            "event": "ready",
            "port": 7571,
        }
    ]


def test_as_text_a_line_reads_by_itself() -> None:
    stream = io.StringIO()
    log = EventLog(stream, Log(), lambda: 0.0)
    log.log_event("health_changed", service="askew.wire.v1.Popularity", serving=False)
    log.log_event("swap_refused", error="refused", reason='model/manifest.json is "altered"')
    assert stream.getvalue() == (
        "1970-01-01T00:00:00.000+00:00 WARNING health_changed"
        " service=askew.wire.v1.Popularity serving=false\n"
        "1970-01-01T00:00:00.000+00:00 ERROR swap_refused"
        ' error=refused reason="model/manifest.json is \\"altered\\""\n'
    )


@pytest.mark.parametrize("name", EVENTS)
def test_no_event_has_a_field_for_a_value_of_a_call(name: str) -> None:
    """Neither under a name of its own, nor in one that the event has."""
    planted = {"signal": SIGNAL, "slate": [1, 2], "peer": "ipv4:192.0.2.7:4321"}
    names = set(EVENTS[name].fields) - {"reason"}
    written = Written()
    written.log.log_event(name, **planted, **dict.fromkeys(names, SIGNAL))
    (line,) = written.lines
    assert set(line) == {"time", "level", "event", "dropped"}
    assert line["dropped"] == len(planted) + len(names)


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"reason"}))
@pytest.mark.parametrize(
    "value",
    [
        SIGNAL,
        "-0.68359375",
        "192.0.2.7",
        "ipv4:192.0.2.7:4321",
        "Alien (1979)",
        "two\nlines",
        b"bytes",
        1.5,
        -701337193,
        (1, 2),
        "w" * 200,
    ],
    ids=repr,
)
def test_no_field_but_the_reason_takes_free_text_or_a_coordinate(name: str, value: object) -> None:
    """Planted bug: a form that is only looked for, not matched as a whole."""
    assert not FIELDS[name](value)


def test_lines_alike_come_once_a_minute_with_the_number_of_those_left_out() -> None:
    """Planted bug: a caller whose calls fail fills the disk."""
    written = Written()
    for second in range(150):
        written.now = 1_800_000_000.0 + second
        written.log.log_event(
            "call_failed", method="Retrieve", error="LookupError", where=f"a.b:{second}"
        )
    written.log.log_event("call_failed", method="GetModelCard", error="LookupError")
    assert [(line["method"], line.get("suppressed")) for line in written.lines] == [
        ("Retrieve", None),
        ("Retrieve", 59),
        ("Retrieve", 59),
        ("GetModelCard", None),
    ]


@pytest.mark.parametrize("told", ["swap_refused", "certificates_refused"])
def test_another_reason_is_told_at_once_and_the_same_one_once_a_minute(told: str) -> None:
    """Planted bug: an operator who mends one thing hears nothing of the next for a minute."""
    written = Written()
    for second, reason in enumerate(["one", "one", "two", "one"]):
        written.now = 1_800_000_000.0 + second
        getattr(Observer(written.log), told)(reason=reason)
    assert [line["reason"] for line in written.lines] == ["one", "two"]


def test_lines_that_are_long_ago_are_forgotten() -> None:
    """Planted bug: a file that is wrong in another way each second fills the memory."""
    written = Written()
    for second in range(1000):
        written.now = 1_800_000_000.0 + second
        Observer(written.log).swap_refused(reason=f"at line {second}")
    assert len(written.lines) == 1000
    assert len(written.log._told) <= 120


def test_what_is_below_the_level_is_not_written() -> None:
    written = Written("warning")
    written.log.log_event("ready", port=1)
    written.log.log_event("overload_began", queue="answers")
    assert [line["event"] for line in written.lines] == ["overload_began"]


def test_a_disk_that_is_full_fails_no_call() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    EventLog(Full()).log_event("stopping")


@pytest.mark.usefixtures("hooks")
def test_what_others_say_comes_in_by_its_kind_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """Planted bugs: the message; the logger's whole name."""
    written = Written()
    take_over(written.log)
    logging.getLogger("asyncio").error("%d", SIGNAL)
    logging.getLogger(SIGNAL).error(SIGNAL)
    logging.getLogger("logging.of.192.0.2.7").warning(SIGNAL)
    warnings.showwarning(SIGNAL, UserWarning, SIGNAL, 1)
    error = ValueError(SIGNAL)
    sys.excepthook(ValueError, error, None)
    thread = threading.Thread(target=lambda: dict[int, int]()[1], name=SIGNAL)
    thread.start()
    thread.join()
    told = [(line["event"], line.get("logger"), line["error"]) for line in written.lines]
    assert told == [
        ("library", "asyncio", "ERROR"),
        ("library", "unknown", "ERROR"),
        ("library", "logging", "WARNING"),
        ("library", "warnings", "UserWarning"),
        ("crashed", None, "ValueError"),
        ("crashed", None, "KeyError"),
    ]
    assert isinstance(written.stream, io.StringIO)
    assert SIGNAL not in written.stream.getvalue() + "".join(capfd.readouterr())


@dataclass
class QueueName:
    taken: int = 0
    refused: int = 0
    wait: float = 0.0


def test_an_overload_is_two_lines_however_many_were_refused() -> None:
    """It has ended when a minute has passed without a refusal. Planted bug: it ends at once."""
    written, queue, now = Written(), QueueName(refused=7), 0.0
    observer = Observer(written.log)
    observer.queues = {"answers": queue}
    overloads = Overloads(observer, lambda: now)
    for now in range(0, 200, 5):
        if 20 <= now <= 40 or now == 90:
            queue.refused += 100
        overloads.look()
    told = [(line["event"], line.get("count"), line.get("seconds")) for line in written.lines]
    assert told == [("overload_began", None, None), ("overload_ended", 600, 70)]


def test_a_reason_is_one_line_and_not_long() -> None:
    written = Written()
    Observer(written.log).swap_refused(reason="a folder\nwith\x00 a name " + "x" * 500)
    (line,) = written.lines
    assert "dropped" not in line
    assert str(line["reason"]).startswith("a folder with")
    assert len(str(line["reason"])) == 300
