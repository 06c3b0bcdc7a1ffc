"""A server answers from every model of its folder, and a task follows the folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from operator import sub
from pathlib import Path

import grpc
import grpc.aio
import pytest
from small_collections import GERMANY, cafes, keys_of, posts, small_map

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, HEAD_BYTES, LONGEST_USE, PERIOD, Part
from askew.errors import ArtifactError, StaleSpace
from askew.noise.lattice import LatticeLaplace
from askew.protocol.cards import ModelCard
from askew.protocol.signal import Query, Signal
from askew.wire.catalog_file import catalog_from_body
from askew.wire.queries import query_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb
from askew_server.cli.saved_model import of_one_kind
from askew_server.collections import artifact as collections
from askew_server.collections.model import model_of
from askew_server.folders import text_of_date
from askew_server.ratings import ItemRow, RatingTable
from askew_server.retrieval.answers import Serving
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving import models
from askew_server.serving.metrics import Observer
from askew_server.serving.models import Build, ModelFolder, ModelWatch
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.server import running
from askew_server.serving.settings import ServerConfig
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel, update

Call = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
PATIENCE = 30  # seconds; only ever waited for by a server that does not do what it should
MONDAY = FIRST + 2000 * PERIOD
TODAY = MONDAY + 3


class Told(Observer):
    """What an operator would read."""

    def __init__(self) -> None:
        super().__init__()
        self.swaps, self.withdrawals = list[int](), list[int]()
        self.reasons, self.errors = list[str](), list[str]()

    def swapped(self, day: int) -> None:
        self.swaps.append(day)

    def withdrawn(self, day: int) -> None:
        self.withdrawals.append(day)

    def swap_refused(self, reason: str, error: str = "refused") -> None:
        self.reasons.append(reason)
        self.errors.append(error)


def reading() -> Build:
    """As the command reads models: all of one kind."""
    kinds: set[type] = set()

    def read(directory: Path, since: int) -> Serving:
        serving = Serving(of_one_kind(directory, kinds), directory, since)
        serving.refresh(pytest.fail)
        return serving

    return read


def source_of(snapshot: Snapshot) -> str:
    assert isinstance(snapshot.card, ModelCard)
    return snapshot.card.source


class Shop:
    """A folder of models, and a watch that serves it, on a day of our choosing."""

    def __init__(self, folder: Path, today: int = TODAY) -> None:
        self.day, self.told = today, Told()
        models, clock = ModelFolder(folder, reading()), lambda: self.day
        servings = models.read_all(today)
        snapshots = [serving.snapshot for serving in servings.values()]
        self.holder = SnapshotHolder(*snapshots, today=clock)
        self.service = RetrievalService(self.holder)
        ready, observer = self.service.make_ready, self.told
        self.watch = ModelWatch(
            servings, models, self.holder, ready, observer=observer, today=clock
        )

    def look(self) -> None:
        """As where somebody woke it."""
        self.watch.look(at_once=True)

    def looks(self, times: int) -> None:
        """In its own time."""
        for _ in range(times):
            self.watch.look(at_once=False)

    @property
    def sources(self) -> list[str]:
        """Of all that is answered from."""
        return [source_of(each) for each in self.holder.snapshots]

    def serves(self, catalog_date: int) -> str:
        """The source of what answers a Monday; nothing where it is refused."""
        try:
            return source_of(self.holder.at(catalog_date))
        except StaleSpace:
            return ""

    def hands_out(self, catalog_date: int) -> str:
        """The source of the file that a device gets that names this Monday."""
        file = self.service.catalog_file(catalog_date, Part.WHOLE)
        return catalog_from_body(file[HEAD_BYTES:])[0].source


def put(model: ItemModel, place: Path, source: str) -> Path:
    """A model that says another source, in place of what is there."""
    shutil.rmtree(place, ignore_errors=True)
    artifact.save(replace(model, card=replace(model.card, source=source)), place)
    return place


def name(day: int) -> str:
    return text_of_date(day)


@pytest.fixture
def folder(tmp_path: Path, model: ItemModel) -> Path:
    put(model, tmp_path / "models" / name(MONDAY), "old")
    return tmp_path / "models"


def test_a_device_with_last_weeks_file_is_answered_during_and_after_a_rollout(
    folder: Path, model: ItemModel
) -> None:
    """And the new file is handed out only when its Monday has come. Planted bugs: a device is
    answered from the newest of the folder; it is answered from what is in force today; it gets the
    newest file whatever its Monday.
    """
    shop, coming = Shop(folder), MONDAY + PERIOD
    put(model, folder / name(coming), "new")
    shop.look()
    assert (shop.told.swaps, shop.told.reasons, shop.sources) == ([coming], [], ["old", "new"])
    for shop.day in range(TODAY, coming):
        assert (shop.hands_out(MONDAY), shop.serves(MONDAY)) == ("old", "old")
        assert source_of(shop.holder.current) == "old"
    for shop.day in range(coming, MONDAY + LONGEST_USE + 1):
        shop.look()
        assert (shop.hands_out(coming), shop.serves(coming)) == ("new", "new")
        assert (shop.hands_out(MONDAY), shop.serves(MONDAY)) == ("old", "old")
        assert source_of(shop.holder.current) == "new"
    shutil.rmtree(folder / name(MONDAY))
    shop.look()
    assert (shop.told.withdrawals, shop.told.reasons, shop.sources) == ([MONDAY], [], ["new"])
    assert (shop.serves(MONDAY), shop.serves(coming)) == ("", "new")


def test_files_that_are_touched_or_copied_again_change_nothing(folder: Path) -> None:
    shop, place = Shop(folder), folder / name(MONDAY)
    before = shop.holder.snapshots
    os.utime(place / "manifest.json")
    shop.look()
    shutil.copytree(place, folder.with_name("copy"))
    shutil.copytree(folder.with_name("copy"), place, dirs_exist_ok=True)
    shop.looks(3)
    assert shop.holder.snapshots == before
    assert (shop.told.swaps, shop.told.reasons) == ([], [])


def test_every_device_of_a_week_gets_the_same_file(folder: Path, model: ItemModel) -> None:
    """Whatever the operator does in it: names by this Monday, takes back, puts again."""
    shop, week = Shop(folder), range(MONDAY + 1, MONDAY + PERIOD)
    for shop.day in week:
        put(model, folder / name(MONDAY + (shop.day % 3 - 1) * PERIOD), f"of day {shop.day}")
        shop.look()
        assert (shop.hands_out(MONDAY), shop.serves(MONDAY)) == ("old", "old")


def test_places_and_their_live_values_are_exchanged_without_a_complaint(tmp_path: Path) -> None:
    """A model without an item, copied over the one in force; then one to come. Planted bugs: live
    values are looked at before the model that they are of; they are in force from the first day on,
    whatever Monday names them.
    """
    collections.save(small_map(), tmp_path / name(MONDAY), {"cafes": keys_of(30)})
    fewer = model_of(GERMANY, [cafes(29), posts()], small_map().towns)
    collections.save(fewer, tmp_path / "fewer", {"cafes": keys_of(29)})
    shop = Shop(tmp_path)
    shop.looks(1)
    shutil.copytree(tmp_path / "fewer", tmp_path / name(MONDAY), dirs_exist_ok=True)
    shop.looks(3)
    assert [len(collection) for collection in shop.holder.current.collections] == [29, 12]
    coming = MONDAY + PERIOD
    collections.save(small_map(), tmp_path / name(coming), {"cafes": keys_of(30)})
    shop.look()
    assert shop.told.reasons == []
    for shop.day, since in ((TODAY, MONDAY), (coming, coming)):
        assert (shop.holder.at(MONDAY).since, shop.holder.current.since) == (MONDAY, since)


def test_a_model_in_force_that_is_moved_away_gives_way_to_the_one_before(
    folder: Path, model: ItemModel
) -> None:
    """At once, for every device: who holds it is answered from the other one, and looks again."""
    put(model, folder / name(MONDAY - PERIOD), "older")
    shop = Shop(folder)
    shutil.rmtree(folder / name(MONDAY))
    shop.look()
    assert (shop.told.withdrawals, shop.told.reasons) == ([MONDAY], [])
    assert (shop.hands_out(MONDAY), shop.serves(MONDAY)) == ("older", "older")


def test_an_item_is_withdrawn_at_once_from_what_devices_hold(
    folder: Path, model: ItemModel, table: RatingTable, rows: dict[str, ItemRow]
) -> None:
    """By a copy of a model without it, in place of the one in force: devices get that at their next
    fetch. What has another item is refused. Planted bugs: any model of this Monday is taken; none
    is, before a restart.
    """
    shop = Shop(folder)
    held = shop.service.catalog_file(MONDAY, Part.WHOLE)
    shutil.copytree(folder / name(MONDAY), folder.with_name("held"))
    stays = table.item > 0
    fewer = replace(
        table,
        person=table.person[stays],
        item=table.item[stays] - 1,
        rating=table.rating[stays],
        item_keys=table.item_keys[1:],
    )
    artifact.save(update(model, fewer, rows, source="old"), folder.with_name("without"))
    shutil.copytree(folder.with_name("without"), folder / name(MONDAY), dirs_exist_ok=True)
    shop.look()
    assert (shop.told.swaps, shop.told.reasons) == ([MONDAY], [])
    file = shop.service.catalog_file(MONDAY, Part.WHOLE)
    titles = {each.title for each in catalog_from_body(file[HEAD_BYTES:])[1].items}
    assert {"Film 0"} == {each.title for each in model.catalog.items} - titles
    assert file != held
    put(model, folder / name(MONDAY), "another")
    shop.look()
    assert shop.told.swaps == [MONDAY]
    assert "it has other items" in shop.told.reasons[0]
    # An item that went by mistake is back with the model of before, and what was read may go again.
    for copy, titles_back in (("held", True), ("without", False)):
        shutil.copytree(folder.with_name(copy), folder / name(MONDAY), dirs_exist_ok=True)
        shop.look()
        assert (shop.service.catalog_file(MONDAY, Part.WHOLE) == held) == titles_back
    assert (shop.told.swaps, len(shop.told.reasons)) == ([MONDAY] * 3, 1)


def test_the_last_model_in_force_is_answered_from_when_it_is_gone(
    folder: Path, model: ItemModel
) -> None:
    """As where a disk is not there for a moment; it is said once."""
    put(model, folder / name(MONDAY + PERIOD), "new")
    shop = Shop(folder)
    shutil.rmtree(folder / name(MONDAY))
    shop.looks(3)
    assert (shop.serves(MONDAY), shop.told.withdrawals) == ("old", [])
    why = f"{name(MONDAY)} is gone and answered from: no other is in force"
    assert shop.told.reasons == [why]
    shop.day += PERIOD
    shop.look()
    assert (shop.told.withdrawals, shop.sources) == ([MONDAY], ["new"])


def test_what_is_being_written_is_let_be_until_it_stays_the_same(
    folder: Path, model: ItemModel
) -> None:
    """Then it is taken, as long as its Monday is to come replaced, and taken back."""
    shop, coming = Shop(folder), folder / name(MONDAY + PERIOD)
    shop.looks(1)
    put(model, coming, "new")
    card = (coming / "manifest.json").read_bytes()
    (coming / "manifest.json").write_bytes(card[:100])
    shop.looks(1)
    (coming / "manifest.json").write_bytes(card)
    shop.looks(1)
    assert (shop.told.swaps, shop.told.reasons) == ([], [])
    shop.looks(1)
    assert shop.sources == ["old", "new"]
    put(model, coming, "newer")
    shop.look()
    assert shop.sources == ["old", "newer"]
    shutil.rmtree(coming)
    shop.look()
    assert (shop.told.swaps, shop.told.reasons) == ([MONDAY + PERIOD] * 2, [])
    assert (shop.told.withdrawals, shop.sources) == ([MONDAY + PERIOD], ["old"])


def altered(place: Path) -> None:
    data = (place / "items.json").read_bytes()
    (place / "items.json").write_bytes(data[:-1] + b" ")


def a_pipe(place: Path) -> None:
    """Whoever opened it would wait for ever."""
    (place / "manifest.json").unlink()
    os.mkfifo(place / "manifest.json")


def of_places(place: Path) -> None:
    shutil.rmtree(place)
    collections.save(small_map(), place)


@pytest.mark.parametrize("damage", [altered, a_pipe, of_places])
def test_what_cannot_be_used_leaves_the_old_one_and_is_said_once(
    folder: Path, model: ItemModel, damage: Callable[[Path], None]
) -> None:
    """Planted bug: a corrupt model is swapped in."""
    shop, day = Shop(folder), MONDAY + PERIOD
    before, place = shop.holder.snapshots, folder / name(day)
    put(model, place, "new")
    damage(place)
    shop.looks(4)
    assert (shop.holder.snapshots, shop.told.swaps) == (before, [])
    [line] = shop.told.reasons
    assert line.startswith(f"{place} is not taken: ")
    assert line.isprintable()
    shop.look()  # asked for it, an operator hears it again
    assert shop.told.reasons == [line] * 2
    put(model, place, "new")
    shop.look()
    assert (shop.told.swaps, len(shop.told.reasons)) == ([day], 2)


@pytest.mark.parametrize("since", [0, -PERIOD, PERIOD], ids=["same", "before", "after"])
def test_what_devices_hold_of_a_monday_that_has_come_never_changes(
    folder: Path, model: ItemModel, since: int
) -> None:
    """Planted bug: another catalog under the same Monday, whose answers all devices would
    refuse.
    """
    put(model, folder / name(MONDAY - PERIOD), "oldest")
    shop = Shop(folder, today=MONDAY + PERIOD)  # the day on which it comes
    place = put(model, folder / name(MONDAY + since), "another")
    shop.looks(3)
    [why] = shop.told.reasons
    assert why.startswith(f"{place} is not taken: devices hold something of that Monday already")
    assert why.endswith(f"by a Monday to come, such as {name(MONDAY + 2 * PERIOD)}")
    assert [shop.serves(MONDAY + each) for each in (-PERIOD, 0, PERIOD)] == ["oldest", "old", "old"]


def test_a_fourth_model_is_refused_until_the_oldest_is_moved_away(
    folder: Path, model: ItemModel
) -> None:
    """Planted bug: a folder of any number, all of them in memory."""
    for week in (1, 2, 3):
        put(model, folder / name(MONDAY + week * PERIOD), f"of week {week}")
    refusal = f"holds 4 models, and a server answers from at most 3: move .* away, {name(MONDAY)}"
    with pytest.raises(ArtifactError, match=refusal):
        Shop(folder)
    fourth = (folder / name(MONDAY + 3 * PERIOD)).rename(folder / ".fourth")
    shop = Shop(folder, today=MONDAY + PERIOD)
    three = ["old", "of week 1", "of week 2"]
    fourth.rename(folder / name(MONDAY + 3 * PERIOD))
    shop.looks(3)
    assert (len(shop.told.reasons), shop.sources) == (1, three)
    shutil.rmtree(folder / name(MONDAY))
    shop.look()
    assert shop.sources == ["of week 1", "of week 2", "of week 3"]


def test_a_name_of_another_day_is_said_once_and_stops_no_live_values(folder: Path) -> None:
    shop = Shop(folder)
    (folder / name(MONDAY + 1)).mkdir()
    shop.looks(3)
    assert len(shop.told.reasons) == 1
    assert "a Monday: that is when devices look for a new file" in shop.told.reasons[0]


ROLLOUTS = 10


def with_titles(model: ItemModel, mark: str) -> ItemModel:
    """The same with other titles."""
    old = model.catalog
    items = tuple(replace(each, title=f"{each.title} {mark}") for each in old.items)
    catalog = Catalog(items, old.vectors, old.boosts, old.shared_slate, old.neighbors)
    card = replace(model.card, catalog_version=catalog.version)
    return replace(model, card=card, catalog=catalog)


async def test_no_call_fails_from_one_rollout_to_the_next_and_no_reply_mixes_two(
    tmp_path: Path, model: ItemModel
) -> None:
    """Of devices that look each Monday, and of those that are a week behind. Planted bugs: the old
    one is taken away before the new one is read; it answers no more on the next Monday.
    """
    folder, weeks = tmp_path / "models", range(ROLLOUTS)
    for week in (0, 1):
        place = folder / name(MONDAY + week * PERIOD)
        artifact.save(with_titles(model, f"of week {week}"), place)
    shop = Shop(folder, today=MONDAY + PERIOD)
    noise = LatticeLaplace.for_epsilon(Fraction(4))
    signal = Signal(model.card.space.version, noise, (0,) * model.card.space.dimension)
    done = asyncio.Event()
    answers = [0] * 4

    async def ask(call: Call, number: int) -> None:
        behind = number % 2
        while not done.is_set():
            week = (shop.day - MONDAY) // PERIOD - behind
            query = Query(signal, 4, catalog_date=MONDAY + week * PERIOD)
            reply = await call(query_to_bytes(query), timeout=PATIENCE)
            message = pb.RetrieveResponse.FromString(reply)
            titles = [each.title for each in message.items]
            assert [title.endswith(f" of week {week}") for title in titles] == [True] * 4
            answers[number] += 1

    async with (
        running([shop.service], ServerConfig(grace=0)) as server,
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        call: Call = channel.unary_unary("/askew.wire.v1.Retrieval/Retrieve")
        asking = [asyncio.create_task(ask(call, number)) for number in range(4)]
        for week in weeks:
            coming = MONDAY + (week + 2) * PERIOD
            artifact.save(with_titles(model, f"of week {week + 2}"), folder / name(coming))
            await asyncio.to_thread(shop.look)
            shop.day = coming
            seen = [*answers]
            while min(map(sub, answers, seen)) < 2:  # those of the week before have come
                await asyncio.sleep(0)
                assert not any(each.done() for each in asking)
            shutil.rmtree(folder / name(MONDAY + week * PERIOD))
            await asyncio.to_thread(shop.look)
        done.set()
        await asyncio.gather(*asking)
    assert (len(shop.told.swaps), len(shop.told.withdrawals)) == (ROLLOUTS, ROLLOUTS)
    assert shop.told.reasons == []


async def test_it_looks_at_once_when_woken_and_an_error_ends_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the event wakes nothing; an error ends the task."""
    shop, wake, looks = Shop(folder), asyncio.Event(), asyncio.Queue[bool]()
    loop = asyncio.get_running_loop()

    def look(at_once: bool) -> None:
        loop.call_soon_threadsafe(looks.put_nowait, at_once)
        raise ValueError("a secret value")

    monkeypatch.setattr(models, "_EVERY", 3600)
    monkeypatch.setattr(shop.watch, "look", look)
    task = asyncio.create_task(shop.watch.run(wake))
    for _ in range(2):
        wake.set()
        assert await asyncio.wait_for(looks.get(), PATIENCE)
    task.cancel()
    assert shop.told.errors[0] == "ValueError"
    assert shop.told.reasons[0] == "no look at the models"
