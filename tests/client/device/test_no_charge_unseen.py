"""Catalogs, servers, settings, clocks and crashes in any order: what is charged and sent was shown.

The machine of test_quotes.py, with a program that dies at the steps of a charge, caps that are met
and clocks that are put back; and another one for places. No false alarm is possible.
"""

from __future__ import annotations

import asyncio
import datetime
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from client.device.test_modes import ASK, REST, SETTINGS, DeviceWorld
from client.device.test_quotes import Changes
from client.near.conftest import BERLIN, MUNICH
from client.near.conftest import DeviceWorld as PlaceDevice
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import booleans, integers, sampled_from

from askew.errors import AskewError
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.near.places import PlaceService
from askew_client.signals import store as device_store
from askew_client.signals.entries import Entry
from askew_client.signals.records import decode_signal
from askew_client.signals.store import SignalStore
from askew_client.storage.private_files import replace_file
from askew_client.views.answers import NearAnswer
from askew_client.views.problems import Trouble, problem_of
from askew_client.views.quote import Cost, Quote

STEPS = ("before the mark", "after it", "before the next mark", "after that")
LAST_DAY = datetime.date(2027, 2, 1)  # what is held is usable for months


class Killed(BaseException):
    """In place of a kill: nothing catches it."""


@contextmanager
def dying(step: str) -> Iterator[None]:
    """A program that dies at this step of the next charge, if there is one."""
    write, writes = replace_file, 0

    def doomed(*given: Any) -> None:
        nonlocal writes
        writes += 1
        place = STEPS.index(step)
        if writes == place // 2 + 1 and place % 2 == 0:
            raise Killed
        write(*given)
        if writes == place // 2 + 1:
            raise Killed

    with patch.object(device_store, "replace_file", doomed), suppress(Killed):
        yield


def check_sent(requests: list[bytes], entries: tuple[Entry, ...]) -> None:
    """Every request is a stored signal's, and no month of a space, and no place, has two."""
    stored = set()
    for each in entries:
        if each.signal is not None:
            stored.add(tuple(decode_signal(each.space_version, each.signal).values))
    for request in requests:
        assert tuple(pb.RetrieveRequest.FromString(request).values) in stored
    made = Counter((each.space_version, each.handle, each.month) for each in entries)
    assert max(made.values(), default=0) <= 1, "two signals for one question"


class Crashes(Changes):
    """Everything of `Changes`, and a device that may die at any step of a charge."""

    def __init__(self) -> None:
        super().__init__()
        self.device.says(ASK)

    @rule(days=integers(1, 70))
    def the_clock_is_put_back(self, days: int) -> None:
        self.day = max(self.day - datetime.timedelta(days=days), datetime.date(2026, 11, 21))

    @rule(cap=sampled_from([Fraction(1), Fraction(3), Fraction(5)]))
    def little_is_left(self, cap: Fraction) -> None:
        own = replace(SETTINGS, rating_lifetime_cap=cap, rating_monthly_cap=cap)
        self.device.companion.configure(own)

    @rule(cap=sampled_from([Fraction(1), Fraction(3)]))
    def ask_unquoted_where_little_is_left(self, cap: Fraction) -> None:
        self.time_passes(31)
        self.little_is_left(cap)
        self.free = None
        before = len(self.device.entries())
        self.run(self.device.companion.titles.ask(second_space=True))
        if len(self.device.entries()) > before:
            assert sum(self.device.entries()) <= cap

    @rule()
    def another_program_charges_in_between(self) -> None:
        self.device.companion.configure(SETTINGS)
        self.look()
        self.another_program_charges()
        if self.quote is not None:
            self.ask(again=True)

    @rule(step=sampled_from(STEPS), again=booleans())
    def die(self, step: str, again: bool) -> None:
        self.time_passes(31)
        self.device.companion.configure(SETTINGS)
        self.look()
        if self.quote is None:
            return
        quote, before = self.quote, self.made()
        with dying(step):
            self.run(self.device.companion.titles.ask(quoted=quote, second_space=True))
        charges, requests = self.made()
        assert charges - before[0] <= quote.fresh
        assert requests - before[1] <= (quote.cost is not None)
        self.check_caps(quote, charges - before[0])
        old, self.quote, self.free = self.device, None, None
        self.device = DeviceWorld(Path(self.directory.name), REST)
        self.device.cache.holds = old.cache.holds
        self.device.network.requests = old.network.requests
        self.device.companion.titles._today = lambda: self.day
        if again:
            self.look()
            if self.quote is not None:
                self.ask(again=True)

    def check_caps(self, quote: Quote, made: int) -> None:
        price = quote.terms.price
        if made and price is not None:
            assert sum(self.device.entries()) == price.spent + price.charge.epsilon_per_rating
            assert price.spent_after <= price.lifetime_cap
            month = price.spent_this_month + price.charge.epsilon_per_rating
            assert price.monthly_cap is None or month <= price.monthly_cap

    @invariant()
    def what_was_sent_is_stored(self) -> None:
        if self.device.ledger.exists():
            account = SignalStore(self.device.ledger, SETTINGS.caps).account()
            assert account.refused is None
            check_sent(self.device.network.requests, account.entries)
        else:
            assert self.device.network.requests == []


class Places(RuleBasedStateMachine):
    """A person with a place and without one, who is shown prices before asking."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.device = PlaceDevice(Path(self.directory.name))
        self.shown: tuple[Any, Quote] | None = None
        self.nearby = self.device.nearby
        self.loop = asyncio.Runner()

    def teardown(self) -> None:
        self.loop.close()
        self.directory.cleanup()

    def run(self, act: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            return self.loop.run(act())
        except AskewError as error:
            return problem_of(error)

    def made(self) -> tuple[int, int]:
        return len(self.device.signals.entries()), len(self.device.server.requests)

    def restart(self) -> None:
        self.nearby, self.shown = self.device.nearby, None

    @rule(
        level=sampled_from(["county", "district", "town"]),
        near_k=sampled_from([10, 20]),
        cap=sampled_from([None, Fraction(1, 10), Fraction(1)]),
    )
    def settings_change(self, level: Any, near_k: int, cap: Fraction | None) -> None:
        own = replace(self.device.settings, level=level, near_k=near_k)
        if cap is not None:
            with suppress(AskewError):
                own = replace(own, place_lifetime_cap=cap, place_monthly_cap=cap)
        self.device.settings = own
        self.nearby.configure(own)

    @rule(days=integers(-40, 40))
    def the_clock_goes(self, days: int) -> None:
        day = self.device.day + datetime.timedelta(days=days)
        self.device.day = min(max(day, datetime.date(2026, 11, 23)), LAST_DAY)

    @rule(spot=sampled_from([BERLIN, MUNICH]))
    def home_is_here(self, spot: Any) -> None:
        places = self.device.places
        self.name_home(places, spot, places.price())

    def name_home(self, places: PlaceService, spot: Any, price: Cost) -> None:
        """Name the place, or move it, by a price that was shown."""
        before, spent = self.made(), self.spent()
        with suppress(AskewError):
            act = places.move if places.list() else places.add
            act("home", spot, price)
            last = self.device.signals.entries()[-1]
            assert (price.charge.epsilon_per_km, price.spent) == (last.epsilon_per_km, spent)
            assert spent + last.epsilon_per_km <= price.cap
        charges, requests = self.made()
        assert charges - before[0] <= 1
        assert requests == before[1]

    @rule(spot=sampled_from([BERLIN, MUNICH]), charges=booleans())
    def something_changes_before_home_is_here(self, spot: Any, charges: bool) -> None:
        """Another program charges, or the person chooses another level in this one."""
        places = self.device.places
        price = places.price()
        if charges:
            self.home_is_here(spot)
        else:
            places.configure(replace(self.device.settings, level="town"))
        self.name_home(places, spot, price)

    @rule(place=sampled_from(["home", BERLIN, MUNICH]))
    def look(self, place: Any) -> None:
        before = self.made()
        found = self.run(lambda: self.nearby.quote("places", place))
        assert self.made() == before, "a look charges or sends"
        if isinstance(found, Quote):
            self.shown = place, found

    @precondition(lambda self: self.shown is not None)
    @rule(place=sampled_from(["the same", "home", BERLIN, MUNICH]), step=sampled_from(["", *STEPS]))
    def ask(self, place: Any, step: str) -> None:
        assert self.shown is not None
        seen, quote = self.shown
        place = seen if place == "the same" else place
        before, spent, outcome = self.made(), self.spent(), None
        with dying(step) if step else nullcontext():
            outcome = self.run(
                lambda: self.nearby.ask("places", place, quoted=quote, second_space=True)
            )
        charges, requests = self.made()
        price = quote.terms.price
        assert price is not None
        assert charges - before[0] <= quote.fresh
        if charges > before[0]:
            assert place == seen
            last = self.device.signals.entries()[-1]
            assert (price.charge.epsilon_per_km, price.spent) == (last.epsilon_per_km, spent)
            assert price.spent_after <= price.lifetime_cap
        if isinstance(outcome, NearAnswer):
            assert place == seen
            assert (charges - before[0], requests - before[1]) == (quote.fresh, 1)
        elif outcome is None or outcome.trouble is Trouble.QUOTE:
            assert requests == before[1]
            assert outcome is None or charges == before[0]
        if not step and place == seen:
            again = self.run(lambda: self.nearby.ask("places", place, quoted=quote))
            assert again.trouble is Trouble.QUOTE
            assert self.made() == (charges, requests)
        self.shown = None
        if step:
            self.restart()

    @rule(place=sampled_from(["home", BERLIN]), step=sampled_from(["", *STEPS]))
    def look_and_ask(self, place: Any, step: str) -> None:
        self.look(place)
        if self.shown is not None:
            self.ask("the same", step)

    @rule(there=sampled_from([BERLIN, MUNICH]))
    def home_moves_in_between(self, there: Any) -> None:
        self.look("home")
        shown = self.shown
        self.home_is_here(there)
        if shown is None or not self.device.places.list():
            return
        before = self.made()
        outcome = self.run(lambda: self.nearby.ask("places", "home", quoted=shown[1]))
        if not isinstance(outcome, NearAnswer):
            assert self.made() == before

    def little_is_left(self) -> None:
        """Caps for the next signal of a county, and for no other."""
        cap = self.spent() + Fraction(1, 10)
        own = replace(
            self.device.settings, level="county", place_lifetime_cap=cap, place_monthly_cap=cap
        )
        self.device.settings = own
        self.nearby.configure(own)

    def spent(self) -> Fraction:
        return sum((each.epsilon_per_km for each in self.device.signals.entries()), Fraction(0))

    @rule(spot=sampled_from([BERLIN, MUNICH]))
    def ask_unquoted_where_little_is_left(self, spot: Any) -> None:
        self.little_is_left()
        for place in (spot, BERLIN, MUNICH):
            before = len(self.device.signals.entries())
            self.run(partial(self.nearby.ask, "places", place, second_space=True))
            if len(self.device.signals.entries()) > before:
                assert self.spent() <= self.device.settings.place_lifetime_cap, "beyond the cap"

    @rule(spot=sampled_from([BERLIN, MUNICH]))
    def a_named_place_is_asked_with_one_quote(self, spot: Any) -> None:
        self.home_is_here(spot)
        self.look_and_ask("home", "")

    @rule(spot=sampled_from([BERLIN, MUNICH]), there=sampled_from([BERLIN, MUNICH]))
    def another_program_charges_in_between(self, spot: Any, there: Any) -> None:
        self.look(spot)
        shown, self.shown = self.shown, None
        before = self.made()
        self.home_is_here(there)
        charged = self.made()
        if shown is None or not shown[1].fresh or charged == before:
            return
        outcome = self.run(lambda: self.nearby.ask("places", spot, quoted=shown[1]))
        assert outcome.trouble is Trouble.QUOTE
        assert self.made() == charged

    @rule(spot=sampled_from([BERLIN, MUNICH]))
    def what_was_charged_before_a_crash_is_not_drawn_again(self, spot: Any) -> None:
        """The program dies while it waits for the answer. A crash within the charge itself leaves a
        charge whose signal is never sent, and the next question from there pays again.
        """

        async def dies(*_: Any) -> bytes:
            raise Killed

        self.look(spot)
        if self.shown is None:
            return
        before = self.made()
        with patch.object(type(self.device.server), "call", dies), suppress(Killed):
            self.run(lambda: self.nearby.ask("places", spot, second_space=True))
        charged = self.made()
        assert charged[1] == before[1]
        self.restart()
        if charged[0] == before[0]:
            return
        self.look(spot)
        if self.shown is not None:
            assert not self.shown[1].fresh, "a signal that is paid for is quoted again"
            self.ask("the same", "")
            assert self.made()[0] == charged[0], "a signal that is paid for is drawn again"

    @rule()
    def the_program_starts_again(self) -> None:
        self.restart()

    @invariant()
    def what_was_sent_is_stored(self) -> None:
        account = self.device.signals.account()
        assert account.refused is None
        check_sent(self.device.server.requests, account.entries)


def play(machine: type[RuleBasedStateMachine], examples: int, steps: int, *more: Phase) -> None:
    """A failure is told as it was met; to look for a shorter one, by `more`, takes minutes."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=(Phase.generate, *more),
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_question_about_titles_charges_or_sends_what_was_not_shown() -> None:
    """Planted bugs: a price that is not compared as it is charged; an answer that says the month of
    a clock that was put back.
    """
    walker = Crashes()
    try:
        walker.time_passes(10)
        walker.another_program_charges()
        walker.the_clock_is_put_back(1)
        walker.another_program_charges_in_between()
        walker.what_was_sent_is_stored()
    finally:
        walker.teardown()
    play(Crashes, examples=10, steps=12)


def test_no_question_near_a_place_charges_or_sends_what_was_not_shown() -> None:
    """Planted bugs: a price of a question, or of a place, that is not compared as it is charged;
    caps that are not asked then; a quote that is used twice; and a signal that is drawn again after
    a crash. One walk in a fixed order meets all of them, and random ones what nobody thought of.
    """
    walker = Places()
    try:
        walker.another_program_charges_in_between(BERLIN, MUNICH)
        walker.something_changes_before_home_is_here(MUNICH, charges=True)
        walker.something_changes_before_home_is_here(MUNICH, charges=False)
        walker.what_was_charged_before_a_crash_is_not_drawn_again(MUNICH)
        walker.a_named_place_is_asked_with_one_quote(BERLIN)
        walker.ask_unquoted_where_little_is_left(BERLIN)
        walker.what_was_sent_is_stored()
    finally:
        walker.teardown()
    play(Places, examples=7, steps=6)


@pytest.mark.parametrize(
    ("machine", "walks"),
    [
        pytest.param(Crashes, 20, marks=pytest.mark.audit),
        pytest.param(Places, 12, marks=pytest.mark.audit),
        pytest.param(Crashes, 100, marks=pytest.mark.nightly),
        pytest.param(Places, 60, marks=pytest.mark.nightly),
    ],
)
def test_no_charge_is_unseen_for_long(machine: type[RuleBasedStateMachine], walks: int) -> None:
    play(machine, walks, 30, Phase.shrink)
