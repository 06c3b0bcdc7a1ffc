"""What stands on one screen agrees with itself, and what is removed says how far it is gone."""

from __future__ import annotations

from dataclasses import replace

from client.tui.person import DeviceWorld

from askew.catalog.item import Item
from askew.errors import Unreachable


def nobody() -> Unreachable:
    return Unreachable("nobody answers at 127.0.0.1:7571")


async def test_an_offline_profile_does_not_say_that_nothing_is_rated(rated: DeviceWorld) -> None:
    rated.network.unreachable = nobody()
    async with rated.opened() as person:
        person.reads("3 titles rated", "these are your ratings", "Bars need the catalog")
        person.reads("search your ratings")
        assert not person.shows("Nothing is rated")
        await person.write("nonsense")
        person.reads("No rating of yours has all these words.")
        assert not person.shows("these are your ratings")


async def test_an_offline_profile_without_ratings_asks_for_none_that_it_cannot_take(
    device: DeviceWorld,
) -> None:
    device.network.unreachable = nobody()
    async with device.opened() as person:
        person.reads("Nothing is rated yet.", "once the catalog is here")
        assert not person.shows("your ratings.")
        assert not person.shows("titles that you know")


async def test_ratings_that_this_catalog_lacks_are_ratings_all_the_same(rated: DeviceWorld) -> None:
    items = tuple(Item(f"Other {n}") for n in range(12))
    catalog = replace(rated.network._catalog, items=items)
    card = replace(rated.network._card, catalog_version=catalog.version)
    rated.network.become(card, catalog)
    async with rated.opened() as person:
        person.reads("3 titles rated", "Nothing that you rated is in this catalog.")
        assert not person.shows("Nothing is rated")


async def test_a_removed_rating_is_kept_by_undo_and_forgotten_for_good_on_a_second_key(
    rated: DeviceWorld,
) -> None:
    async with rated.opened() as person:
        await person.press("f3", "a", "f2", "escape", "o")
        await person.press("x")
        person.reads("undo keeps it. X forgets it for good.")
        gone = ({"Film 2 (1962)", "Film 6 (1966)", "Film 11 (1971)"} - labels(rated)).pop()
        await person.press("X")
        person.reads(f"Forget {gone} for good?")
        await person.press("n", "u")
        assert gone in labels(rated)
        await person.press("x", "X", "y")
        person.reads("Forgotten for good")
        assert gone.encode() not in rated.profile.path.read_bytes()
        for _ in range(4):
            await person.press("u")
            assert gone not in labels(rated)
    assert len(rated.network.asked) == 1


def labels(device: DeviceWorld) -> set[str]:
    return {rated.label for rated in device.companion().profile.ratings()}
