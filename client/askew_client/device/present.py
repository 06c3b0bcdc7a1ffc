"""What the numbers of an exchange mean to a person, as values to show.

The one place of the device's screens and commands that knows what signals, spaces and scores are.
For the person's own eyes; nothing here is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

import numpy as np

from askew.catalog.catalog import Catalog
from askew.catalog.titles import TitleIndex
from askew.noise.lattice import LatticeLaplace
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Ranking
from askew.protocol.signal import Mechanism
from askew.spaces.vectors import RatingScale
from askew_client.profile.document import Liking
from askew_client.signals.asking import Question
from askew_client.taste.choice import Taken, in_words
from askew_client.taste.exchange import Exchange
from askew_client.views.answers import Answer, Bar, Connection, Departure, Result
from askew_client.views.quote import Cost, ModeView, Quote, Terms


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
    scores = (catalog.vectors @ card.space.encoder.directions) * catalog.boosts[:, None]
    spread = scores.std(axis=0)  # (d,)
    return tuple(sorted(np.argsort(-spread, kind="stable")[:2].tolist()))


def ratings_of(
    likings: Mapping[str, Liking], known: TitleIndex, scale: RatingScale
) -> tuple[dict[int, float], int]:
    """The ratings {item id: rating} that this catalog knows, on its server's scale, and how many it
    does not know.

    likings are by `title_key`. A like is the best rating of the scale; a number beyond the scale is
    its nearest end; a title that the catalog lacks is skipped.
    """
    rated = [(known.get(key), liking) for key, liking in likings.items()]
    found = {
        item: scale.highest if liking is None else min(max(liking, scale.lowest), scale.highest)
        for item, liking in rated
        if item is not None
    }
    return found, sum(item is None for item, _ in rated)


def bars_of(exchange: Exchange, ends: Sequence[tuple[str, str]]) -> tuple[Bar, ...]:
    """The private point that noise is added to, coordinate by coordinate. ends: `ends_of`."""
    unit = exchange.card.space.encoder.unit
    values = exchange.profile.point.tolist()
    return tuple(Bar(*names, 0.0, unit, value) for names, value in zip(ends, values, strict=True))


def ends_of(card: ModelCard, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """The labels that score most at the low and at the high end of each coordinate.

    By the card and the catalog alone, so the names are the same for everybody. Ties go to the
    lower id. O(n_items D d).
    """
    scores = catalog.scoring @ card.space.encoder.directions  # (n_items, d)
    ends = zip(scores.argmin(axis=0), scores.argmax(axis=0), strict=True)
    return tuple((catalog.items[low].label, catalog.items[high].label) for low, high in ends)


def answer_of(  # noqa: PLR0913
    exchange: Exchange,
    ranking: Ranking,
    *,
    mode: ModeView,
    came: Set[int] = frozenset(),
    departure: Departure | None = None,
    cost: Cost | None = None,
) -> Answer:
    """A private ranking, ready to show. came: what an answer brought."""
    return Answer(
        mode=mode,
        departure=departure,
        cost=cost,
        source=exchange.card.source,
        simulated=exchange.card.simulated,
        results=results_of(exchange, ranking, came),
        used=len(exchange.ratings),
        unused=exchange.unused,
    )


def departure_of(exchange: Exchange, question: Question) -> Departure:
    """What leaves, beside what is true."""
    signal = question.query.signal
    return Departure(
        values=signal.values,
        mechanism=f"lattice noise in steps of 2^-{signal.lattice.step_exponent}",
        month=question.price.month,
        fresh=question.price.fresh,
        point=tuple(signal.point().tolist()),
        true_point=tuple(exchange.profile.point.tolist()),
    )


def cost_after(asked: Exchange, question: Question) -> Cost:
    """What a question cost, beside what its settings would draw now."""
    drawn_by, price = question.query.signal.lattice, question.price
    spent, cap = price.spent_after, price.lifetime_cap
    return _cost(asked.card, drawn_by, asked.noise, spent, cap, fresh=price.fresh)


def quote_of(terms: Terms, taken: Taken, card: ModelCard) -> Quote:
    """What a question costs, before it is asked: nothing, where nothing would be sent."""
    cost, price = None, terms.price
    if price is not None:
        drawn_by = terms.mechanism if price.stored is None else price.stored
        spent, cap = price.spent, price.lifetime_cap
        cost = _cost(card, drawn_by, terms.mechanism, spent, cap, fresh=price.fresh)
    return Quote(terms, in_words(taken, card), cost)


def _cost(  # noqa: PLR0913  # a law, another one, a ledger
    card: ModelCard,
    drawn_by: Mechanism | None,
    wanted: Mechanism | None,
    spent: Fraction,
    cap: Fraction,
    *,
    fresh: bool,
) -> Cost:
    """What a signal costs, beside what the settings would draw now."""
    if not isinstance(drawn_by, LatticeLaplace) or not isinstance(wanted, LatticeLaplace):
        raise TypeError  # these are terms of tastes, which send a signal
    median, diameter = Fraction(card.median_distance), card.space.diameter
    return Cost(
        drawn_by.charge, spent, cap, fresh, median=median, diameter=diameter, wanted=wanted.epsilon
    )


def results_of(
    exchange: Exchange,
    ranking: Ranking,
    came: Set[int],
) -> tuple[Result, ...]:
    """The private ranking as lines, best first, the pick marked."""
    pick, reasons = ranking.best, _reasons(exchange, ranking)
    return tuple(
        [
            Result(
                place=place,
                title=exchange.catalog.items[item].label,
                seen=item in exchange.ratings,
                picked=item == pick,
                score=ranking.scores[item],
                why=f"number {place} of these for you{reason}",
                came=item in came,
            )
            for place, (item, reason) in enumerate(zip(ranking.order, reasons, strict=True), 1)
        ]
    )


def _reasons(exchange: Exchange, ranking: Ranking) -> list[str]:
    """For each item in order, the like that adds most to its score, if any does."""
    catalog, like_from = exchange.catalog, exchange.card.space.scale.like_from
    liked = [item for item, rating in exchange.ratings.items() if rating >= like_from]
    order = list(ranking.order)
    shares = catalog.scoring[order] @ catalog.vectors[liked].T  # (k, n)
    shares[np.equal.outer(order, liked)] = 0  # an item is no reason for itself
    if not liked:
        return [""] * len(order)
    best = zip(shares.argmax(axis=1).tolist(), shares.max(axis=1).tolist(), strict=True)
    return [
        f", most of all because you like {catalog.items[liked[at]].label}" if most > 0 else ""
        for at, most in best
    ]
