"""`askew demo`: a made-up person asks a real server what is near, in 80 columns of text."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Mapping
from math import ceil, log
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from askew.noise.randomness import SystemBits
from askew.protocol.cards import MetricCard
from askew.spaces.map import MapNoise, Position
from askew_client.catalog.cache import CatalogCache
from askew_client.demo.measured import (
    COLLECTION,
    COUNTRY,
    HOME,
    PLACE,
    PREFERENCES,
    TOWN,
    TOWNS,
    Draws,
    Measured,
    means,
)
from askew_client.demo.server import demo_server
from askew_client.near.sources import great_circle
from askew_client.opening import Device, files_of
from askew_client.profile.store import ProfileStore
from askew_client.settings.config import places
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.transport.grpc import GrpcTransport
from askew_client.transport.shaped import KeptLibrary, ShapedTransport
from askew_client.views.answers import NearAnswer, NearResult, PlaceView
from askew_client.views.cost import Cost, at_most
from askew_client.views.place_map import PlaceHeatMap, Scene, legend, lines, rank_sign

WIDTH: Final = 80
OTHER: Final = "pharmacies"
_LISTED = 8  # results in the table; the map has all
_COLUMNS, _ROWS = 76, 20


class TappedTransport(GrpcTransport):
    """The network, with a note of every question as it travels."""

    def __init__(self, target: str, timeout: float) -> None:
        super().__init__(target, timeout)
        self.sent: list[bytes] = []

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply's bytes to one call. A question ("Retrieve") is added at the end of
        `sent` before it is called, so one whose call fails is there too.
        """
        if method == "Retrieve":
            self.sent.append(request)
        return await super().call(method, request)


async def play(settings: ClientSettings, draws: int, console: Console) -> None:
    """Play the exchange on a terminal of at most 80 columns, with `draws` draws of the noise, at
    least one. Leave nothing behind: neither a process nor a file.
    """
    # SIGTERM would end us before the processes are stopped and the files removed.
    task = asyncio.current_task()
    if task is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    demo = _Screen(console)
    demo.head("Askew: what is near me that I would like, without saying where I am")
    demo.say("Starting askew-server as a separate process ...")
    with tempfile.TemporaryDirectory(prefix="askew-demo-") as directory:
        async with (
            demo_server("places") as address,
            demo_server("places") as measuring,
            GrpcTransport(measuring, settings.timeout) as asked,
        ):
            network = TappedTransport(address, settings.timeout)
            async with network:
                await network.check_health()
            demo.say(f"It listens on {address} and is healthy.")
            device = _device(directory, settings, network, address)
            card = await device.nearby.connect()
            demo.show_person(card)
            measured = Measured(asked, card, settings, SystemBits())
            place = device.places.add(PLACE, HOME)
            question = device.nearby.question(COLLECTION, PLACE, PREFERENCES)
            (answer,) = await device.asker.ask(question)
            demo.show_question(place, answer, network.sent[0])
            demo.show_answer(answer, settings.map_noise)
            demo.head("4  How good is the pick?")
            await measured.begin()
            columns = (TextColumn("  {task.description}"), BarColumn(30), MofNCompleteColumn())
            with Progress(*columns, console=console, transient=True) as bar:
                for _ in bar.track(range(draws), description="drawing the noise again"):
                    await measured.draw()
            demo.show_quality(measured.draws, answer.k, draws)
            # The same question without preferences, and one about another collection.
            (again,) = await device.asker.ask(device.nearby.question(COLLECTION, PLACE))
            (other,) = await device.asker.ask(device.nearby.question(OTHER, PLACE))
            first, second, _ = network.sent
            same = first == second and again.sent == other.sent == answer.sent
            demo.show_ledger(device.places.price(), same=same)
    demo.say("", "Both servers have stopped. The one of steps 1 to 5 never heard home or pick.", "")
    demo.say("To ask such a server in a browser, with a map, at http://127.0.0.1:7572:")
    demo.say("  askew-server serve --demo places --web")


def _device(
    directory: str, settings: ClientSettings, network: TappedTransport, address: str
) -> Device:
    files, bits = places(directory), SystemBits()
    signals = SignalStore(files.ledger, settings.caps, files.mark)
    profile = ProfileStore(files.profile)
    shaped = ShapedTransport(lambda: network, files_of(address, settings), settings.interval)
    library = KeptLibrary(
        CatalogCache(files.held), shaped.source, settings.byte_budget, shaped.call
    )
    return Device(shaped, settings, library=library, profile=profile, signals=signals, bits=bits)


class _Screen:
    """The steps of the demo. Whatever came from a server is text, never markup."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def head(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, "bold"))

    def say(self, *lines: str) -> None:
        for line in lines:
            self._console.print(Text(line))

    def show_person(self, card: MetricCard) -> None:
        for collection in card.collections:
            self.say(f"Its collection {collection.name}: {collection.n_items:,} items,")
            self.say(f"  {collection.source}.")
        self.head("1  The person (made up): all of this stays on the device")
        self.say(f"  {PLACE:<8} in {TOWN}, {COUNTRY}, at {_degrees(HOME)}")
        for name, kinds in PREFERENCES.likes.items():
            for at, (kind, worth) in enumerate(kinds.items()):
                wish = "nearer" if worth > 0 else "farther"
                label = name if at == 0 else ""
                self.say(f"  {label:<8} {kind} counts as {abs(worth):g} km {wish}")
        for name, most in PREFERENCES.at_most.items():
            self.say(f"  {name:<8} at most {most:g} EUR, or it is no pick")
        for name in PREFERENCES.only:
            self.say(f"  {name}, as it is now, or it is no pick")

    def show_question(self, place: PlaceView, answer: NearAnswer, sent: bytes) -> None:
        km = great_circle(place.true, answer.sent)
        self.head("2  What is true, and what left the device")
        self.say(
            f"  {PLACE:<14}  {_degrees(Position(*place.true))}   on this screen only",
            f"  noisy position  {_degrees(Position(*answer.sent))}   sent",
            f"  They are {km:.1f} km apart, which only this screen knows. The noise was drawn",
            f"  once, when {PLACE} was added: every server gets this position, every month.",
            f"  The whole question is {len(sent)} bytes: the noisy position and its law, the",
            f"  number of {answer.collection}, and k = {answer.k}; no preference, no clock.",
        )

    def show_answer(self, answer: NearAnswer, noise: MapNoise) -> None:
        self.head(f"3  The {answer.k} results that came back, ranked on the device")
        rows = _table(2)
        for name in ("", "", "km", "kind", "EUR", "title", ""):
            rows.add_column(name, justify="right" if name in {"km", "EUR"} else "left")
        for result in answer.results[:_LISTED]:
            rows.add_row(*_row(result))
        self._console.print(rows)
        if len(answer.results) > _LISTED:
            self.say(f"  and {len(answer.results) - _LISTED} more, which the map has")
        if answer.none_passes:
            self.say("  No result passes the filter. The device says so, and does not ask again.")
        self._map(answer, noise)

    def show_quality(self, ways: Mapping[str, Draws], k: int, draws: int) -> None:
        self.say(
            f"  Mean of {draws} draws of the noise; a second server answered, none was charged.",
            "  nearest: how many km farther the nearest result is than the nearest place",
            "  pick:    how much worse the pick is than the best place, in km, each like",
            "           counting as the km that it is worth",
            "  no pick: how often no result passes the filters",
        )
        rows = _table(4)
        for name in ("", "nearest", "pick", "no pick"):
            rows.add_column(name, justify="right" if name else "left")
        for label, way, style in (
            (f"no privacy: the {k} nearest to {PLACE}", "known", ""),
            (f"Askew: noisy position, k = {k}", "askew", "bold"),
            (f"the {k} nearest to the noisy position", "nearest", ""),
            ("the noisy position, k = 1", "one", ""),
        ):
            nearest, worse, none = means(ways[way])
            pick = "" if worse is None else f"{worse:.1f}"
            rows.add_row(label, f"{nearest:.1f}", pick, f"{none:.0%}", style=style)
        self._console.print(rows)

    def show_ledger(self, cost: Cost, *, same: bool) -> None:
        self.head("5  What the budget ledger says")
        sent = "the same position" if same else "ANOTHER POSITION"
        price = "A NEW CHARGE" if cost.spent != cost.epsilon else "no new charge"
        odds = [f"    {_odds(cost, km):<14}if they are {km} km apart" for km in (1, 5, 10, 100)]
        self.say(
            f"  one noisy position of {PLACE}: epsilon {float(cost.epsilon):.4g} per km",
            f"  spent {at_most(cost.spent, 3)} of a lifetime cap of {float(cost.cap):g}, "
            "all places together",
            f"  Asked again, and about {OTHER}: {sent}, and {price}.",
            "",
            "  In words: whatever somebody believed before, what was sent changes the odds",
            "  between two places at most",
            *odds,
            "  Far places are meant to be told apart, and near ones hardly can be.",
        )

    def _map(self, answer: NearAnswer, noise: MapNoise) -> None:
        scene = Scene(
            you=HOME,
            heat_map=PlaceHeatMap(Position(*answer.sent), float(noise.epsilon), noise.cosine),
            results=tuple(Position(*result.coordinates) for result in answer.results),
            picked=None if answer.pick is None else answer.pick.rank - 1,
            towns=TOWNS,
        )
        width = min(_COLUMNS, self._console.width - 4)
        self.say("")
        for line in lines(scene, scene.frame(width, _ROWS)):
            self.say(f"  {line}".rstrip())
        self.say("")
        said = legend(scene)
        for at in range(0, len(said), 3):
            self.say("  " + "   ".join(said[at : at + 3]))


def _table(between: int) -> Table:
    padding = (0, between - between // 2, 0, between // 2)
    return Table(box=None, pad_edge=False, header_style="dim", padding=padding)


def _row(each: NearResult) -> tuple[str | Text, ...]:
    values = each.values
    dear = values["free table"] is True
    note = Text("" if each.passes else "too dear" if dear else "no free table")
    if each.picked:
        note = Text("the pick: never sent", "bold green")
    price = values["price"]
    shown = "" if price is None else f"{price:.1f}"
    kind, title = Text(str(values["kind"])), Text(each.title)
    return "", rank_sign(each.rank), f"{each.distance:.1f}", kind, shown, title, note


def _degrees(position: Position) -> str:
    return f"{position.latitude:8.4f} north {position.longitude:8.4f} east"


def _odds(cost: Cost, km: float) -> str:
    # Rounded up; a large factor as a power of ten.
    loss = float(cost.charge.epsilon_per_km) * km
    return cost.times_at(km) if loss < 10 else f"10^{ceil(loss / log(10))} times"
