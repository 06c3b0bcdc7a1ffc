"""`askew ask` and `askew catalog`, wired to a real network and a real store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from askew.lattice import Lattice
from askew.model_card import Catalog, Item
from askew.privacy import MetricPrivacy
from askew.randomness import SystemBits
from askew_client.exchange import Exchange
from askew_client.grpc_transport import GrpcTransport
from askew_client.ratings_csv import read_ratings
from askew_client.settings import ClientSettings
from askew_client.signal_store import SignalStore


@dataclass(frozen=True)
class Cost:
    """What this month's signal costs, and what this device has spent in all."""

    loss: MetricPrivacy
    diameter: float
    wanted: Fraction
    spent: Fraction
    cap: Fraction

    def as_lines(self) -> Iterator[str]:
        """The cost in words."""
        epsilon = float(self.loss.epsilon_per_distance)
        worst = self.loss.at_distance(self.diameter)
        yield (
            f"(this month's signal: epsilon {epsilon:g} per unit distance, at most {worst:.3g} "
            f"between any two people; spent {float(self.spent):g} of {float(self.cap):g})"
        )
        if self.loss.epsilon_per_distance != self.wanted:
            yield "(it was drawn earlier; the epsilon asked for now counts from next month on)"

    def as_json(self) -> dict[str, float]:
        """The cost as numbers."""
        return {
            "epsilon_per_distance": float(self.loss.epsilon_per_distance),
            "epsilon_between_any_two": self.loss.at_distance(self.diameter),
            "spent": float(self.spent),
            "lifetime_cap": float(self.cap),
        }


@dataclass(frozen=True)
class Ranking:
    """The results, best first, and the pick. For the person's own eyes."""

    source: str
    simulated: bool
    cost: Cost
    picked: Item = field(repr=False)
    items: tuple[Item, ...] = field(repr=False)

    def as_lines(self) -> Iterator[str]:
        """The ranking as text, the pick marked."""
        for item in self.items:
            yield f"{'*' if item is self.picked else ' '} {item.label}"
        yield f"({self.source}; * is your pick, chosen on this device)"
        yield from self.cost.as_lines()

    def as_json(self) -> dict[str, object]:
        """The ranking as JSON values."""
        return {
            "pick": self.picked.label,
            "results": [item.label for item in self.items],
            "source": self.source,
            "simulated": self.simulated,
            "cost": self.cost.as_json(),
        }


async def ask_once(
    settings: ClientSettings, server: str, lines: Sequence[str], slot: str, ledger: Path
) -> Ranking:
    """One question of this slot. Everything that can be refused is, before anything is drawn."""
    async with GrpcTransport(server, settings.timeout) as network:
        card = await network.model_card()
        catalog = await network.catalog(card)
        ratings = read_ratings(lines, catalog, card.space.scale)
        exchange = Exchange(card, catalog, settings, ratings)
        store = SignalStore(ledger, settings.lifetime_cap)
        query = exchange.ask(slot, store, SystemBits())
        slate = await network.retrieve(query, card)
    cost = Cost(
        loss=query.signal.lattice.privacy_loss(),
        diameter=card.space.diameter,
        wanted=Lattice.for_epsilon(settings.epsilon).epsilon,
        spent=store.spent(),
        cap=settings.lifetime_cap,
    )
    return Ranking(
        source=card.source,
        simulated=card.simulated,
        cost=cost,
        picked=catalog.items[exchange.pick(slate)],
        items=tuple(catalog.items[item] for item in exchange.rank(slate)),
    )


async def fetch_catalog(server: str) -> Catalog:
    """The whole public catalog."""
    async with GrpcTransport(server, ClientSettings().timeout) as network:
        return await network.catalog(await network.model_card())
