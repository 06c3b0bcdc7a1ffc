"""Named places: one noisy position each, drawn and charged once, and nothing draws it again."""

from __future__ import annotations

import datetime
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from threading import Barrier

import pytest
from asked import near
from client.near.conftest import BERLIN, MUNICH, SETTINGS, DeviceWorld
from raised import raised

from askew.dp.privacy import ANY_SPACE
from askew.errors import LedgerRefused, ParameterError, PlaceError, ProfileError
from askew.noise.randomness import RandomBits, SystemBits
from askew.spaces.map import Position
from askew_client.near.sources import perturbed
from askew_client.profile.document import MAX_PLACES, AxisValues, NamedPlace, ProfileDocument

PRIVATE = ("52.52", "13.405", "48.137", "11.575")


class Failing(RandomBits):
    """Fails whoever draws; a handle of 16 bytes is no draw."""

    def read(self, count: int) -> bytes:
        if count == 16:
            return bytes(16)
        raise OSError


class Counted(SystemBits):
    """Counts the bytes of noise. Two draws about one position need not differ: outputs are coarse,
    and in a town one pair of a hundred is the same.
    """

    def __init__(self) -> None:
        self.read_so_far = 0

    def read(self, count: int) -> bytes:
        self.read_so_far += count if count != 16 else 0
        return super().read(count)

    def draws(self) -> float:
        """How many positions were drawn: each takes as many bytes, whatever it becomes."""
        one = Counted()
        SETTINGS.map_noise.perturb(BERLIN, SETTINGS.plane, one)
        return self.read_so_far / one.read_so_far


async def sent_by(device: DeviceWorld) -> bytes:
    await near(device.program, "places")
    return device.server.requests[-1]


async def test_what_is_sent_of_a_place_never_changes(device: DeviceWorld) -> None:
    """Planted bug: a redraw on a changed epsilon, level or region; a second question in another
    month that draws.
    """
    device.places.add("home", BERLIN)
    first, charges = await sent_by(device), device.signals.entries()
    device.bits = Failing()
    for changed in (
        {"level": "district"},
        {"epsilon_per_axis_unit": Fraction(1, 2)},
        {"region": "FR"},
        {"region": ""},
        {},
    ):
        device.settings = replace(device.settings, **changed)
        assert await sent_by(device) == first
    device.day = datetime.date(2027, 2, 1)
    device.profile.change(lambda document: document.edited({"Item 3": (5.0,)}))
    assert await sent_by(device) == first
    spent = replace(device.settings.caps, places_lifetime=Fraction(1, 9))
    device.signals = device.signals.with_caps(spent)
    assert await sent_by(device) == first
    assert device.signals.entries() == charges


async def test_a_move_is_a_fresh_draw_and_a_charge(device: DeviceWorld) -> None:
    """Planted bug: a moved place that keeps its signal."""
    before = device.places.add("home", BERLIN)
    after = device.places.move("home", MUNICH)
    assert after.sent != before.sent
    assert abs(after.sent[0] - MUNICH.latitude) < 3  # 332 km: noise goes so far once in e**92
    assert len(device.signals.entries()) == 2
    assert device.places.list() == (after,)


async def test_a_place_that_comes_back_to_where_it_was_is_drawn_anew(device: DeviceWorld) -> None:
    """Planted bug: a signal reused by true position, which says that somebody is back."""
    device.bits = Counted()
    device.places.add("home", BERLIN)
    device.places.move("home", MUNICH)
    device.places.move("home", BERLIN)
    device.places.add("second home", BERLIN, take=False)
    assert device.bits.draws() == 4
    assert len(device.signals.entries()) == 4


def test_a_second_name_at_a_charged_position_is_refused_before_it_is_charged(
    device: DeviceWorld,
) -> None:
    """Also where a place moves to another one, or stays where it is. Planted bug: it is drawn."""
    device.places.add("home", BERLIN)
    device.places.add("work", MUNICH)
    device.bits = Counted()
    assert device.places.named_at(BERLIN) == "home"
    assert device.places.named_at(Position(53.55, 10.0)) is None
    for act, name in ((device.places.add, "flat"), (device.places.move, "work")):
        with pytest.raises(PlaceError, match="at this very position already") as refusal:
            act(name, BERLIN)
        assert not any(part in str(refusal.value) for part in ("home", *PRIVATE))
    with pytest.raises(PlaceError, match="at this very position already"):
        device.places.move("home", BERLIN)
    assert device.bits.draws() == 0
    assert len(device.signals.entries()) == 2
    assert [each.name for each in device.places.list()] == ["home", "work"]


async def test_a_second_name_takes_the_place_for_nothing(device: DeviceWorld) -> None:
    """Each goes its own way from then on. Planted bug: it is drawn and charged."""
    home = device.places.add("home", BERLIN)
    entries = device.signals.entries()
    flat = device.places.add("flat", BERLIN, take=True)
    assert flat.sent == home.sent
    assert device.signals.entries() == entries
    device.places.forget("home")
    answer = await near(device.program, "places", "flat")
    assert (answer.sent, answer.cost.fresh) == (home.sent, False)
    assert device.places.move("flat", MUNICH).sent != home.sent
    with pytest.raises(PlaceError, match="no place"):  # it is there no more
        device.places.add("work", BERLIN, take=True)
    assert len(device.signals.entries()) == 2


def test_a_position_whose_signal_was_lost_is_drawn_anew_where_it_is(device: DeviceWorld) -> None:
    """Planted bug: the remedy of a lost ledger, `move`, is refused."""
    place = NamedPlace("0" * 32, BERLIN)
    device.profile.change(lambda document: document.with_place("home", place))
    assert device.places.move("home", BERLIN).sent


def test_forgetting_refunds_nothing_and_leaves_no_position(device: DeviceWorld) -> None:
    device.places.add("home", BERLIN)
    before = device.signals.account()
    device.places.forget("home")
    assert device.signals.account() == before
    assert device.places.list() == ()
    assert b"13.405" not in (device.root / "profile.sqlite").read_bytes()
    with pytest.raises(PlaceError, match="no place of this name"):
        device.places.forget("home")


@pytest.mark.parametrize(
    ("position", "hint"),
    [
        (
            Position(40.7, -74.0),
            r"outside the region Germany \(DE\): `region` sets another, as in `--region FR`$",
        ),
        (Position(13.405, 52.52), "are latitude and longitude swapped"),
    ],
)
def test_a_position_outside_the_region_is_refused_before_anything_is_paid(
    device: DeviceWorld, position: Position, hint: str
) -> None:
    device.bits = Failing()
    with pytest.raises(PlaceError, match=hint) as refusal:
        device.places.add("home", position)
    assert not any(part in str(refusal.value) for part in ("40.7", "74", *PRIVATE))
    assert device.signals.entries() == ()
    assert device.places.list() == ()


def test_a_position_that_falls_outside_the_region_or_into_the_sea_is_kept() -> None:
    """At the corner three of four do; fewer than 20 of 60 would be once in 10**9 runs. Planted bug:
    a redraw at sea, after which the corner is told by what is missing.
    """
    region = SETTINGS.plane
    corner = Position(region.south, region.west)
    noise = SETTINGS.map_noise
    drawn = [perturbed(corner, noise, region, SystemBits()).position() for _ in range(60)]
    assert sum(not region.contains(each) for each in drawn) >= 20


def test_every_position_has_the_same_law_and_price(device: DeviceWorld) -> None:
    """City, country and coast. Planted bug: a level by local density, whose epsilon would tell how
    many people live around.
    """
    device.signals = device.signals.with_caps(
        replace(device.settings.caps, places_lifetime=Fraction(99), places_monthly=Fraction(99))
    )
    laws = set()
    for number, latitude in enumerate((47.4, 48.137, 50.0, 52.52, 53.9, 55.0)):
        for longitude in (6.0, 8.3, 11.575, 13.405, 15.2):
            spot = Position(latitude, longitude)
            price = device.places.price_of(spot)
            assert price is not None
            view = device.places.add(f"{number} {longitude}", spot)
            handle = device.profile.read().place(view.name).handle
            signal = device.signals.find(ANY_SPACE, "2026-11", handle)
            assert signal is not None
            laws.add((signal.mechanism, price.charge.epsilon_per_km))
    noise = device.settings.map_noise
    assert laws == {(noise, noise.epsilon)}
    assert {c.epsilon_per_km for c in device.signals.entries()} == {noise.epsilon}


def test_without_a_region_no_position_is_drawn(device: DeviceWorld) -> None:
    device.settings = replace(device.settings, region="")
    with pytest.raises(ParameterError, match="region must be set first"):
        device.places.add("home", BERLIN)


@pytest.mark.parametrize("name", ["", "-home", "a" * 41, "home\x1b[31m", "home"])
def test_a_name_that_is_none_or_taken_costs_nothing(device: DeviceWorld, name: str) -> None:
    device.places.add("home", BERLIN)
    with pytest.raises(PlaceError):
        device.places.add(name, MUNICH)
    assert len(device.signals.entries()) == 1
    assert device.places.list()[0].true == (52.52, 13.405)


def test_a_place_too_many_costs_nothing(device: DeviceWorld) -> None:
    """Planted bug: the profile refuses it after the draw."""
    for number in range(MAX_PLACES):
        place = NamedPlace(f"{number:032x}", AxisValues({"hour": 1.0}))
        device.profile.change(
            partial(ProfileDocument.with_place, name=f"place {number}", place=place)
        )
    with pytest.raises(PlaceError, match="at most 100"):
        device.places.add("home", BERLIN)
    assert device.signals.entries() == ()


def test_one_place_added_many_times_at_once_is_drawn_once(device: DeviceWorld) -> None:
    """Planted bug: each looks for the name before it draws, and none finds it: seen in most
    rounds, and not in all.
    """
    rounds = 12
    together = Barrier(4)  # else the first may have ended before the others begin
    caps = replace(device.settings.caps, places_monthly=Fraction(4))
    device.signals = device.signals.with_caps(caps)

    def add(number: int) -> bool:
        together.wait(10)
        try:
            device.places.add(f"place {number}", Position(50 + number / 10, 10))
        except PlaceError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        for number in range(rounds):
            assert sum(pool.map(add, [number] * 4)) == 1
    assert len(device.signals.entries()) == rounds


def test_a_crash_between_charge_and_profile_loses_budget_and_tells_nothing(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the profile is written first, and a retry draws a second position of it."""

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ProfileDocument, "to_bytes", crash)
        with pytest.raises(KeyboardInterrupt):
            device.places.add("home", BERLIN)
    assert len(device.signals.entries()) == 1
    assert device.places.list() == ()
    assert device.server.requests == []
    device.places.add("home", BERLIN)
    assert len(device.signals.entries()) == 2


def test_a_crash_in_the_draw_leaves_neither_charge_nor_place(device: DeviceWorld) -> None:
    device.bits = Failing()
    with pytest.raises(OSError):  # noqa: PT011  # any
        device.places.add("home", BERLIN)
    assert device.signals.entries() == ()
    assert device.places.list() == ()


async def test_a_place_whose_ledger_was_lost_is_not_drawn_again_unasked(
    device: DeviceWorld,
) -> None:
    """The person moves it, which draws and pays; a lost file must not."""
    device.places.add("home", BERLIN)
    for file in device.root.rglob("*signals*"):
        file.unlink()
    outcome = await raised(near(device.program, "places"))
    assert "not in the ledger" in outcome.text
    assert device.server.requests == []
    (lost,) = device.places.list()
    assert lost.sent == ()
    device.places.move("home", BERLIN)
    await sent_by(device)


async def test_a_place_whose_ledger_was_lost_waits_for_the_newest_copy_and_is_not_drawn_again(
    device: DeviceWorld,
) -> None:
    """Planted bug: advice to move the place, a second draw about one position where the newest copy
    of the ledger has the first one.
    """
    device.places.add("home", BERLIN)
    first = await sent_by(device)
    ledger = device.signals._file.path
    newest = ledger.read_bytes()
    ledger.unlink()
    outcome = await raised(near(device.program, "places"))
    assert isinstance(outcome.error, LedgerRefused)
    assert "--accept" in outcome.hint
    ledger.write_bytes(newest)
    assert await sent_by(device) == first
    assert [each.kind for each in device.signals.entries()] == ["signal"]


def test_a_move_whose_old_position_cannot_be_erased_costs_nothing(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program reads the profile. Planted bug: a draw before the look."""
    device.places.add("home", BERLIN)
    before = device.places.list()
    monkeypatch.setattr("askew_client.storage.private_files._PATIENCE", 0.01)
    with closing(sqlite3.connect(device.profile.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM profile").fetchall()
        with pytest.raises(ProfileError, match="another program is reading"):
            device.places.move("home", MUNICH)
    assert len(device.signals.entries()) == 1
    assert device.places.list() == before
