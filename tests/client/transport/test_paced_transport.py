"""The time between calls says nothing of how long the device worked, in virtual time: exactly."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from virtual_time import VirtualSelector, in_virtual_time

from askew.editions import FIRST
from askew.errors import StaleSpace
from askew.held_file import Part
from askew.lattice import Lattice
from askew.metric_card import Card
from askew.randomness import SystemBits
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew_client.device import present as reading
from askew_client.device.device import Companion
from askew_client.ledger.store import SignalStore
from askew_client.opening import open_companion, open_library
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.transport.grpc import GrpcTransport
from askew_client.transport.held import FetchedAnew
from askew_client.transport.in_process import LocalTransport
from askew_client.transport.paced import PacedTransport
from askew_client.views.values import Answer, Quote

if TYPE_CHECKING:
    from client.conftest import Pair

PACE = 0.25
TODAY = datetime.date(2026, 11, 21)


class Listener(LocalTransport):
    """A server that writes down when each call came, and takes its time to answer."""

    def __init__(self, pair: Pair, answering: float = 0.0) -> None:
        super().__init__(pair.card, pair.catalog)
        self.answering, self.failing = answering, False
        self.came: list[tuple[str, float]] = []
        self.replied = 0.0

    async def _hear(self, call: str) -> None:
        self.came.append((call, asyncio.get_running_loop().time() - self.replied))
        await asyncio.sleep(self.answering)
        self.replied = asyncio.get_running_loop().time()
        if self.failing:
            raise StaleSpace

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        await self._hear("held")
        return await super().held(edition, part, start)

    async def retrieve(self, query: Query, card: Card) -> Slate:
        await self._hear("retrieve")
        return await super().retrieve(query, card)


@pytest.fixture
def query(pair: Pair) -> Query:
    return Query(Signal(pair.card.space.version, Lattice(11, 1024), (5, 7)), k=4)


def gaps(pair: Pair, query: Query, work: float, answering: float = 0.1) -> list[tuple[str, float]]:
    """What a server hears when, if the device works for so long before each question and at the
    end.
    """
    server = Listener(pair, answering)

    async def play() -> None:
        network = PacedTransport(server, PACE)
        card = (await FetchedAnew(network).holding(TODAY)).card
        for _ in range(2):
            await asyncio.sleep(work)
            await network.retrieve(query, card)
        await asyncio.sleep(work)
        await network.turn()
        server.came.append(("closed", asyncio.get_running_loop().time() - server.replied))

    in_virtual_time(play)
    return [(call, round(gap, 9)) for call, gap in server.came]


@pytest.mark.parametrize("work", [0.0, 0.0001, 0.017, 0.132, 0.249])
def test_work_shorter_than_a_pace_is_not_heard(pair: Pair, query: Query, work: float) -> None:
    """Planted bugs: a call that leaves when it is ready; a connection that closes when the ranking
    is done; waiting a pace after the work instead of after the reply; no wait at all where a coarse
    clock sees no work.
    """
    expected = [("held", 0.0), ("held", 0.0), ("retrieve", PACE), ("retrieve", PACE)]
    assert gaps(pair, query, work) == [*expected, ("closed", PACE)]


@pytest.mark.parametrize("answering", [0.0, 0.1, 0.3, 7.0])
def test_a_slow_server_learns_no_more(pair: Pair, query: Query, answering: float) -> None:
    """Planted bug: beats since the first call rather than since the last reply."""
    found = [gaps(pair, query, work, answering) for work in (0.001, 0.2)]
    assert found[0] == found[1]


def test_work_longer_than_a_pace_waits_for_the_next_one(pair: Pair, query: Query) -> None:
    assert [gap for _, gap in gaps(pair, query, 0.3)][2:] == [2 * PACE] * 3


def test_a_refusal_is_a_reply_too(pair: Pair, query: Query) -> None:
    """Planted bug: forgetting the time of a call that failed, so that the next one tells it."""
    server = Listener(pair)
    server.failing = True

    async def play() -> None:
        network = PacedTransport(server, PACE)
        for _ in range(2):
            with pytest.raises(StaleSpace):
                await network.retrieve(query, pair.card)
            await asyncio.sleep(0.1)

    in_virtual_time(play)
    assert [gap for _, gap in server.came] == [0.0, PACE]


def test_the_first_call_waits_for_nothing(pair: Pair) -> None:
    server = Listener(pair)

    async def play() -> None:
        await asyncio.sleep(0.1)
        await PacedTransport(server, PACE).held(FIRST, Part.WHOLE, 0)

    in_virtual_time(play)
    ((call, when),) = server.came
    assert (call, round(when, 9)) == ("held", 0.1)


def gap_before_the_question(pair: Pair, directory: Path, public: float, private: float) -> float:
    """From a catalog to the question of a whole device, which takes so long over the catalog and
    then over its own ratings.
    """
    clock, server = VirtualSelector(), Listener(pair)
    settings = ClientSettings(way="signal", k=4, max_diameter=32.0, max_one_rating=32.0)
    network = PacedTransport(server, PACE)
    device = Companion(
        network,
        settings,
        library=FetchedAnew(network),
        profile=PassingProfile(),
        signals=SignalStore(directory / "signals.sqlite", settings.caps),
        bits=SystemBits(),
    )

    def taking(name: str, seconds: float) -> None:
        real = getattr(reading, name)

        def slow(*arguments: object) -> object:
            clock.now += seconds
            return real(*arguments)

        patch.setattr(reading, name, slow)

    async def play() -> None:
        assert isinstance(await device.ask(), Answer)

    with pytest.MonkeyPatch.context() as patch:
        taking("connection_of", public)
        taking("ratings_of", private)
        in_virtual_time(play, clock)
    return round(server.came[-1][1], 9)


@pytest.mark.parametrize(("public", "beats"), [(0.0, 1), (0.24, 1), (0.9999, 4)])
def test_a_catalog_that_takes_nearly_a_beat_tells_no_more(
    pair: Pair, tmp_path: Path, public: float, beats: int
) -> None:
    """Planted bug: one beat for public work and for the profile's together. A server that tunes its
    catalog to a little less than a beat then hears which profiles pass it.
    """
    gaps = [
        gap_before_the_question(pair, tmp_path / str(private), public, private)
        for private in (0.0001, 0.02, 0.2)
    ]
    assert gaps == [(beats + 1) * PACE] * 3


def visit(pair: Pair, directory: Path, asks: Callable[[Companion], Any]) -> list[tuple[str, float]]:
    """What a server hears when of a whole visit, closing included."""
    server = Listener(pair)
    settings = ClientSettings(way="signal", k=4, pace=PACE, max_diameter=32.0, max_one_rating=32.0)

    async def play() -> None:
        opened = open_companion(
            settings, directory=directory, transport=server, profile=PassingProfile()
        )
        with contextlib.suppress(KeyboardInterrupt):
            async with opened as companion:
                await asks(companion)
        server.came.append(("closed", asyncio.get_running_loop().time() - server.replied))

    in_virtual_time(play)
    return [(call, round(gap, 9)) for call, gap in server.came]


async def asks_twice(companion: Companion) -> None:
    for _ in range(2):
        assert isinstance(await companion.ask(), Answer)


async def stops(companion: Companion) -> None:
    assert isinstance(await companion.quote(), Quote)
    raise KeyboardInterrupt


def test_a_whole_visit_keeps_the_pace_and_so_does_its_end(pair: Pair, tmp_path: Path) -> None:
    """Planted bugs: a device whose network keeps no pace; one that closes when it is done."""
    first = [("held", 0.0), ("held", 0.0), ("retrieve", 2 * PACE)]
    assert visit(pair, tmp_path, asks_twice) == [*first, ("retrieve", PACE), ("closed", PACE)]


def test_a_visit_that_is_stopped_ends_on_a_beat_too(pair: Pair, tmp_path: Path) -> None:
    """Planted bug: closing on the beat only where nothing was raised."""
    expected = [("held", 0.0), ("held", 0.0), ("closed", 2 * PACE)]
    assert visit(pair, tmp_path, stops) == expected


class Channel(GrpcTransport):
    """A channel of this test alone, which counts how many there are."""

    made = 0

    def __init__(self, *arguments: Any) -> None:
        type(self).made += 1
        super().__init__(*arguments)


@pytest.mark.parametrize(("host", "made"), [("", 0), ("https://films.example", 1)])
async def test_a_channel_that_has_a_beat_to_keep_is_made_before_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, made: int
) -> None:
    """Planted bug: gRPC is loaded between a beat after a static host's reply and the question that
    leaves on it, in a time in which garbage is collected: the more, the more is rated.
    """
    monkeypatch.setattr("askew_client.transport.grpc.GrpcTransport", Channel)
    monkeypatch.setattr(Channel, "made", 0)
    settings = ClientSettings(held_from=host)
    async with open_library(settings, server="localhost:1", directory=tmp_path):
        assert Channel.made == made
