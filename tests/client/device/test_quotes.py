"""What is charged and sent is what the person was shown, whatever changes in between."""

from __future__ import annotations

import asyncio
import datetime
import gc
import tempfile
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from client.device.test_modes import ASK, DATE, REST, SETTINGS, DeviceWorld
from client.near.conftest import BERLIN, MUNICH
from client.near.conftest import DeviceWorld as PlaceDevice
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from
from raised import raised

from askew.dp.privacy import SignalCharge
from askew.errors import AskewError, QuoteVoid
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.map import Position
from askew_client.device.nearby import NearService
from askew_client.profile.document import Spot
from askew_client.settings.settings import ModeName, month_of
from askew_client.signals.store import SignalStore
from askew_client.views.answers import Answer, NearAnswer
from askew_client.views.problems import Problem, Trouble, problem_of
from askew_client.views.quote import Cost, Price, Quote, Terms


def another(value: object) -> object:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | Fraction():
            return value + 1
        case str():
            return f"{value}2"
        case SignalCharge():
            return replace(value, epsilon_per_rating=value.epsilon_per_rating + 1)
        case Position():
            return MUNICH
        case None:
            return Fraction(1)
    return None  # noise: none


async def shown(device: DeviceWorld) -> Quote:
    quote = await device.companion.titles.quote()
    assert isinstance(quote, Quote), quote
    return quote


async def refused(device: DeviceWorld, quote: Quote | None) -> Problem:
    """A question that is not asked, of which nothing is left."""
    before = device.entries(), [*device.network.requests]
    outcome = await raised(device.companion.titles.ask(quoted=quote))
    assert outcome.trouble is Trouble.QUOTE
    assert (device.entries(), device.network.requests) == before
    return outcome


def told_otherwise(quote: Quote, part: str) -> None:
    """The quote as it would be if this device had shown something else."""
    kind, name = part.split(".")
    terms, price = quote.terms, quote.terms.price
    assert price is not None
    other: Any = {name: another(getattr(price if kind == "Price" else terms, name))}
    if kind == "Price":
        terms = replace(terms, price=replace(price, **other))
    else:
        terms = replace(terms, **other)
    assert repr(terms) != repr(quote.terms) or name in {"place", "handle"}  # those are not shown
    object.__setattr__(quote, "terms", terms)


PARTS = [
    f"{kind.__name__}.{each.name}"
    for kind in (Terms, Price)
    for each in fields(kind)
    if each.name != "price"
]


@pytest.mark.parametrize("part", PARTS)
async def test_every_part_of_a_quote_binds_a_question_about_titles(
    tmp_path: Path, part: str
) -> None:
    """Planted bugs: each part left out of the comparison, one at a time."""
    device = DeviceWorld(tmp_path, ASK)
    quote = await shown(device)
    told_otherwise(quote, part)
    await refused(device, quote)
    assert isinstance(await device.companion.titles.ask(quoted=await shown(device)), Answer)


@pytest.mark.thin
@pytest.mark.parametrize(
    ("part", "place"),
    [(each, "home") for each in PARTS]
    + [(each, BERLIN) for each in PARTS if each != "Terms.handle"],
)
async def test_every_part_of_a_quote_binds_a_question_near_a_place(
    tmp_path: Path, part: str, place: str | Spot
) -> None:
    device = PlaceDevice(tmp_path)
    device.places.add("home", BERLIN)
    nearby, before = device.nearby, device.signals.entries()
    quote = await nearby.quote("places", place)
    assert isinstance(quote, Quote)
    told_otherwise(quote, part)
    outcome = await raised(nearby.ask("places", place, quoted=quote))
    assert outcome.trouble is Trouble.QUOTE
    assert (device.signals.entries(), device.server.requests) == (before, [])


async def test_a_free_quote_ends_when_a_new_edition_says_that_a_signal_is_worth_it(
    tmp_path: Path,
) -> None:
    """Planted bug: a quote that binds its month alone. A timer fetches the catalog date, and what
    was shown as "nothing leaves this device" is a signal with a charge.
    """
    device = DeviceWorld(tmp_path, REST)
    quote = await shown(device)
    assert (quote.cost, quote.mode.name) == (None, "cached")
    device.says(ASK)
    await device.companion.titles.connect()
    outcome = await refused(device, quote)
    assert outcome.text.startswith("the mode of asking changed: no price")
    assert device.entries() == []
    anew = await shown(device)
    assert anew.fresh
    assert isinstance(await device.companion.titles.ask(quoted=anew), Answer)
    assert len(device.entries()) == 1


async def test_a_question_without_a_quote_does_not_turn_from_free_to_charged(
    tmp_path: Path,
) -> None:
    """A library's `ask()` goes by the settings; a signal where nothing left before is shown first.
    Planted bug: a loop of `ask()` that begins to send when a catalog date says so.
    """
    device = DeviceWorld(tmp_path, REST)
    assert (await device.answer()).cost is None
    device.says(ASK)
    await device.companion.titles.connect()
    for _ in range(2):  # and not the next time either
        assert "nothing left this device before" in (await refused(device, None)).text
    assert (await shown(device)).fresh
    assert (await device.answer()).cost is not None


async def test_a_quote_that_is_refused_is_no_word_that_something_leaves(tmp_path: Path) -> None:
    """Planted bug: a free quote that does not hold any more, after which `ask()` charges unseen."""
    device = DeviceWorld(tmp_path, REST)
    quote = await shown(device)
    device.says(ASK)
    await device.companion.titles.connect()
    for quoted in (quote, None, None):
        await refused(device, quoted)
    assert (device.entries(), device.network.requests) == ([], [])
    assert (await shown(device)).fresh
    assert (await device.answer()).cost is not None


async def test_a_question_without_a_quote_goes_by_the_settings(tmp_path: Path) -> None:
    device = DeviceWorld(tmp_path, ASK)
    assert (await device.answer()).cost is not None
    device.companion.configure(replace(SETTINGS, epsilon_per_rating=2))
    await device.companion.titles.connect()
    assert (await device.answer()).cost is not None
    assert len(device.entries()) == 1


async def test_a_quote_is_used_once(tmp_path: Path) -> None:
    """Planted bugs: a quote that lasts; one that a question which failed gives back."""
    device = DeviceWorld(tmp_path, REST)
    quote = await shown(device)
    assert isinstance(await device.companion.titles.ask(quoted=quote), Answer)
    assert "this quote was used already" in (await refused(device, quote)).text
    sent = DeviceWorld(tmp_path / "other", ASK)
    quote = await shown(sent)
    sent.network.answers = (8, 8)  # not an answer: it names an item twice
    await raised(sent.companion.titles.ask(quoted=quote))
    charges = sent.entries()
    assert len(charges) == 1
    assert "this quote was used already" in (await refused(sent, quote)).text
    again = await shown(sent)
    assert not again.fresh


async def test_what_is_no_quote_is_a_wrong_argument(tmp_path: Path) -> None:
    """And nothing is charged. Planted bug: it is told to be a quote that was used."""
    device = DeviceWorld(tmp_path, ASK)
    await shown(device)
    found = await raised(device.companion.titles.ask(quoted=5))  # type: ignore[arg-type]
    assert str(found.error) == "quoted must be a Quote, as `quote` returns it, got 'int'"
    assert device.entries() == []


async def test_two_questions_at_once_do_not_share_a_quote(tmp_path: Path) -> None:
    device = DeviceWorld(tmp_path, ASK)
    quote = await shown(device)
    asked = [device.companion.titles.ask(quoted=quote) for _ in range(2)]
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert (type(first), type(second)) == (Answer, QuoteVoid)
    assert len(device.network.requests) == 1


async def test_a_quote_of_another_device_or_server_counts_for_nothing(tmp_path: Path) -> None:
    mine, other = DeviceWorld(tmp_path / "1", ASK), DeviceWorld(tmp_path / "2", ASK)
    await shown(mine)
    await refused(mine, await shown(other))


async def test_quotes_that_say_the_same_are_used_one_by_one(tmp_path: Path) -> None:
    """Planted bug: quotes that are kept by what they say, so that the first takes the second with
    it when nobody holds it any more.
    """
    device = DeviceWorld(tmp_path, REST)
    first, second = await shown(device), await shown(device)
    assert first.terms == second.terms
    del first
    gc.collect()
    assert isinstance(await device.companion.titles.ask(quoted=second), Answer)


async def test_nothing_is_fetched_between_showing_and_asking(tmp_path: Path) -> None:
    """Planted bug: a quote of a catalog date that is out of date by now fetches the next one."""
    device = DeviceWorld(tmp_path, ASK)
    day = datetime.date(2026, 11, 21)
    device.companion._today = lambda: day
    quote = await shown(device)
    day += datetime.timedelta(days=400)
    assert "must be fetched first" in (await refused(device, quote)).text


async def test_another_programs_charge_in_between_voids_a_quote(tmp_path: Path) -> None:
    """Planted bug: what the ledger says is compared before the transaction that charges."""
    device = DeviceWorld(tmp_path, ASK)
    quote = await shown(device)
    other = SignalStore(device.ledger, SETTINGS.caps)
    bent = Signal("ab" * 16, LatticeLaplace.for_epsilon(Fraction(1)), (1, 2))
    other.remember("ab" * 16, "2026-11", SignalCharge(Fraction(1)), lambda: bent)
    assert "what the ledger says changed" in (await refused(device, quote)).text


async def test_settings_that_change_in_between_void_a_quote(tmp_path: Path) -> None:
    device = DeviceWorld(tmp_path, ASK)
    changes: tuple[dict[str, Any], ...] = (
        {"rating_lifetime_cap": Fraction(500)},
        {"rating_monthly_cap": Fraction(33)},
        {"authority": "/another.pem"},
        {"epsilon_per_rating": Fraction(2)},
        {"mode": "cached"},
    )
    for change in changes:
        device.companion.configure(SETTINGS)
        quote = await shown(device)
        device.companion.configure(replace(SETTINGS, **change))
        await refused(device, quote)
    assert device.entries() == []


# Places


async def quoted(nearby: NearService, place: str | Spot) -> Quote:
    quote = await nearby.quote("places", place)
    assert isinstance(quote, Quote), quote
    return quote


async def voided(device: PlaceDevice, nearby: NearService, place: str | Spot, quote: Quote) -> None:
    before = device.signals.entries(), [*device.server.requests]
    outcome = await raised(nearby.ask("places", place, quoted=quote))
    assert outcome.trouble is Trouble.QUOTE
    assert "52.5" not in outcome.text
    assert (device.signals.entries(), device.server.requests) == before


async def test_a_quote_near_a_position_is_of_that_position_and_one_charge(tmp_path: Path) -> None:
    """Planted bugs: a quote for one spot that serves another; one quote for two draws."""
    device = PlaceDevice(tmp_path)
    nearby = device.nearby
    quote = await quoted(nearby, BERLIN)
    await voided(device, nearby, MUNICH, quote)
    quote = await quoted(nearby, BERLIN)
    assert isinstance(await nearby.ask("places", BERLIN, quoted=quote), NearAnswer)
    assert len(device.signals.entries()) == 1
    await voided(device, nearby, BERLIN, quote)


async def test_a_place_that_has_moved_is_not_the_one_that_was_quoted(tmp_path: Path) -> None:
    device = PlaceDevice(tmp_path)
    nearby = device.nearby
    device.places.add("home", BERLIN)
    quote = await quoted(nearby, "home")
    device.places.move("home", MUNICH)
    await voided(device, nearby, "home", quote)


async def test_a_price_that_was_shown_for_a_place_is_the_one_that_is_charged(
    tmp_path: Path,
) -> None:
    """Planted bug: a price for one region or level, and a draw in another."""
    device = PlaceDevice(tmp_path)
    places = device.places
    price = places.price()
    places.configure(replace(device.settings, level="district"))
    with pytest.raises(QuoteVoid, match="what a position costs"):
        places.add("home", BERLIN, price)
    assert (device.signals.entries(), places.list()) == ((), ())
    assert isinstance(places.add("home", BERLIN, places.price()).cost, Cost)


# Anything may change at any moment


class Changes(RuleBasedStateMachine):
    """A person who is shown prices, and everything that may change between showing and asking.

    What is charged is compared with what stood on the screen: no charge without a quote that says
    it, and with a free one no request either. 30 runs of 20 steps: no false alarm is possible.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.device = DeviceWorld(Path(self.directory.name), REST)
        self.day = datetime.date(2026, 11, 21)
        self.device.companion.titles._today = lambda: self.day
        self.quote: Quote | None = None
        self.free: bool | None = None  # what a caller without a quote has been told last

    def teardown(self) -> None:
        self.directory.cleanup()

    def run(self, act: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run(act)
        except AskewError as error:
            return problem_of(error)

    def made(self) -> tuple[int, int]:
        return len(self.device.entries()), len(self.device.network.requests)

    @rule(worth_asking=booleans())
    def a_version_comes(self, worth_asking: bool) -> None:
        self.device.says(worth_asking)
        self.run(self.device.companion.titles.connect())

    @rule(days=integers(1, 3))
    def its_date_changes(self, days: int) -> None:
        self.device.cache.holds = replace(self.device.cache.holds, catalog_date=DATE + days)
        self.run(self.device.companion.titles.connect())

    @rule(
        k=sampled_from([4, 5]),
        epsilon=sampled_from([Fraction(4), Fraction(2)]),
        mode=sampled_from(["auto", "cached", "query"]),
        cap=sampled_from([Fraction(192), Fraction(100)]),
    )
    def settings_change(self, k: int, epsilon: Fraction, mode: ModeName, cap: Fraction) -> None:
        own = replace(SETTINGS, k=k, epsilon_per_rating=epsilon, mode=mode, rating_lifetime_cap=cap)
        self.device.companion.configure(own)

    @rule(server=sampled_from(["one:1", "two:2"]))
    def the_server_changes(self, server: str) -> None:
        self.device.companion.titles._quotes.server = server

    @rule(days=integers(1, 40))
    def time_passes(self, days: int) -> None:
        day = self.day + datetime.timedelta(days=days)
        if day < datetime.date(2027, 2, 1):  # what is held is usable for months
            self.day = day

    @rule()
    def another_program_charges(self) -> None:
        store = SignalStore(self.device.ledger, SETTINGS.caps)
        bent = Signal("ab" * 16, LatticeLaplace.for_epsilon(Fraction(1)), (1, 2))
        with suppress(AskewError):
            charge = SignalCharge(Fraction(1))
            store.remember("ab" * 16, month_of(self.day), charge, lambda: bent, second_space=True)

    @rule()
    def look(self) -> None:
        found = self.run(self.device.companion.titles.quote())
        if isinstance(found, Quote):
            self.quote, self.free = found, found.cost is None

    @precondition(lambda self: self.quote is not None)
    @rule(again=booleans())
    def ask(self, again: bool) -> None:
        quote, before, spent = self.quote, self.made(), sum(self.device.entries())
        assert quote is not None
        outcome = self.run(self.device.companion.titles.ask(quoted=quote, second_space=True))
        charges, requests = self.made()
        if isinstance(outcome, Answer):
            self.free = outcome.cost is None
            assert outcome.mode.name == quote.terms.mode
            assert (charges - before[0]) == quote.fresh
            assert (requests - before[1]) == (quote.cost is not None)
            price = quote.terms.price
            if price is not None and outcome.departure is not None:
                paid = sum(self.device.entries()) - spent
                assert paid == (price.charge.epsilon_per_rating if quote.fresh else 0)
                assert (price.spent, price.month) == (spent, outcome.departure.month)
        elif outcome.trouble is Trouble.QUOTE:
            assert self.made() == before
        if again:
            assert self.run(self.device.companion.titles.ask(quoted=quote)).trouble is Trouble.QUOTE
            assert self.made() == (charges, requests)
        self.quote = None

    @rule()
    def ask_without_a_quote(self) -> None:
        before = self.made()
        outcome = self.run(self.device.companion.titles.ask(second_space=True))
        if self.free and isinstance(outcome, Answer):
            assert self.made() == before
            assert outcome.cost is None
        if isinstance(outcome, Answer):
            self.free = outcome.cost is None


Changes.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestNoChargeWithoutAQuote = Changes.TestCase
