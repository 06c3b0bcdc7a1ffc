"""Ask, then pick: one person's side, played against the server's rule without a socket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from asked import query_of
from client.conftest import K4, Memory, Pair, SilentBits

from askew.catalog.catalog_file import FIRST
from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError, Malformed, ParameterError, ProfileError
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import ReplayBits
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query, Signal
from askew.wire.tastes import slate_from_bytes, slate_to_bytes
from askew_client.settings.settings import ClientSettings

Replay = Callable[[str], ReplayBits]

MONTH = "2026-11"
FAN = {3: 5.0, 0: 4.0, 9: 1.0}
STRANGER = {8: 5.0}


@pytest.mark.parametrize(
    ("ratings", "change"),
    [(FAN, {"k": 6}), (STRANGER, {}), (FAN, {"epsilon_per_rating": Fraction(1, 7)})],
    ids=["k", "the profile", "epsilon"],
)
def test_asking_again_sends_the_stored_signal_whatever_has_changed(
    pair: Pair, memory: Memory, replay: Replay, ratings: dict[int, float], change: dict[str, Any]
) -> None:
    """Planted bug: drawing again because the profile or a setting is another."""
    settings = replace(K4, **change)
    first = query_of(pair.exchange(FAN), MONTH, memory, replay("first"))
    again = query_of(pair.exchange(ratings, settings), MONTH, memory, replay("again"))
    assert again == Query(first.signal, settings.k, catalog_date=FIRST)
    assert memory.charges == [SignalCharge(Fraction(2))]


@pytest.mark.parametrize("epsilon", [Fraction(2), Fraction(7, 5)])
def test_the_charge_is_what_the_noise_guarantees_and_no_more_than_was_allowed(
    pair: Pair, memory: Memory, replay: Replay, epsilon: Fraction
) -> None:
    """Planted bug: charging the epsilon that was set instead of the lattice's own."""
    exchange = pair.exchange(FAN, replace(K4, epsilon_per_rating=epsilon))
    query = query_of(exchange, MONTH, memory, replay("first"))
    (charge,) = memory.charges
    assert charge.epsilon_per_rating == query.signal.lattice.epsilon <= epsilon


def test_what_can_be_refused_is_refused_before_a_byte_is_drawn(
    pair_in_a_space: Callable[..., Pair], memory: Memory, silent_bits: SilentBits
) -> None:
    """k above the server's, a wide space, a rating above the scale, and one that is no number."""
    for ratings, k, width in (
        (FAN, 7, 2.0),
        (FAN, 4, 16.5),
        ({1: 5.5}, 4, 2.0),
        ({1: float("nan")}, 4, 2.0),
    ):
        exchange = pair_in_a_space(width=width).exchange
        with pytest.raises(ParameterError if ratings is FAN else ProfileError):
            query_of(exchange(ratings, replace(K4, k=k)), MONTH, memory, silent_bits)
    assert memory.calls == []


def test_a_stored_signal_that_does_not_fit_its_space_is_not_sent(
    pair: Pair, memory: Memory, silent_bits: SilentBits
) -> None:
    """Planted bug: sending whatever the file holds."""
    exchange = pair.exchange(FAN)
    flat = Signal(exchange.model.card.space.version, LatticeLaplace(12, 1024), (5,))

    memory.signals[exchange.space_version, MONTH] = flat
    with pytest.raises(LedgerError, match="does not fit its space"):
        query_of(exchange, MONTH, memory, silent_bits)


def test_a_slate_that_scores_items_in_its_own_way_is_refused(pair: Pair) -> None:
    """Planted bug: ranking by the answer's word, which lets a server make any item the pick."""
    exchange = pair.exchange(FAN)
    data = slate_to_bytes(Slate.of_catalog(pair.catalog, (1, 2)), pair.card)
    honest = slate_from_bytes(data, pair.card, 2)
    exchange.check_slate(honest)
    moved = replace(honest, vectors=honest.vectors[::-1].copy())
    with pytest.raises(Malformed, match="scores items in another way"):
        exchange.check_slate(moved)


def test_no_ratings_are_asked_about_and_charged_like_any_other(
    pair: Pair, memory: Memory, replay: Replay
) -> None:
    """Planted bug: silence, or a lower price, for who rated nothing."""
    query = query_of(pair.exchange({}), MONTH, memory, replay("first"))
    assert memory.charges == [SignalCharge(Fraction(2))]
    assert query.signal.values == query.signal.lattice.perturb(
        pair.exchange({9: 1.0}).profile.point, replay("first")
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_pick_and_the_order_equal_brute_force(pair: Pair, seed: int) -> None:
    """Planted bugs: scoring with the signal, picking a rated item, ranking by id."""
    chance = np.random.default_rng(seed)
    rated = chance.choice(12, size=chance.integers(1, 9), replace=False)
    exchange = pair.exchange({int(item): float(chance.integers(1, 6)) for item in rated})
    shared = pair.catalog.shared_slate if not exchange.profile.taste.any() else ()
    place = {item: at for at, item in enumerate(shared)}

    def rank(i: int) -> tuple[bool, float, int, int]:
        score = float(pair.catalog.vectors[i].astype(float) @ exchange.profile.taste)
        return i in exchange.ratings, -score, place.get(i, len(place)), i

    for count in (1, 12, 20):
        assert exchange.rank_all(count).order == (*sorted(range(12), key=rank)[:count],)


@pytest.mark.parametrize(
    ("ratings", "order"), [({}, (4, 9, 2, 7, 0, 10, 1)), ({9: 1.0}, (4, 2, 7, 0, 10, 1, 3))]
)
def test_who_likes_nothing_gets_the_order_for_anybody(
    pair: Pair, ratings: dict[int, float], order: tuple[int, ...]
) -> None:
    """The shared slate. Planted bug: the lowest id as the pick of everybody who rated nothing."""
    assert pair.exchange(ratings).rank_all(7).order == order


FOUR = replace(ClientSettings(), mode="ask", k=4, max_ratings_apart=4.0)
A_LITTLE = 2.0**-16  # the least that a width can change


@pytest.mark.parametrize("beyond", [A_LITTLE, 0.4375])
def test_a_fraction_beyond_the_limit_is_refused(
    pair_in_a_space: Callable[..., Pair], beyond: float
) -> None:
    """Planted bug: `int(diameter) > max_ratings_apart`, which lets 4.875 pass for 4."""
    pair_in_a_space(width=2.0).exchange({0: 3.0}, FOUR).mechanism  # noqa: B018
    pair = pair_in_a_space(width=2.0 + beyond)  # two axes
    with pytest.raises(ParameterError, match="at most this device's limit, 4"):
        pair.exchange({0: 3.0}, FOUR).mechanism  # noqa: B018


def test_a_space_where_one_rating_moves_a_point_by_more_than_1_is_not_asked(
    pair_in_a_space: Callable[..., Pair],
) -> None:
    """The device computes the bound, whatever the card says: width * clip, rounded up by 2**-20.
    Planted bug: it does not, and epsilon a rating is whatever the server makes of it.
    """
    most = (1 - 2.0**-20) / 2
    pair_in_a_space(width=2.0, clip=most).exchange({0: 3.0}, FOUR).mechanism  # noqa: B018
    beyond = pair_in_a_space(width=2.0, clip=0.5)
    with pytest.raises(ParameterError, match="how far one rating moves a point must be at most 1"):
        beyond.exchange({0: 3.0}, FOUR).mechanism  # noqa: B018
