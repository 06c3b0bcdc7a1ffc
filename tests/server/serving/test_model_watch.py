"""Beside a server, a task reads models whose files changed, and swaps in what can be used."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio
import pytest
from small_collections import keys_of, small_map

from askew.catalog.catalog_file import FIRST, LONGEST_DELAY, PERIOD, last_day
from askew.errors import ArtifactError, StaleSpace
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.signal import Query, Signal
from askew.wire.queries import query_to_bytes
from askew.wire.tastes import slate_from_bytes
from askew_server.cli.saved_model import of_one_kind
from askew_server.collections import artifact as collections
from askew_server.retrieval.served import serving_of, snapshot_of
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving import models
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.models import Build, ModelWatch, ServedModels
from askew_server.serving.retrieval import RetrievalService
from askew_server.serving.settings import ServerConfig
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.model.mondays import text_of_date, versions_in

Call = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
PATIENCE = 30  # seconds; only ever waited for by a server that does not do what it should
MONDAY = FIRST + 2000 * PERIOD
TODAY = MONDAY + 3


@dataclass
class Told:
    """What an operator would read."""

    swaps: list[int] = field(default_factory=list)
    withdrawals: list[int] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def swapped(self, day: int, _: float) -> None:
        self.swaps.append(day)

    def withdrawn(self, day: int) -> None:
        self.withdrawals.append(day)

    def swap_refused(self, error: BaseException | None = None, reason: str = "") -> None:
        self.refusals.append(reason)
        if error is not None:
            self.errors.append(error)


def reading() -> Build:
    """As the command reads models: all of one kind."""
    kinds: set[type] = set()
    return lambda directory, since: serving_of(of_one_kind(directory, kinds), directory, since)


def source_of(snapshot: Snapshot) -> str:
    assert isinstance(snapshot.card, ModelCard)
    return snapshot.card.source


class Shop:
    """A folder of models, and a watch that serves it, on a day of our choosing."""

    def __init__(self, folder: Path, today: int = TODAY) -> None:
        self.folder, self.day, self.told = folder, today, Told()
        self.models = ServedModels(lambda: versions_in(folder), reading(), lambda: self.day)
        snapshots = [each.snapshot for each in self.models.servings.values()]
        self.holder = SnapshotHolder(*snapshots, today=lambda: self.day)
        self.service = RetrievalService(self.holder)
        self.watch = ModelWatch(
            self.models, self.holder, self.service.make_ready, self.told, lambda: self.day
        )

    def look(self, *, at_once: bool = True) -> None:
        self.watch.look(at_once)

    def serves(self, catalog_date: int) -> str:
        """The source of what answers a Monday; nothing where it is refused."""
        try:
            return source_of(self.holder.at(catalog_date))
        except StaleSpace:
            return ""


def put(model: ItemModel, place: Path, source: str = "", people: int = 0) -> Path:
    """A model that says another source, or was made of others, in place of what is there."""
    if source:
        model = replace(model, card=replace(model.card, source=source))
    if people:
        model = replace(model, counts={"people": people})
    shutil.rmtree(place, ignore_errors=True)
    artifact.save(model, place)
    return place


def name(day: int) -> str:
    return text_of_date(day)


@pytest.fixture
def folder(tmp_path: Path, model: ItemModel) -> Path:
    put(model, tmp_path / "models" / name(MONDAY), "old")
    return tmp_path / "models"


# -- what is taken ---------------------------------------------------------------------------------


def test_a_version_of_a_monday_to_come_is_taken_and_the_one_before_answers_on(
    folder: Path, model: ItemModel
) -> None:
    """Planted bug: the holder drops the version before at once."""
    shop, coming = Shop(folder), MONDAY + PERIOD
    put(model, folder / name(coming), "new")
    shop.look()
    assert (shop.told.swaps, shop.told.refusals) == ([coming], [])
    assert shop.serves(MONDAY) == "old"
    found = []
    for shop.day in (coming, last_day(coming), last_day(coming) + 1):
        shop.look()
        found.append((shop.serves(MONDAY), shop.serves(coming)))
    assert last_day(coming) == coming + PERIOD + LONGEST_DELAY
    assert found == [("old", "new"), ("old", "new"), ("", "new")]
    assert [each.since for each in shop.holder.versions] == [coming]
    assert list(shop.models.servings) == [coming]


def test_places_are_versions_of_mondays_like_tastes(tmp_path: Path) -> None:
    """Planted bugs: live values of places are in force from the first day on, whatever Monday
    names them; rows that devices hold are replaced in place.
    """

    coming = MONDAY + PERIOD
    collections.save(small_map(), tmp_path / name(MONDAY), {"cafes": keys_of(30)})
    shop = Shop(tmp_path)
    collections.save(small_map(), tmp_path / name(coming), {"cafes": keys_of(30)})
    shop.look()
    assert (shop.told.swaps, shop.told.refusals) == ([coming], [])
    assert [each.since for each in shop.holder.versions] == [MONDAY, coming]
    assert (shop.holder.at(MONDAY).since, shop.holder.current.since) == (MONDAY, MONDAY)
    shop.day = coming
    assert (shop.holder.at(MONDAY).since, shop.holder.at(coming).since) == (MONDAY, coming)
    assert shop.holder.current.since == coming


def test_the_service_can_answer_from_its_first_monday_on(folder: Path) -> None:
    """Planted bug: ready, with a model that every device is refused."""
    shop = Shop(folder, today=MONDAY - 1)
    with pytest.raises(StaleSpace):
        shop.service.check()
    shop.day = MONDAY
    shop.service.check()


def test_a_version_that_was_retired_before_the_start_is_not_even_read(
    folder: Path, model: ItemModel
) -> None:
    (folder / name(MONDAY - 3 * PERIOD)).mkdir()
    put(model, folder / name(MONDAY - 2 * PERIOD), "older")
    assert Shop(folder).serves(MONDAY) == "old"


def test_what_only_the_server_has_changes_on_any_day(folder: Path, model: ItemModel) -> None:
    shop = Shop(folder)
    put(model, folder / name(MONDAY), "old", people=7)
    shop.look()
    assert (shop.told.swaps, shop.told.refusals) == ([MONDAY], [])
    assert shop.holder.at(MONDAY) is shop.holder.current


def test_a_version_to_come_is_replaced_and_taken_back(folder: Path, model: ItemModel) -> None:
    shop, coming = Shop(folder), MONDAY + PERIOD
    for source in ("new", "newer"):
        put(model, folder / name(coming), source)
        shop.look()
    assert [source_of(each) for each in shop.holder.versions] == ["old", "newer"]
    shutil.rmtree(folder / name(coming))
    shop.look()
    assert [source_of(each) for each in shop.holder.versions] == ["old"]
    assert (shop.told.swaps, shop.told.refusals) == ([coming] * 2, [])
    assert shop.told.withdrawals == [coming]


def test_a_version_in_force_whose_files_are_gone_is_served_on(folder: Path) -> None:
    shop = Shop(folder)
    shutil.rmtree(folder / name(MONDAY))
    shop.look()
    assert shop.serves(MONDAY) == "old"


def test_everything_is_ready_before_it_is_swapped_in(
    folder: Path, model: ItemModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: swapped in first, so that the first callers wait while files are encoded."""
    shop, order = Shop(folder), list[str]()
    make_ready, swap = shop.service.make_ready, shop.holder.swap

    def noted_ready(snapshot: Snapshot) -> Mapping[str, bytes]:
        if snapshot.since == MONDAY + PERIOD:
            order.append("ready")
        return make_ready(snapshot)

    def noted_swap(snapshot: Snapshot) -> None:
        order.append("swapped")
        swap(snapshot)

    monkeypatch.setattr(shop.watch, "_make_ready", noted_ready)
    monkeypatch.setattr(shop.holder, "swap", noted_swap)
    put(model, folder / name(MONDAY + PERIOD), "new")
    shop.look()
    assert order == ["ready", "swapped"]


def test_what_is_being_written_is_let_be_until_it_stays_the_same(
    folder: Path, model: ItemModel
) -> None:
    shop, coming = Shop(folder), folder / name(MONDAY + PERIOD)
    shop.look(at_once=False)
    put(model, coming, "new")
    card = (coming / "manifest.json").read_bytes()
    (coming / "manifest.json").write_bytes(card[:100])
    shop.look(at_once=False)
    (coming / "manifest.json").write_bytes(card)
    shop.look(at_once=False)
    assert (shop.told.swaps, shop.told.refusals) == ([], [])
    shop.look(at_once=False)
    assert (shop.told.swaps, shop.told.refusals) == ([MONDAY + PERIOD], [])


# -- what is refused -------------------------------------------------------------------------------


def cut(place: Path) -> None:
    os.truncate(place / "arrays.safetensors", 100)


def altered(place: Path) -> None:
    data = (place / "items.json").read_bytes()
    (place / "items.json").write_bytes(data[:-1] + b"?")


def forge(place: Path) -> None:
    (place / "manifest.json").write_text('{"kind": "tastes", "files": {}}')


def no_card(place: Path) -> None:
    (place / "manifest.json").unlink()


def a_pipe(place: Path) -> None:
    """Whoever opened it would wait for ever."""
    (place / "manifest.json").unlink()
    os.mkfifo(place / "manifest.json")


def nothing(place: Path) -> None:
    for path in place.iterdir():
        path.unlink()


def a_model_of_places(place: Path) -> None:
    shutil.rmtree(place)
    collections.save(small_map(), place)


DAMAGES = [cut, altered, forge, no_card, a_pipe, nothing, a_model_of_places]


@pytest.mark.parametrize(
    ("damage", "day"), [(cut, MONDAY), *((damage, MONDAY + PERIOD) for damage in DAMAGES)]
)
def test_what_cannot_be_used_leaves_the_old_one_and_is_said_once(
    folder: Path, model: ItemModel, day: int, damage: Callable[[Path], None]
) -> None:
    """Planted bug: a corrupt model is swapped in."""
    shop = Shop(folder)
    before, place = shop.holder.versions, folder / name(day)
    put(model, place, "old", people=7)
    damage(place)
    for _ in range(4):
        shop.look(at_once=False)
    assert (shop.holder.versions, shop.told.swaps) == (before, [])
    [line] = shop.told.refusals
    assert line.startswith(f"{place} is not taken: ")
    assert line.isprintable()
    shop.look()  # asked for it, an operator hears it again
    assert shop.told.refusals == [line] * 2
    put(model, place, "old", people=7)
    shop.look()
    assert (shop.told.swaps, len(shop.told.refusals)) == ([day], 2)


@pytest.mark.parametrize("since", [0, -PERIOD, PERIOD], ids=["same", "before", "after"])
def test_what_devices_hold_of_a_monday_that_has_come_never_changes(
    folder: Path, model: ItemModel, since: int
) -> None:
    """Planted bug: a catalog under the same Monday, whose answers all devices would refuse."""
    put(model, folder / name(MONDAY - PERIOD), "oldest")
    shop = Shop(folder, today=MONDAY + PERIOD + 1)
    place = put(model, folder / name(MONDAY + since), "another")
    shop.look()
    coming = name(MONDAY + 2 * PERIOD)
    why = "devices hold other items since that Monday; name it by a Monday to come"
    assert shop.told.refusals == [f"{place} is not taken: {why}, {coming}"]
    assert [shop.serves(MONDAY + each) for each in (-PERIOD, 0, PERIOD)] == ["oldest", "old", "old"]
    place.rename(folder / name(MONDAY + 2 * PERIOD))
    shop.look()
    assert shop.told.swaps == [MONDAY + 2 * PERIOD]


def test_a_name_of_another_day_is_said_once_and_stops_no_live_values(folder: Path) -> None:
    shop = Shop(folder)
    (folder / name(MONDAY + 1)).mkdir()
    for _ in range(3):
        shop.look(at_once=False)
    assert len(shop.told.refusals) == 1
    assert "a Monday: that is when devices look for a new version" in shop.told.refusals[0]


def test_two_looks_at_a_folder_that_cannot_be_read_say_so_once(folder: Path) -> None:
    shop = Shop(folder)
    folder.rename(folder.with_name("elsewhere"))
    for _ in range(2):
        shop.look(at_once=False)
    assert shop.told.refusals == [f"{folder} cannot be read: No such file or directory"]
    assert shop.serves(MONDAY) == "old"


def test_a_start_with_what_cannot_be_used_is_refused(folder: Path) -> None:
    cut(folder / name(MONDAY))
    with pytest.raises(ArtifactError, match="is not the file that its manifest names"):
        Shop(folder)


# -- under load ------------------------------------------------------------------------------------

SWAPS = 20


def shown(folder: Path, source: Path) -> None:
    """Puts another model in the place of the one in force, in one step."""
    link = folder.parent / "next"
    link.symlink_to(source)
    link.rename(folder / name(MONDAY))


async def test_no_call_fails_while_models_are_swapped_and_no_reply_mixes_two(
    tmp_path: Path, model: ItemModel
) -> None:
    """Planted bug: the old one is taken away before the new one is read."""
    folder = tmp_path / "models"
    folder.mkdir()
    sources = [put(model, tmp_path / f"model {n}", "old", people=n) for n in (1, 2, 3)]
    shown(folder, sources[0])
    shop = Shop(folder)
    noise = LatticeLaplace.for_epsilon(Fraction(4))
    signal = Signal(model.card.space.version, noise, (0,) * model.card.space.dimension)
    request = query_to_bytes(Query(signal, 4, catalog_date=MONDAY))
    server, seen = RunningServer([shop.service], ServerConfig()), set[bytes]()
    done = asyncio.Event()

    async def ask(call: Call) -> None:
        while not done.is_set():
            reply = await call(request, timeout=PATIENCE)
            seen.add(reply)

    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call: Call = channel.unary_unary("/askew.wire.v1.Retrieval/Retrieve")
        asking = [asyncio.create_task(ask(call)) for _ in range(4)]
        for n in range(1, SWAPS + 1):
            shown(folder, sources[n % 3])
            await asyncio.to_thread(shop.watch.look, at_once=True)
            assert len(slate_from_bytes(await call(request), model.card, 4).items) == 4
        done.set()
        await asyncio.gather(*asking)
    await server.stop(0)
    assert (len(shop.told.swaps), shop.told.refusals) == (SWAPS, [])
    assert len(seen) == 1


# -- the task --------------------------------------------------------------------------------------


@dataclass
class Script:
    """A serving that does what it is told, one look after the other."""

    looks: Iterator[object]
    snapshot: Snapshot = field(default_factory=lambda: snapshot_of(small_map()))
    changes: bool = True

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        what = next(self.looks, False)
        if isinstance(what, Exception):
            raise what
        if isinstance(what, Snapshot):
            self.snapshot = what
        return isinstance(what, Snapshot)


def scripted(*looks: object) -> tuple[SnapshotHolder, ModelWatch, Told]:
    script = Script(iter(looks))
    holder, told = SnapshotHolder(script.snapshot), Told()
    models = ServedModels(dict, reading(), lambda: TODAY, {FIRST: script})
    return holder, ModelWatch(models, holder, lambda _: {}, told, lambda: TODAY), told


async def test_what_was_taken_before_a_swap_stays_whole() -> None:
    second = snapshot_of(small_map())
    holder, watch, _ = scripted(second)
    taken = holder.current
    watch.look(at_once=True)
    assert taken is not second
    assert holder.current is second


async def test_it_looks_at_once_when_woken_and_an_error_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bugs: the event wakes nothing; an error ends the task."""
    monkeypatch.setattr(models, "_EVERY", 3600)
    next_one = snapshot_of(small_map())
    holder, watch, told = scripted(ValueError("a secret value"), False, next_one)
    swapped, wake = asyncio.Event(), asyncio.Event()
    loop, swap = asyncio.get_running_loop(), holder.swap

    def noticed(snapshot: Snapshot) -> None:
        swap(snapshot)
        loop.call_soon_threadsafe(swapped.set)

    monkeypatch.setattr(holder, "swap", noticed)
    task = asyncio.create_task(watch.run(wake))

    async def keep_waking() -> None:
        while not swapped.is_set():
            wake.set()
            await asyncio.sleep(0)

    await asyncio.wait_for(keep_waking(), 20)
    assert holder.current is next_one
    assert [type(each) for each in told.errors] == [ValueError]
    assert told.refusals == ["no look at the models"]
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
