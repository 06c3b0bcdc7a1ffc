"""Noninterference: after the draw, nothing that leaves the device depends on the person."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from asked import query_of
from client.conftest import K4, Memory, Pair, SilentBits
from made_device import made_device

from askew.catalog.catalog_file import FIRST, Part
from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits, ReplayBits
from askew.protocol.model_card import Card
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.queries import query_to_bytes
from askew_client.device.model import Exchange
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore
from askew_client.transport.in_process import LocalTransport
from askew_client.views.answers import Answer

Replay = Callable[[str], ReplayBits]

MONTH = "2026-11"
FAN = {3: 5.0, 0: 4.0, 9: 1.0}
STRANGER = {8: 5.0}


class IoWatch:
    """Hears every file, socket, process and database that this process opens."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._on = False
        sys.addaudithook(self._hear)  # for good, so one watch serves the whole run

    def _hear(self, event: str, _: tuple[object, ...]) -> None:
        if self._on and event.startswith(("open", "os.", "socket.", "sqlite3.", "subprocess.")):
            self.heard.append(event)

    @contextmanager
    def on(self) -> Iterator[list[str]]:
        self.heard, self._on = [], True
        try:
            yield self.heard
        finally:
            self._on = False


@cache
def io_watch() -> IoWatch:
    return IoWatch()


def test_the_watch_hears_a_file(tmp_path: Path) -> None:
    with io_watch().on() as heard:
        (tmp_path / "file").write_text("x")
    assert heard == ["open"]


Play = Callable[[Exchange, "Pair", "Memory", RandomBits], None]


def honest(exchange: Exchange, pair: Pair, memory: Memory, bits: RandomBits) -> None:
    exchange.check_slate(pair.retrieve(query_of(exchange, MONTH, memory, bits)))
    assert exchange.rank_all(4).best in range(12)


def sends_the_pick(exchange: Exchange, pair: Pair, memory: Memory, bits: RandomBits) -> None:
    query = query_of(exchange, MONTH, memory, bits)
    exchange.check_slate(pair.retrieve(query))
    picked = exchange.rank_all(4).best
    pair.retrieve(replace(query, k=1 + picked % 6))


def redraws_with_the_profile(
    exchange: Exchange, pair: Pair, memory: Memory, bits: RandomBits
) -> None:
    pair.retrieve(query_of(exchange, f"{MONTH} {exchange.profile.point}", memory, bits))


def asks_again_when_it_shows_what_is_rated(
    exchange: Exchange, pair: Pair, memory: Memory, bits: RandomBits
) -> None:
    query = query_of(exchange, MONTH, memory, bits)
    if exchange.ratings.keys() & set(pair.retrieve(query).item_ids):
        pair.retrieve(query)


def _seen_from_outside(
    play: Play, pair: Pair, memory: Memory, ratings: dict[int, float], bits: RandomBits
) -> tuple[list[bytes], list[tuple[str, str, SignalCharge]], list[str]]:
    """Requests, memory calls and other I/O of one play whose noise is drawn already."""
    frozen = _frozen(pair)
    # The server, which is in this process too, reads its codebook.
    pair.retrieve(Query(frozen, 4, catalog_date=FIRST))
    pair.requests.clear()
    memory.calls.clear()
    memory.signals = {(pair.card.space.version, MONTH): frozen}
    exchange = pair.exchange(ratings)
    with io_watch().on() as heard:
        play(exchange, pair, memory, bits)
    return [*pair.requests], [*memory.calls], [*heard]


def _frozen(pair: Pair) -> Signal:
    return Signal(pair.card.space.version, LatticeLaplace.for_epsilon(Fraction(2)), (-1200, 300))


@pytest.mark.parametrize("other", [STRANGER, dict.fromkeys(range(12), 2.5)])
def test_under_frozen_noise_two_people_look_the_same(
    pair: Pair, memory: Memory, silent_bits: SilentBits, other: dict[int, float]
) -> None:
    """Noninterference. The planted bugs that it catches are played in the next test."""
    fan = _seen_from_outside(honest, pair, memory, FAN, silent_bits)
    assert _seen_from_outside(honest, pair, memory, other, silent_bits) == fan
    requests, calls, io = fan
    assert (len(requests), len(calls), io) == (1, 1, [])


@pytest.mark.parametrize(
    "leak",
    [
        sends_the_pick,
        redraws_with_the_profile,
        asks_again_when_it_shows_what_is_rated,
    ],
)
def test_a_planted_leak_makes_two_people_look_different(
    pair: Pair, memory: Memory, replay: Replay, leak: Play
) -> None:
    fan = _seen_from_outside(leak, pair, memory, FAN, replay("fan"))
    assert _seen_from_outside(leak, pair, memory, STRANGER, replay("stranger")) != fan


class Recorder(LocalTransport):
    """A server in this process that writes down every call and the bytes of every question."""

    def __init__(self, pair: Pair) -> None:
        super().__init__(pair.card, pair.catalog)
        self.calls: list[bytes | str] = []

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        self.calls.append(f"{part} of {catalog_date} from {start}")
        return await super().read(catalog_date, part, start, size)

    async def retrieve(self, query: Query, card: Card) -> Slate:
        self.calls.append(query_to_bytes(query))
        return await super().retrieve(query, card)


async def _calls_of(
    pair: Pair, directory: Path, ratings: dict[int, float], bits: SilentBits
) -> list[bytes | str]:
    """What a server hears of a person who looks around and asks twice, the noise being drawn."""
    network = Recorder(pair)
    signals = SignalStore(directory / "signals.sqlite", Caps(Fraction(1000)))
    charge = SignalCharge(Fraction(2))
    signals.remember(pair.card.space.version, MONTH, charge, lambda: _frozen(pair))
    device = made_device(
        network,
        directory,
        K4,
        profile=PassingProfile(),
        signals=signals,
        bits=bits,
        today=lambda: datetime.date(2026, 11, 21),
    )
    for item, rating in ratings.items():
        device.profile.rate(pair.catalog.items[item].label, rating)
    for _ in range(2):
        assert isinstance(await device.asker.ask(device.titles), Answer)
        device.titles.search("film")
        device.titles.bars()
        device.profile.history()
        device.budget()
        device.profile.undo()
        device.profile.rate(pair.catalog.items[0].label, 1 + len(ratings) % 5)
    return network.calls


@pytest.mark.parametrize("other", [STRANGER, dict.fromkeys(range(12), 2.5)])
async def test_under_frozen_noise_a_server_hears_the_same_of_two_whole_visits(
    pair: Pair, tmp_path: Path, silent_bits: SilentBits, other: dict[int, float]
) -> None:
    """Planted bugs: searching on the server, reporting an edit, asking again after a bad pick."""
    fan = await _calls_of(pair, tmp_path / "fan", FAN, silent_bits)
    assert await _calls_of(pair, tmp_path / "other", other, silent_bits) == fan
    assert fan[:2] == ["whole of 20773 from 0", "whole of 20773 from 48"]
    assert len(fan) == 4
    assert fan[2] == fan[3]


def test_two_people_look_the_same_when_printed(pair: Pair) -> None:
    """Planted bug: a rating or the profile in a repr, and so in a log or a traceback."""
    fan, stranger = pair.exchange(FAN), pair.exchange(STRANGER)
    assert repr(fan) == repr(stranger)
    assert repr(fan.profile) == repr(stranger.profile)
