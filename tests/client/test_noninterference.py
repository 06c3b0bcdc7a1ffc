"""Noninterference: after the draw, nothing that leaves the device depends on the person."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
from askew.protocol.cards import Card
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.queries import query_to_bytes
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore
from askew_client.transport.in_process import LocalTransport
from askew_client.views.answers import Answer

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


def _frozen(pair: Pair) -> Signal:
    return Signal(pair.card.space.version, LatticeLaplace.for_epsilon(Fraction(2)), (-1200, 300))


@pytest.mark.parametrize("other", [STRANGER, dict.fromkeys(range(12), 2.5)])
def test_under_frozen_noise_two_people_look_the_same(
    pair: Pair, memory: Memory, silent_bits: SilentBits, other: dict[int, float]
) -> None:
    """Planted bugs: a draw or a k of the profile; remembering, logging or reporting the pick."""
    frozen = _frozen(pair)
    pair.retrieve(Query(frozen, 4, catalog_date=FIRST))  # the server here reads its codebook
    memory.signals = {(pair.card.space.version, MONTH): frozen}
    seen = []
    for ratings in (FAN, other):
        pair.requests.clear()
        memory.calls.clear()
        exchange = pair.exchange(ratings)
        with io_watch().on() as heard:
            exchange.check_slate(pair.retrieve(query_of(exchange, MONTH, memory, silent_bits)))
            assert exchange.rank_all(4).best in range(12)
        assert (len(pair.requests), len(memory.calls), heard) == (1, 1, [])
        seen.append([*pair.requests, *memory.calls])
    assert seen[0] == seen[1]


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
