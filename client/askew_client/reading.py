"""What the numbers of an exchange mean to a person, as values to show.

The one place of the device's screens and commands that knows how a space measures: distances, the
lattice, bounds. For the person's own eyes; nothing here is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.placement import OffsetRule
from askew.randomness import RandomBits
from askew.ranking import Slate, distances
from askew.signal import Query
from askew.vectors import RatingScale
from askew_client.exchange import Exchange
from askew_client.expectation import Expectation
from askew_client.outcomes import (
    Bar,
    Connection,
    Cost,
    Departure,
    Forecast,
    NoisePicture,
    Result,
    Title,
)
from askew_client.profile_document import Liking
from askew_client.settings import ClientSettings
from askew_client.title_search import title_key

_PICTURE = 121  # points of a density, so that a wide terminal has one for each column


def connection_of(card: ModelCard) -> Connection:
    """What a server says of itself."""
    return Connection(
        source=card.source,
        simulated=card.simulated,
        n_items=card.n_items,
        dimension=card.space.dimension,
        diameter=card.space.diameter,
        space_version=card.space.version,
        catalog_version=card.catalog_version,
        lowest_rating=card.space.scale.lowest,
        highest_rating=card.space.scale.highest,
    )


def title_of(item: Item) -> Title:
    """An item as text."""
    return Title(item.label, item.title, item.genres)


def items_by_text(catalog: Catalog) -> dict[str, int]:
    """Item ids by `title_key` of what people type: a label, or a title that is clear alone.

    Of two items with one label the lower id counts.
    """
    titles: dict[str, int | None] = {}
    for number, item in enumerate(catalog.items):
        key = title_key(item.title)
        titles[key] = None if key in titles else number
    found = {text: number for text, number in titles.items() if number is not None}
    labels = {
        title_key(item.label): number for number, item in reversed([*enumerate(catalog.items)])
    }
    return found | labels


def ratings_of(
    likings: Mapping[str, Liking], known: Mapping[str, int], scale: RatingScale
) -> dict[int, float]:
    """The ratings {item id: rating} that this catalog knows, on its server's scale.

    A like is the best rating of the scale; a number beyond the scale is its nearest end.
    """
    rated = ((known.get(title_key(label)), liking) for label, liking in likings.items())
    return {
        item: scale.highest if liking is None else min(max(liking, scale.lowest), scale.highest)
        for item, liking in rated
        if item is not None
    }


def bars_of(exchange: Exchange) -> tuple[Bar, ...]:
    """The private profile, coordinate by coordinate."""
    space = exchange.card.space
    bounds = zip(space.lower, space.upper, exchange.profile.vector.tolist(), strict=True)
    return tuple(Bar(f"direction {n}", *each) for n, each in enumerate(bounds, 1))


def departure_of(exchange: Exchange, query: Query, slot: str, *, fresh: bool) -> Departure:
    """What leaves, beside what is true."""
    signal = query.signal
    return Departure(
        values=signal.coordinates,
        mechanism=f"lattice noise in steps of 2^-{signal.lattice.step_exponent}",
        slot=slot,
        fresh=fresh,
        point=tuple(signal.vector(exchange.card.space.dimension).tolist()),
        true_point=tuple(exchange.profile.vector.tolist()),
    )


def cost_of(exchange: Exchange, query: Query, spent: Fraction) -> Cost:
    """What this slot's signal costs."""
    settings, loss = exchange.settings, query.signal.lattice.privacy_loss()
    return Cost(
        epsilon=loss.epsilon_per_distance,
        between_any_two=loss.at_distance(exchange.card.space.diameter),
        wanted=Lattice.for_epsilon(settings.epsilon).epsilon,
        spent=spent,
        cap=settings.lifetime_cap,
    )


def results_of(exchange: Exchange, slate: Slate) -> tuple[Result, ...]:
    """The private ranking, best first, and the pick. Raises Malformed for a hostile slate."""
    picked = exchange.pick(slate)
    scores = -distances(exchange.profile.vector, exchange.catalog.positions)
    return tuple(
        Result(
            place=place,
            title=title_of(exchange.catalog.items[item]),
            seen=item in exchange.ratings,
            picked=item == picked,
            score=float(scores[item]),
            why=_why(exchange, item, place),
        )
        for place, item in enumerate(exchange.rank(slate), 1)
    )


def _why(exchange: Exchange, item: int, place: int) -> str:
    """The item's place, and the best-rated title that lies nearest to it."""
    scale, items = exchange.card.space.scale, exchange.catalog.items
    liked = [i for i, rating in exchange.ratings.items() if scale.weight(rating) > 0 and i != item]
    text = f"number {place} of these for you"
    if not liked:
        return text
    positions = exchange.catalog.positions
    far = distances(positions[item].astype(np.float64), positions[liked])
    nearest = liked[int(np.argmin(far))]
    return f"{text}; of what you like, {items[nearest].label} is nearest to it"


def forecast_of(
    exchange: Exchange, settings: ClientSettings, draws: int, bits: RandomBits
) -> Forecast:
    """What other settings would give this person on average, by playing the public rule."""
    changed = replace(exchange, settings=settings)
    expectation = Expectation(changed, bits)
    for _ in range(draws):
        expectation.draw()
    comparison = expectation.comparison()
    loss = Lattice.for_epsilon(settings.epsilon).privacy_loss()
    return Forecast(
        epsilon=settings.epsilon,
        k=settings.k,
        between_any_two=loss.at_distance(exchange.card.space.diameter),
        place=comparison.many.place,
        place_without_signal=comparison.nothing_sent.place,
        place_without_privacy=comparison.no_privacy.place,
    )


def noise_of(card: ModelCard, catalog: Catalog, epsilon: Fraction, k: int) -> NoisePicture:
    """The density of the noise on one coordinate, and where the server looks around a signal."""
    lattice = Lattice.for_epsilon(epsilon)
    rate = float(lattice.epsilon)
    reach: NDArray[np.float64] = np.linspace(-4 / rate, 4 / rate, _PICTURE)
    density = rate / 2 * np.exp(-rate * np.abs(reach))
    offsets = OffsetRule(card.space, catalog.positions).offsets(lattice, k)
    points = tuple(tuple(each) for each in offsets.reshape(k, -1).tolist())
    return NoisePicture(epsilon, tuple(reach.tolist()), tuple(density.tolist()), points)
