"""The second process of the demo: when it ends, that is one line and not a broken pipe."""

from __future__ import annotations

import pytest

from askew.dp.privacy import ANY_SPACE
from askew.errors import ServerFailed
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MapNoise
from askew_client.demo.server import Rehearsal, server_process
from askew_client.settings.settings import ClientSettings
from askew_server.demo.places import places_model

SETTINGS = ClientSettings(region="Germany")


@pytest.fixture
def question() -> Query:
    noise: MapNoise = SETTINGS.map_noise
    return Query(Signal(ANY_SPACE, noise, (50_000_000, 10_000_000)), 3, "food")


async def test_a_process_that_ends_is_told_by_its_last_words(question: Query) -> None:
    """Planted bug: the error of the pipe, "Connection lost"."""
    async with server_process("dance") as process:
        with pytest.raises(ServerFailed, match="second process ended: Error: No such command"):
            await Rehearsal(process).answers([("nearest", question)] * 3, places_model().card)


async def test_answers_come_in_the_order_of_the_questions(question: Query) -> None:
    card = places_model().card
    other = Query(question.signal, 2, "pharmacies")
    async with server_process("rehearse") as process:
        found = await Rehearsal(process).answers([("nearest", question), ("served", other)], card)
    assert [len(slate.listings) for slate in found] == [3, 2]
    assert all("Pharmacy" in each.title for each in found[1].listings)
