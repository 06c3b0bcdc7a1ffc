"""A server that gives every device a card, a catalog and a space of its own hears nearly the same
of them all: what still differs is listed here, and in docs/guarantees.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from benchmarks.reference import KINDS, bits_of, marks
from catalog_files import MONDAY, FakeSource, body_of
from end_to_end.eavesdropping import Eavesdropper, serving
from google.protobuf.descriptor import Descriptor
from small_world import made_card, made_catalog, made_encoder

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import LONGEST_DELAY, PERIOD, Part
from askew.catalog.item import Item
from askew.errors import AskewError, ServerFailed
from askew.limits import MAX_AXES, MAX_DIMENSION
from askew.noise.randomness import SystemBits
from askew.protocol.metric_card import MAX_COLLECTIONS
from askew.protocol.model_card import ModelCard
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew.wire.catalog_file import catalog_files
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.catalog.cache import DAY, CatalogCache, CatalogSync, usable
from askew_client.near.sources import FEWEST, SIZES
from askew_client.opening import open_device
from askew_client.profile.document import Liking, ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings

Heard = list[dict[str, object]]
FILMS = 12
LIKES: dict[str, Liking] = {f"Film {i} ({1960 + i})": 5.0 for i in range(3)}
GUARANTEES = Path(__file__).parents[2] / "docs" / "guarantees.md"


@dataclass(frozen=True)
class World:
    """What one device is given."""

    card: ModelCard
    catalog: Catalog


def world(
    *,
    scale: tuple[float, float, float] = (1.0, 5.0, 4.0),
    n_items: int = FILMS,
    dimension: int = 2,
    seed: int = 1,
    step: float = 0.25,
    titles: Callable[[int], Item] | None = None,
    boost: float = 1.0,
    shared: int = 6,
    directions: Any = None,
    **encoder: Any,
) -> World:
    """A small model; every part of it may be made for one device."""
    codes = np.random.default_rng(seed).integers(-8, 8, size=(n_items, 2))
    catalog = made_catalog(
        [tuple(row) for row in (codes * step).tolist()], tuple(range(shared)), [boost] * n_items
    )
    if titles is not None:
        catalog = replace(catalog, items=tuple(titles(i) for i in range(n_items)))
    fields = {"unit": 1.5, "least_likes": 20, "clip": 0.5} | encoder
    made = made_encoder(dimension, ranking=2, **fields)
    if directions is not None:
        made = replace(made, directions=made.directions * np.float32(directions))
    scales = np.full(2, step, dtype=np.float32)
    space = FeatureSpace(RatingScale(*scale), made, scales)
    return World(made_card(space, catalog, 6), catalog)


def with_card(**fields: Any) -> World:
    plain = world()
    return World(replace(plain.card, **fields), plain.catalog)


@dataclass
class PersonalServer(Eavesdropper):
    """One device's server. heard: what differs between devices if they can be told apart."""

    world: World
    heard: list[dict[str, object]] = field(default_factory=list)

    def methods(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        return {"Retrieve": grpc.unary_unary_rpc_method_handler(self._retrieve)}

    def held(self, catalog_date: int, part: str) -> bytes | None:
        del catalog_date
        return catalog_files(self.world.card, self.world.catalog).get(Part(part))

    def hear_file(self, request: bytes) -> None:
        """A request for a file, as it came, but for the port, which is the server's choice."""
        self.heard.append({"method": "held", "request": re.sub(rb"(:\d+)\r\n", b"\r\n", request)})

    def _retrieve(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """The values are what was charged; how many they are is not."""
        message = pb.RetrieveRequest.FromString(request)
        metadata = tuple(sorted((key, str(value)) for key, value in context.invocation_metadata()))
        said = {"method": "retrieve", "metadata": metadata, "number of values": len(message.values)}
        message.ClearField("values")
        self.heard.append({**said, "else": message.SerializeToString()})
        context.abort(grpc.StatusCode.INTERNAL, "")
        raise AssertionError


async def heard_of(device: World, directory: Path, budget: int = 10**6) -> Heard:
    server = PersonalServer(device)
    settings = ClientSettings(
        epsilon_per_rating=Fraction(1),
        k=4,
        mode="ask",
        byte_budget=budget,
        max_ratings_apart=1000.0,
        rating_lifetime_cap=Fraction(10**6),
        rating_monthly_cap=Fraction(10**6),
    )
    with serving(server) as address:
        opened = open_device(
            settings,
            server=address,
            directory=directory,
            profile=PassingProfile(ProfileDocument(dict(LIKES))),
        )
        async with opened as companion:
            with suppress(AskewError):  # the server answers with one
                await companion.asker.ask(companion.titles)
    return server.heard


def differences(one: Heard, other: Heard) -> set[str]:
    if [each["method"] for each in one] != [each["method"] for each in other]:
        return {"calls"}
    pairs = zip(one, other, strict=True)
    return {name for a, b in pairs for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Heard:
    return asyncio.run(heard_of(world(), tmp_path_factory.mktemp("plain")))


# What a server makes for one device, and what it can tell of it afterwards.
UNMARKED: dict[str, Callable[[], World]] = {
    "other item vectors": lambda: world(seed=2),
    "other scales of item codes": lambda: world(step=0.125),
    "other titles": lambda: world(titles=lambda i: Item(f"Other {i}")),
    "long titles": lambda: world(titles=lambda i: Item(f"{i} " + "long " * 90)),
    "more items": lambda: world(n_items=40),
    "other boosts": lambda: world(boost=0.5),
    "another shared slate": lambda: world(shared=8),
    "another rating scale": lambda: world(scale=(0.0, 10.0, 7.0)),
    "nothing is a like": lambda: world(scale=(0.0, 1000.0, 999.0)),
    "another unit of the box": lambda: world(unit=3.0),
    "a box of one unit": lambda: world(unit=1.0),
    "another clip": lambda: world(clip=0.25),
    "another least of likes": lambda: world(least_likes=1),
    "other directions": lambda: world(directions=-1.0),
    "directions of nothing": lambda: world(directions=0.0),
    "another source": lambda: with_card(source="for device 7"),
    "another largest slate": lambda: with_card(max_slate_size=5),
}


@pytest.mark.thin
@pytest.mark.parametrize("name", UNMARKED)
async def test_a_model_made_for_one_device_leaves_no_mark_on_what_it_sends(
    name: str, plain: Heard, tmp_path: Path
) -> None:
    """Planted bugs: a digest of the space in the question, a digest in a later fetch."""
    assert [each["method"] for each in plain] == ["held", "held", "retrieve"]
    assert differences(plain, await heard_of(UNMARKED[name](), tmp_path)) == set()


async def test_what_marks_a_device_is_the_number_of_values(plain: Heard, tmp_path: Path) -> None:
    marks = {"number of values"}
    assert differences(plain, await heard_of(world(dimension=3), tmp_path)) == marks


async def test_a_file_that_is_too_long_for_a_device_is_seen_to_be(tmp_path: Path) -> None:
    """Which part is fetched tells on which side of a length the byte budget is: a setting."""
    plain = world()
    card = replace(plain.card, n_default=6)
    whole = catalog_files(card, plain.catalog)[Part.WHOLE]
    heard = await heard_of(World(card, plain.catalog), tmp_path, budget=len(whole) - 1)
    asked = [
        re.findall(rb"[.](\w+) HTTP|bytes=(\d+)", str(each["request"]).encode())
        for each in heard[:3]
    ]
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
