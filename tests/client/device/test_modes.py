"""A device by each mode: what it asks, what it ranks, what it keeps, and what it never does."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from client.conftest import VECTORS, SilentBits, made_retriever, space_of_width
from made_device import made_device

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import Part
from askew.catalog.item import Item
from askew.noise.randomness import RandomBits
from askew.protocol.cards import Card, ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.wire.queries import query_to_bytes
from askew_client.catalog.cache import CachedCatalog
from askew_client.device.model import TitleSearch
from askew_client.profile.store import ProfileStore
from askew_client.settings.settings import ClientSettings, ModeName
from askew_client.signals.store import SignalStore
from askew_client.transport.in_process import LocalTransport
from askew_client.transport.shaped import KeptLibrary
from askew_client.views.answers import Answer, Refreshed

TODAY = datetime.date(2026, 11, 21)
DATE = 20773
SETTINGS = ClientSettings(k=4, max_ratings_apart=32.0)
DEFAULT = 6


class Network(LocalTransport):
    """A server in this process that answers with these items, and writes down what it hears."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        super().__init__(card, catalog)
        self.catalog = catalog
        self.requests: list[bytes] = []
        self.answers: tuple[int, ...] = (8, 10)

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        pytest.fail("the library has what is held")

    async def retrieve(self, query: Query, card: Card) -> Slate:
        self.requests.append(query_to_bytes(query))
        chosen = (*range(query.k - len(self.answers)), *self.answers)  # others that are held
        slate = Slate.of_catalog(self.catalog, chosen)
        return replace(slate, catalog_version=cast("ModelCard", card).catalog_version)


class CatalogCache(KeptLibrary):
    def __init__(self, card: ModelCard, catalog: Catalog, n_held: int) -> None:
        self.holds = CachedCatalog(card, catalog.first(n_held), DATE, 40 * n_held)

    async def cached(self, _: datetime.date) -> CachedCatalog:
        return self.holds

    async def refresh(self) -> Refreshed:
        pytest.fail("no question looks for what is held")


class DeviceWorld:
    """A companion of a server with twelve films, of which it holds some."""

    def __init__(
        self,
        directory: Path,
        mode: ModeName = "auto",
        *,
        n_held: int = DEFAULT,
        own: ClientSettings = SETTINGS,
        bits: RandomBits | None = None,
    ) -> None:
        made = made_retriever(space_of_width(), VECTORS)
        self.card = replace(made.card, n_default=DEFAULT)
        self.catalog = made.catalog
        self.network = Network(self.card, self.catalog)
        self.cache = CatalogCache(self.card, self.catalog, n_held)
        self.ledger = directory / "signals.sqlite"
        self.profile = ProfileStore(directory / "profile.sqlite")
        self.companion = made_device(
            self.network,
            directory,
            replace(own, mode=mode),
            profile=self.profile,
            bits=bits,
            library=self.cache,
            today=lambda: TODAY,
        )

    def entries(self) -> list[Fraction]:
        """What was charged; a ledger that was never made has charged nothing."""
        if not self.ledger.exists():
            return []
        store = SignalStore(self.ledger, SETTINGS.caps)
        return [each.epsilon_per_rating for each in store.entries()]

    async def answer(self) -> Answer:
        answer = await self.companion.asker.ask(self.companion.titles)
        assert isinstance(answer, Answer), answer
        return answer


def films(answer: Answer) -> list[int]:
    return [int(each.title.split()[1]) for each in answer.results]


def best_of(items: list[int], taste: tuple[float, ...], rated: set[int], k: int) -> list[int]:
    """By brute force: the best unrated ones, ties to the lower id."""
    scores = {item: float(np.dot(VECTORS[item], taste)) for item in items}
    return sorted(set(items) - rated, key=lambda item: (-scores[item], item))[:k]


@pytest.mark.parametrize(("n_held", "part"), [(12, "all 12"), (DEFAULT, "the first 6 of 12")])
async def test_what_is_held_is_ranked_here_without_a_call_a_coin_or_a_ledger(
    tmp_path: Path, silent_bits: SilentBits, n_held: int, part: str
) -> None:
    """Planted bugs: a question all the same; a ledger that is opened, and so made, for nothing."""
    device = DeviceWorld(tmp_path, n_held=n_held, bits=silent_bits)
    device.companion.profile.rate("Film 3 (1963)", 5)
    cost = await device.companion.asker.show(device.companion.titles)
    answer = await device.answer()
    assert (cost.mode, cost.sends, cost.fresh) == ("held", False, False)
    assert films(answer) == best_of([*range(n_held)], VECTORS[3], {3}, 4)
    assert (answer.cost, answer.departure) == (cost, None)
    assert cost.reason.startswith(f"{part} items")
    assert "nothing is drawn, charged or sent" in cost.reason
    assert not any(each.came for each in answer.results)
    assert device.network.requests == []
    assert not device.ledger.exists()


async def test_a_signal_brings_items_that_are_ranked_beside_those_held(tmp_path: Path) -> None:
    """Planted bugs: a list of the answer alone; what came is not told from what was held."""
    device = DeviceWorld(tmp_path, "ask")
    device.network.answers = (9, 10)
    device.companion.profile.rate("Film 5 (1965)", 5)  # held: (0, 1)
    answer = await device.answer()
    assert films(answer) == best_of([*range(DEFAULT), 9, 10], (0, 1), {5}, 4) == [9, 1, 3, 0]
    assert [each.came for each in answer.results] == [True, True, False, True]
    assert answer.cost.charge.epsilon_per_rating <= 16
    (charge,) = device.entries()
    assert charge <= 16
    assert len(device.network.requests) == 1


async def test_an_item_met_is_kept_can_be_rated_and_counts_in_the_point(tmp_path: Path) -> None:
    """Planted bugs: forgotten with the answer; known, and without its vector."""
    device = DeviceWorld(tmp_path, "ask")
    await device.answer()
    assert [match.title for match in device.companion.titles.search("film 8")] == ["Film 8 (1968)"]
    device.companion.profile.rate("film 8", 5)
    assert device.companion.profile.unmatched() == ()
    bars = [bar.value for bar in device.companion.titles.bars()]
    # Ranks of (1, -1), clipped to (3/4, -3/4), in a box of width 2.
    assert bars == pytest.approx([1.375, 0.625], abs=1e-6)
    device.network.answers = (6, 7)
    again = await device.answer()
    assert films(again) == best_of([*range(DEFAULT), 6, 7, 8, 10], (1, -1), {8}, 4)
    assert (again.used, again.unused) == (1, 0)
    other = DeviceWorld(tmp_path, "ask")  # another run of the same device
    await other.companion.titles.connect()
    assert other.companion.profile.unmatched() == ()
    other.companion.profile.rate("FILM 8 (1968)", 4)
    assert [each.label for each in other.companion.profile.ratings()] == ["Film 8 (1968)"]
    assert (await other.answer()).used == 1
    other.companion.profile.wipe()
    assert not other.companion.titles.search("film 8")
    assert not other.companion.profile.knows("Film 8 (1968)")


async def test_titles_are_made_to_be_searched_for_who_types_and_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: a search made with the model, which takes seconds of a million titles; one made
    anew with every key press.
    """
    made: list[int] = []

    def counted(items: Sequence[Item]) -> TitleSearch:
        made.append(len(items))
        return TitleSearch(items)

    monkeypatch.setattr("askew_client.device.model.TitleSearch", counted)
    device = DeviceWorld(tmp_path, "ask")
    for _ in range(2):
        await device.answer()
    assert made == []
    for _ in range(2):
        assert device.companion.titles.search("film 8")
    assert (made[0], len(made)) == (DEFAULT, 2)  # what is held, and what answers brought


async def test_items_met_go_with_their_space(tmp_path: Path) -> None:
    """Planted bug: codes of one space that are read with the scales of another."""
    device = DeviceWorld(tmp_path, "ask")
    await device.answer()
    device.companion.profile.rate("film 8", 5)
    space = replace(device.card.space, scales=2 * device.card.space.scales)
    device.cache.holds = replace(device.cache.holds, card=replace(device.card, space=space))
    await device.companion.titles.connect()
    assert not device.companion.titles.search("film 8")
    assert [each.label for each in device.companion.profile.unmatched()] == ["Film 8 (1968)"]


@pytest.mark.parametrize("titles", [("Same", "same"), ("Same", "Same"), ("Film 4", "Film 4")])
async def test_titles_that_a_server_writes_twice_break_nothing(
    tmp_path: Path, titles: tuple[str, str]
) -> None:
    """Planted bug: an item that is looked up by its title, and was kept under another's."""
    device = DeviceWorld(tmp_path, "ask")
    items = [*device.catalog.items]
    items[8], items[10] = (Item(title, 1964) for title in titles)
    device.network.catalog = replace(device.catalog, items=tuple(items))
    device.companion.profile.rate("Film 4 (1964)", 5)
    for _ in range(2):
        assert len((await device.answer()).results) == 4


PEOPLE: list[dict[str, float]] = [
    {"Film 2 (1962)": 5.0, "Film 4 (1964)": 1.0},
    {"Film 5 (1965)": 5.0},
    {},
    {f"Film {n} ({1960 + n})": 2.5 for n in range(12)},
    {"Elsewhere (1999)": 5.0},
]
CASES: dict[str, tuple[ModeName, int]] = {
    "all held": ("auto", 12),
    "some held": ("held", DEFAULT),
    "asked": ("ask", DEFAULT),
}


async def heard_of(
    ratings: dict[str, float], case: str, directory: Path
) -> tuple[list[int], list[Fraction], list[str]]:
    """What leaves, in size, what is charged, and the ways of a person who asks, rates and asks."""
    mode, n_held = CASES[case]
    device = DeviceWorld(directory, mode, n_held=n_held)
    ways = []
    for _ in range(2):
        for label, rating in ratings.items():
            device.companion.profile.rate(label, rating)
        ways.append((await device.answer()).cost.reason)
        device.companion.profile.rate("Film 8 (1968)", 1 + len(ratings) % 5)
    return [len(each) for each in device.network.requests], device.entries(), ways


@pytest.mark.parametrize("case", CASES)
async def test_whether_a_call_is_made_depends_on_public_things_alone(
    tmp_path: Path, case: str
) -> None:
    """Planted bug: no question where the best item is held, which tells the server that it is: as
    of everybody before the first answer, so that nobody would ever ask.
    """
    heard = [
        await heard_of(ratings, case, tmp_path / str(number))
        for number, ratings in enumerate(PEOPLE)
    ]
    assert heard == [heard[0]] * len(PEOPLE)
    calls, charges, _ = heard[0]
    assert len(calls) == 2 * len(charges)
    assert (calls != []) == (case == "asked")
    assert all(charge <= 16 for charge in charges)
