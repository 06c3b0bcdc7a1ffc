"""A server that gives every device a card, a catalog and a space of its own hears nearly the same
of them all: what still differs is listed here, and in docs/guarantees.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reference import KINDS, bits_of, marks
from catalog_files import MONDAY, FakeSource, body_of
from end_to_end.eavesdropping import FILMS, Heard, HostileServer, made_world, serving
from google.protobuf.descriptor import Descriptor

from askew.catalog.catalog_file import LONGEST_DELAY, PERIOD, Part
from askew.catalog.item import Item
from askew.errors import AskewError, ServerFailed
from askew.limits import MAX_AXES, MAX_DIMENSION
from askew.noise.randomness import SystemBits
from askew.protocol.cards import MAX_COLLECTIONS
from askew.wire.catalog_file import catalog_files
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.cache import DAY, CatalogCache, CatalogSync, usable
from askew_client.near.sources import FEWEST, SIZES
from askew_client.opening import open_device
from askew_client.profile.document import Liking, ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings

LIKES: dict[str, Liking] = {f"Film {i} ({1960 + i})": 5.0 for i in range(3)}
GUARANTEES = Path(__file__).parents[2] / "docs" / "guarantees.md"


def with_card(**fields: Any) -> HostileServer:
    made = made_world()
    return replace(made, card=replace(made.card, **fields))


def with_directions(times: float) -> HostileServer:
    space = made_world().card.space
    turned = replace(space.encoder, directions=space.encoder.directions * np.float32(times))
    return with_card(space=replace(space, encoder=turned))


async def heard_of(server: HostileServer, directory: Path, budget: int = 10**6) -> list[Heard]:
    """What a server hears of one device, but for its own port."""
    settings = ClientSettings(
        epsilon_per_rating=Fraction(1),
        k=4,
        mode="ask",
        byte_budget=budget,
        max_ratings_apart=1000.0,
        rating_lifetime_cap=Fraction(10**6),
        rating_monthly_cap=Fraction(10**6),
    )
    profile = PassingProfile(ProfileDocument(dict(LIKES)))
    with serving(server) as address:
        opened = open_device(settings, server=address, directory=directory, profile=profile)
        async with opened as companion:
            with suppress(AskewError):  # of some models there is no answer
                await companion.asker.ask(companion.titles)
    return [
        (method, re.sub(rb":\d+\r\n", b"\r\n", request), metadata)
        for method, request, metadata in server.heard
    ]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[Heard]:
    return asyncio.run(heard_of(made_world(), tmp_path_factory.mktemp("plain")))


# What a server makes for one device, and what it can tell of it afterwards.
UNMARKED: dict[str, Callable[[], HostileServer]] = {
    "other item vectors": lambda: made_world(vectors=lambda rows: rows[::-1]),
    "other scales of item codes": lambda: made_world(vectors=lambda rows: rows / 2),
    "other titles": lambda: made_world(titles=lambda i: Item(f"Other {i}")),
    "long titles": lambda: made_world(titles=lambda i: Item(f"{i} " + "long " * 90)),
    "more items": lambda: made_world(n_items=40),
    "other boosts": lambda: made_world(boosts=[0.5] * FILMS),
    "another shared slate": lambda: made_world(shared=8),
    "another rating scale": lambda: made_world(scale=(0.0, 10.0, 7.0)),
    "nothing is a like": lambda: made_world(scale=(0.0, 1000.0, 999.0)),
    "another unit of the box": lambda: made_world(unit=3.0),
    "a box of one unit": lambda: made_world(unit=1.0),
    "another clip": lambda: made_world(clip=0.25),
    "another least of likes": lambda: made_world(least_likes=1),
    "other directions": lambda: with_directions(-1.0),
    "directions of nothing": lambda: with_directions(0.0),
    "another source": lambda: with_card(source="for device 7"),
    "another largest slate": lambda: with_card(max_slate_size=5),
}


@pytest.mark.thin
@pytest.mark.parametrize("name", UNMARKED)
async def test_a_model_made_for_one_device_leaves_no_mark_on_what_it_sends(
    name: str, plain: list[Heard], tmp_path: Path
) -> None:
    """Planted bugs: a digest of the space in the question, a digest in a later fetch."""
    assert [method for method, _, _ in plain] == ["file", "file", "Retrieve"]
    assert await heard_of(UNMARKED[name](), tmp_path) == plain


async def test_what_marks_a_device_is_the_number_of_values(
    plain: list[Heard], tmp_path: Path
) -> None:
    *files, (_, one, metadata) = plain
    *same, (_, other, as_before) = await heard_of(made_world(d=3), tmp_path)
    assert (files, metadata) == (same, as_before)
    messages = [pb.RetrieveRequest.FromString(each[:-2]) for each in (one, other)]  # its size
    assert [len(message.values) for message in messages] == [2, 3]
    for message in messages:
        message.ClearField("values")
    assert messages[0] == messages[1]


async def test_a_file_that_is_too_long_for_a_device_is_seen_to_be(tmp_path: Path) -> None:
    """Which part is fetched tells on which side of a length the byte budget is: a setting."""
    server = with_card(n_default=6)
    whole = catalog_files(server.card, server.catalog)[Part.WHOLE]
    heard = await heard_of(server, tmp_path, budget=len(whole) - 1)
    asked = [re.findall(rb"[.](\w+) HTTP|bytes=(\d+)", request) for _, request, _ in heard[:3]]
    assert asked == [
        [(b"whole", b""), (b"", b"0")],
        [(b"default", b""), (b"", b"0")],
        [(b"default", b""), (b"", b"48")],
    ]


def fields_of(message: Descriptor) -> set[tuple[str, str]]:
    """Return the fields of a message and of all messages within it."""
    found = {(message.name, each.name) for each in message.fields}
    within = [each.message_type for each in message.fields if each.message_type is not None]
    return found.union(*map(fields_of, within))


def test_every_field_that_a_device_sends_is_counted() -> None:
    """Of each method of the one service that a device calls, and of a file's request line and
    headers, all else of which is fixed.
    """
    methods = pb.DESCRIPTOR.services_by_name["Retrieval"].methods
    sent = set().union(*(fields_of(each.input_type) for each in methods))
    counted = {(each["message"], each["field"]) for each in marks()}
    assert len(counted) == len(marks())
    of_files = {("a request for a file", f"the {each}") for each in ("Monday", "part", "range")}
    of_live = {
        ("a request for live values", f"the {each}") for each in ("Monday of the rows", "length")
    }
    assert counted == sent | of_files | of_live


def most_mondays() -> int:
    """How many Mondays a question can name on one day, by a clock that is right."""
    days = range(MONDAY, MONDAY + PERIOD)
    past = range(MONDAY - 9 * PERIOD, MONDAY + 1, PERIOD)
    return max(sum(usable(catalog_date, day) for catalog_date in past) for day in days)


async def test_a_server_that_withholds_a_file_hears_an_older_monday(tmp_path: Path) -> None:
    """So does one that serves a file which is refused; the page of guarantees says so."""
    heard = []
    for name, withheld in (("withheld", True), ("served", False)):
        source = FakeSource.of(body_of("old"))
        cache = CatalogCache.of(tmp_path / name, "example.org:443")
        sync = CatalogSync(cache, source, 10**6, SystemBits(), check=lambda body: None)
        await sync.cached(MONDAY)
        source.troubles = [ServerFailed("not now")] * withheld
        with contextlib.suppress(ServerFailed):
            await sync.refresh((MONDAY + PERIOD + LONGEST_DELAY) * DAY)
        heard.append((await sync.cached(MONDAY + PERIOD + LONGEST_DELAY)).version.catalog_date)
    assert heard == [MONDAY, MONDAY + PERIOD]
    assert "The Monday that a question names" in GUARANTEES.read_text(encoding="utf-8")


def test_the_counts_are_those_of_the_code_and_the_page_has_their_bits() -> None:
    """Each number that is not 1 is what the code lets a server choose. Planted bug: a k that a
    server of few results names.
    """
    values = {each["field"]: [each["values"][kind] for kind in KINDS] for each in marks()}
    assert most_mondays() == 3
    assert {name: found for name, found in values.items() if found != [1, 1, 1]} == {
        "collection": [1, MAX_COLLECTIONS, MAX_COLLECTIONS],
        "k": [1, len({FEWEST, *SIZES}), len({FEWEST, *SIZES})],
        "values": [MAX_DIMENSION, 1, MAX_AXES],
        "catalog_date": [3, 1 + 3, 3],
        "holds_rows": [1, 1, 2],
        "the part": [len({Part.WHOLE, Part.DEFAULT})] * 3,
        "the range": [2, 2, 2],
        "the Monday of the rows": [1, 3, 3],
    }
    asked = [each for each in marks() if not each["message"].startswith("a request")]
    bits = [f"{bits_of(asked, kind):g}" for kind in KINDS]
    assert bits == ["5.6", "12.9", "15"]
    page = " ".join(GUARANTEES.read_text(encoding="utf-8").split())
    titles, places, axes = bits
    said = f"{titles} bits of a question about titles, {places} near a place and {axes} on axes"
    assert said in page
