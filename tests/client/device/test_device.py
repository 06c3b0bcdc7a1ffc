"""What a screen gets to see, without a screen, a socket or a file beyond a temporary directory."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from client.conftest import K4, Pair
from made_device import made_device
from raised import raised

from askew.catalog.catalog_file import PERIOD, Part, catalog_date_of
from askew.catalog.item import Item, title_key
from askew.catalog.titles import TitleIndex
from askew.errors import AskewError
from askew.protocol.cards import Card
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew_client.catalog.cache import CachedCatalog, date_of
from askew_client.device import titles
from askew_client.device.model import ratings_of
from askew_client.device.titles import Titles
from askew_client.opening import Device
from askew_client.transport.in_process import LocalTransport
from askew_client.transport.shaped import KeptLibrary
from askew_client.views.answers import Answer, Refreshed
from askew_client.views.cost import Leaves
from askew_client.views.problems import Trouble

TODAY = datetime.date(2026, 11, 21)


class Network(LocalTransport):
    """A server in this process that counts fetches and writes down questions."""

    fetches = 0

    def __init__(self, pair: Pair) -> None:
        super().__init__(pair.card, pair.catalog)
        self.asked: list[Query] = []

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        self.fetches += start == 0  # the head of what is held; its body follows
        return await super().read(catalog_date, part, start, size)

    async def retrieve(self, query: Query, card: Card) -> Slate:
        self.asked.append(query)
        return await super().retrieve(query, card)


@pytest.fixture
def network(pair: Pair) -> Network:
    return Network(pair)


def device_of(network: Network, directory: Path, library: KeptLibrary | None = None) -> Device:
    settings = replace(K4, rating_lifetime_cap=Fraction(4))
    return made_device(network, directory, settings, library=library, today=lambda: TODAY)


def on_day(device: Device, day: datetime.date) -> None:
    device.asker._today = device.titles._today = lambda: day


@pytest.fixture
def device(network: Network, tmp_path: Path) -> Device:
    return device_of(network, tmp_path)


@pytest.fixture
async def rated(device: Device) -> Device:
    """A device whose person likes a film of one corner, and typed it in another way first."""
    await device.titles.connect()
    device.profile.rate("film 9, The", 3)
    device.profile.rate("Film 9 (1969)", 5)
    return device


async def ask(device: Device) -> Answer:
    return await device.asker.ask(device.titles)


@pytest.mark.parametrize("rates", [False, True], ids=["nothing rated", "one title rated"])
async def test_a_cost_says_what_a_question_will_tell_and_spends_nothing(
    device: Device, network: Network, rates: bool
) -> None:
    """Planted bugs: a cost that depends on the profile, or that draws what it prices."""
    if rates:
        device.profile.rate("Film 9 (1969)", 5)
    cost = await device.asker.show(device.titles)
    assert (cost.month, cost.leaves, cost.is_second) == ("2026-11", Leaves.FRESH, False)
    assert cost.epsilon == cost.charge.epsilon_per_rating == Fraction(2)
    # The diameter of this space is 4 ratings, and the card says that half of people are 1 apart.
    assert [cost.replaced_title, cost.at_median, cost.between_any_two] == [4, 2, 8]
    assert cost.spent == cost.spent_this_month == 0
    assert (cost.cap, cost.monthly_cap) == (Fraction(4), Fraction(8))
    assert (network.fetches, network.asked, device._signals.entries()) == (1, [], ())


async def test_a_cost_that_says_sent_again_ends_with_its_month(
    rated: Device, network: Network
) -> None:
    """Planted bug: the question is of the day on which it leaves, and draws what was shown as sent
    again.
    """
    await ask(rated)
    cost = await rated.asker.show(rated.titles)
    assert cost.leaves is Leaves.KEPT
    on_day(rated, datetime.date(2026, 12, 1))
    outcome = await raised(rated.asker.ask(rated.titles, shown=cost))
    assert outcome.trouble is Trouble.COST
    assert len(network.asked) == 1
    assert [charge.month for charge in rated._signals.entries()] == ["2026-11"]
    departure = (await ask(rated)).departure
    assert departure is not None
    assert departure.month == "2026-12"


async def test_a_number_beyond_the_servers_scale_counts_as_its_nearest_end(
    network: Network, tmp_path: Path
) -> None:
    """Planted bugs: a rating of another scale that is refused, or is no like."""
    bars = []
    for best in (5, 100):
        device = device_of(network, tmp_path / str(best))
        device.profile.rate("Film 9 (1969)", best)  # before any scale is known
        assert (await ask(device)).used == 1
        bars.append(device.titles.bars())
    assert bars[0] == bars[1] != ()


async def test_a_question_is_answered_ranked_paid_and_kept_once(
    rated: Device, network: Network
) -> None:
    """The answer says why in words of the person's own ratings, and can be forgotten."""
    first, again = await ask(rated), await ask(rated)
    assert [result.place for result in first.results] == [1, 2, 3, 4]
    assert [result.picked for result in first.results].count(True) == 1
    assert first.pick.title != "Film 9 (1969)"
    other = next(result for result in first.results if result.score > 0 and not result.seen)
    assert "most of all because you like Film 9 (1969)" in other.why
    assert first.departure is not None
    assert again.departure == replace(first.departure, fresh=False)
    assert first.departure.fresh
    assert first.cost.spent == again.cost.spent == Fraction(2)
    assert network.asked[0] == network.asked[1]
    (past,) = rated.profile.history()
    assert (past.picked, past.when, past.month) == (first.pick.title, TODAY, "2026-11")
    assert len(past.labels) == 4
    rated.profile.forget_history()
    assert rated.profile.history() == ()
    assert len(rated.profile.ratings()) == 1


@pytest.mark.parametrize(("day", "fetches"), [(2, 1), (3, 2)])
async def test_a_program_that_runs_for_weeks_fetches_what_is_answered_no_more(
    rated: Device, network: Network, day: int, fetches: int
) -> None:
    """A catalog date of November 16 is answered until December 2."""
    on_day(rated, datetime.date(2026, 12, day))
    await ask(rated)
    assert network.fetches == fetches


class SharedCache(KeptLibrary):
    """A library that another program fills, too."""

    def __init__(self, held: CachedCatalog) -> None:
        self.held = held

    async def cached(self, _: datetime.date) -> CachedCatalog:
        return self.held

    async def refresh(self) -> Refreshed:
        now = datetime.datetime.now(datetime.UTC)
        return Refreshed(date_of(self.held.catalog_date), "whole", self.held.size, 0, now)


async def test_what_another_program_fetched_serves_from_the_next_refresh_on(
    pair: Pair, network: Network, tmp_path: Path
) -> None:
    """Such as a timer of the system's, beside an app that is open for weeks."""
    date = catalog_date_of((TODAY - date_of(0)).days)
    cache = SharedCache(CachedCatalog(pair.card, pair.catalog, date, 1000))
    device = device_of(network, tmp_path, cache)
    await ask(device)
    cache.held = replace(cache.held, catalog_date=date + PERIOD)
    await device.titles.refresh()
    await ask(device)
    assert [query.catalog_date for query in network.asked] == [date, date + PERIOD]


def test_a_title_that_two_films_share_is_known_by_its_year_alone(pair: Pair) -> None:
    """Planted bug: the first of two films of a name, whichever the person means."""
    items = (Item("Solaris", 1972), Item("Solaris", 2002), Item("Die Große Straße"))
    known = TitleIndex([*items, *pair.catalog.items[3:]])
    likings = {"Solaris": 5.0, "solaris (2002)": 2.0, "DIE GROSSE STRASSE": 9.0, "Moon": None}
    by_key = {title_key(label): liking for label, liking in likings.items()}
    assert ratings_of(by_key, known, pair.card.space.scale) == ({1: 2.0, 2: 5.0}, len(by_key) - 2)


async def test_the_bars_are_the_profile_and_none_without_ratings(rated: Device) -> None:
    bars = rated.titles.bars()
    # (1, 1), clipped to (3/4, 3/4): ranks of 11/16 in a box of width 2.
    inside = pytest.approx(1.375, abs=1e-6)
    assert [(bar.lowest, bar.highest) for bar in bars] == [(0, 2)] * 2
    assert [bar.value for bar in bars] == [inside] * 2
    assert [*map(len, rated.titles.preview(Fraction(2), k=4).offsets)] == [2] * 4
    rated.profile.unrate("Film 9 (1969)")
    assert rated.titles.bars() == ()


def test_what_needs_a_catalog_says_so_before_there_is_one(device: Device) -> None:
    with pytest.raises(AskewError, match="connection must be made first"):
        device.titles.search("film")


def test_two_threads_that_come_first_share_one_service(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: cached properties, which have no lock: the second thread makes a service whose
    quotes and connection the first does not know.
    """
    services: list[Titles] = []
    other = Thread(target=lambda: services.append(device.titles))

    class Slow(Titles):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if not other.ident:
                other.start()
                other.join(0.1)  # it gets as far as it can
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(titles, "Titles", Slow)
    mine = device.titles
    other.join()
    assert services == [mine]
