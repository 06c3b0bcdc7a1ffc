"""What a device holds is fetched once, checked, kept, and refreshed by the calendar alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from catalog_files import DAY, MONDAY, Clock, FakeSource, body_of

from askew.catalog.catalog_file import HEAD_BYTES, LONGEST_DELAY, PERIOD, Part, file_of
from askew.errors import CacheError, Malformed, ServerFailed
from askew.noise.randomness import RandomBits, ReplayBits, SystemBits
from askew_client.catalog.cache import (
    CachedFile,
    CatalogCache,
    CatalogSync,
    Record,
    date_of,
    draw_look,
)
from askew_client.views.answers import Refreshed

BUDGET = 4_000_000
OLD, NEW = body_of("old"), body_of("new")
NEXT = MONDAY + PERIOD


@pytest.fixture
def cache(tmp_path: Path) -> CatalogCache:
    return CatalogCache.of(tmp_path / "held", "example.org:443")


@pytest.fixture
def clock() -> Clock:
    """A Wednesday."""
    return Clock(MONDAY + 2)


class Delays(RandomBits):
    """Seconds of delay, one after the other; fails a test that draws more."""

    def __init__(self, *delays: int) -> None:
        self._left = [*delays]

    def read(self, count: int) -> bytes:
        width = (LONGEST_DELAY * DAY - 1).bit_length()
        return (self._left.pop(0) << (8 * count - width)).to_bytes(count)


@dataclass(frozen=True)
class DeviceWorld:
    sync: CatalogSync
    clock: Clock

    async def cached(self) -> CachedFile:
        return await self.sync.cached(self.clock.day)

    async def refresh(self) -> Refreshed:
        return await self.sync.refresh(self.clock.now)


Made = Callable[..., DeviceWorld]


@pytest.fixture
def sync(cache: CatalogCache, clock: Clock) -> Made:
    """Makes what keeps the files of a source."""

    def made(
        source: FakeSource, budget: int = BUDGET, bits: RandomBits | None = None
    ) -> DeviceWorld:
        return DeviceWorld(
            CatalogSync(cache, source, budget, bits or SystemBits(), check=len, patience=0.0), clock
        )

    return made


def names(cache: CatalogCache) -> set[str]:
    return {path.name for path in cache.directory.iterdir()} - {"record.json", "lock"}


async def test_what_is_forgotten_leaves_nothing_that_the_next_look_could_tell(
    sync: Made, cache: CatalogCache
) -> None:
    """Where a server answers about other items. The next look takes a head and a whole body, also
    where they are those from before. Planted bug: a body that stays, and is not fetched again.
    """
    device = sync(FakeSource.of(OLD))
    await device.cached()
    await device.sync.forget(MONDAY)
    assert (names(cache), cache.record()) == (set(), Record())
    source = FakeSource.of(OLD)
    again = await sync(source).cached()
    assert again.fetched == HEAD_BYTES + len(OLD)
    await device.sync.forget(MONDAY - PERIOD)  # another program fetched a newer one meanwhile
    assert (await sync(FakeSource({})).cached()).version == again.version


async def test_where_nothing_changed_a_refresh_fetches_the_head_alone(
    sync: Made, clock: Clock, cache: CatalogCache
) -> None:
    await sync(FakeSource.of(OLD)).cached()
    clock.set(NEXT + LONGEST_DELAY)
    source = FakeSource.of(OLD)
    found = await sync(source).refresh()
    assert found.fetched == HEAD_BYTES
    assert source.heard == [(NEXT, Part.WHOLE, 0)]
    assert found.catalog_date == date_of(NEXT)
    assert (await sync(FakeSource({})).cached()).body == OLD
    assert names(cache) == {sha256(OLD).hexdigest()}


async def test_no_question_makes_a_device_look_while_what_it_holds_is_not_too_old(
    sync: Made, clock: Clock
) -> None:
    """Questions on sixteen days ask the source nothing; then they must."""
    await sync(FakeSource.of(OLD)).cached()
    last = MONDAY + 2 * PERIOD + LONGEST_DELAY
    silent = FakeSource.of(NEW)
    for day in range(MONDAY, last + 1):
        clock.set(day)
        assert (await sync(silent).cached()).body == OLD
    assert silent.heard == []
    clock.set(last + 1)
    assert (await sync(silent).cached()).body == NEW
    assert {catalog_date for catalog_date, _, _ in silent.heard} == {MONDAY + 2 * PERIOD}


async def test_a_clock_that_ran_ahead_does_not_make_a_file_of_the_future_usable(
    sync: Made, clock: Clock
) -> None:
    await sync(FakeSource.of(NEW)).cached()
    clock.set(MONDAY - 1)
    assert (await sync(FakeSource({})).cached()).body == NEW  # elsewhere it is Monday already
    clock.set(MONDAY - 2)
    source = FakeSource.of(OLD)
    assert (await sync(source).cached()).body == OLD
    assert source.heard[0] == (MONDAY - PERIOD, Part.WHOLE, 0)


async def test_a_refresh_waits_for_its_turn_and_draws_it_once_however_often_it_is_run(
    sync: Made, clock: Clock
) -> None:
    """Planted bug: a delay drawn at every run, the least of which counts."""
    delay = 100_000
    await sync(FakeSource.of(OLD), bits=Delays(delay)).refresh()
    source = FakeSource.of(NEW)
    for seconds in range(0, delay, 9_999):
        clock.set(NEXT, seconds)
        found = await sync(source, bits=Delays()).refresh()
        assert (found.fetched, found.next_look.timestamp()) == (0, NEXT * DAY + delay)
    assert source.heard == []
    clock.set(NEXT, delay)
    assert (await sync(source, bits=Delays(7)).refresh()).fetched
    clock.set(NEXT + 6, DAY - 1)
    found = await sync(source, bits=Delays()).refresh()
    assert found.next_look.timestamp() == (NEXT + PERIOD) * DAY + 7


def test_a_turn_is_uniform_over_every_second_of_the_longest_delay() -> None:
    """By the bytes that it is made of: 18 bits of three bytes, those beyond the end drawn again."""
    longest = LONGEST_DELAY * DAY
    for delay in (0, 1, 65_537, longest - 1):
        assert draw_look(MONDAY, Delays(delay)) == MONDAY * DAY + delay
    assert draw_look(MONDAY, Delays(longest, (1 << 18) - 1, 3)) == MONDAY * DAY + 3
    with pytest.raises(EOFError):
        draw_look(MONDAY, ReplayBits(b"\0\0"))


# What is done to a part of a file.
LIES = {
    "another body": lambda part, start: part.replace(b"o", b"0"),
    "a shorter body": lambda part, start: part[:-1] if start else part,
    "a longer body": lambda part, start: part + b"." if start else part,
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_body_that_is_not_what_its_head_says_is_removed_and_never_used(
    sync: Made, cache: CatalogCache, lie: str
) -> None:
    source = FakeSource.of(OLD)
    source.spoil = LIES[lie]
    with pytest.raises(Malformed, match="not what its head says"):
        await sync(source).cached()
    assert names(cache) == set()
    assert len(source.heard) == 2
    source.spoil = lambda part, start: part
    assert (await sync(source).cached()).body == OLD


@pytest.mark.parametrize("lie", [*LIES, "no lie, but it breaks off"])
async def test_a_refused_file_is_not_asked_for_again_in_its_week_while_another_is_held(
    sync: Made, clock: Clock, lie: str
) -> None:
    """Each look is one guess of which device this is, so there is one a week."""
    await sync(FakeSource.of(NEW)).cached()
    clock.set(NEXT + LONGEST_DELAY)
    source = FakeSource.of(OLD)
    if lie in LIES:
        source.spoil = LIES[lie]
    else:
        source.troubles = [None, ServerFailed("it failed")]
    with pytest.raises(Malformed if lie in LIES else ServerFailed):
        await sync(source).refresh()
    heard = len(source.heard)
    for _ in range(3):
        assert (await sync(source).refresh()).fetched == 0
        held = await sync(source).cached()
        assert (held.body, held.version.catalog_date) == (NEW, MONDAY)
    assert (len(source.heard), source.looks) == (heard, 1)
    source.spoil = lambda part, start: part
    clock.set(NEXT + PERIOD + LONGEST_DELAY)
    assert (await sync(source).refresh()).catalog_date == date_of(NEXT + PERIOD)


async def test_a_server_gets_one_guess_of_what_an_outdated_device_held(
    sync: Made, clock: Clock
) -> None:
    """Nothing usable is held, so a question looks; once refused, nothing is left to be guessed."""
    await sync(FakeSource.of(OLD)).cached()
    clock.set(MONDAY + 10 * PERIOD)
    wrong = FakeSource.of(NEW)
    wrong.spoil = LIES["another body"]
    wrong.files[None, Part.WHOLE] = file_of(body_of("wrong"))
    with pytest.raises(Malformed):
        await sync(wrong).cached()
    right = FakeSource.of(OLD)
    assert (await sync(right).cached()).fetched == HEAD_BYTES + len(OLD)


async def test_a_whole_file_beyond_the_budget_is_left_for_the_default_items(sync: Made) -> None:
    """The budget counts every byte of the file; its head tells how long it is."""
    source = FakeSource.of(OLD, default_items=NEW[:1000])
    size = HEAD_BYTES + len(OLD)
    assert (await sync(source, budget=size - 1).cached()).body == NEW[:1000]
    assert source.heard == [
        (MONDAY, Part.WHOLE, 0),
        (MONDAY, Part.DEFAULT, 0),
        (MONDAY, Part.DEFAULT, HEAD_BYTES),
    ]


async def test_a_whole_file_of_just_the_budget_is_held(sync: Made) -> None:
    found = await sync(FakeSource.of(OLD, default_items=NEW), budget=HEAD_BYTES + len(OLD)).cached()
    assert (found.body, found.version.part) == (OLD, Part.WHOLE)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "altered": lambda path: path.write_bytes(path.read_bytes().replace(b"o", b"0", 1)),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_is_seen_before_use_and_fetched_again(
    sync: Made, cache: CatalogCache, damage: str
) -> None:
    await sync(FakeSource.of(OLD)).cached()
    DAMAGE[damage](cache.directory / sha256(OLD).hexdigest())
    found = await sync(FakeSource.of(OLD)).cached()
    assert (found.body, found.fetched) == (OLD, HEAD_BYTES + len(OLD))
    assert names(cache) == {sha256(OLD).hexdigest()}


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '{"held":{"head":{"digest":"../x"}}}'])
async def test_a_record_that_cannot_be_read_is_none(
    sync: Made, cache: CatalogCache, text: str
) -> None:
    await sync(FakeSource.of(OLD)).cached()
    (cache.directory / "record.json").write_text(text)
    assert cache.record() == Record()
    found = await sync(FakeSource.of(OLD)).cached()
    assert (found.body, found.fetched) == (OLD, HEAD_BYTES)  # the file itself is as it was


async def test_of_two_that_fetch_at_once_one_fetches_and_the_other_waits_for_it(
    cache: CatalogCache,
) -> None:
    """Planted bug: without the lock both fetch."""
    source = FakeSource.of(OLD)
    both = [CatalogSync(cache, source, BUDGET, SystemBits(), check=len) for _ in range(2)]
    found = await asyncio.gather(*(each.cached(MONDAY) for each in both))
    assert [each.body for each in found] == [OLD, OLD]
    assert sorted(each.fetched for each in found) == [0, HEAD_BYTES + len(OLD)]
    assert source.looks == 1


async def test_one_that_fetches_for_too_long_is_named_as_the_reason(
    sync: Made, cache: CatalogCache
) -> None:
    async with cache.locked(0.0):
        with pytest.raises(CacheError, match="another program is fetching"):
            await sync(FakeSource.of(OLD)).cached()
    assert (await sync(FakeSource.of(OLD)).cached()).body == OLD
