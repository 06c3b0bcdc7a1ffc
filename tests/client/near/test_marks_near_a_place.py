"""A server that gives each device a card of its own hears the same of them all, near a place too,
but for what docs/marks.toml counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asked import near
from client.near.conftest import BERLIN, SETTINGS, DeviceWorld
from raised import raised
from small_map import DAY, GERMANY, NearServer, made_card

from askew.errors import AskewError, Malformed
from askew.limits import DEVICE_BYTES
from askew.protocol.cards import MetricCard, PlaceSlate
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapSpace
from askew.wire.places import places_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.cache import CatalogCache
from askew_client.profile.document import AxisValues
from askew_client.transport.shaped import KeptLibrary

MAP, HOURS = made_card(MapSpace(GERMANY)), made_card(DAY)
MORNING = AxisValues({"hour": 8.5})


def changed(card: MetricCard, **fields: Any) -> MetricCard:
    first, *others = card.collections
    return replace(card, collections=(replace(first, **fields), *others))


def another(card: MetricCard, **fields: Any) -> MetricCard:
    return replace(card, space=AxisSpace((replace(DAY.axes[0], **fields),)))


async def heard(root: Path, card: MetricCard) -> list[str]:
    """Return all that a server of this card hears of one question, without the noisy values."""
    device = DeviceWorld(root, server=NearServer(card), settings=replace(SETTINGS, near_k=0))
    place = BERLIN if isinstance(card.space, MapSpace) else MORNING
    [asked] = [each.name for each in card.collections if each.name != "shops"]
    with suppress(AskewError):  # of another version than the server's
        await near(device.program, asked, place)
    found = []
    for request in device.server.requests:
        message = pb.RetrieveRequest.FromString(request)
        message.values[:] = [0] * len(message.values)
        found.append(str(message))
    return found


PLAIN = {"map": MAP, "axes": HOURS}
SAME: dict[str, Callable[[MetricCard], MetricCard]] = {
    "another name": lambda card: changed(card, name="\u0440laces"),  # its first letter is Cyrillic
    "a long name": lambda card: changed(card, name="device 7 " + "x" * 31),
    "another source": lambda card: changed(card, source="for device 7"),
    "another version": lambda card: changed(card, version="07" * 16),
    "another number of items": lambda card: changed(card, n_items=card.collections[0].n_items - 1),
    "few items": lambda card: changed(card, n_items=3),
    "items of nearly the same size": lambda card: changed(card, item_bytes=101),
    "other columns": lambda card: changed(card, attributes=card.collections[0].attributes[:1]),
    "another order of collections": lambda card: replace(card, collections=card.collections[::-1]),
    "another largest slate": lambda card: replace(card, max_slate_size=card.max_slate_size + 1),
    "another density": lambda card: replace(card, density="for device 7"),
}
SAME_ON_A_MAP: dict[str, MetricCard] = {
    "another area": replace(MAP, space=MapSpace(Area(47.1234567, 5.7654321, 55.2, 15.2))),
}
SAME_ON_AXES: dict[str, MetricCard] = {
    "another end": another(HOURS, high=23.9999),
    "another beginning": another(HOURS, low=-0.000123),
    "another scale": another(HOURS, scale=8.00001),
    "another unit": another(HOURS, unit="hours of device 7"),
}


@pytest.mark.parametrize("kind", PLAIN)
async def test_a_card_made_for_one_device_leaves_no_mark_on_its_question(
    kind: str, tmp_path: Path
) -> None:
    """Planted bugs: a name in the question, a digest of the axes in place of their Monday."""
    card = PLAIN[kind]
    plain = await heard(tmp_path / "plain", card)
    assert len(plain) == 1
    own = SAME_ON_A_MAP if kind == "map" else SAME_ON_AXES
    cards = {name: change(card) for name, change in SAME.items()} | own
    for name, made in cards.items():
        assert await heard(tmp_path / name, made) == plain, name


async def test_a_reply_of_another_collection_is_refused(tmp_path: Path) -> None:
    """Though its items would fit. Planted bug: whatever collection a reply names is taken."""
    device = DeviceWorld(tmp_path)

    class Mistaken(NearServer):
        async def call(self, method: str, request: bytes) -> bytes:
            if method != "Retrieve":
                return await super().call(method, request)
            slate = PlaceSlate(MAP.collections[0].version, tuple(self.items[:20]))
            return places_to_bytes(slate, self.card.collections[1])

    device.server = Mistaken(MAP)
    outcome = await raised(near(device.program, "places", BERLIN))
    assert isinstance(outcome.error, Malformed)
    assert "of another collection than was asked" in outcome.text


async def test_a_card_is_kept_as_long_as_a_file_of_its_week(tmp_path: Path) -> None:
    """By a program that runs for weeks, and by one that begins anew each day. Planted bug: a card
    that is kept for ever, in the one or in the other.
    """
    device = DeviceWorld(tmp_path)
    device.places.add("home", BERLIN)
    program, monday, server = device.program, device.day, NearServer(MAP)
    for days, cards in ((0, 1), (16, 1), (17, 2), (30, 2), (31, 3)):
        device.day = monday + datetime.timedelta(days=days)
        await near(program, "places")
        library = KeptLibrary(CatalogCache(tmp_path / "kept"), server, DEVICE_BYTES, server.call)
        held = await library.metric_card(device.day)
        assert (held.catalog_date + 3) % 7 == 0  # 1970-01-01 was a Thursday
        assert (device.server.n_cards, server.n_cards) == (cards, cards), days
