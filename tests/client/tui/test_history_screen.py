"""History: what was shown before, here and nowhere else."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from client.tui.person import DeviceWorld
from textual.widgets import OptionList


@pytest.fixture
async def asked_twice(rated: DeviceWorld) -> DeviceWorld:
    """An answer in November and another in December."""
    for month in (11, 12):
        rated.today = datetime.date(2026, month, 3)
        companion = rated.companion()
        await companion.titles.connect()
        await companion.titles.ask()
    return rated


async def test_nothing_was_asked_yet(device: DeviceWorld) -> None:
    async with device.opened() as person:
        await person.press("f5")
        person.reads("No answers yet.")


async def test_past_answers_are_listed_newest_first_and_can_be_looked_at(
    asked_twice: DeviceWorld,
) -> None:
    newest, oldest = asked_twice.companion().profile.history()
    async with asked_twice.opened(size=(120, 40)) as person:
        await person.press("f5")
        answers = person.app.screen.query_one(OptionList)
        assert answers.option_count == 2
        person.reads("03 Dec", "3 December 2026, with the signal of 2026-12", *newest.labels)
        await person.press("down")
        person.reads("3 November 2026, with the signal of 2026-11", *oldest.labels)
        person.reads(f"{oldest.picked} ◀ your pick")


async def test_a_new_answer_is_there_when_one_comes_back(rated: DeviceWorld) -> None:
    async with rated.opened() as person:
        await person.press("f5")
        person.reads("No answers yet.")
        await person.press("f3", "a")
        await person.press("f5")
        person.reads("21 November 2026", "◀ your pick")


async def test_forgetting_needs_a_second_look(asked_twice: DeviceWorld) -> None:
    """Planted bug: one stray key, and the past is gone."""
    async with asked_twice.opened() as person:
        await person.press("f5", "f")
        person.reads("Forget every past answer?")
        await person.press("enter")
        assert len(asked_twice.companion().profile.history()) == 2
        await person.press("f", "escape")
        assert len(asked_twice.companion().profile.history()) == 2
        await person.press("f", "y")
        person.reads("No answers yet.", "Past answers are forgotten.")
    assert asked_twice.companion().profile.history() == ()
    assert len(asked_twice.companion().profile.ratings()) == 3


async def test_an_answer_that_sent_nothing_has_no_signal_in_the_history(rated: DeviceWorld) -> None:
    """Planted bug: every answer is called one with the signal of its month."""
    rated.settings = replace(rated.settings, mode="local")
    companion = rated.companion()
    await companion.titles.connect()
    await companion.titles.ask()
    async with rated.opened(size=(120, 40)) as person:
        await person.press("f5")
        person.reads("21 November 2026, nothing was sent")
        assert not person.shows("with the signal of")
