"""`askew demo`: a made-up person asks a real server what is near, and the screen explains it."""

from __future__ import annotations

import signal
import tempfile

from askew.metric_card import Card
from askew.ranking import Slate
from askew.signal import Query
from askew.wire.convert import query_to_bytes
from askew_client.client import open_companion, value_of
from askew_client.demo.comparison import Comparison
from askew_client.demo.measured import COLLECTION, MeasuredDevice
from askew_client.demo.near_screen import NearScreen
from askew_client.demo.rehearsal import Rehearsal, rehearsal
from askew_client.demo.resident import HOME, PLACE, WISHES
from askew_client.demo.server import demo_server, wait_until_healthy
from askew_client.demo.stopping import end_in_order_on
from askew_client.settings.settings import ClientSettings
from askew_client.transport.grpc import GrpcTransport

OTHER = "pharmacies"


class TappedTransport(GrpcTransport):
    """The network, with a note of every question as it travels."""

    def __init__(self, target: str, timeout: float) -> None:
        super().__init__(target, timeout)
        self.sent: list[bytes] = []

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """As any device does."""
        self.sent.append(query_to_bytes(query))
        return await super().retrieve(query, card)


async def play(settings: ClientSettings, draws: int, screen: NearScreen) -> None:
    """Play the exchange. Leaves nothing behind: neither a process nor a file."""
    end_in_order_on(signal.SIGINT, signal.SIGTERM)
    screen.opening()
    with tempfile.TemporaryDirectory(prefix="askew-demo-") as directory:
        async with (
            rehearsal() as others,  # starts meanwhile
            demo_server("places") as address,
            TappedTransport(address, settings.timeout) as network,
        ):
            await wait_until_healthy(network.channel)
            screen.listening(address)
            async with open_companion(settings, directory=directory, transport=network) as device:
                card = value_of(await device.nearby.connect())
                screen.person(card)
                place = device.nearby.add(PLACE, HOME)
                before = device.nearby.price()
                answer = value_of(await device.nearby.near(COLLECTION, PLACE, wishes=WISHES))
                measured = MeasuredDevice(settings, card)
                apart = measured.distance(answer.sent)
                screen.question(place, answer, network.sent[0], apart)
                screen.answer(answer, settings)
                comparison = await _measure(measured, others, draws, screen)
                screen.quality(comparison, settings.near_k, draws)
                again = value_of(await device.nearby.near(COLLECTION, PLACE))
                other = value_of(await device.nearby.near(OTHER, PLACE))
                first, second, _ = network.sent
                same = first == second and again.sent == other.sent == answer.sent
                after = device.nearby.price()
                screen.ledger(after, OTHER, same=same, charged=after.spent != before.spent)
    screen.closing()


async def _measure(
    device: MeasuredDevice, others: Rehearsal, draws: int, screen: NearScreen
) -> Comparison:
    comparison = await device.comparison(others)
    with screen.progress(draws) as step:
        for _ in range(draws):
            await device.draw(others, comparison)
            step()
    return comparison
