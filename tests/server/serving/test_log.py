"""A log tells events of a table in fields of a form, and can be made to tell nothing else."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import warnings

import pytest
from logged import logged

from askew_server.serving.log import EVENTS, FIELDS, has_form, log_event, start_log
from askew_server.serving.metrics import Observer

SIGNAL = "(-701337193, 1302884417)"
ODD = (
    SIGNAL, "-0.68359375", "192.0.2.7", "ipv4:192.0.2.7:4321", "Alien (1979)", "two\nlines",
    b"bytes", 1.5, -701337193, (1, 2), "w" * 200,
)  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_no_event_has_a_field_for_a_value_of_a_call(name: str) -> None:
    """Neither under a name of its own, nor in one that the event has. Planted bug: no look at the
    form.
    """
    planted = {"signal": SIGNAL, "slate": [1, 2], "peer": "ipv4:192.0.2.7:4321"}
    names = set(EVENTS[name][1]) - {"reason"}
    with logged() as lines:
        log_event(name, **planted, **dict.fromkeys(names, SIGNAL))
    (line,) = lines.events
    assert set(line) == {"level", "event", "dropped"}
    assert line["dropped"] == len(planted) + len(names)


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"reason"}))
def test_no_field_but_the_reason_takes_free_text_or_a_coordinate(name: str) -> None:
    """Planted bug: a form that is only looked for, not matched as a whole."""
    assert [value for value in ODD if has_form(name, value)] == []


def test_a_reason_is_one_line_and_not_long() -> None:
    with logged() as lines:
        Observer().swap_refused("a folder\nwith\x00 a name " + "x" * 500)
    (line,) = lines.events
    assert "dropped" not in line
    assert str(line["reason"]).startswith("a folder with")
    assert len(str(line["reason"])) == 300


@pytest.mark.usefixtures("hooks")
def test_what_others_say_comes_in_by_its_kind_alone_and_every_line_is_json(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """From the first one on. Planted bugs: the message; the logger's whole name."""
    stream = io.StringIO()
    start_log(stream)
    logging.getLogger("asyncio").error("%d", SIGNAL)
    logging.getLogger(SIGNAL).error(SIGNAL)
    logging.getLogger("logging.of.192.0.2.7").warning(SIGNAL)
    logging.getLogger("uvicorn.error").info(SIGNAL)
    warnings.showwarning(SIGNAL, UserWarning, SIGNAL, 1)
    sys.excepthook(ValueError, ValueError(SIGNAL), None)
    thread = threading.Thread(target=lambda: dict[int, int]()[1], name=SIGNAL)
    thread.start()
    thread.join()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    told = [(line["event"], line.get("logger"), line["error"]) for line in lines]
    assert told == [
        ("library", "asyncio", "ERROR"),
        ("library", "unknown", "ERROR"),
        ("library", "logging", "WARNING"),
        ("library", "warnings", "UserWarning"),
        ("crashed", None, "ValueError"),
        ("crashed", None, "KeyError"),
    ]
    assert SIGNAL not in stream.getvalue() + "".join(capfd.readouterr())


@pytest.mark.usefixtures("hooks")
def test_what_callers_bring_about_is_told_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a caller whose calls fail fills the disk."""
    stream, now = io.StringIO(), 1_800_000_000.0
    start_log(stream)
    record = logging.LogRecord.__init__

    def timed(self: logging.LogRecord, *words: object, **more: object) -> None:
        record(self, *words, **more)  # type: ignore[arg-type]
        self.created = now

    monkeypatch.setattr(logging.LogRecord, "__init__", timed)
    for second in range(150):
        now = 1_800_000_000.0 + second
        log_event("call_failed", method="Retrieve", error="LookupError", where=f"a.b:{second}")
    log_event("call_failed", method="GetModelCard", error="LookupError")
    for reason in ("one", "two"):  # an operator who mends one thing hears of the next
        log_event("swap_refused", reason=reason)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    methods = ["Retrieve"] * 3 + ["GetModelCard", None, None]
    assert [line.get("method") for line in lines] == methods
    assert lines[0]["time"] == "2027-01-15T08:00:00.000+00:00"


@pytest.mark.usefixtures("hooks")
def test_a_disk_that_is_full_fails_no_call() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    start_log(Full())
    log_event("stopping")
