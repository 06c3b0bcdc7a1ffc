"""Connections begin at public moments, with nothing private while one is open: in virtual time,
exactly.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from asked import near, near_cost
from client.conftest import Pair
from made_device import made_device
from raised import raised
from small_map import GERMANY, NearServer, made_card
from virtual_time import VirtualSelector, in_virtual_time

from askew.errors import (
    BudgetExceeded,
    CacheError,
    ConnectionOpen,
    Malformed,
    NotReady,
    StaleSpace,
    Unreachable,
)
from askew.noise.randomness import SystemBits
from askew.spaces.map import MapSpace, Position
from askew_client.device import asker, model, nearby
from askew_client.device import model as exchanging
from askew_client.device.model import TitleSearch
from askew_client.near.pick import NO_PREFERENCES
from askew_client.near.sources import source_at
from askew_client.opening import Device
from askew_client.profile.document import NamedPlace, ProfileDocument
from askew_client.profile.store import PassingProfile, ProfileStore
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.storage.private_files import PrivateDatabase
from askew_client.transport.in_process import InProcess, LocalTransport
from askew_client.transport.shaped import KeptLibrary, ShapedTransport
from askew_client.views.answers import Answer, NearAnswer
from askew_client.views.cost import Cost

INTERVAL = 0.5
TODAY = datetime.date(2026, 11, 23)
SETTINGS = ClientSettings(mode="ask", k=4, region="DE", near_k=5, max_ratings_apart=32.0)
BERLIN = Position(52.52, 13.405)


class Line:
    """A network that writes down when each connection began and ended, and what it carried."""

    def __init__(self, server: InProcess, answering: float = 0.1) -> None:
        self.server, self.answering = server, answering
        self.happened: list[tuple[str, float]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.spoil: Callable[[bytes], bytes] = lambda reply: reply
        self.requests: list[bytes] = []

    def note(self, event: str) -> None:
        self.happened.append((event, round(asyncio.get_running_loop().time(), 9)))

    async def __aenter__(self) -> Line:
        self.note("connect")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.note("close")

    async def call(self, method: str, request: bytes) -> bytes:
        self.note(method)
        if method == "Retrieve":
            self.requests.append(request)
        await asyncio.sleep(self.answering)
        self.meanwhile()
        return self.spoil(await self.server.call(method, request))

    async def read(self, catalog_date: int, part: Any, start: int, size: int) -> bytes:
        self.note("held")
        return await self.server.read(catalog_date, part, start, size)

    def gaps(self) -> list[float]:
        ends = [at for event, at in self.happened if event == "close"]
        starts = [at for event, at in self.happened if event == "connect"]
        return [round(b - a, 9) for a, b in zip(ends, starts[1:], strict=False)]


def shaped(line: Any, files: Any = None) -> ShapedTransport:
    return ShapedTransport(lambda: line, files or line, INTERVAL)


def device_on(line: Line, directory: Path, profile: ProfileStore | None = None) -> Device:
    return made_device(
        shaped(line), directory, SETTINGS, profile=profile or PassingProfile(), today=lambda: TODAY
    )


@pytest.fixture
def line(pair: Pair) -> Line:
    return Line(LocalTransport(pair.card, pair.catalog))


Slow = Callable[[object, str, float], None]


@pytest.fixture
def clock() -> VirtualSelector:
    return VirtualSelector()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, clock: VirtualSelector) -> Slow:
    """Makes a function take so many seconds."""

    def make(where: object, name: str, seconds: float) -> None:
        real = getattr(where, name)

        def slowly(*arguments: Any, **options: Any) -> Any:
            clock.now += seconds
            return real(*arguments, **options)

        monkeypatch.setattr(where, name, slowly)

    return make


BEFORE, AFTER = (model, "ratings_of"), (exchanging, "rank_all")


@pytest.mark.parametrize(
    ("answering", "work"),
    [(0.0, (0.0, 0.0)), (0.1, (0.24, 0.001)), (7.0, (0.0, 0.49)), (0.1, (0.0, 0.49))],
)
def test_two_questions_in_a_row_tell_nothing_of_the_work_between_them(  # noqa: PLR0917
    line: Line,
    tmp_path: Path,
    clock: VirtualSelector,
    slow: Slow,
    answering: float,
    work: tuple[float, float],
) -> None:
    """Planted bugs: connecting when it is ready; the interval counted from the reply's ranking; a
    question that follows the catalog at once.
    """
    line.answering = answering
    slow(*BEFORE, work[0])
    slow(*AFTER, work[1])
    device = device_on(line, tmp_path)

    async def play() -> None:
        for _ in range(3):
            assert isinstance(await device.asker.ask(device.titles), Answer)

    in_virtual_time(play, clock)
    assert line.gaps() == [INTERVAL] * 3
    calls = [event for event, _ in line.happened]
    assert calls == ["connect", "held", "held", "close", *["connect", "Retrieve", "close"] * 3]


@pytest.mark.parametrize("public", [0.0, 0.4999, 1.2])
def test_how_long_a_catalog_takes_to_read_is_public_and_the_ratings_add_nothing(
    line: Line, tmp_path: Path, clock: VirtualSelector, slow: Slow, public: float
) -> None:
    """Planted bug: one interval for public work and for the profile's together: a server tunes its
    catalog to a little less than an interval, and the ratings pass it.
    """
    slow(model, "connection_of", public)
    slow(*BEFORE, 0.2)
    device = device_on(line, tmp_path)
    in_virtual_time(partial(device.asker.ask, device.titles), clock)
    whole = 1 + -(-public // INTERVAL)
    assert line.gaps() == [whole * INTERVAL]


@pytest.mark.parametrize("private", [0.0, 0.001])
def test_what_another_program_fetched_is_read_and_the_profile_before_it_adds_nothing(
    line: Line, tmp_path: Path, clock: VirtualSelector, slow: Slow, private: float
) -> None:
    """Planted bug: a moment that counts from the end of reading both, of which a server tunes one
    to end just before an interval does.
    """
    slow(model, "connection_of", INTERVAL)
    device = device_on(line, tmp_path)

    async def play() -> None:
        assert isinstance(await device.asker.ask(device.titles), Answer)
        device.titles._model = None
        slow(PassingProfile, "read", private)
        assert isinstance(await device.asker.ask(device.titles), Answer)

    in_virtual_time(play, clock)
    assert line.gaps() == [2 * INTERVAL] * 2


def test_what_is_not_ready_by_its_moment_is_not_sent_and_the_next_that_is(
    line: Line, tmp_path: Path, clock: VirtualSelector, slow: Slow
) -> None:
    """Planted bugs: a question that leaves late, by as much as it took; a second charge."""
    device = device_on(line, tmp_path)

    async def play() -> None:
        await device.asker.ask(device.titles)
        slow(*BEFORE, 0.6)
        late = await raised(device.asker.ask(device.titles))
        assert isinstance(late.error, NotReady)
        slow(*BEFORE, -0.6)
        await device.asker.ask(device.titles)

    in_virtual_time(play, clock)
    assert [gap % INTERVAL for gap in line.gaps()] == [0.0, 0.0]
    first, second = line.requests
    assert first == second
    assert len(device.budget().lines) == 1


def test_files_are_fetched_at_the_moment_too_whoever_has_them(pair: Pair, line: Line) -> None:
    """Planted bug: files of a static host by a connection of their own, when they are wanted."""
    files = Line(LocalTransport(pair.card, pair.catalog))
    network = shaped(line, files)
    began: list[float] = []

    async def play() -> None:
        for work in (0.0, 0.2, 0.4):
            async with network.turn():
                await asyncio.sleep(work)
                async with network.source as source:
                    began.append(asyncio.get_running_loop().time())
                    await source.read(4, "whole", 0, 48)  # type: ignore[arg-type]
            async with network.turn():
                await asyncio.sleep(work)
                async with network.connected(line):
                    began.append(asyncio.get_running_loop().time())

    in_virtual_time(play)
    assert [round(b - a, 9) for a, b in pairwise(began)] == [INTERVAL] * 5
    assert len(files.happened) == 9
    assert len(line.happened) == 6


def private_acts(device: Device) -> dict[str, Callable[[], object]]:
    held, guard = device.titles._connected(), device._network.guard
    exchange = device.titles.exchange(held, device._store.read())
    return {
        "read the profile": device.profile.ratings,
        "change it": lambda: device.profile.rate("Film 3 (1963)", 5),
        "look at bars": device.titles.bars,
        "forget a title": lambda: device.profile.forget(["Film 3 (1963)"]),
        "forget it": device.profile.wipe,
        "search": lambda: device.titles.search("film"),
        "match and encode": lambda: held.exchange(ProfileDocument(), SETTINGS, guard),
        "draw": lambda: exchange.perturb(SystemBits()),
        "rank all": lambda: exchange.rank_all(4),
    }


def test_nothing_private_is_worked_on_while_a_connection_is_open(
    line: Line, tmp_path: Path
) -> None:
    """Planted bugs, one a row: a guard that is not asked."""
    device = device_on(line, tmp_path, ProfileStore(tmp_path / "profile"))
    refused: list[str] = []

    async def play() -> None:
        await device.asker.ask(device.titles)
        acts = private_acts(device)

        def meanwhile() -> None:
            for name, act in acts.items():
                with pytest.raises(ConnectionOpen):
                    act()
                refused.append(name)

        line.meanwhile = meanwhile
        assert isinstance(await device.asker.ask(device.titles), Answer)
        line.meanwhile = lambda: None
        for act in acts.values():
            act()

    in_virtual_time(play)
    assert len(refused) == 9


def test_no_connection_begins_beside_private_work(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs, one a row: a guard that is asked for the profile and left before the work."""
    device = device_on(line, tmp_path, ProfileStore(tmp_path / "profile"))
    in_virtual_time(partial(device.asker.ask, device.titles))
    device.profile.rate("Film 3 (1963)", 5)
    listing = answer_near()
    device.nearby.card = card = made_card(MapSpace(GERMANY))
    kept: list[str] = []

    def watched(where: object, name: str, act: Callable[[], object]) -> None:
        real = getattr(where, name)

        def watching(*arguments: Any, **options: Any) -> Any:
            with pytest.raises(NotReady), device._network.guard.connection():
                pass
            kept.append(name)
            return real(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(where, name, watching)
            act()

    watched(model.Model, "exchange", device.titles.bars)
    watched(TitleSearch, "places", lambda: device.titles.search("film"))
    again = partial(device.nearby.by_other_preferences, listing, NO_PREFERENCES, ())
    watched(nearby, "by_other_preferences", again)
    source = source_at(card, "places", NamedPlace("0" * 32, BERLIN), SETTINGS)
    subject = nearby.NearSubject(
        device.nearby, card, source, None, ProfileDocument(), NO_PREFERENCES, sends=True
    )
    watched(asker, "draw", partial(device.asker._prepared, subject, lambda _: None))
    watched(PrivateDatabase, "purge", lambda: device.profile.forget(["Film 3 (1963)"]))
    watched(PrivateDatabase, "purge", device.profile.wipe)
    assert len(kept) == 6


def answer_near() -> NearAnswer:
    here = BERLIN.latitude, BERLIN.longitude
    return NearAnswer(
        collection="places",
        source="",
        simulated=True,
        k=5,
        results=(),
        none_passes=True,
        sent=here,
        true=here,
        cost=Cost.of_place(SETTINGS.map_noise, Fraction(0), Fraction(0)),
    )


def test_a_question_does_nothing_private_between_connect_and_close(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a reply that is read, or ranked, before the descriptor is closed."""

    def noted(where: object, name: str) -> None:
        real = getattr(where, name)

        def note(*arguments: Any, **options: Any) -> Any:
            line.happened.append((name, 0.0))
            return real(*arguments, **options)

        static = isinstance(vars(where).get(name), staticmethod)
        monkeypatch.setattr(where, name, staticmethod(note) if static else note)

    noted(ShapedTransport, "encoded")
    noted(ShapedTransport, "decoded")
    noted(SignalStore, "remember")
    noted(*BEFORE)
    noted(*AFTER)
    for name in ("read", "change"):
        noted(PassingProfile, name)
    device = device_on(line, tmp_path)

    async def play() -> None:
        await device.asker.ask(device.titles)
        line.happened.clear()
        await device.asker.ask(device.titles)

    in_virtual_time(play)
    assert [event for event, _ in line.happened] == [
        *("read", "ratings_of", "remember", "encoded"),
        *("connect", "Retrieve", "close"),
        *("decoded", "read", "rank_all", "change"),
    ]


@pytest.fixture
def places() -> NearServer:
    return NearServer(made_card(MapSpace(GERMANY)))


@pytest.mark.parametrize("work", [0.0, 0.2, 0.49])
def test_near_a_place_the_choice_of_the_pick_is_not_heard_and_the_card_is_kept(
    places: NearServer, tmp_path: Path, clock: VirtualSelector, slow: Slow, work: float
) -> None:
    """Planted bugs: preferences judged while the connection is open, or before the next moment is
    fixed; the card fetched again by each program.
    """
    slow(nearby, "judged", work)
    line = Line(places)

    async def play() -> None:
        device = device_on(line, tmp_path)
        await asyncio.to_thread(device.places.add, "home", BERLIN)
        for _ in range(3):
            assert isinstance(await near(device, "places"), NearAnswer)
        again = device_on(line, tmp_path)  # another start
        assert isinstance(await near(again, "places", BERLIN), NearAnswer)

    in_virtual_time(play, clock)
    assert line.gaps()[:3] == [INTERVAL] * 3
    calls = [event for event, _ in line.happened if event not in {"connect", "close"}]
    assert calls == ["GetModelCard", *["Retrieve"] * 4]


def test_a_card_that_does_not_fit_the_answers_is_forgotten_and_not_asked_for_by_itself(
    places: NearServer, tmp_path: Path
) -> None:
    """Planted bugs: a reply that was refused is asked for again; a false card is kept for good."""
    line = Line(places)
    line.spoil = lambda reply: reply if b"Item" not in reply else b"\xff"

    async def play() -> None:
        device = device_on(line, tmp_path)
        await asyncio.to_thread(device.places.add, "home", BERLIN)
        refused = await raised(near(device, "places"))
        assert isinstance(refused.error, Malformed)
        line.spoil = lambda reply: reply
        assert isinstance(await near(device, "places"), NearAnswer)

    in_virtual_time(play)
    calls = [event for event, _ in line.happened if event not in {"connect", "close"}]
    assert calls == ["GetModelCard", "Retrieve"] * 2
    assert line.requests[0] == line.requests[1]


def test_an_unnamed_spot_is_kept_until_it_is_answered_by_any_program_and_no_longer(
    places: NearServer, tmp_path: Path
) -> None:
    """Planted bugs: a fresh signal for the first try of each program; a spot that stays."""
    line, path = Line(places), tmp_path / "profile"

    def fails() -> None:
        raise Unreachable("gone")

    def is_kept() -> bool:
        return any(b"52.52" in file.read_bytes() for file in tmp_path.glob("profile*"))

    async def play() -> None:
        device = device_on(line, tmp_path, ProfileStore(path))
        await device.nearby.connect()
        line.meanwhile = fails
        await raised(near(device, "places", BERLIN))
        line.meanwhile = lambda: None
        assert is_kept()
        device = device_on(line, tmp_path, ProfileStore(path))  # another program
        assert (await near_cost(device, "places", BERLIN)).fresh
        shown = await near_cost(device, "places", BERLIN, again=True)
        await near(device, "places", BERLIN, shown=shown, again=True)
        assert not is_kept()
        assert len(device._signals.entries()) == 1

    in_virtual_time(play)
    assert line.requests[0] == line.requests[1]


def test_an_unnamed_spot_that_waits_is_not_lost_by_a_question_that_is_refused(
    places: NearServer, tmp_path: Path
) -> None:
    """Planted bug: the new spot is kept before it is charged."""
    line, profile = Line(places), PassingProfile()
    line.spoil = lambda reply: reply if b"Item" not in reply else b"\xff"

    async def play() -> None:
        device = device_on(line, tmp_path, profile)
        await raised(near(device, "places", BERLIN))
        kept = profile.read().unanswered
        device.configure(replace(SETTINGS, place_lifetime_cap=Fraction(1, 100)))
        refused = await raised(near(device, "places", Position(48.1, 11.6)))
        assert isinstance(refused.error, BudgetExceeded)
        assert profile.read().unanswered == kept is not None

    in_virtual_time(play)


def test_what_was_refused_is_said_though_another_program_keeps_it_from_being_forgotten(
    pair: Pair, line: Line, places: NearServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: an error of the cache that ends the program in place of the problem."""

    async def busy(*_: object) -> None:
        raise CacheError("another program is fetching what this device holds; wait")

    monkeypatch.setattr(KeptLibrary, "forget", busy)
    monkeypatch.setattr(KeptLibrary, "forget_metric_card", busy)

    async def play() -> None:
        device = device_on(line, tmp_path)
        await device.asker.ask(device.titles)
        line.spoil = lambda reply: reply.replace(
            bytes.fromhex(pair.card.catalog_version), bytes(16)
        )
        for _ in range(2):
            stale = await raised(device.asker.ask(device.titles))
            assert isinstance(stale.error, StaleSpace)
        map_line = Line(places)
        map_line.spoil = lambda reply: reply if b"Item" not in reply else b"\xff"
        refused = await raised(near(device_on(map_line, tmp_path / "map"), "places", BERLIN))
        assert isinstance(refused.error, Malformed)

    in_virtual_time(play)
