"""`askew ask` and `askew catalog`, wired to a real network and a real store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from askew.model_card import Catalog, Item
from askew.privacy import SignalLoss
from askew.randomness import SystemBits
from askew_client.exchange import Exchange
from askew_client.grpc_transport import GrpcTransport
from askew_client.profile_store import read_ratings
from askew_client.settings import ClientSettings
from askew_client.signal_store import SignalStore


@dataclass(frozen=True)
class Cost:
    """What this month's signal costs, and what this device has spent in all."""

    loss: SignalLoss
    wanted: SignalLoss
    spent: Fraction
    cap: Fraction

    def as_lines(self) -> Iterator[str]:
        """The cost in words."""
        epsilon, one = float(self.loss.epsilon), float(self.loss.epsilon_per_rating)
        near = self.loss.epsilon_per_distance
        rate = f"epsilon {float(near):.3g} per unit distance, " if near is not None else ""
        yield (
            f"(this month's signal: {rate}{one:.3g} for one rating, at most {epsilon:.3g} between "
            f"any two people; spent {float(self.spent):.4g} of {float(self.cap):g})"
        )
        if self.loss != self.wanted:
            yield "(it was drawn earlier; the settings asked for now count from next month on)"

    def as_json(self) -> dict[str, float | None]:
        """The cost as numbers."""
        near = self.loss.epsilon_per_distance
        return {
            "epsilon_per_distance": float(near) if near is not None else None,
            "epsilon_per_rating": float(self.loss.epsilon_per_rating),
            "epsilon_between_any_two": float(self.loss.epsilon),
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
        loss=query.signal.mechanism.privacy_loss(card.space.encoder.reach()),
        wanted=exchange.loss,
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
