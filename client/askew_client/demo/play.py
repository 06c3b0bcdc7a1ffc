"""`askew demo`: a made-up person asks a real server what is near, and the screen explains it."""

from __future__ import annotations

import asyncio
import signal
import tempfile

from askew.noise.randomness import SystemBits
from askew_client.catalog.cache import CatalogCache
from askew_client.demo.measured import COLLECTION, MeasuredDevice
from askew_client.demo.person import HOME, PLACE, PREFERENCES
from askew_client.demo.screen import DemoScreen
from askew_client.demo.server import demo_server, rehearsal
from askew_client.opening import Device, files_of
from askew_client.profile.store import ProfileStore
from askew_client.settings.config import places
from askew_client.settings.settings import ClientSettings
from askew_client.signals.store import SignalStore
from askew_client.transport.grpc import GrpcTransport
from askew_client.transport.shaped import KeptLibrary, ShapedTransport

OTHER = "pharmacies"


class TappedTransport(GrpcTransport):
    """The network, with a note of every question as it travels."""

    def __init__(self, target: str, timeout: float) -> None:
        super().__init__(target, timeout)
        self.sent: list[bytes] = []

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply's bytes to one call, and keep a question that is sent, at the end of
        `sent`.
        """
        if method == "Retrieve":
            self.sent.append(request)
        return await super().call(method, request)


async def play(settings: ClientSettings, draws: int, screen: DemoScreen) -> None:
    """Play the exchange on this screen, with `draws` draws of the noise. Leaves nothing behind:
    neither a process nor a file.
    """
    end_in_order_on(signal.SIGINT, signal.SIGTERM)
    screen.opening()
    with tempfile.TemporaryDirectory(prefix="askew-demo-") as directory:
        async with (
            rehearsal() as others,  # starts meanwhile
            demo_server("places") as address,
        ):
            network = TappedTransport(address, settings.timeout)
            async with network:
                await network.check_health()
            screen.listening(address)
            device = _device(directory, settings, network, address)
            card = await device.nearby.connect()
            screen.person(card)
            measured = MeasuredDevice(settings, card, SystemBits())
            place = device.places.add(PLACE, HOME)
            question = device.nearby.question(COLLECTION, PLACE, PREFERENCES)
            (answer,) = await device.asker.ask(question)
            screen.question(place, answer, network.sent[0], measured.distance(answer.sent))
            screen.answer(answer, settings.map_noise)
            comparison = await measured.comparison(others)
            with screen.progress(draws) as step:
                for _ in range(draws):
                    await measured.draw(others, comparison)
                    step()
            screen.quality(comparison, answer.k, draws)
            # The same question without preferences, and one about another collection.
            (again,) = await device.asker.ask(device.nearby.question(COLLECTION, PLACE))
            (other,) = await device.asker.ask(device.nearby.question(OTHER, PLACE))
            first, second, _ = network.sent
            same = first == second and again.sent == other.sent == answer.sent
            cost = device.places.price()
            screen.ledger(cost, OTHER, same=same, charged=cost.spent != cost.epsilon)
    screen.closing()


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


def end_in_order_on(*numbers: signal.Signals) -> None:
    """Let these signals cancel the running task, the demo: on its way out it stops its processes
    and removes its files.
    """
    task = asyncio.current_task()
    if task is not None:
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
