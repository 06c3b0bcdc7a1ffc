"""Any keys in any order: nothing is charged or sent that did not stand on the screen."""

from __future__ import annotations

import datetime
import random
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from client.tui.person import HOME, BegunOnTitles, NearWorld, Person
from textual.binding import Binding
from textual.widgets import Button

from askew.dp.privacy import SignalCharge
from askew.errors import AskewError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import month_of
from askew_client.signals.account import Entry
from askew_client.signals.store import decode_signal
from askew_client.tui.app import SCREENS, AskewApp
from askew_client.tui.screens.frame import ConfirmScreen
from askew_client.tui.screens.place import PlaceScreen

CHARGES, MONTHS = "another program charges", "a month passes"  # between two keys
ASKING = {"a", "enter", "y"}  # no other key may charge or send
OFTEN = ("a", "enter", "enter", "y", "n", "m", "escape", "tab", "f2", "f4", CHARGES, MONTHS)
POSITION = ("tab", "tab", "5", "0", "comma", "7", "enter")  # after a name
WAYS_IN = (("f4",), ("f4", "a"), ("f2", "n", "w", *POSITION), ("f2", "m", "enter"), ("f2", "a"))
OTHER_THEME = {"ctrl+t"}  # styles every widget again, and that is all
WALK = (
    *("f4", "a", MONTHS, "f2", "f4", "a", "escape", "a", "y"),
    *(MONTHS, "a", CHARGES, "y", "y", "f2", "a"),
    *("n", "w", *POSITION, CHARGES, "enter", "m", "enter", "enter", "shift+tab", "enter", "a"),
)


def every_key() -> tuple[str, ...]:
    bindings = (*AskewApp.BINDINGS, *(each for screen in SCREENS for each in screen.BINDINGS))
    keys = {key for each in bindings if isinstance(each, Binding) for key in each.key.split(",")}
    return tuple(sorted((keys | {"shift+tab", "left", "right", "up", "down"}) - OTHER_THEME))


def keys_of(dice: random.Random, count: int) -> tuple[str, ...]:
    """A way in, and so many keys: most of them ask, confirm or change what is shown."""
    known = every_key()
    more = (dice.choice(OFTEN if dice.random() < 0.7 else known) for _ in range(count))
    return (*dice.choice(WAYS_IN), *more)


@dataclass
class Witness:
    """Looks at the screen before each key, and at the ledger and the server after it."""

    person: Person
    device: NearWorld
    entries: list[Entry] = field(default_factory=list)
    sent: int = 0
    charges: int = 0

    def __post_init__(self) -> None:
        self.entries = [*self.device.signals.entries()]

    async def press(self, key: str) -> None:
        """Press a key, or let the world go on; fails where this charged or sent unseen."""
        if key == MONTHS:
            self.device.today += datetime.timedelta(days=31)
        elif key == CHARGES:
            self.another_program_charges()
        asks = key in ASKING and self.asks(key)
        texts = " | ".join(sorted(self.person._texts())) if asks else ""
        if key not in {MONTHS, CHARGES}:
            await self.person.press(key)
        for entry in self.device.signals.entries()[len(self.entries) :]:
            assert asks, f"{key} charges"
            check(entry, texts)
            self.entries.append(entry)
            self.charges += 1
        charged = [decode_signal(e.space_version, e.signal) for e in self.entries if e.signal]
        for query in self.device.network.asked[self.sent :]:
            assert asks, f"{key} sends"
            assert query.signal in charged, "what was not charged is sent"
        self.sent = len(self.device.network.asked)

    def asks(self, key: str) -> bool:
        """Whether a key says yes to what stands there now."""
        screen, focused = self.person.app.screen, self.person.app.focused
        on = focused.id if isinstance(focused, Button) else ""
        if isinstance(screen, PlaceScreen):
            return on == "keep" and key == "enter"
        if isinstance(screen, ConfirmScreen):
            return key == "y" or (on == "go" and key == "enter")
        return key != "y"

    def another_program_charges(self) -> None:
        """A signal of titles for another space, and one of a place."""
        month, handle = month_of(self.device.today), f"{len(self.entries):032x}"
        with suppress(AskewError):
            bent = Signal("ab" * 16, LatticeLaplace.for_epsilon(Fraction(1)), (1, 2))
            cost = SignalCharge(Fraction(1))
            self.device.signals.remember("ab" * 16, month, cost, lambda: bent, handle=handle)
            self.device.companion().places.add(f"place {len(self.entries)}", HOME, take=False)
        self.entries = [*self.device.signals.entries()]


def check(entry: Entry, texts: str) -> None:
    """Fail unless the price stood there; of a place, in its dialog."""
    shown, charged = r"costs .*?ε ([\d.,]+) a rating", entry.epsilon_per_rating
    if entry.epsilon_per_km:
        shown = r"drawn once and charged\. Epsilon ([\d.,]+) per km"
        charged = entry.epsilon_per_km
    prices = re.findall(shown, texts)
    assert prices, f"no price is shown: {texts}"
    assert all(Fraction(price.replace(",", "")) >= charged for price in prices)


@pytest.fixture
def device(at_home: NearWorld) -> NearWorld:
    """A named place, a few ratings, and caps for many months."""
    at_home.settings = replace(at_home.settings, rating_lifetime_cap=Fraction(225))
    at_home.signals = at_home.signals.with_caps(at_home.settings.caps)
    return at_home


async def pressed(device: NearWorld, *sequences: tuple[str, ...]) -> Witness:
    await device.rated(film_2=5, film_6=4, film_11=1)
    async with device.opened(size=(110, 50), program=BegunOnTitles) as person:
        witness = Witness(person, device)
        for keys in sequences:
            while person.app.screen.is_modal:
                await witness.press("escape")
            for key in (MONTHS, *keys):
                await witness.press(key)
    return witness


async def test_prices_change_under_the_hand_and_what_is_charged_was_shown(
    device: NearWorld,
) -> None:
    """One walk, of which the charges are known. Planted bugs: an Enter that ends a word and draws a
    place; a price that is not seen and counts as shown; and a charge without a question.
    """
    witness = await pressed(device, WALK)
    assert (witness.charges, witness.sent) == (5, 5)


async def test_no_key_charges_or_sends_what_was_not_shown(device: NearWorld) -> None:
    """One sequence of any keys; five under `make audit`, and fifteen more in a night."""
    await pressed(device, keys_of(random.Random(2), 15))


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.nightly if seed else pytest.mark.audit)
        for seed in range(4)
    ],
)
async def test_no_keys_in_months_charge_or_send_what_was_not_shown(
    device: NearWorld, seed: int
) -> None:
    """Five sequences of twenty keys and more; without a charge they would show nothing."""
    dice = random.Random(seed)
    witness = await pressed(device, *(keys_of(dice, 20) for _ in range(5)))
    assert witness.sent
