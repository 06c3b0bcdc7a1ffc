"""What the numbers of an exchange mean to a person, as values to show.

The one place of the device's screens and commands that knows what signals, spaces and scores are.
For the person's own eyes; nothing here is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.lattice import Lattice
from askew.model_card import Catalog, Item, ModelCard
from askew.randomness import RandomBits
from askew.ranking import Ranking, Slate
from askew.retrieval import offsets_of
from askew.signal import Mechanism, Signal
from askew.vectors import RatingScale
from askew_client.exchange import Exchange, Question, mechanism_for
from askew_client.forecast.forecast import Expectation, needs_prior
from askew_client.ledger.record import Remembered
from askew_client.ledger.store import Account
from askew_client.profile.document import Liking
from askew_client.profile.title_search import title_key
from askew_client.settings.settings import ClientSettings
from askew_client.views.values import (
    Answer,
    Bar,
    Connection,
    Cost,
    Departure,
    Forecast,
    NoisePicture,
    Quote,
    Result,
    Title,
)

_PICTURE = 121  # points of a density, so that a wide terminal has one for each column


def connection_of(card: ModelCard, catalog: Catalog) -> Connection:
    """What a server says of itself."""
    return Connection(
        source=card.source,
        simulated=card.simulated,
        n_items=card.n_items,
        dimension=card.space.dimension,
        map_axes=map_axes_of(card, catalog),
        diameter=float(card.space.diameter),
        space_version=card.space.version,
        catalog_version=card.catalog_version,
        lowest_rating=card.space.scale.lowest,
        highest_rating=card.space.scale.highest,
    )


def map_axes_of(card: ModelCard, catalog: Catalog) -> tuple[int, ...]:
    """The two coordinates along which the catalog's items score most differently, ascending.

    By the card and the catalog alone, so a map is the same for everybody and says nothing of whom
    it is for.
    """
    spread = (catalog.scoring @ card.space.encoder.directions).std(axis=0)  # (d,)
    return tuple(sorted(np.argsort(-spread, kind="stable")[:2].tolist()))


def title_of(item: Item) -> Title:
    """An item as text."""
    return Title(item.label, item.title, item.genres)


def items_by_text(catalog: Catalog) -> dict[str, int]:
    """Item ids by `title_key` of what people type: a label, or a title that one item has.

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

    likings are by `title_key`. A like is the best rating of the scale; a number beyond the scale is
    its nearest end; a title that the catalog lacks is skipped.
    """
    rated = ((known.get(key), liking) for key, liking in likings.items())
    return {
        item: scale.highest if liking is None else min(max(liking, scale.lowest), scale.highest)
        for item, liking in rated
        if item is not None
    }


def bars_of(exchange: Exchange) -> tuple[Bar, ...]:
    """The private point that noise is added to, coordinate by coordinate."""
    unit = exchange.card.space.encoder.unit
    values = exchange.profile.point.tolist()
    return tuple(Bar(f"direction {n}", 0.0, unit, value) for n, value in enumerate(values, 1))


def answer_of(
    exchange: Exchange, question: Question, slate: Slate, slot: str, unused: int
) -> Answer:
    """A question and its private ranking. Raises Malformed for a hostile slate."""
    results = results_of(exchange, exchange.rank(slate))
    remembered = question.remembered
    return Answer(
        departure=departure_of(exchange, remembered, slot),
        cost=cost_of(
            exchange.card, exchange.settings, remembered.signal.mechanism, remembered.spent
        ),
        source=exchange.card.source,
        simulated=exchange.card.simulated,
        results=results,
        used=len(exchange.ratings),
        unused=unused,
    )


def departure_of(exchange: Exchange, remembered: Remembered, slot: str) -> Departure:
    """What leaves, beside what is true."""
    signal = remembered.signal
    is_point = isinstance(signal.mechanism, Lattice)
    return Departure(
        values=signal.values,
        mechanism=_mechanism_in_words(signal.mechanism),
        slot=slot,
        fresh=remembered.fresh,
        point=tuple(signal.point().tolist()) if is_point else None,
        true_point=tuple(exchange.profile.point.tolist()),
    )


def cost_of(
    card: ModelCard, settings: ClientSettings, mechanism: Mechanism, spent: Fraction
) -> Cost:
    """What a signal of this mechanism costs."""
    reach = card.space.encoder.reach()
    loss, wanted = (each.privacy_loss(reach) for each in (mechanism, mechanism_for(card, settings)))
    near = loss.epsilon_per_distance
    return Cost(
        epsilon=loss.epsilon if near is None else near,
        metric=near is not None,
        one_rating=float(loss.epsilon_per_rating),
        between_any_two=float(loss.epsilon),
        wanted=wanted.epsilon_per_distance or wanted.epsilon,
        spent=spent,
        cap=settings.lifetime_cap,
    )


def quote_of(
    card: ModelCard, settings: ClientSettings, account: Account, slot: str, stored: Signal | None
) -> Quote:
    """What a question costs, before it is asked."""
    mechanism = mechanism_for(card, settings) if stored is None else stored.mechanism
    spent_this_slot = account.spent_in(slot)
    return Quote(
        cost=cost_of(card, settings, mechanism, account.spent),
        slot=slot,
        fresh=stored is None,
        second_space=stored is None and spent_this_slot > 0,
        spent_this_slot=spent_this_slot,
        monthly_cap=settings.monthly_cap,
    )


def results_of(exchange: Exchange, ranking: Ranking) -> tuple[Result, ...]:
    """The private ranking as lines, best first, the pick marked."""
    return tuple(
        Result(
            place=place,
            title=title_of(exchange.catalog.items[item]),
            seen=item in exchange.ratings,
            picked=item == ranking.pick,
            score=ranking.scores[item],
            why=_why(exchange, item, place),
        )
        for place, item in enumerate(ranking.order, 1)
    )


def _why(exchange: Exchange, item: int, place: int) -> str:
    """The item's place, and the like that adds most to its score."""
    catalog, scale = exchange.catalog, exchange.card.space.scale
    liked = [i for i, rating in exchange.ratings.items() if scale.is_like(rating) and i != item]
    shares = catalog.vectors[liked] @ catalog.scoring[item]
    text = f"number {place} of these for you"
    if not liked or not shares.max() > 0:
        return text
    return f"{text}, most of all because you like {catalog.items[liked[shares.argmax()]].label}"


def forecast_of(
    exchange: Exchange, settings: ClientSettings, draws: int, bits: RandomBits
) -> Forecast:
    """What other settings would give this person on average, by playing the public rule."""
    changed = replace(exchange, settings=settings)
    expectation = Expectation(changed, bits)
    for _ in range(draws):
        expectation.draw()
    comparison = expectation.comparison()
    return Forecast(
        epsilon=settings.epsilon,
        k=settings.k,
        between_any_two=float(changed.loss.epsilon),
        estimated=needs_prior(changed),
        place=comparison.many.place,
        place_without_signal=comparison.nothing_sent.place,
        place_without_privacy=comparison.no_privacy.place,
    )


def check_point(settings: ClientSettings) -> None:
    """Raises ParameterError for buckets: they are no noise on a point."""
    if settings.mechanism != "geo_laplace":
        limit = "geo_laplace for a picture of its noise: a bucket has none"
        raise ParameterError("mechanism", settings.mechanism, limit)


def noise_of(card: ModelCard, epsilon: Fraction, k: int) -> NoisePicture:
    """The density of the noise on one coordinate, and the offsets that suit it."""
    lattice = Lattice.for_epsilon(epsilon)
    rate, dimension = float(lattice.epsilon), card.space.dimension
    reach: NDArray[np.float64] = np.linspace(-4 / rate, 4 / rate, _PICTURE)
    density = rate / 2 * np.exp(-rate * np.abs(reach))
    offsets = offsets_of(card.rule.kind, rate, dimension, k)
    points = tuple(tuple(each) for each in offsets.tolist())
    return NoisePicture(epsilon, tuple(reach.tolist()), tuple(density.tolist()), points)


def _mechanism_in_words(mechanism: Mechanism) -> str:
    if isinstance(mechanism, Lattice):
        return f"lattice noise in steps of 2^-{mechanism.step_exponent}"
    return f"randomized response over {mechanism.buckets} buckets"
