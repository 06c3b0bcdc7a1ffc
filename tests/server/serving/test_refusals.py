"""Refusals follow each other no faster than jobs can spare: beyond, they are left to gRPC."""

from __future__ import annotations

import pytest

from askew_server.serving.front.refusals import SOON, Refusals

PENDING = 32


class Time:
    """Passes while somebody rests, and where a test says so."""

    def __init__(self) -> None:
        self.now, self.rests = 1000.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def refusals(time: Time) -> Refusals:
    return Refusals(PENDING, time, time.rest)


def test_a_full_line_is_refused_soon_and_no_sooner(refusals: Refusals, time: Time) -> None:
    """Planted bugs: no rest at all; a rest that does not go by the length of the line."""
    for _ in range(PENDING + 1):
        refusals.wait()
    assert time.now - 1000.0 == pytest.approx(SOON)
    assert len(time.rests) == PENDING


def test_what_a_refusal_takes_is_no_rest(refusals: Refusals, time: Time) -> None:
    """Planted bug: a rest is as long as if the one before had taken nothing."""
    for _ in range(3):
        refusals.wait()
        time.now += SOON / PENDING / 4
    assert time.rests == pytest.approx([SOON / PENDING * 3 / 4] * 2)


def test_rare_refusals_never_rest(refusals: Refusals, time: Time) -> None:
    for _ in range(100):
        refusals.wait()
        time.now += SOON / PENDING
    assert not time.rests


def test_a_quiet_time_leaves_no_credit(refusals: Refusals, time: Time) -> None:
    """Planted bug: the next is due by the time of the last alone, so a crowd is refused at once."""
    time.now += 3600.0
    for _ in range(PENDING + 1):
        refusals.wait()
    assert time.now - 4600.0 == pytest.approx(SOON)
